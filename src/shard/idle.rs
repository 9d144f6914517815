//! The connections that wait for a request: the last one used goes first, and none goes after it may be stale.
//!
//! It does not close anything: what is stale is handed back to whoever does.

use crate::ring::Conn;
use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// Idle connections, most recently used last. One that its peer has ended stays listed until it comes up: whoever
/// takes a connection asks the table of connections whether it still waits.
#[derive(Debug)]
pub struct Idle {
    waiting: VecDeque<(Conn, Instant)>,
    limit: Span,
}

impl Idle {
    /// `limit`: how long a connection may wait and still be trusted.
    #[must_use]
    pub fn new(limit: Span) -> Self {
        Self { waiting: VecDeque::new(), limit }
    }

    /// `conn` is free since `now`.
    pub fn put(&mut self, conn: Conn, now: Instant) {
        self.waiting.push_back((conn, now));
    }

    /// The connection that was used last, when it is still to be trusted.
    pub fn take(&mut self, now: Instant) -> Option<Conn> {
        let &(conn, since) = self.waiting.back()?;
        if now - since > self.limit {
            return None;
        }
        self.waiting.pop_back();
        Some(conn)
    }

    /// Whether there is one to be trusted.
    #[must_use]
    pub fn ready(&self, now: Instant) -> bool {
        self.waiting.back().is_some_and(|&(_, since)| now - since <= self.limit)
    }

    /// Since when the one waits that has waited longest.
    #[must_use]
    pub fn since(&self) -> Option<Instant> {
        self.waiting.front().map(|&(_, since)| since)
    }

    /// The one that has waited longest, to be given up.
    pub fn take_longest(&mut self) -> Option<Conn> {
        self.waiting.pop_front().map(|(conn, _)| conn)
    }

    /// The server says that it closes idle connections after `keep_alive`: none is used in its last second.
    pub fn lower_limit(&mut self, keep_alive: Span) {
        self.limit = self.limit.min((keep_alive - Span::from_s(1)).max(Span::ZERO));
    }

    /// A connection that has waited too long.
    pub fn take_stale(&mut self, now: Instant) -> Option<Conn> {
        let &(conn, since) = self.waiting.front()?;
        if now - since <= self.limit {
            return None;
        }
        self.waiting.pop_front();
        Some(conn)
    }

    /// When the next connection becomes stale.
    #[must_use]
    pub fn stale_at(&self) -> Option<Instant> {
        self.waiting.front().map(|&(_, since)| since + self.limit + Span::from_ns(1))
    }
}
