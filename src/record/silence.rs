//! Whether the server went away: the requests that failed after the last byte that came from it.
//!
//! It must not judge: how many failures make an absence is the reader's affair.

use super::Record;
use crate::time::{Instant, Span};

/// Shards hear the last of a server at slightly different instants: up to so much later than the first failure of one,
/// another may still read what was under way, and the server is gone all the same.
const LAST_WORDS: Span = Span::from_s(1);

/// The silence at the end of what one shard, or all of them, heard.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Silence {
    heard: Option<Instant>,
    failed: u64,
    first_failed: Option<Instant>,
}

impl Silence {
    /// The last byte; `None` when none ever came.
    #[must_use]
    pub const fn since(&self) -> Option<Instant> {
        self.heard
    }

    /// Requests of any phase that failed after it, and without a byte of an answer.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.failed
    }

    /// Bytes arrived.
    pub(super) fn heard(&mut self, stamp: Instant) {
        *self = Self { heard: self.heard.max(Some(stamp)), failed: 0, first_failed: None };
    }

    /// A request is over.
    pub(super) fn see(&mut self, record: &Record) {
        if record.has_failed() && !record.ours && record.bytes == 0 && Some(record.over) > self.heard {
            self.failed += 1;
            self.first_failed = self.first_failed.or(Some(record.over));
        }
    }

    /// Adds what another shard heard of the same server. Failures of one that another's bytes followed prove nothing.
    pub(super) fn merge(&mut self, other: &Self) {
        let heard = self.heard.max(other.heard);
        let mut both = Self { heard, ..Self::default() };
        for silence in [&*self, other] {
            let Some(first) = silence.first_failed else { continue };
            if heard.is_none_or(|heard| first + LAST_WORDS >= heard) {
                both.failed += silence.failed;
                both.first_failed = Some(both.first_failed.map_or(first, |earlier| earlier.min(first)));
            }
        }
        *self = both;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::failures::failed_at;
    use crate::wire::ErrorClass;

    fn ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    /// A shard that heard its last byte at one instant, and whose requests failed at others.
    fn shard(heard: u64, failures: &[u64]) -> Silence {
        let mut silence = Silence::default();
        silence.heard(ms(heard));
        failures.iter().for_each(|at| silence.see(&failed_at(ms(*at), ErrorClass::Connect, None)));
        silence
    }

    #[test]
    fn a_byte_ends_a_silence() {
        let mut silence = shard(100, &[200, 300]);
        assert_eq!((silence.since(), silence.failed()), (Some(ms(100)), 2));
        silence.heard(ms(400));
        assert_eq!((silence.since(), silence.failed()), (Some(ms(400)), 0));
    }

    #[test]
    fn a_request_that_was_answered_at_all_or_that_we_gave_up_is_no_silence() {
        let mut silence = Silence::default();
        let mut answered = failed_at(ms(1), ErrorClass::Http5xx, None);
        answered.bytes = 80;
        silence.see(&answered);
        silence.see(&failed_at(ms(2), ErrorClass::Cancelled, None));
        let mut ours = failed_at(ms(3), ErrorClass::Connect, None);
        ours.ours = true;
        silence.see(&ours);
        assert_eq!((silence.since(), silence.failed()), (None, 0));
    }

    #[test]
    fn shards_that_lost_the_server_within_a_second_lost_it_together() {
        let mut both = shard(1_000, &[1_010, 1_500]);
        both.merge(&shard(1_200, &[1_300]));
        assert_eq!((both.since(), both.failed()), (Some(ms(1_200)), 3));
    }

    #[test]
    fn a_server_that_another_shard_still_hears_has_not_gone() {
        let mut both = shard(1_000, &[1_010, 1_500]);
        both.merge(&shard(9_000, &[]));
        assert_eq!((both.since(), both.failed()), (Some(ms(9_000)), 0));
    }
}
