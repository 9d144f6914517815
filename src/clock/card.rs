//! The way from a network card's own clock (PHC), which hardware stamps are in, to `CLOCK_MONOTONIC`.
//!
//! It reads no clock but through [`CardClock`]: readings are handed in, so that tests can plant drifts, steps and stalls.

use super::ClockReading;
use crate::time::{Instant, Span};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io;
use rustix::time::{DynamicClockId, clock_gettime_dynamic};

/// A card's clock, as `/dev/ptp0`.
#[derive(Debug)]
pub struct CardClock(OwnedFd);

impl CardClock {
    /// Opens the card's clock of this number.
    ///
    /// # Errors
    /// It is not there, or this user may not read it.
    pub fn open(number: u32) -> io::Result<Self> {
        let file = open(format!("/dev/ptp{number}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self(file))
    }

    /// Reads MONO, CARD, MONO; `None` where the card does not answer.
    #[must_use]
    pub fn read(&self) -> Option<ClockReading> {
        let before = super::now();
        let time = clock_gettime_dynamic(DynamicClockId::Dynamic(self.0.as_fd())).ok()?;
        let after = super::now();
        let seconds = u64::try_from(time.tv_sec).ok()?;
        let realtime_ns =
            seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(time.tv_nsec).ok()?)?;
        Some(ClockReading { before, realtime_ns, after })
    }
}

/// Readings taken at once, of which the tightest is believed: crossing the bus to a card takes a microsecond or three.
const TRIES: usize = 4;

/// No crystal is off by more, and none that is being steered is turned faster (ptp4l's default limit is 0.9 per mille).
const FASTEST: f64 = 1e-3;

/// Slopes over less than this are mostly noise of the readings.
const LEAST_BASE: Span = Span::from_ms(900);

/// Maps a card's stamps to instants, and knows how well. The card's clock runs free or is steered by somebody else, so it is
/// followed by a line: its latest reading, and its rate since a reading about a second before.
#[derive(Clone, Debug)]
pub struct CardOffset {
    latest: ClockReading,
    base: ClockReading,
    /// Monotonic time per time of the card, less one.
    rate: f64,
    /// The largest miss of the line at a later reading so far.
    miss: Span,
    steps: u64,
}

impl CardOffset {
    /// The line through the first reading, which has no slope yet.
    #[must_use]
    pub const fn new(first: ClockReading) -> Self {
        Self { latest: first, base: first, rate: 0.0, miss: Span::ZERO, steps: 0 }
    }

    /// The line through readings of `card`; `None` where it does not answer.
    #[must_use]
    pub fn measure(card: &CardClock) -> Option<Self> {
        Some(Self::new(tightest(card)?))
    }

    /// Reads the card again. Where it does not answer the line stays.
    pub fn refresh(&mut self, card: &CardClock) {
        if let Some(reading) = tightest(card) {
            self.offer(reading);
        }
    }

    /// Takes one reading into account.
    pub fn offer(&mut self, reading: ClockReading) {
        let Some(expected) = self.at(reading.realtime_ns) else { return self.step(reading) };
        let miss = Span::from_ns((expected - reading.middle()).as_ns().abs());
        let since = (reading.middle() - self.latest.middle()).as_s_f64().abs();
        let drifted = Span::from_s_f64(since * FASTEST) + reading.half_width() + self.latest.half_width();
        if miss > drifted {
            return self.step(reading);
        }
        self.miss = self.miss.max(miss);
        let monotonic = reading.middle() - self.base.middle();
        if monotonic >= LEAST_BASE {
            let of_card = signed(reading.realtime_ns) - signed(self.base.realtime_ns);
            #[expect(clippy::cast_precision_loss, reason = "a second of nanoseconds has 30 bits")]
            let ratio = monotonic.as_ns() as f64 / of_card as f64;
            self.rate = (ratio - 1.0).clamp(-FASTEST, FASTEST);
            self.base = self.latest_or(reading);
        }
        self.latest = reading;
    }

    /// The instant of a stamp of the card.
    #[must_use]
    pub fn instant(&self, seconds: i64, nanoseconds: i64) -> Option<Instant> {
        let stamp = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        self.at(u64::try_from(stamp).ok()?)
    }

    /// How far a mapped stamp can be off: the bracket of the reading, and the largest miss seen at a later one.
    #[must_use]
    pub fn bound(&self) -> Span {
        self.latest.half_width() + self.miss
    }

    /// How often somebody set the card's clock: each is a caveat.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Where the line is when the card shows `card_ns`.
    fn at(&self, card_ns: u64) -> Option<Instant> {
        let after = signed(card_ns) - signed(self.latest.realtime_ns);
        #[expect(clippy::cast_precision_loss, reason = "a correction of a thousandth at the most")]
        let seconds_off = self.rate * (after as f64 / 1e9);
        let ns = i128::from(self.latest.middle().as_ns())
            + after
            + i128::from(Span::from_s_f64(seconds_off).as_ns());
        u64::try_from(ns).ok().map(Instant::from_ns)
    }

