//! A quantile with its interval: order statistics over an effective number of independent values
//! (docs/METHOD.md, "Populations, window, censoring").
//!
//! It must not know which metric it estimates. Values in one run are not independent: a queue makes neighbours alike. How much
//! the blocks of a window differ tells how many independent values the run is worth.

use super::student::two_sided;
use crate::record::Histogram;
use crate::time::Span;

/// The probability with which an interval holds the true quantile.
pub const CONFIDENCE: f64 = 0.95;

/// A quantile is told only when so many independent values are expected above it.
const LEAST_ABOVE: f64 = 3.0;

/// A quantile and how well it is known.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Quantile {
    /// The value.
    pub value: Span,
    /// The 95 % interval: low, high.
    pub interval: [Span; 2],
    /// How many independent values it rests on.
    pub n_eff: f64,
}

impl Quantile {
    /// The quantile `q` of `values`, which fell into `blocks` and came from `requests` requests; `None` when
    /// too few independent values lie above it.
    #[must_use]
    pub fn of(values: &Histogram, blocks: &[Histogram], requests: u64, q: f64) -> Option<Self> {
        let value = values.quantile(q)?;
        let seen: Vec<Block> = blocks.iter().map(|block| Block::of(block, value)).collect();
        let (n_eff, degrees) = effective(&seen, q, requests)?;
        if !enough(n_eff, q) {
            return None;
        }
        let margin = two_sided(CONFIDENCE, degrees) * libm::sqrt(q * (1.0 - q) / n_eff);
        let (low, high) = (q - margin, q + margin);
        let low = if low > 0.0 { values.quantile(low) } else { values.min() };
        let high = if high < 1.0 { values.quantile(high) } else { values.max() };
        Some(Self { value: span(value), interval: [span(low?), span(high?)], n_eff })
    }
}

/// What one block of a window has to say about a value.
#[derive(Copy, Clone)]
pub(super) struct Block {
    count: f64,
    above: f64,
}

impl Block {
    pub(super) fn of(values: &Histogram, value: u64) -> Self {
        Self { count: float(values.count()), above: values.above(value) }
    }

    /// So many values, so many of them above.
    pub(super) fn counted(count: u64, above: u64) -> Self {
        Self { count: float(count), above: float(above) }
    }

    /// With so many infinite values more, which are above any.
    pub(super) fn and_infinite(self, infinite: u64) -> Self {
        Self { count: self.count + float(infinite), above: self.above + float(infinite) }
    }
}

/// Whether so many independent values tell the quantile `q`.
pub(super) fn enough(n_eff: f64, q: f64) -> bool {
    // 1 - q is not exact in binary (1 - 0.99 is a hair above 0.01): a whole number of requests must not hang on it.
    n_eff * (1.0 - q) >= LEAST_ABOVE * (1.0 - 1e-9)
}

/// n_eff = q (1 - q) / Var(mean of the blocks' 1[x > Q]), at most `most`, and the degrees of freedom behind it. Blocks hold
/// unequal numbers of values, so the variance is that of a ratio of sums (Cochran, Sampling Techniques, 6.3).
pub(super) fn effective(blocks: &[Block], q: f64, most: u64) -> Option<(f64, u32)> {
    let (_, variance, degrees) = spread(blocks)?;
    Some(((q * (1.0 - q) / variance).min(float(most)), degrees))
}

/// How many independent values blocks are worth, at most `most`, where the share above is what it is: all of them where
/// none, or every one, is above, since then the blocks cannot differ.
pub(super) fn worth(blocks: &[Block], most: u64) -> f64 {
    let Some((share, variance, _)) = spread(blocks) else { return 1.0 };
    let most = float(most);
    if share <= 0.0 || share >= 1.0 { most } else { (share * (1.0 - share) / variance).min(most) }
}

/// The share above, the variance of that share, and the degrees of freedom behind it; `None` where only one block holds any.
fn spread(blocks: &[Block]) -> Option<(f64, f64, u32)> {
    let used = || blocks.iter().filter(|block| block.count > 0.0);
    let degrees = u32::try_from(used().count().checked_sub(1)?).ok().filter(|degrees| *degrees > 0)?;
    let count: f64 = used().map(|block| block.count).sum();
    let share = used().map(|block| block.above).sum::<f64>() / count;
    let off = |block: &Block| block.above - share * block.count;
    let squares: f64 = used().map(|block| off(block) * off(block)).sum();
    let variance = (f64::from(degrees) + 1.0) / f64::from(degrees) * squares / (count * count);
    Some((share, variance, degrees))
}

fn span(ns: u64) -> Span {
    Span::from_ns(i64::try_from(ns).expect("recorded from a span"))
}

#[expect(clippy::cast_precision_loss, reason = "counts as weights: 53 bits are plenty")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks_of(values: impl Iterator<Item = (usize, u64)>) -> (Histogram, Vec<Histogram>) {
        let (mut all, mut blocks) = (Histogram::published(), vec![Histogram::coarse(); 20]);
        for (block, value) in values {
            all.record(value);
            blocks[block].record(value);
        }
        (all, blocks)
    }

    #[test]
    fn blocks_that_are_all_alike_are_worth_every_value_and_no_more() {
        let (all, blocks) = blocks_of((0..2_000).map(|n| (n / 100, n as u64 % 100)));
        let p50 = Quantile::of(&all, &blocks, 2_000, 0.5).unwrap();
        assert_eq!((p50.value.as_ns(), p50.n_eff), (49, 2_000.0));
        assert!(p50.interval[0].as_ns() >= 46 && p50.interval[1].as_ns() <= 52, "{p50:?}");
    }

    #[test]
    fn one_bad_block_is_worth_few_values() {
        let (all, blocks) = blocks_of((0..2_000).map(|n| (n / 100, if n < 100 { 1_000_000 } else { 10 })));
        let p90 = Quantile::of(&all, &blocks, 2_000, 0.9);
        assert!(p90.is_none_or(|p90| p90.n_eff < 50.0), "{p90:?}");
    }

    #[test]
    fn a_quantile_with_under_three_values_above_it_is_not_told() {
        let of = |n: usize, q| {
            let (all, blocks) = blocks_of((0..n).map(|n| (n % 20, n as u64 * 7_919 % 1_000)));
            Quantile::of(&all, &blocks, n as u64, q)
        };
        assert!(of(299, 0.99).is_none());
        assert!(of(20_000, 0.99).is_some());
        assert!(of(5, 0.5).is_none());
        assert!(of(1, 0.5).is_none() && of(0, 0.5).is_none());
    }

    #[test]
    fn three_hundred_requests_are_enough_for_p99() {
        assert!(enough(300.0, 0.99) && !enough(299.0, 0.99));
        assert!(enough(3_000.0, 0.999) && enough(6.0, 0.5));
    }

    #[test]
    fn gaps_are_worth_no_more_than_their_requests() {
        let (all, blocks) = blocks_of((0..20_000).map(|n| (n / 1_000, n as u64 % 100)));
        assert!((Quantile::of(&all, &blocks, 40, 0.5).unwrap().n_eff - 40.0).abs() < 1e-9);
    }
}
