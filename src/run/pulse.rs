//! The watchdog of one shard: how often it has beaten, and for how long it has not.
//!
//! It must not act on what it sees: the fleet decides for whom it waits.

use crate::analysis::LostTurns;
use crate::time::{Instant, Span};

/// A shard beats at least every 10 ms. One that is silent for so long is kept from its work, and is told.
pub const NOTICED: Span = Span::from_s(1);

/// Two looks at a shard are no further apart than this unless we were kept from looking ourselves: a guest that was paused
/// for a minute has no silent shard.
const LOOKING: Span = Span::from_ms(100);

/// The signs of life of one shard.
#[derive(Clone, Debug)]
pub struct Pulse {
    beats: u64,
    looked: Instant,
    silent: Span,
    silences: LostTurns,
}

/// What a look at a shard showed that the look before had not.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// It has been silent for [`NOTICED`].
    FellSilent,
    /// It beats again, after so long a silence.
    BeatsAgain(Span),
}

impl Pulse {
    /// Of a shard that is watched from `now` on.
    pub fn new(now: Instant) -> Self {
        Self { beats: 0, looked: now, silent: Span::ZERO, silences: LostTurns::default() }
    }

    /// The shard has beaten so often by `now`.
    pub fn feel(&mut self, beats: u64, now: Instant) -> Option<Change> {
        let since = (now - self.looked).min(LOOKING);
        let before = self.silent;
        self.silent = if beats == self.beats { before + since } else { Span::ZERO };
        (self.beats, self.looked) = (beats, now);
        match (before >= NOTICED, self.silent >= NOTICED) {
            (false, true) => {
                self.silences.turns += 1;
                self.lost(self.silent);
                Some(Change::FellSilent)
            }
            (true, true) => {
                self.lost(since);
                None
            }
            (true, false) => Some(Change::BeatsAgain(before)),
            (false, false) => None,
        }
    }

    fn lost(&mut self, more: Span) {
        self.silences.lost += more;
        self.silences.longest = self.silences.longest.max(self.silent);
    }

    /// For how long it has been silent.
    pub const fn silent(&self) -> Span {
        self.silent
    }

    /// The silences that were noticed. Each is one turn of its pump.
    pub const fn silences(&self) -> LostTurns {
        self.silences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_shard_is_silent_for_as_long_as_it_was_watched_and_did_not_beat() {
        let mut pulse = Pulse::new(at_ms(0));
        let mut silent = |beats, ms| {
            assert_eq!(pulse.feel(beats, at_ms(ms)), None);
            pulse.silent()
        };
        assert_eq!(silent(7, 5), Span::ZERO);
        assert_eq!(silent(7, 10), Span::from_ms(5));
        assert_eq!(silent(7, 60_010), Span::from_ms(105), "nobody looked for a minute");
        assert_eq!(silent(8, 60_015), Span::ZERO);
        assert_eq!(pulse.silences(), LostTurns::default(), "a tenth of a second is not told");
    }

    #[test]
    fn each_silence_of_a_second_is_noticed_once_and_counted_to_its_end() {
        let mut pulse = Pulse::new(at_ms(0));
        // It beats at 0, from 1.55 s to 2 s, and after 5 s.
        let beats = |ms: u64| if ms < 1_550 { 1 } else { ms.min(2_000) + u64::from(ms > 5_000) };
        let changes: Vec<_> = (1..=120)
            .map(|look| look * 50)
            .filter_map(|ms| Some((ms, pulse.feel(beats(ms), at_ms(ms))?)))
            .collect();
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
        let told = LostTurns { turns: 2, lost: Span::from_ms(4_450), longest: Span::from_ms(3_000) };
        assert_eq!(pulse.silences(), told);
    }
}
