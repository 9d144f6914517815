//! The TLS sessions of a shard's connections, by slot, and the memory that what they seal and open is used again from.
//!
//! It must not touch the ring, nor know what a connection is doing.

use crate::ring::Conn;
use crate::time::Instant;
use crate::tls::{Session, Spoken};
use std::collections::{BTreeMap, VecDeque};

/// Buffers kept for later sends: as many as one turn sends.
const SPARE: usize = 256;

/// Larger ones are not kept: prompts of a quarter of a million characters are rare, and sealed in no time.
const LARGEST_SPARE: usize = 256 << 10;

/// How hands were shaken, over one shard.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Handshakes {
    /// Those that came to an end, by how the two then spoke and whether an earlier session was resumed.
    pub done: BTreeMap<Spoken, u64>,
    /// Those that came to nothing.
    pub failed: u64,
}

impl Handshakes {
    /// Adds those of another shard.
    pub fn merge(&mut self, other: &Self) {
        for (spoken, count) in &other.done {
            *self.done.entry(spoken.clone()).or_default() += count;
        }
        self.failed += other.failed;
    }
}

/// One connection's session.
#[derive(Debug)]
pub struct Secure {
    conn: Conn,
    /// TLS itself.
    pub session: Box<Session>,
    /// When TCP was up.
    pub begun: Instant,
    /// Sends that the kernel has not been asked for yet, oldest first: whether a request is among their bytes.
    departing: VecDeque<bool>,
}

impl Secure {
    /// The next send is given to the ring.
    pub fn sends(&mut self, request: bool) {
        self.departing.push_back(request);
    }

    /// The oldest send has left: whether it carried a request.
    pub fn departed(&mut self) -> bool {
        self.departing.pop_front().expect("what leaves was given to the ring")
    }
}

/// Sessions by slot.
#[derive(Debug, Default)]
pub struct Sessions {
    slots: Vec<Option<Secure>>,
    spare: Vec<Vec<u8>>,
    /// What the latest read meant.
    plain: Vec<u8>,
    /// What became of them so far.
    pub handshakes: Handshakes,
}

impl Sessions {
    /// Enters a session that begins on `conn`.
    pub fn put(&mut self, conn: Conn, session: Session, begun: Instant) {
        if self.slots.len() <= conn.slot() {
            self.slots.resize_with(conn.slot() + 1, || None);
        }
        let secure = Secure { conn, session: Box::new(session), begun, departing: VecDeque::new() };
        self.slots[conn.slot()] = Some(secure);
    }

    /// The session of `conn`; `None` when it speaks in the clear, or is gone.
    #[inline]
    pub fn get(&mut self, conn: Conn) -> Option<&mut Secure> {
        self.slots.get_mut(conn.slot())?.as_mut().filter(|secure| secure.conn == conn)
    }

    /// Forgets the session of `conn`, if it has one.
    pub fn remove(&mut self, conn: Conn) {
        if self.get(conn).is_some() {
            self.slots[conn.slot()] = None;
        }
    }

    /// An empty buffer to seal into.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// A buffer was sent, or is not needed.
    pub fn put_back(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE && buffer.capacity() <= LARGEST_SPARE {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// The buffer for what a read means, empty; to be given back by [`Sessions::keep_plain`].
    pub fn take_plain(&mut self) -> Vec<u8> {
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        plain
    }

    /// Keeps it for the next read.
    pub fn keep_plain(&mut self, plain: Vec<u8>) {
        self.plain = plain;
    }
}
