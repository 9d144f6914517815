//! The measured window of a stage, and its twenty blocks.
//!
//! It must not know what is measured in it.

use super::Record;
use crate::time::{Instant, Phase, Span};

/// Blocks into which a window is cut, to see how much its own parts differ (docs/METHOD.md, "Populations, window, censoring").
pub const BLOCKS: usize = 20;

/// The window of one stage: from `from`, and before `until`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its first instant: start of the stage + warm-up.
    pub from: Instant,
    /// Its end; `None` where only the last request tells (a closed loop with a number of requests).
    pub until: Option<Instant>,
    /// What its blocks are made of.
    pub blocks: Blocks,
    /// Where the run was cut short, if it was: nothing from then on lies inside, and the blocks stay where they were.
    cut: Option<Instant>,
}

/// What the blocks of a window are made of.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Blocks {
    /// Equal parts of time, by the instant a request is due.
    Time,
    /// Equal parts of a number of requests, by index.
    Requests {
        /// The index of the first measured one.
        first: u64,
        /// How many are measured, at least 1.
        count: u64,
    },
}

impl Window {
    /// A window of time.
    ///
    /// # Panics
    /// When it is empty: the plan refuses such durations.
    #[must_use]
    pub fn of_time(from: Instant, until: Instant) -> Self {
        assert!(from < until, "a window has a duration");
        Self { from, until: Some(until), blocks: Blocks::Time, cut: None }
    }

    /// A window of `count` requests, the first of which has index `first`; `until` is known where the schedule fixes the
    /// instant of the last one (open loop).
    ///
    /// # Panics
    /// When `count` is 0: the plan refuses that.
    #[must_use]
    pub fn of_requests(from: Instant, until: Option<Instant>, first: u64, count: u64) -> Self {
        assert!(count > 0, "a window has requests");
        Self {
            from,
            until: until.map(|until| until.max(from + Span::from_ns(1))),
            blocks: Blocks::Requests { first, count },
            cut: None,
        }
    }

    /// Ends it at `at`, where nothing ended it before: the run was cut short.
    pub fn cut(&mut self, at: Instant) {
        self.cut = Some(self.cut.map_or(at, |before| before.min(at)));
    }

    /// The instants at which it begins and ends, as far as they are known.
    pub fn edges(&self) -> impl Iterator<Item = Instant> {
        [Some(self.from), self.until, self.cut].into_iter().flatten()
    }

    /// The same window of a run that starts so much later.
    #[must_use]
    pub fn shifted(&self, by: Span) -> Self {
        let later = |at: Instant| at + by;
        Self {
            from: later(self.from),
            until: self.until.map(later),
            blocks: self.blocks,
            cut: self.cut.map(later),
        }
    }

    /// Whether `at` lies inside.
    #[must_use]
    pub fn contains(&self, at: Instant) -> bool {
        at >= self.from && [self.until, self.cut].into_iter().flatten().all(|end| at < end)
    }

    /// How much of [begun, over) lies inside.
    #[must_use]
    pub fn overlap(&self, begun: Instant, over: Instant) -> Span {
        let end = [self.until, self.cut].into_iter().flatten().fold(over, Instant::min);
        (end - begun.max(self.from)).max(Span::ZERO)
    }

    /// Its length, where it is known beforehand.
    #[must_use]
    pub fn duration(&self) -> Option<Span> {
        self.until.map(|until| until - self.from)
    }

    /// The block to which a measured request belongs.
    pub(super) fn block_of(&self, record: &Record) -> usize {
        debug_assert_eq!(record.phase, Phase::Measured);
        match self.blocks {
            Blocks::Time => self.block_at(record.due),
            Blocks::Requests { first, count } => {
                part(record.index.saturating_sub(first).min(count - 1), count)
            }
        }
    }

    fn block_at(&self, at: Instant) -> usize {
        let length = self.duration().expect("a window of time has an end").as_ns().unsigned_abs();
        let inside = u64::try_from((at - self.from).as_ns()).unwrap_or(0);
        part(inside.min(length - 1), length)
    }

    /// The part of time that holds `at`, where the window's end is fixed and `at` lies inside.
    pub(super) fn part_at(&self, at: Instant) -> Option<usize> {
        (self.until.is_some() && self.contains(at)).then(|| self.block_at(at))
    }

