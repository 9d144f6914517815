//! The kernel's CPU time of a pass, told from how many completions it brought.
//!
//! It must not read the CPU clock: that costs a microsecond or three, as much as a read, so one pass in some is
//! measured and the others are estimated from these.

use crate::time::Span;

/// How many measurements are remembered, about: two seconds of them at a thousand passes a second.
const MEMORY: f64 = 64.0;

/// One measurement in so many passes: then measuring costs a few hundredths of what it measures.
const EVERY: u32 = 32;

/// A line through the measurements, by least squares that forget: kernel time against completions.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct KernelCost {
    measured: f64,
    completions: f64,
    kernel_s: f64,
    spread: f64,
    together: f64,
    passes: u32,
    next: u32,
}

impl KernelCost {
    /// Whether the pass that begins is to be measured: each of the first ones, then one of [`EVERY`], at varying
    /// distances, lest they fall in step with what they measure.
    pub(super) fn is_next_measured(&mut self) -> bool {
        self.passes = self.passes.wrapping_add(1);
        if self.measured < MEMORY / 2.0 {
            return true;
        }
        if self.next > 0 {
            self.next -= 1;
            return false;
        }
        // The multiplier of Knuth's MMIX generator, cut to 32 bits, spreads consecutive numbers.
        self.next = (self.passes.wrapping_mul(1_284_865_837) >> 16) % (2 * EVERY - 1);
        true
    }

    /// Learns from a measured pass.
    pub(super) fn learn(&mut self, completions: usize, kernel: Span) {
        self.measured = (self.measured + 1.0).min(MEMORY);
        let share = 1.0 / self.measured;
        let (more, longer) = (count(completions) - self.completions, kernel.as_s_f64() - self.kernel_s);
        self.completions += share * more;
        self.kernel_s += share * longer;
        self.spread = (1.0 - share) * (self.spread + share * more * more);
        self.together = (1.0 - share) * (self.together + share * more * longer);
    }

    /// What a pass with so many completions took, at most `waited`.
    pub(super) fn estimate(&self, completions: usize, waited: Span) -> Span {
        let slope_s = if self.spread > 0.0 { (self.together / self.spread).max(0.0) } else { 0.0 };
        let seconds = self.kernel_s + slope_s * (count(completions) - self.completions);
        Span::from_s_f64(seconds.clamp(0.0, waited.as_s_f64().max(0.0)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "completions of one pass are far below 2^53")]
fn count(completions: usize) -> f64 {
    completions as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LONG: Span = Span::from_s(1);

    #[test]
    fn a_pass_is_estimated_from_the_line_through_the_measured_ones() {
        let mut cost = KernelCost::default();
        for completions in [1, 5, 2, 9, 4].repeat(40) {
            cost.learn(completions, Span::from_ns(2_000 + 3_000 * i64::try_from(completions).expect("few")));
        }
        for (completions, ns) in [(0, 2_000), (3, 11_000), (20, 62_000)] {
            let off = (cost.estimate(completions, LONG) - Span::from_ns(ns)).as_ns();
            assert!(off.abs() <= 1, "{completions} completions are off by {off} ns");
        }
        assert_eq!(cost.estimate(20, Span::from_us(10)), Span::from_us(10), "no longer than it waited");
    }

    #[test]
    fn passes_that_are_all_alike_are_estimated_alike() {
        let mut cost = KernelCost::default();
        (0..5).for_each(|_| cost.learn(2, Span::from_us(7)));
        assert_eq!(cost.estimate(9, LONG), Span::from_us(7));
        assert_eq!(KernelCost::default().estimate(9, LONG), Span::ZERO);
    }

    #[test]
    fn what_has_changed_is_learnt_anew() {
        let mut cost = KernelCost::default();
        (0..500).for_each(|n| cost.learn(n % 5, Span::from_us(50)));
        (0..500).for_each(|n| cost.learn(n % 5, Span::from_us(5)));
        let now = cost.estimate(2, LONG);
        assert!(now < Span::from_us(6), "{now:?}");
    }

    #[test]
    fn one_pass_in_thirty_two_is_measured_after_the_first_ones() {
        let mut cost = KernelCost::default();
        let mut measured = 0;
        for _ in 0..16_000 {
            if cost.is_next_measured() {
                measured += 1;
                cost.learn(1, Span::from_us(5));
            }
        }
        assert!((450..650).contains(&measured), "{measured} of 16,000");
    }

    proptest! {
        #[test]
        fn an_estimate_lies_within_the_wait(measured in prop::collection::vec((0_usize..200, 0_i64..1_000_000), 0..100), completions in 0_usize..200, waited in 0_i64..1_000_000) {
            let mut cost = KernelCost::default();
            measured.into_iter().for_each(|(completions, ns)| cost.learn(completions, Span::from_ns(ns)));
            let estimate = cost.estimate(completions, Span::from_ns(waited));
            prop_assert!(estimate >= Span::ZERO && estimate <= Span::from_ns(waited + 1));
        }
    }
}
