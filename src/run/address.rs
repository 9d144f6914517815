//! Names to addresses: every target's before the run, each address tried once where there are several; and our own sources.
//!
//! It must not send a byte.

use super::RunError;
use super::channel::Channel;
use crate::plan::Endpoint;
use crate::ring::Address;
use crate::time::Span;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

/// How long an address of several may take to accept: a server that is up does within a round trip, and a SYN that is
/// lost is sent again after a second.
const LONGEST_CONNECT: Span = Span::from_s(3);

/// Every address of `endpoint`, in the resolver's order.
pub fn resolve(endpoint: &Endpoint) -> Result<Vec<Address>, RunError> {
    if let Some(socket) = &endpoint.socket {
        return Ok(vec![Address::Unix(Path::new(socket).into())]);
    }
    let name = (endpoint.host.as_str(), endpoint.port);
    let failed = |why: String| {
        RunError::Target(format!("{}: cannot resolve {:?} ({why})", endpoint.url(), endpoint.host))
    };
    let mut all: Vec<Address> = Vec::new();
    for address in name.to_socket_addrs().map_err(|error| failed(error.to_string()))? {
        // The resolver gives one a socket type, and we ask for one type alone, but for some libraries.
        if !all.contains(&address.into()) {
            all.push(address.into());
        }
    }
    if all.is_empty() { Err(failed("no address".into())) } else { Ok(all) }
}

/// Those of several addresses that accept a connection, and what is to be said of the others. A name such as `localhost`
/// often has one address that nobody listens on, and half of the requests must not fail for it.
pub fn answering(all: Vec<Address>) -> (Vec<Address>, Vec<String>) {
    if all.len() < 2 {
        return (all, Vec::new());
    }
    let mut notes = Vec::new();
    let mut answer = Vec::new();
    for address in &all {
        match Channel::connect(address, LONGEST_CONNECT) {
            Ok(_) => answer.push(address.clone()),
            Err(why) => notes.push(format!("{address} does not accept ({why}) and is left out")),
        }
    }
    // Where none does, the failure to connect says why.
    if answer.is_empty() { (all, Vec::new()) } else { (answer, notes) }
}

/// Leaves out the addresses that none of `sources` can reach; where there are no sources, the kernel finds one.
pub fn reachable(
    all: Vec<Address>,
    sources: &[IpAddr],
    endpoint: &Endpoint,
) -> Result<(Vec<Address>, Vec<String>), RunError> {
    let has_source = |address: &Address| {
        sources.is_empty()
            || address.tcp().is_none_or(|to| sources.iter().any(|from| from.is_ipv4() == to.is_ipv4()))
    };
    let (reachable, others): (Vec<Address>, Vec<Address>) = all.into_iter().partition(has_source);
    if reachable.is_empty() {
        let addresses: Vec<String> = others.iter().map(ToString::to_string).collect();
        return Err(RunError::Plan(format!(
            "--source-ip has no address of the family of {} ({})",
            endpoint.url(),
            addresses.join(", ")
        )));
    }
    let notes = others.iter().map(|other| format!("{other} is left out: no --source-ip is of its family"));
    Ok((reachable, notes.collect()))
}

/// Whether every source is an address of this host.
pub fn check_sources(sources: &[IpAddr]) -> Result<(), RunError> {
    for source in sources {
        if let Err(why) = UdpSocket::bind((*source, 0)) {
            return Err(RunError::Plan(format!(
                "--source-ip: {source} is refused ({why}): it must be an address of this host (ip address add)"
            )));
        }
    }
    Ok(())
}

/// Where a listener on `address` is reached from this host.
pub fn from_here(address: &Address) -> Address {
    match address {
        Address::Tcp(bound) if bound.ip().is_unspecified() => {
            let loopback: IpAddr =
                if bound.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
            SocketAddr::new(loopback, bound.port()).into()
        }
        address => address.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn tcp(text: &str) -> Address {
        text.parse::<SocketAddr>().unwrap().into()
    }

    #[test]
    fn of_several_addresses_those_that_accept_are_used_and_the_others_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let up = Address::from(listener.local_addr().unwrap());
        let down = Address::from(TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap());
        let (answer, notes) = answering(vec![down.clone(), up.clone()]);
        assert_eq!(answer, [up]);
        assert!(notes.len() == 1 && notes[0].starts_with(&down.to_string()), "{notes:?}");
        assert_eq!(
            answering(vec![down.clone()]),
            (vec![down.clone()], Vec::new()),
            "the only one is not tried"
        );
        let none = vec![down.clone(), down];
        assert_eq!(answering(none.clone()), (none, Vec::new()));
    }

    #[test]
    fn an_address_needs_a_source_of_its_family() {
        let endpoint = Endpoint {
            host: "h".into(),
            port: 1,
            secure: false,
            socket: None,
            weight: 1,
            authorization: None,
            path: "/v1".into(),
            base: String::new(),
        };
        let both = || vec![tcp("127.0.0.1:1"), tcp("[::1]:1")];
        let of = |sources: &[IpAddr]| reachable(both(), sources, &endpoint);
        assert_eq!(of(&[]).unwrap().0, both());
        let (used, notes) = of(&["127.0.0.2".parse().unwrap()]).unwrap();
        assert_eq!((used, notes.len()), (vec![tcp("127.0.0.1:1")], 1));
        let only = reachable(vec![tcp("[::1]:1")], &["127.0.0.2".parse().unwrap()], &endpoint);
        assert!(only.unwrap_err().to_string().contains("--source-ip has no address of the family"));
    }

    #[test]
    fn a_source_that_is_not_ours_is_refused_by_name() {
        assert!(check_sources(&["127.0.0.2".parse().unwrap(), "127.9.9.9".parse().unwrap()]).is_ok());
        // TEST-NET-1 is nobody's (RFC 5737).
        let refused = check_sources(&["192.0.2.1".parse().unwrap()]).unwrap_err().to_string();
        assert!(refused.contains("--source-ip: 192.0.2.1"), "{refused}");
    }

    #[test]
    fn what_listens_everywhere_is_reached_by_loopback() {
        assert_eq!(from_here(&tcp("0.0.0.0:80")), tcp("127.0.0.1:80"));
        assert_eq!(from_here(&tcp("[::]:80")), tcp("[::1]:80"));
        assert_eq!(from_here(&tcp("127.0.0.2:80")), tcp("127.0.0.2:80"));
    }
}
