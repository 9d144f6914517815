//! The offset from `CLOCK_REALTIME`, which kernel receive stamps are in, to `CLOCK_MONOTONIC`, which everything else is in.
//!
//! It reads no clock: readings are handed in, so that tests can plant steps and stalls.
//! `docs/METHOD.md`, "Instants of one request".

use crate::time::{Instant, Span};

/// One look at two clocks: MONO, REALTIME (or a card's own), MONO.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ClockReading {
    /// `CLOCK_MONOTONIC` just before.
    pub before: Instant,
    /// `CLOCK_REALTIME`, in nanoseconds since 1970; of a card, whatever it counts from.
    pub realtime_ns: u64,
    /// `CLOCK_MONOTONIC` just after.
    pub after: Instant,
}

impl ClockReading {
    /// Realtime less monotonic, at the middle of the bracket.
    fn offset_ns(&self) -> i128 {
        i128::from(self.realtime_ns) - i128::from(self.before.as_ns()) - i128::from(self.width_ns() / 2)
    }

    /// The middle of the bracket.
    pub(super) fn middle(&self) -> Instant {
        Instant::from_ns(self.before.as_ns() + self.width_ns() / 2)
    }

    /// Half the bracket, rounded up.
    pub(super) fn half_width(&self) -> Span {
        Span::from_ns(i64::try_from(self.half_width_ns()).expect("a bracket is shorter than 292 years"))
    }

    fn width_ns(&self) -> u64 {
        self.after.as_ns().saturating_sub(self.before.as_ns())
    }

    /// How far off the offset can be: half the bracket, rounded up.
    fn half_width_ns(&self) -> u64 {
        self.width_ns().div_ceil(2)
    }
}

/// What became of an offered reading.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Offered {
    /// It agrees with the offset (and has narrowed it, where it was tighter).
    Agrees,
    /// Its bracket is too wide to tell anything: read again, at most [`RealtimeOffset::RETRIES`] times.
    TooWide,
    /// It disagrees: a clock step, if the next one says the same.
    Doubted,
    /// The second in a row to say so: the clock stepped, and the offset with it.
    Stepped,
}

/// Maps kernel stamps to instants, and knows how well.
///
/// Both clocks are slewed alike by NTP, so their difference changes only when somebody steps the clock: the tightest
/// reading since the last step is kept, and anything that cannot agree with it is a step.
#[derive(Clone, Debug)]
pub struct RealtimeOffset {
    offset_ns: i128,
    bound_ns: u64,
    doubted: Option<ClockReading>,
    steps: u64,
}

impl RealtimeOffset {
    /// Wider brackets were interrupted and tell little (METHOD.md).
    pub const WIDEST: Span = Span::from_us(2);
    /// How often a wide bracket is read again before the old offset stays (METHOD.md).
    pub const RETRIES: usize = 3;

    /// The offset by the first reading, however wide: there is no older one to keep.
    #[must_use]
    pub fn new(first: ClockReading) -> Self {
        Self { offset_ns: first.offset_ns(), bound_ns: first.half_width_ns(), doubted: None, steps: 0 }
    }

    /// The offset by the clocks of this host, of the tightest of several readings.
    #[must_use]
    pub fn measure() -> Self {
        let first = (0..=Self::RETRIES).map(|_| super::read_realtime()).min_by_key(ClockReading::width_ns);
        Self::new(first.expect("at least one reading is taken"))
    }

    /// Reads the clocks again; wide brackets at most [`Self::RETRIES`] times more, then the old offset stays.
    pub fn refresh(&mut self) -> Offered {
        let mut outcome = Offered::TooWide;
        for _ in 0..=Self::RETRIES {
            outcome = self.offer(super::read_realtime());
            // A doubted reading is settled at once: stamps must not be mapped by a stale offset for a whole beat.
            if outcome != Offered::TooWide && outcome != Offered::Doubted {
                break;
            }
        }
        outcome
    }

