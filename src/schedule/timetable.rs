//! The windows of a run: which stage and phase an instant belongs to.
//! It must not know any request: a closed loop asks it about instants that nobody could plan.

use crate::time::{Instant, Phase, Span};

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

    fn shifted(self, by: Span) -> Self {
        Self {
            start: self.start + by,
            measured_from: self.measured_from + by,
            measured_until: shift(self.measured_until, by),
        }
    }
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
    fn a_shift_moves_everything_but_never() {
        let open_ended = Window { measured_until: Instant::NEVER, ..timetable().windows()[0] };
        let moved = Timetable::new(vec![open_ended], Instant::NEVER).shifted(Span::from_s(5));
        assert_eq!(moved.windows()[0].measured_from, at(20));
        assert_eq!((moved.windows()[0].measured_until, moved.load_until()), (Instant::NEVER, Instant::NEVER));
        assert_eq!(moved.place(at(3_000)), Some((0, Phase::Measured)));
    }
}
