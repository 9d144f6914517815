//! Certificates and keys from the files that a plan names: whom we trust, who we are, and who the simulator is.
//!
//! It must not write what it reads anywhere, nor say more of a key than the name of its file.

use super::RunError;
use crate::plan::{Endpoint, Plan, SimIdentity, SimTls, Tls};
use crate::report;
use crate::shard::Handshakes;
use crate::tls::{
    ClientSide, Identity, Peer, SelfMade, ServerSide, TlsFault, Trust, certificates, self_made,
};
use std::fs;
use std::path::Path;

/// Each server of a plan as TLS knows it; `None` = it is spoken to in the clear. `ours` is the certificate of the simulator
/// that we have started: where `--ca-cert` names no other, it is trusted.
///
/// # Errors
/// A file cannot be read, or holds nothing of its kind; a host can have no certificate.
pub fn peers(plan: &Plan, ours: Option<&str>) -> Result<Vec<Option<Peer>>, RunError> {
    let endpoints = &plan.target.endpoints;
    if !plan.target.is_secure() {
        return Ok(endpoints.iter().map(|_| None).collect());
    }
    let side = client_side(&plan.target.tls, ours)?;
    let peer = |endpoint: &Endpoint| {
        let peer = endpoint.secure.then(|| Peer::new(side.clone(), &endpoint.host)).transpose();
        peer.map_err(|fault| RunError::Plan(format!("{}: {fault}", endpoint.url())))
    };
    endpoints.iter().map(peer).collect()
}

/// Sees that the files of a plan can be used, before anything is sent; the simulator's own are read when it starts.
///
/// # Errors
/// A file cannot be read, or holds nothing of its kind; a host can have no certificate.
pub fn check(plan: &Plan) -> Result<(), RunError> {
    if plan.sim.is_none() { peers(plan, None).map(drop) } else { Ok(()) }
}

fn client_side(tls: &Tls, ours: Option<&str>) -> Result<ClientSide, RunError> {
    let trust = match (&tls.ca_cert, ours) {
        _ if tls.insecure => Trust::Anyone,
        (Some(file), _) => Trust::Roots(read("--ca-cert", file, certificates)?),
        (None, Some(ours)) => Trust::Roots(certificates(ours.as_bytes()).map_err(of_fault)?),
        (None, None) => Trust::Roots(rustls_native_certs::load_native_certs().certs),
    };
    let identity = match (&tls.client_cert, &tls.client_key) {
        (Some(cert), Some(key)) => Some(identity(("--client-cert", cert), ("--client-key", key))?),
        _ => None,
    };
    ClientSide::new(trust, identity).map_err(of_fault)
}

/// The server's side of a simulator, and the certificate by which clients know it, PEM.
///
/// # Errors
/// A file cannot be read or written, or holds nothing of its kind.
pub fn server_side(tls: &SimTls, hosts: &[String]) -> Result<(ServerSide, String), RunError> {
    let (identity, certificate) = match &tls.identity {
        SimIdentity::Files { cert, key } => {
            let identity = identity(("--tls-cert", cert), ("--tls-key", key))?;
            (identity, String::from_utf8_lossy(&bytes("--tls-cert", cert)?).into_owned())
        }
        SimIdentity::SelfMade(out) => {
            let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
            let made: SelfMade = self_made(&names).map_err(of_fault)?;
            if let Some(out) = out {
                let wrong = |error| {
                    RunError::Plan(format!("--tls-cert-out {out}: {error}: name a file that can be written"))
                };
                fs::write(Path::new(out), &made.certificate).map_err(wrong)?;
            }
            (made.identity().map_err(of_fault)?, made.certificate)
        }
    };
    let clients =
        tls.client_ca.as_ref().map(|file| read("--tls-client-ca", file, certificates)).transpose()?;
    Ok((ServerSide::new(identity, clients).map_err(of_fault)?, certificate))
}

/// What is told of TLS after a run; nothing where no server speaks it.
pub fn told(plan: &Plan, handshakes: &Handshakes) -> Option<report::Tls> {
    let tls = plan.target.is_secure().then_some(&plan.target.tls)?;
    let trust = match &tls.ca_cert {
        _ if tls.insecure => "anyone (--insecure)".to_owned(),
        Some(file) => format!("--ca-cert {file}"),
        None if plan.sim.is_some() => "the simulator's own certificate".to_owned(),
        None => "the authorities that this host trusts".to_owned(),
    };
    let mut told =
        report::Tls { verified: !tls.insecure, trust, failed: handshakes.failed, ..report::Tls::default() };
    for (spoken, count) in &handshakes.done {
        told.handshakes += count;
        told.resumed += if spoken.resumed { *count } else { 0 };
        *told.spoken.entry(format!("{} {}", spoken.version, spoken.suite)).or_default() += count;
    }
    Some(told)
}

fn identity(cert: (&str, &str), key: (&str, &str)) -> Result<Identity, RunError> {
    let chain = bytes(cert.0, cert.1)?;
    read(cert.0, cert.1, certificates)?;
    read(key.0, key.1, |key| Identity::from_pem(&chain, key))
}

fn read<T>(flag: &str, file: &str, what: impl FnOnce(&[u8]) -> Result<T, TlsFault>) -> Result<T, RunError> {
    what(&bytes(flag, file)?).map_err(|fault| RunError::Plan(format!("{flag} {file}: {fault}")))
}

fn bytes(flag: &str, file: &str) -> Result<Vec<u8>, RunError> {
    fs::read(Path::new(file)).map_err(|error| RunError::Plan(format!("{flag} {file}: {error}")))
}

fn of_fault(fault: TlsFault) -> RunError {
    RunError::Plan(fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> String {
        let path = std::env::temp_dir().join(format!("lowrho-certificates-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn refused(tls: &Tls) -> String {
        match client_side(tls, None) {
            Err(RunError::Plan(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_that_is_missing_or_of_another_kind_is_named() {
        let made = self_made(&["localhost"]).unwrap();
        let (cert, key) = (file("cert.pem", &made.certificate), file("key.pem", &made.key));
        let of = |ca_cert: Option<&String>, client: Option<(&String, &String)>| Tls {
            ca_cert: ca_cert.cloned(),
            client_cert: client.map(|(cert, _)| cert.clone()),
            client_key: client.map(|(_, key)| key.clone()),
            insecure: false,
        };
        assert!(client_side(&of(Some(&cert), Some((&cert, &key))), None).is_ok());
        let missing = "/nowhere/ca.pem".to_owned();
        assert!(refused(&of(Some(&missing), None)).starts_with("--ca-cert /nowhere/ca.pem: "));
        assert!(refused(&of(Some(&key), None)).contains("BEGIN CERTIFICATE"));
        let crossed = refused(&of(Some(&cert), Some((&cert, &cert))));
        assert!(crossed.starts_with("--client-key ") && crossed.contains("private key"), "{crossed}");
        let other = self_made(&["another"]).unwrap();
        let strange = file("other.pem", &other.key);
        assert!(
            refused(&of(Some(&cert), Some((&cert, &strange))))
                .contains("client's certificate cannot be used")
        );
        for path in [cert, key, strange] {
            fs::remove_file(path).unwrap();
        }
    }
}
