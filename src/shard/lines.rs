//! The shard's table of connections, by the ring's slots: what each is doing.
//!
//! It opens and closes nothing: it remembers.

use super::flight::Flight;
use crate::ring::Conn;
use crate::time::Instant;
use crate::workload::Request;

/// What a connection is doing.
#[derive(Debug)]
pub enum Line {
    /// It is being made ahead of any request to a server.
    Opening {
        /// The server.
        target: u16,
        /// When it is given up.
        until: Instant,
    },
    /// It is being made for a request.
    Connecting(Flight, Request),
    /// It is up and free.
    Idle,
    /// It carries a request.
    Busy(Flight),
}

/// Connections by slot.
#[derive(Debug, Default)]
pub struct Lines {
    slots: Vec<Option<(Conn, Line)>>,
    open: usize,
}

impl Lines {
    /// Enters `conn`.
    pub fn put(&mut self, conn: Conn, line: Line) {
        if self.slots.len() <= conn.slot() {
            self.slots.resize_with(conn.slot() + 1, || None);
        }
        let slot = &mut self.slots[conn.slot()];
        self.open += usize::from(slot.is_none());
        *slot = Some((conn, line));
    }

    /// What `conn` is doing; `None` when it is gone.
    pub fn get(&mut self, conn: Conn) -> Option<&mut Line> {
        match self.slots.get_mut(conn.slot())? {
            Some((here, line)) if *here == conn => Some(line),
            _ => None,
        }
    }

    /// Takes `conn` out of the table.
    pub fn take(&mut self, conn: Conn) -> Option<Line> {
        let slot = self.slots.get_mut(conn.slot())?;
        if slot.as_ref().is_none_or(|(here, _)| *here != conn) {
            return None;
        }
        self.open -= 1;
        slot.take().map(|(_, line)| line)
    }

    /// The connection in `slot`.
    pub fn at(&self, slot: usize) -> Option<Conn> {
        self.slots.get(slot)?.as_ref().map(|(conn, _)| *conn)
    }

    /// Every connection there is.
    pub fn all(&self) -> Vec<Conn> {
        self.slots.iter().flatten().map(|(conn, _)| *conn).collect()
    }

    /// How many there are.
    pub const fn open(&self) -> usize {
        self.open
    }
}
