//! TLS as a transformer of bytes: what a socket brought goes in, what the peer meant comes out, and the other way round.
//!
//! It must not open a socket, read a file or know a clock: rustls' own look at the calendar, to judge certificates, is
//! the one exception.

mod client_side;
mod failure;
mod fault;
mod identity;
mod peer;
mod records;
mod self_made;
mod server_side;
mod session;
#[cfg(test)]
mod tests;

pub use client_side::{ClientSide, PeerName, Trust};
pub use failure::Failure;
pub use fault::TlsFault;
pub use identity::{Identity, certificates};
pub use peer::Peer;
pub use self_made::{SelfMade, self_made};
pub use server_side::ServerSide;
pub use session::{Session, Spoken};
