//! The watchdog of one shard: how often it has beaten, and for how long it has not.
//!
//! It must not act on what it sees: the fleet decides for whom it waits.

use crate::analysis::MissedBeats;
use crate::time::{Instant, Span};

/// A shard beats at least every 10 ms. One that has not for so long is kept from its work, and is told.
pub const SILENT_AFTER: Span = Span::from_s(1);

/// Two looks at a shard are no further apart than this unless we were kept from looking ourselves: a guest that was paused
/// for a minute has no silent shard.
const LOOKING: Span = Span::from_ms(100);

/// The signs of life of one shard.
#[derive(Clone, Debug)]
pub struct Pulse {
    beats: u64,
    looked: Instant,
    silent: Span,
    /// The part of this silence that counts.
    counted: Span,
    missed: MissedBeats,
}

/// What a look at a shard showed that the look before had not.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// It has been silent for [`SILENT_AFTER`].
    FellSilent,
    /// It beats again, after so long a silence.
    BeatsAgain(Span),
}

impl Pulse {
    /// Of a shard that is watched from `now` on.
    pub fn new(now: Instant) -> Self {
        Self {
            beats: 0,
            looked: now,
            silent: Span::ZERO,
            counted: Span::ZERO,
            missed: MissedBeats::default(),
        }
    }

    /// The shard has beaten so often by `now`. Where `counts`, something is measured that it is needed for.
    pub fn feel(&mut self, beats: u64, now: Instant, counts: bool) -> Option<Change> {
        let since = (now - self.looked).min(LOOKING);
        let before = self.silent;
        let is_silent = beats == self.beats;
        (self.beats, self.looked) = (beats, now);
        if !is_silent {
            (self.silent, self.counted) = (Span::ZERO, Span::ZERO);
            return (before >= SILENT_AFTER).then_some(Change::BeatsAgain(before));
        }
        self.silent = before + since;
        let fell_silent = before < SILENT_AFTER && self.silent >= SILENT_AFTER;
        if counts && self.silent >= SILENT_AFTER {
            self.count(if fell_silent { self.silent } else { since });
        }
        fell_silent.then_some(Change::FellSilent)
    }

    fn count(&mut self, more: Span) {
        let Self { counted, missed, .. } = self;
        missed.times += u64::from(*counted == Span::ZERO);
        *counted += more;
        missed.total += more;
        missed.longest = missed.longest.max(*counted);
    }

    /// For how long it has been silent.
    pub const fn silent(&self) -> Span {
        self.silent
    }

    /// Its silences that count.
    pub const fn missed(&self) -> MissedBeats {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn missed(times: u64, total_ms: i64, longest_ms: i64) -> MissedBeats {
        MissedBeats { times, total: Span::from_ms(total_ms), longest: Span::from_ms(longest_ms) }
    }

    #[test]
    fn a_shard_is_silent_for_as_long_as_it_was_watched_and_did_not_beat() {
        let mut pulse = Pulse::new(at_ms(0));
        let mut silent = |beats, ms| {
            assert_eq!(pulse.feel(beats, at_ms(ms), true), None);
            pulse.silent()
        };
        assert_eq!(silent(7, 5), Span::ZERO);
        assert_eq!(silent(7, 10), Span::from_ms(5));
        assert_eq!(silent(7, 60_010), Span::from_ms(105), "nobody looked for a minute");
        assert_eq!(silent(8, 60_015), Span::ZERO);
        assert_eq!(pulse.missed(), MissedBeats::default(), "a tenth of a second is not told");
    }

    /// A shard that is looked at every 50 ms, and beats at 0, from 1.55 s to 2 s, and after 5 s: what was seen of it when
    /// only what comes after `counts_from_ms` counts.
    fn watched(counts_from_ms: u64) -> (Vec<(u64, Change)>, MissedBeats) {
        let mut pulse = Pulse::new(at_ms(0));
        let beats = |ms: u64| if ms < 1_550 { 1 } else { ms.min(2_000) + u64::from(ms > 5_000) };
        let changes = (1..=120)
            .map(|look| look * 50)
            .filter_map(|ms| Some((ms, pulse.feel(beats(ms), at_ms(ms), ms > counts_from_ms)?)))
            .collect();
        (changes, pulse.missed())
    }

    #[test]
    fn each_silence_of_a_second_is_noticed_once_and_counted_to_its_end() {
        let (changes, told) = watched(0);
        let again = |ms| Change::BeatsAgain(Span::from_ms(ms));
        assert_eq!(
            changes,
            [
                (1_050, Change::FellSilent),
                (1_550, again(1_450)),
                (3_000, Change::FellSilent),
                (5_050, again(3_000))
            ]
        );
        assert_eq!(told, missed(2, 4_450, 3_000));
    }

    #[test]
    fn a_silence_counts_from_when_its_shard_is_needed() {
        let (changes, told) = watched(4_000);
        assert_eq!(changes, watched(0).0, "it is noticed all the same");
        assert_eq!(told, missed(1, 1_000, 1_000));
    }
}
