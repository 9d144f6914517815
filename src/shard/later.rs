//! Requests that were refused and are to be sent again later (`--retry`), by the instant when.
//!
//! It must not decide whether one is, nor send it.

use super::flight::Flight;
use crate::plan::Retry;
use crate::time::{Instant, Span};
use crate::wire::{ErrorClass, Reply};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A refused request and when it goes out again.
#[derive(Debug)]
struct Due {
    at: Instant,
    flight: Flight,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    /// The earliest is the greatest: a heap gives that first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at)
    }
}

/// Refused requests that wait.
#[derive(Debug, Default)]
pub struct Later(BinaryHeap<Due>);

impl Later {
    /// Keeps a request until `at`.
    pub fn put(&mut self, at: Instant, flight: Flight) {
        self.0.push(Due { at, flight });
    }

    /// When the next one goes out.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.0.peek().map(|due| due.at)
    }

    /// Takes one that is due at `now`, with the instant it was due.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Flight)> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop().map(|due| (due.at, due.flight))
    }

    /// Takes all, whenever they are due.
    pub fn take_all(&mut self) -> Vec<Flight> {
        std::mem::take(&mut self.0).into_iter().map(|due| due.flight).collect()
    }
}

/// How long a request that ended like this waits before it is sent again; `None` = it is not: only a server that refused it
/// without beginning on it is asked again.
#[must_use]
pub fn wait(retry: &Retry, attempts: u8, reply: &Reply) -> Option<Span> {
    let refused = match reply.error? {
        ErrorClass::Connect | ErrorClass::Http429 => true,
        ErrorClass::Http5xx => reply.status == Some(503),
        _ => false,
    };
    if !refused || attempts >= retry.times {
        return None;
    }
    let said = reply.retry_after_s.map(|seconds| Span::from_s(seconds.into()));
    // Doubling from half a second to eight, as the clients of the APIs do.
    let doubled = Span::from_ms(500 << attempts.min(4));
    Some(said.unwrap_or(doubled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(
        error: ErrorClass,
        status: Option<u16>,
        retry_after_s: Option<u32>,
        attempts: u8,
    ) -> Option<Span> {
        let reply = Reply { status, retry_after_s, ..Reply::unanswered(error, None) };
        wait(&Retry { times: 6 }, attempts, &reply)
    }

    #[test]
    fn what_was_refused_waits_as_the_server_says_or_twice_as_long_each_time() {
        assert_eq!(waits(ErrorClass::Http429, Some(429), Some(7), 0), Some(Span::from_s(7)));
        assert_eq!(waits(ErrorClass::Http5xx, Some(503), Some(0), 3), Some(Span::ZERO));
        let doubled: Vec<_> = (0..7).map(|n| waits(ErrorClass::Connect, None, None, n)).collect();
        let ms = |ms| Some(Span::from_ms(ms));
        assert_eq!(doubled, [ms(500), ms(1000), ms(2000), ms(4000), ms(8000), ms(8000), None]);
    }

    #[test]
    fn what_the_server_may_have_worked_on_is_never_sent_again() {
        for (error, status) in [
            (ErrorClass::Http5xx, Some(500)),
            (ErrorClass::Http5xx, Some(504)),
            (ErrorClass::Reset, None),
            (ErrorClass::EofBeforeHead, None),
            (ErrorClass::TimeoutFirstByte, None),
            (ErrorClass::TruncatedBody, Some(200)),
        ] {
            assert_eq!(waits(error, status, Some(1), 0), None, "{error:?}");
        }
    }
}