    /// The slope is told anew from the reading before the new one, so that it follows a clock that is steered.
    fn latest_or(&self, reading: ClockReading) -> ClockReading {
        if self.latest.before > self.base.before { self.latest } else { reading }
    }

    fn step(&mut self, reading: ClockReading) {
        self.steps += 1;
        (self.latest, self.base, self.rate) = (reading, reading, 0.0);
    }
}

fn tightest(card: &CardClock) -> Option<ClockReading> {
    (0..TRIES).filter_map(|_| card.read()).min_by_key(ClockReading::half_width)
}

fn signed(ns: u64) -> i128 {
    i128::from(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EPOCH: u64 = 1_700_000_000_000_000_000;

    /// A card whose clock gains `ppm` millionths on the monotonic one.
    fn reading(at_ms: u64, ppm: i64, step_ns: i64) -> ClockReading {
        let at_ns = at_ms * 1_000_000;
        let gained = i64::try_from(at_ns / 1_000_000).unwrap() * ppm + step_ns;
        ClockReading {
            before: Instant::from_ns(at_ns - 500),
            realtime_ns: (EPOCH + at_ns).checked_add_signed(gained).unwrap(),
            after: Instant::from_ns(at_ns + 500),
        }
    }

    /// By how much a stamp that the card makes at `at_ms` is misplaced.
    fn off_ns(offset: &CardOffset, at_ms: u64, ppm: i64, step_ns: i64) -> i64 {
        let stamp = reading(at_ms, ppm, step_ns).realtime_ns;
        let (s, ns) = (stamp / 1_000_000_000, stamp % 1_000_000_000);
        let mapped = offset.instant(i64::try_from(s).unwrap(), i64::try_from(ns).unwrap()).unwrap();
        (mapped - Instant::from_ns(at_ms * 1_000_000)).as_ns()
    }

    #[test]
    fn a_clock_that_gains_is_followed_once_its_rate_is_known() {
        let mut offset = CardOffset::new(reading(1_000, 40, 0));
        for n in 1..=30 {
            offset.offer(reading(1_000 + n * 100, 40, 0));
        }
        assert!(off_ns(&offset, 4_100, 40, 0).abs() <= 10, "{}", off_ns(&offset, 4_100, 40, 0));
        assert_eq!(offset.steps(), 0);
        // Before its rate was known it missed by 4 us in a tenth of a second, and says so.
        assert!(
            offset.bound() >= Span::from_us(4) && offset.bound() < Span::from_us(6),
            "{:?}",
            offset.bound()
        );
    }

    #[test]
    fn a_clock_that_was_set_is_followed_from_there_and_counted() {
        let mut offset = CardOffset::new(reading(1_000, 0, 0));
        offset.offer(reading(1_100, 0, 0));
        offset.offer(reading(1_200, 0, 37_000_000_000));
        assert_eq!(offset.steps(), 1);
        assert_eq!(off_ns(&offset, 1_250, 0, 37_000_000_000), 0);
        offset.offer(reading(1_300, 0, 0));
        assert_eq!((offset.steps(), off_ns(&offset, 1_350, 0, 0)), (2, 0));
    }

    #[test]
    fn a_card_that_is_not_there_is_an_error_and_one_that_is_is_followed() {
        assert!(CardClock::open(4_000_000).is_err());
        // Some guests have their host's clock as a card.
        let Ok(card) = CardClock::open(0) else { return };
        let mut offset = CardOffset::measure(&card).expect("an open clock answers");
        offset.refresh(&card);
        let reading = card.read().expect("an open clock answers");
        let mapped = offset.at(reading.realtime_ns).expect("after the boot");
        let slack = offset.bound() + Span::from_ms(1);
        assert!(mapped >= reading.before - slack && mapped <= reading.after + slack);
    }

    proptest! {
        #[test]
        fn the_truth_lies_within_the_bound_of_any_steady_clock(ppm in -200_i64..200, beats in 2_u64..60) {
            let mut offset = CardOffset::new(reading(1_000, ppm, 0));
            for n in 1..=beats {
                offset.offer(reading(1_000 + n * 100, ppm, 0));
            }
            let off = off_ns(&offset, 1_000 + beats * 100 + 100, ppm, 0);
            prop_assert_eq!(offset.steps(), 0);
            prop_assert!(Span::from_ns(off.abs()) <= offset.bound() + Span::from_ns(20), "{} of {:?}", off, offset.bound());
        }
    }
}
