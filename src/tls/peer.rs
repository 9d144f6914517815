//! One server as a client sees it: its name, and how sessions with it begin.

use super::{ClientSide, PeerName, Session, TlsFault};

/// A server that speaks TLS.
#[derive(Clone, Debug)]
pub struct Peer {
    side: ClientSide,
    name: PeerName,
}

impl Peer {
    /// The server of that name (or address, without brackets).
    ///
    /// # Errors
    /// It is neither a name nor an address.
    pub fn new(side: ClientSide, name: &str) -> Result<Self, TlsFault> {
        Ok(Self { side, name: PeerName::new(name)? })
    }

    /// The same with tickets of its own, of none at first: who works alone must not wait for another's lock.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { side: self.side.with_own_tickets(), name: self.name.clone() }
    }

    /// A new session: its first words wait in [`Session::output`].
    #[must_use]
    pub fn session(&self) -> Session {
        self.side.session(&self.name)
    }
}
