//! The connections that wait for a request: the last one used goes first, and none goes after it may be stale.
//!
//! It does not close anything: what is stale is handed back to whoever does.

use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// How long a connection that has carried nothing yet may wait and still be trusted. Servers that limit the wait for a
/// first request usually give it a minute (nginx, Node); uvicorn does not limit it at all.
const FRESH_LIMIT: Span = Span::from_s(50);

/// Idle connections. One that its peer has ended stays listed until it comes up: whoever takes a connection asks the
/// table of connections whether it still waits.
#[derive(Debug)]
pub struct Idle<C> {
    /// Those that have carried requests, most recently used last.
    used: VecDeque<(C, Instant)>,
    /// Those opened ahead that have carried none, oldest first.
    fresh: VecDeque<(C, Instant)>,
    limit: Span,
}

/// A connection that has waited too long.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Stale<C> {
    /// Which.
    pub conn: C,
    /// Whether it was opened ahead and never used.
    pub fresh: bool,
}

impl<C> Idle<C> {
    /// `limit`: how long a connection that has carried requests may wait and still be trusted.
    #[must_use]
    pub fn new(limit: Span) -> Self {
        Self { used: VecDeque::new(), fresh: VecDeque::new(), limit }
    }

    /// `conn` has carried a request, and is free since `now`.
    pub fn put(&mut self, conn: C, now: Instant) {
        self.used.push_back((conn, now));
    }

    /// `conn` was opened ahead, and is up since `now`.
    pub fn put_fresh(&mut self, conn: C, now: Instant) {
        self.fresh.push_back((conn, now));
    }

    /// The connection that was used last, else one that was opened ahead, when it is still to be trusted.
    pub fn take(&mut self, now: Instant) -> Option<C> {
        let from = if trusted(&self.used, self.limit, now) {
            &mut self.used
        } else if trusted(&self.fresh, FRESH_LIMIT, now) {
            &mut self.fresh
        } else {
            return None;
        };
        from.pop_back().map(|(conn, _)| conn)
    }

    /// Whether there is one to be trusted.
    #[must_use]
    pub fn ready(&self, now: Instant) -> bool {
        trusted(&self.used, self.limit, now) || trusted(&self.fresh, FRESH_LIMIT, now)
    }

    /// How many there are that were opened ahead.
    #[must_use]
    pub fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// Since when the one waits that has waited longest.
    #[must_use]
    pub fn since(&self) -> Option<Instant> {
        [&self.used, &self.fresh].into_iter().filter_map(front).min()
    }

    /// The one that has waited longest, to be given up.
    pub fn take_longest(&mut self) -> Option<C> {
        let longest = [&mut self.used, &mut self.fresh].into_iter().filter(|of| !of.is_empty());
        longest.min_by_key(|of| front(of))?.pop_front().map(|(conn, _)| conn)
    }

    /// The server says that it closes idle connections after `keep_alive`: none is used in its last second.
    pub fn lower_limit(&mut self, keep_alive: Span) {
        self.limit = self.limit.min((keep_alive - Span::from_s(1)).max(Span::ZERO));
    }

    /// A connection that has waited too long.
    pub fn take_stale(&mut self, now: Instant) -> Option<Stale<C>> {
        for (of, limit, fresh) in [(&mut self.used, self.limit, false), (&mut self.fresh, FRESH_LIMIT, true)]
        {
            if of.front().is_some_and(|(_, since)| now - *since > limit) {
                return of.pop_front().map(|(conn, _)| Stale { conn, fresh });
            }
        }
        None
    }

    /// When the next connection becomes stale.
    #[must_use]
    pub fn stale_at(&self) -> Option<Instant> {
        let at = |of: &VecDeque<(C, Instant)>, limit: Span| {
            of.front().map(|(_, since)| *since + limit + Span::from_ns(1))
        };
        [at(&self.used, self.limit), at(&self.fresh, FRESH_LIMIT)].into_iter().flatten().min()
    }
}

/// Since when its first one waits.
fn front<C>(of: &VecDeque<(C, Instant)>) -> Option<Instant> {
    of.front().map(|(_, since)| *since)
}

/// Whether the connection that would be taken may still be used.
fn trusted<C>(of: &VecDeque<(C, Instant)>, limit: Span, now: Instant) -> bool {
    of.back().is_some_and(|(_, since)| now - *since <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_s(s: u64) -> Instant {
        Instant::from_ns(s * 1_000_000_000)
    }

    fn idle() -> Idle<u32> {
        Idle::new(Span::from_s(4))
    }

    #[test]
    fn the_connection_used_last_goes_first_and_one_opened_ahead_after_all_of_them() {
        let mut idle = idle();
        idle.put_fresh(0, at_s(0));
        idle.put(1, at_s(0));
        idle.put(2, at_s(1));
        let taken: Vec<_> = std::iter::from_fn(|| idle.take(at_s(2))).collect();
        assert_eq!(taken, [2, 1, 0]);
    }

    #[test]
    fn the_one_that_has_waited_longest_gives_way_used_or_not() {
        let mut idle = idle();
        idle.put(1, at_s(1));
        idle.put_fresh(0, at_s(2));
        idle.put(2, at_s(3));
        let waited = std::iter::from_fn(|| Some((idle.since()?, idle.take_longest()?)));
        assert_eq!(waited.collect::<Vec<_>>(), [(at_s(1), 1), (at_s(2), 0), (at_s(3), 2)]);
    }

    #[test]
    fn a_connection_opened_ahead_outlives_the_limit_of_used_ones() {
        let mut idle = idle();
        idle.put_fresh(0, at_s(0));
        idle.put(1, at_s(0));
        assert_eq!(idle.take_stale(at_s(5)), Some(Stale { conn: 1, fresh: false }));
        assert_eq!(idle.take_stale(at_s(5)), None);
        idle.lower_limit(Span::from_s(2));
        assert!(idle.ready(at_s(49)), "a limit on used connections is none on fresh ones");
        assert_eq!(idle.stale_at(), Some(at_s(50) + Span::from_ns(1)));
        assert_eq!(idle.take(at_s(51)), None);
        assert_eq!(idle.take_stale(at_s(51)), Some(Stale { conn: 0, fresh: true }));
        assert_eq!(idle.stale_at(), None);
    }
}
