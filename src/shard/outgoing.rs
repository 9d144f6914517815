//! What the client gives the ring to send: a request as it is, or what a TLS session has sealed.
//!
//! It must not be written to while it is being sent.

use crate::ring::Payload;
use crate::workload::Request;
use std::io::IoSlice;

/// One send.
#[derive(Debug)]
pub enum Outgoing {
    /// A request, in the clear.
    Request(Request),
    /// Records of a session.
    Sealed(Sealed),
}

/// Sealed bytes.
#[derive(Debug)]
pub struct Sealed {
    /// As they go over the wire.
    pub bytes: Vec<u8>,
    /// Whether a request is among them; else they are the session's own: handshakes, alerts.
    pub carries_request: bool,
}

impl Payload for Outgoing {
    fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
        match self {
            Self::Request(request) => request.slices(into),
            Self::Sealed(sealed) => into.push(IoSlice::new(&sealed.bytes)),
        }
    }
}
