//! The ring of sockets: connects, listens, sends, closes, and keeps what the kernel reads from alive.
//!
//! It must not wait nor call the handler: the pump does.

use super::{Conn, Counters, Payload, PortUse, RingConfig, RingError};
use rustix::io::Errno;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};

/// Names a listener of one ring.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Listener {
    slot: u32,
    generation: u32,
}

/// Sockets on one io_uring. It belongs to the thread that made it.
pub struct Ring<P: Payload> {
    _payload: PhantomData<*const P>,
}

impl<P: Payload> Ring<P> {
    /// Makes the ring for this thread.
    ///
    /// # Errors
    /// io_uring forbidden, missing or too old; locked memory too low; sizes out of range.
    pub fn new(config: &RingConfig) -> Result<Self, RingError> {
        config.check()?;
        Err(RingError::Missing)
    }

    /// Listens on `address` (port 0 = any) and accepts until the ring ends or [`Ring::unlisten`]; gives the real address.
    ///
    /// # Errors
    /// What the kernel says of the address.
    pub fn listen(
        &mut self,
        address: SocketAddr,
        port: PortUse,
    ) -> Result<(Listener, SocketAddr), RingError> {
        let _ = port;
        Err(RingError::Listen(address, Errno::NOSYS))
    }

    /// Stops accepting; connections already accepted stay.
    pub fn unlisten(&mut self, listener: Listener) {
        let _ = listener;
    }

    /// Begins to connect, from `from` if given; [`super::Handler::connected`] tells the outcome.
    ///
    /// # Errors
    /// No socket could be had: files, ports or the address `from`; nothing was begun.
    pub fn connect(&mut self, to: SocketAddr, from: Option<IpAddr>) -> Result<Conn, Errno> {
        let _ = (to, from);
        Err(Errno::NOSYS)
    }

    /// Sends `payload` after what was given before; [`super::Handler::sent`] gives it back. Dropped when `conn` is closed.
    pub fn send(&mut self, conn: Conn, payload: P) {
        let _ = (conn, payload);
    }

    /// Tells the peer that nothing more will be sent (FIN), once all sends of `conn` are over; reading goes on.
    pub fn shutdown(&mut self, conn: Conn) {
        let _ = conn;
    }

    /// Closes `conn`: sends under way are cut off, and nothing more is heard of it.
    pub fn close(&mut self, conn: Conn) {
        let _ = conn;
    }

    /// Closes `conn` with RST instead of FIN.
    pub fn reset(&mut self, conn: Conn) {
        let _ = conn;
    }

    /// Whether `conn` still names a connection.
    #[must_use]
    pub fn is_open(&self, conn: Conn) -> bool {
        let _ = conn;
        false
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters::default()
    }
}
