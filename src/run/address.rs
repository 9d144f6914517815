//! The target's name to its address.
//!
//! It must not connect.

use super::RunError;
use crate::plan::Endpoint;
use std::net::{SocketAddr, ToSocketAddrs};

/// The address that every connection of the run goes to: the first that the resolver gives.
pub fn resolve(endpoint: &Endpoint) -> Result<SocketAddr, RunError> {
    let name = (endpoint.host.as_str(), endpoint.port);
    let failed = |why: String| {
        RunError::Target(format!("{}: cannot resolve {:?} ({why})", endpoint.url(), endpoint.host))
    };
    let mut addresses = name.to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    addresses.next().ok_or_else(|| failed("no address".into()))
}
