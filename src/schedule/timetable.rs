//! The windows of a run: which stage and phase an instant belongs to, and which of a window's blocks.
//! It must not know any request: a closed loop asks it about instants that nobody could plan.

use crate::time::{Instant, Phase, Span};

/// Parts of equal length of each window: METHOD.md, "Populations", takes the spread between them as evidence of how
/// much the window's requests depend on each other.
pub const BLOCKS: usize = 20;

/// One stage's place in time.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// Where its own warm-up begins.
    pub start: Instant,
    /// Where its window begins: what is due from here on counts.
    pub measured_from: Instant,
    /// Where its window ends (not part of it). `--requests` with an open loop: where the first request too many would
    /// have been due. `--requests` with a closed loop: [`Instant::NEVER`], since the server decides.
    pub measured_until: Instant,
}

impl Window {
    /// The window's length; `None` when its end is the server's to decide.
    #[must_use]
    pub fn length(&self) -> Option<Span> {
        (self.measured_until != Instant::NEVER).then(|| self.measured_until - self.measured_from)
    }

    /// The block (0 to [`BLOCKS`] - 1) that `at` falls into; `None` outside the window or when it has no known end.
    #[must_use]
    pub fn block(&self, at: Instant) -> Option<usize> {
        if at < self.measured_from || at >= self.measured_until {
            return None;
        }
        let passed = u64::try_from((at - self.measured_from).as_ns()).expect("at is past the start");
        let whole = u64::try_from(self.length()?.as_ns()).expect("a window ends after its start");
        Some(block_of_count(passed, whole))
    }

    fn shifted(self, by: Span) -> Self {
        Self {
            start: self.start + by,
            measured_from: self.measured_from + by,
            measured_until: shift(self.measured_until, by),
        }
    }
}

/// The block (0 to [`BLOCKS`] - 1) of the `nth` (from 0) of `of` requests or nanoseconds.
///
/// # Panics
/// When `nth` is not below `of`.
#[must_use]
pub fn block_of_count(nth: u64, of: u64) -> usize {
    assert!(nth < of, "{nth} is not one of {of}");
    let block = u128::from(nth) * 20 / u128::from(of);
    usize::try_from(block).expect("a block is below 20")
}

/// All windows of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timetable {
    windows: Vec<Window>,
    load_until: Instant,
}

impl Timetable {
    pub(super) const fn new(windows: Vec<Window>, load_until: Instant) -> Self {
        Self { windows, load_until }
    }

    pub(super) fn shifted(&self, by: Span) -> Self {
        Self {
            windows: self.windows.iter().map(|window| window.shifted(by)).collect(),
            load_until: shift(self.load_until, by),
        }
    }

    /// One window for each stage, one after another.
    #[must_use]
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Where load ends at the latest: the cool-down's end.
    #[must_use]
    pub const fn load_until(&self) -> Instant {
        self.load_until
    }

    /// The stage and phase of a request due at `at`; `None` before the run and after the cool-down.
    #[must_use]
    pub fn place(&self, at: Instant) -> Option<(u16, Phase)> {
        let begun = self.windows.partition_point(|window| window.start <= at);
        let last = begun.checked_sub(1)?;
        let window = self.windows[last];
        let stage = u16::try_from(last).expect("stages are checked to fit");
        if at < window.measured_from {
            Some((stage, Phase::Warmup))
        } else if at < window.measured_until {
            Some((stage, Phase::Measured))
        } else if at < self.load_until {
            Some((stage, Phase::Cooldown))
        } else {
            None
        }
    }
}

fn shift(at: Instant, by: Span) -> Instant {
    if at == Instant::NEVER { at } else { at + by }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_ns(s * 1_000_000_000)
    }

    fn timetable() -> Timetable {
        let window = |start, from, until| Window {
            start: at(start),
            measured_from: at(from),
            measured_until: at(until),
        };
        Timetable::new(vec![window(10, 15, 35), window(35, 35, 40)], at(50))
    }

    #[test]
    fn an_instant_belongs_to_the_window_it_falls_into() {
        let timetable = timetable();
        for (s, expected) in [
            (9, None),
            (10, Some((0, Phase::Warmup))),
            (15, Some((0, Phase::Measured))),
            (34, Some((0, Phase::Measured))),
            (35, Some((1, Phase::Measured))),
            (40, Some((1, Phase::Cooldown))),
            (49, Some((1, Phase::Cooldown))),
            (50, None),
        ] {
            assert_eq!(timetable.place(at(s)), expected, "at {s} s");
        }
    }

    #[test]
    fn blocks_divide_a_window_evenly_and_leave_no_instant_out() {
        let window = timetable().windows()[0];
        assert_eq!(window.block(at(14)), None);
        assert_eq!(window.block(at(15)), Some(0));
        assert_eq!(window.block(at(16) - Span::from_ns(1)), Some(0));
        assert_eq!(window.block(at(16)), Some(1));
        assert_eq!(window.block(at(35) - Span::from_ns(1)), Some(BLOCKS - 1));
        assert_eq!(window.block(at(35)), None);
    }

    #[test]
    fn blocks_of_a_count_hold_equal_shares() {
        let mut shares = [0; BLOCKS];
        (0..1_000).for_each(|nth| shares[block_of_count(nth, 1_000)] += 1);
        assert_eq!(shares, [50; BLOCKS]);
        assert_eq!((block_of_count(0, 3), block_of_count(2, 3)), (0, 13));
    }

    #[test]
    fn a_shift_moves_everything_but_never() {
        let open_ended = Window { measured_until: Instant::NEVER, ..timetable().windows()[0] };
        let moved = Timetable::new(vec![open_ended], Instant::NEVER).shifted(Span::from_s(5));
        assert_eq!(moved.windows()[0].measured_from, at(20));
        assert_eq!((moved.windows()[0].measured_until, moved.load_until()), (Instant::NEVER, Instant::NEVER));
        assert_eq!(moved.windows()[0].block(at(30)), None);
        assert_eq!(moved.place(at(3_000)), Some((0, Phase::Measured)));
    }
}