    /// Takes one reading into account.
    pub fn offer(&mut self, reading: ClockReading) -> Offered {
        if i128::from(reading.width_ns()) > i128::from(Self::WIDEST.as_ns()) {
            return Offered::TooWide;
        }
        if agree(self.offset_ns, self.bound_ns, &reading) {
            self.doubted = None;
            if reading.half_width_ns() < self.bound_ns {
                (self.offset_ns, self.bound_ns) = (reading.offset_ns(), reading.half_width_ns());
            }
            return Offered::Agrees;
        }
        match self.doubted.replace(reading) {
            Some(first) if agree(first.offset_ns(), first.half_width_ns(), &reading) => {
                let tighter = if first.width_ns() < reading.width_ns() { first } else { reading };
                (self.offset_ns, self.bound_ns) = (tighter.offset_ns(), tighter.half_width_ns());
                self.doubted = None;
                self.steps += 1;
                Offered::Stepped
            }
            _ => Offered::Doubted,
        }
    }

    /// The instant of a `CLOCK_REALTIME` stamp; `None` for one from before this host started, which no kernel makes.
    #[must_use]
    pub fn instant(&self, seconds: i64, nanoseconds: i64) -> Option<Instant> {
        let stamp_ns = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        u64::try_from(stamp_ns - self.offset_ns).ok().map(Instant::from_ns)
    }

    /// Nanoseconds since 1970 at `instant`: for files that other programs read.
    #[must_use]
    pub fn unix_ns(&self, instant: Instant) -> u64 {
        u64::try_from(i128::from(instant.as_ns()) + self.offset_ns).expect("runs happen after 1970")
    }

    /// The clock bound: how far a mapped stamp can be off.
    #[must_use]
    pub fn bound(&self) -> Span {
        Span::from_ns(i64::try_from(self.bound_ns).expect("a bracket is shorter than 292 years"))
    }

    /// How often the realtime clock was stepped: each is a caveat.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }
}

