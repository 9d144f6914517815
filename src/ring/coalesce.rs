//! How long the pump lets arrivals gather before it harvests.
//!
//! It must not read a clock or wait: it decides from what it is told.

use crate::time::Span;

/// Whether arrivals are let gather.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Coalesce {
    /// Every arrival wakes the pump.
    Never,
    /// At least this long between harvests, while anything arrives; an arrival after a longer silence wakes at once.
    Window(Span),
    /// Short when little arrives, up to 250 us under load.
    Auto,
}

/// The longest window: it halves the CPU at 50,000 events/s, and a longer one gains little more
/// (`docs/ARCHITECTURE.md`, "The shard").
const LONGEST: Span = Span::from_us(250);
/// The shortest window worth a timer; below it the pump does not gather at all.
const SHORTEST: Span = Span::from_us(30);
/// Where the window starts and ends to shrink: two steps of growth from being one.
const LEAST: Span = Span::from_us(8);
/// An arrival this soon after a window's end would likely have had company in a longer one.
const SOON: Span = Span::from_us(125);

/// The window, as it adapts.
#[derive(Copy, Clone, Debug)]
pub(super) struct Coalescing {
    mode: Coalesce,
    /// The window; below [`SHORTEST`] it is only the inclination to have one.
    width: Span,
}

impl Coalescing {
    pub(super) fn new(mode: Coalesce) -> Self {
        let width = match mode {
            Coalesce::Window(window) => window,
            Coalesce::Never => Span::ZERO,
            Coalesce::Auto => LEAST,
        };
        Self { mode, width }
    }

    /// How long to let arrivals gather now; zero = the first one wakes.
    pub(super) fn window(&self) -> Span {
        if self.mode == Coalesce::Auto && self.width < SHORTEST { Span::ZERO } else { self.width }
    }

    /// Learns from one wait: how long it was, and how many reads it brought.
    ///
    /// Company doubles the window, and so does an arrival soon after its end; a lone arrival after a silence takes a
    /// quarter off, so that bursts between silences keep it.
    pub(super) fn learn(&mut self, waited: Span, reads: usize) {
        if self.mode != Coalesce::Auto || reads == 0 {
            return;
        }
        let grows = reads > 1 || waited - self.window() <= SOON;
        self.width = if grows { self.width * 2 } else { self.width * 3 / 4 }.clamp(LEAST, LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(mode: Coalesce, waits: &[(i64, usize)]) -> Span {
        let mut coalescing = Coalescing::new(mode);
        for (waited_us, reads) in waits {
            coalescing.learn(Span::from_us(*waited_us), *reads);
        }
        coalescing.window()
    }

    #[test]
    fn under_load_the_window_grows_to_its_longest_within_a_few_passes() {
        assert_eq!(after(Coalesce::Auto, &[(5, 1), (40, 1), (70, 3), (130, 5)]), Span::from_us(128));
        assert_eq!(after(Coalesce::Auto, &[(5, 9); 5]), LONGEST);
    }

    #[test]
    fn when_little_arrives_there_is_no_window() {
        assert_eq!(after(Coalesce::Auto, &[(900, 1); 3]), Span::ZERO);
        let mut waits = vec![(5, 9); 6];
        waits.extend([(5_000, 1); 9]);
        assert_eq!(after(Coalesce::Auto, &waits), Span::ZERO);
    }

    #[test]
    fn a_burst_after_each_silence_keeps_a_window_for_its_company() {
        // An engine's step: one token for each of 16 sequences, then 10 ms of silence.
        let mut coalescing = Coalescing::new(Coalesce::Auto);
        for _ in 0..10 {
            coalescing.learn(Span::from_ms(10), 1);
            coalescing.learn(coalescing.window(), 15);
        }
        assert_eq!(coalescing.window(), LONGEST);
    }

    #[test]
    fn timers_teach_nothing() {
        let mut waits = vec![(5, 9); 6];
        waits.extend([(5_000, 0); 9]);
        assert_eq!(after(Coalesce::Auto, &waits), LONGEST);
    }

    proptest! {
        #[test]
        fn the_window_stays_within_its_bounds_and_fixed_ones_do_not_move(waits in prop::collection::vec((0_i64..10_000, 0_usize..40), 0..100)) {
            let auto = after(Coalesce::Auto, &waits);
            prop_assert!(auto == Span::ZERO || (auto >= SHORTEST && auto <= LONGEST), "{auto:?}");
            prop_assert_eq!(after(Coalesce::Never, &waits), Span::ZERO);
            prop_assert_eq!(after(Coalesce::Window(Span::from_us(50)), &waits), Span::from_us(50));
        }
    }
}
