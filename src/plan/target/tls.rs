//! The options of TLS to how servers that speak it are met; reads no file.

use super::{Endpoint, Target};
use crate::plan::raw::Raw;
use crate::plan::reading::{Place, Reading, option};

/// How servers that speak TLS are met. Files are named here and read before anything is sent.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tls {
    /// Certificates of the authorities to trust, PEM; `None` = those that this host trusts.
    pub ca_cert: Option<String>,
    /// Who we are: our certificate, and those that vouch for it, PEM.
    pub client_cert: Option<String>,
    /// Its key, PEM; the same file as the certificate's where only that was given.
    pub client_key: Option<String>,
    /// Whether whoever answers is believed to be the server.
    pub insecure: bool,
}

impl Target {
    /// Whether any server speaks TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.secure)
    }
}

/// Reads the options of TLS, the servers being known.
pub(super) fn read(r: &mut Reading, raw: &Raw, endpoints: &[Endpoint]) -> Tls {
    let (cert, key) = (option!(raw.target.client_cert), option!(raw.target.client_key));
    let ca_cert = r.text(option!(raw.target.ca_cert), "the name of a file");
    let client_cert = r.text(cert, "the name of a file");
    let client_key = r.text(key, "the name of a file");
    let insecure = raw.target.insecure == Some(true);
    if client_cert.is_none() && key.value.is_some() {
        r.refuse(key, "with --client-cert", "give the certificate that the key is for");
    }
    let place: Place = option!(@place target.insecure);
    if insecure && ca_cert.is_some() {
        let remedy = "--insecure believes whoever answers: leave one of it and --ca-cert out";
        r.note(place, Some("true".into()), "without --ca-cert", remedy);
    }
    let speaks = endpoints.iter().any(|endpoint| endpoint.secure);
    if !speaks {
        let accepted = "with a server that speaks TLS";
        let remedy = if raw.target.sim == Some(true) {
            "add --sim-tls, or leave it out"
        } else {
            "write https:// in --url, or leave it out"
        };
        for given in [option!(raw.target.ca_cert), cert, key] {
            if given.value.is_some() {
                r.refuse(given, accepted, remedy);
            }
        }
        if insecure {
            r.note(place, Some("true".into()), accepted, remedy);
        }
    }
    Tls { ca_cert, client_key: client_key.or_else(|| client_cert.clone()), client_cert, insecure }
}