/// Whether a reading can be of the same offset: the intervals of both touch.
fn agree(offset_ns: i128, bound_ns: u64, reading: &ClockReading) -> bool {
    let apart = (reading.offset_ns() - offset_ns).unsigned_abs();
    apart <= u128::from(bound_ns) + u128::from(reading.half_width_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EPOCH_NS: u64 = 1_700_000_000_000_000_000;

    /// A reading `at_ns` whose clocks differ by `EPOCH_NS + step_ns`, the realtime read `into_ns` into the bracket.
    fn reading(at_ns: u64, width_ns: u64, into_ns: u64, step_ns: i64) -> ClockReading {
        ClockReading {
            before: Instant::from_ns(at_ns),
            realtime_ns: (EPOCH_NS + at_ns + into_ns).checked_add_signed(step_ns).expect("after 1970"),
            after: Instant::from_ns(at_ns + width_ns),
        }
    }

    fn mapped_ns(offset: &RealtimeOffset, realtime_ns: u64) -> u64 {
        let (s, ns) = (realtime_ns / 1_000_000_000, realtime_ns % 1_000_000_000);
        offset
            .instant(i64::try_from(s).expect("fits"), i64::try_from(ns).expect("fits"))
            .expect("after boot")
            .as_ns()
    }

    #[test]
    fn a_stamp_is_mapped_by_the_middle_of_the_bracket() {
        let offset = RealtimeOffset::new(reading(1_000_000, 100, 50, 0));
        assert_eq!(mapped_ns(&offset, EPOCH_NS + 5_000_000), 5_000_000);
        assert_eq!(offset.unix_ns(Instant::from_ns(5_000_000)), EPOCH_NS + 5_000_000);
        assert_eq!(offset.bound(), Span::from_ns(50));
    }

    #[test]
    fn a_tighter_reading_narrows_the_bound_and_a_looser_one_changes_nothing() {
        let mut offset = RealtimeOffset::new(reading(1_000, 1_000, 900, 0));
        assert_eq!(offset.offer(reading(2_000, 60, 30, 0)), Offered::Agrees);
        assert_eq!(offset.bound(), Span::from_ns(30));
        assert_eq!(offset.offer(reading(3_000, 1_900, 1_800, 0)), Offered::Agrees);
        assert_eq!(offset.bound(), Span::from_ns(30));
        assert_eq!(mapped_ns(&offset, EPOCH_NS + 7_000), 7_000);
    }

    #[test]
    fn a_bracket_over_two_microseconds_is_not_believed_even_when_it_disagrees() {
        let mut offset = RealtimeOffset::new(reading(1_000, 60, 30, 0));
        assert_eq!(offset.offer(reading(2_000, 2_001, 10, 900_000)), Offered::TooWide);
        assert_eq!(offset.offer(reading(3_000, 2_000, 1_000, 0)), Offered::Agrees);
        assert_eq!(offset.steps(), 0);
    }

    #[test]
    fn a_step_needs_two_readings_in_agreement() {
        let mut offset = RealtimeOffset::new(reading(1_000, 60, 30, 0));
        assert_eq!(offset.offer(reading(2_000, 60, 30, -4_000_000)), Offered::Doubted);
        assert_eq!(mapped_ns(&offset, EPOCH_NS + 9_000), 9_000, "one reading alone moves nothing");
        assert_eq!(offset.offer(reading(3_000, 40, 20, -4_000_000)), Offered::Stepped);
        assert_eq!(offset.steps(), 1);
        assert_eq!(mapped_ns(&offset, EPOCH_NS + 5_000_000 - 4_000_000), 5_000_000);
    }

    #[test]
    fn a_single_wild_reading_is_forgotten() {
        let mut offset = RealtimeOffset::new(reading(1_000, 60, 30, 0));
        assert_eq!(offset.offer(reading(2_000, 60, 30, 70_000)), Offered::Doubted);
        assert_eq!(offset.offer(reading(3_000, 60, 30, 0)), Offered::Agrees);
        assert_eq!(offset.offer(reading(4_000, 60, 30, 70_000)), Offered::Doubted);
        assert_eq!(offset.offer(reading(5_000, 60, 30, -70_000)), Offered::Doubted, "the two disagree");
        assert_eq!(offset.steps(), 0);
    }

    #[test]
    fn a_stamp_from_before_the_boot_is_none() {
        let offset = RealtimeOffset::new(reading(1_000, 60, 30, 0));
        assert_eq!(offset.instant(12, 0), None);
    }

    #[test]
    fn the_hosts_own_clocks_agree_with_themselves() {
        let mut offset = RealtimeOffset::measure();
        let outcome = offset.refresh();
        assert_ne!(outcome, Offered::Stepped);
        let before = super::super::now();
        let unix = super::super::unix_ns();
        let after = super::super::now();
        let mapped = Instant::from_ns(mapped_ns(&offset, unix));
        assert!(mapped >= before - offset.bound() && mapped <= after + offset.bound());
    }

    proptest! {
        #[test]
        fn the_truth_always_lies_within_the_bound(
            looks in prop::collection::vec(
                (1_u64..1_000_000, 0_u64..2_000).prop_flat_map(|(at, width)| (Just(at), Just(width), 0..=width)),
                1..20,
            ),
        ) {
            let mut offset: Option<RealtimeOffset> = None;
            for (at_ns, width_ns, into_ns) in looks {
                let look = reading(at_ns, width_ns, into_ns, 0);
                match &mut offset {
                    None => offset = Some(RealtimeOffset::new(look)),
                    Some(known) => prop_assert_eq!(known.offer(look), Offered::Agrees),
                }
                let known = offset.as_ref().expect("just set");
                let off = i128::from(mapped_ns(known, EPOCH_NS + 10_000_000)) - 10_000_000;
                prop_assert!(off.unsigned_abs() <= u128::from(known.bound_ns), "off by {off}, bound {}", known.bound_ns);
            }
        }
    }
}