    /// How long [begun, over) lies in each of twenty equal parts of the window: (part, nanoseconds). None where the end is unknown.
    pub(super) fn shares(&self, begun: Instant, over: Instant) -> impl Iterator<Item = (usize, u64)> {
        let (from, until) = (self.from.as_ns(), self.until.map_or(self.from.as_ns(), Instant::as_ns));
        let over = self.cut.map_or(over, |cut| cut.min(over));
        let (begun, over) = (begun.as_ns().max(from), over.as_ns().min(until));
        let inside = begun < over;
        let first = if inside { self.block_at(Instant::from_ns(begun)) } else { BLOCKS };
        (first..BLOCKS).map_while(move |block| {
            let start = edge(from, until, block);
            let end = edge(from, until, block + 1);
            (start < over).then(|| (block, over.min(end).saturating_sub(begun.max(start))))
        })
    }

    /// The length of each of its twenty parts of time, where the end is known.
    #[must_use]
    pub fn part_lengths(&self) -> Option<[Span; BLOCKS]> {
        let (from, until) = (self.from.as_ns(), self.until?.as_ns());
        Some(std::array::from_fn(|block| {
            let length = edge(from, until, block + 1) - edge(from, until, block);
            Span::from_ns(i64::try_from(length).expect("a part of a window is a span"))
        }))
    }
}

/// Where the block begins: the least instant that [`part`] puts into it.
fn edge(from: u64, until: u64, block: usize) -> u64 {
    from + u64::try_from((u128::from(until - from) * block as u128).div_ceil(BLOCKS as u128))
        .expect("inside the window")
}

/// floor(20 x / of).
fn part(x: u64, of: u64) -> usize {
    usize::try_from(u128::from(x) * BLOCKS as u128 / u128::from(of)).expect("under twenty")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_window_holds_its_first_instant_and_not_its_last() {
        let window = Window::of_time(at(100), at(200));
        assert!(window.contains(at(100)) && !window.contains(at(200)) && !window.contains(at(99)));
        assert!(Window::of_requests(at(100), None, 0, 5).contains(at(1 << 60)));
    }

    #[test]
    fn a_window_that_was_cut_holds_nothing_from_then_on_and_its_blocks_stay() {
        let whole = Window::of_time(at(1_000), at(3_000));
        let mut window = whole;
        window.cut(at(2_000));
        window.cut(at(2_500));
        assert!(window.contains(at(1_999)) && !window.contains(at(2_000)));
        assert_eq!(window.part_at(at(1_950)), whole.part_at(at(1_950)));
        assert_eq!(window.shares(at(0), at(9_000)).map(|(_, ns)| ns).sum::<u64>(), 1_000);
        let mut open = Window::of_requests(at(100), None, 0, 5);
        open.cut(at(200));
        assert!(open.contains(at(199)) && !open.contains(at(200)));
        let overlap = |begun, over| open.overlap(at(begun), at(over)).as_ns();
        assert_eq!(
            (overlap(0, 150), overlap(150, 900), overlap(0, 900), overlap(0, 90), overlap(200, 900)),
            (50, 50, 100, 0, 0)
        );
        // One that begins later is empty.
        let mut later = Window::of_time(at(3_000), at(4_000));
        later.cut(at(2_000));
        assert!(!later.contains(at(3_500)) && later.shares(at(0), at(9_000)).count() == 0);
    }

    #[test]
    fn a_request_over_the_whole_window_fills_every_block() {
        let window = Window::of_time(at(1_000), at(3_000));
        let shares: Vec<_> = window.shares(at(0), at(9_000)).collect();
        assert_eq!(shares.len(), BLOCKS);
        assert!(shares.iter().all(|(_, ns)| *ns == 100));
        assert_eq!(window.shares(at(0), at(1_000)).count(), 0);
        assert_eq!(window.shares(at(3_000), at(4_000)).count(), 0);
        assert_eq!(Window::of_requests(at(0), None, 0, 5).shares(at(1), at(4_000)).count(), 0);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_time_inside(from in 0_u64..1_000, length in 1_u64..5_000, begun in 0_u64..8_000, age in 0_u64..8_000) {
            let window = Window::of_time(at(from), at(from + length));
            let over = begun + age;
            let inside = over.min(from + length).saturating_sub(begun.max(from));
            prop_assert_eq!(window.shares(at(begun), at(over)).map(|(_, ns)| ns).sum::<u64>(), inside);
            let parts = window.part_lengths().expect("it has an end");
            prop_assert!(window.shares(at(begun), at(over)).all(|(block, ns)| i64::try_from(ns).unwrap() <= parts[block].as_ns()));
        }
    }
}
