//! A finished run's rows to intervals of every mean and quantile, by the blocks that the run itself was judged with.
//!
//! It makes no figure that the summary has: it tells how sure each of them is (docs/METHOD.md, "Populations, window,
//! censoring").

use super::distribution::Distribution;
use super::quantile::{Block, CONFIDENCE, effective, enough};
use super::student::two_sided;
use super::{Level, Quantile};
use crate::record::{BLOCKS, Histogram, Metric, Metrics, Record, Tally, quantile_rank};
use crate::time::{Instant, Phase, Span};
use std::collections::BTreeMap;

/// What rows tell of each metric.
#[derive(Clone, Debug)]
pub struct Remeasured {
    windows: Vec<(Instant, Span)>,
    tallies: BTreeMap<Metric, Tally>,
    ended: [u64; BLOCKS],
    failed: [u64; BLOCKS],
    rows: u64,
}

impl Remeasured {
    /// Of a run whose stages had these windows: start and length, in order.
    #[must_use]
    pub fn new(windows: Vec<(Instant, Span)>) -> Self {
        Self { windows, tallies: BTreeMap::new(), ended: [0; BLOCKS], failed: [0; BLOCKS], rows: 0 }
    }

    /// Rows taken.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes one row.
    pub fn add(&mut self, record: &Record) {
        self.rows += 1;
        let well = record.error.is_none();
        if let Some(block) = self.windows.first().and_then(|window| block_of(*window, record.over))
            && well
        {
            self.ended[block] += 1;
        }
        if record.phase != Phase::Measured {
            return;
        }
        let Some(window) = self.windows.get(usize::from(record.stage)) else { return };
        // A measured request is due in its window, but for the rounding of a window that its last request ended.
        let block = block_of(*window, record.due).unwrap_or(BLOCKS - 1);
        if record.has_failed() && !record.ours {
            self.failed[block] += 1;
        }
        let metrics = Metrics::of(record);
        for metric in Metric::ALL {
            if let Some(span) = metrics.get(metric)
                && (well || metric == Metric::Lateness)
            {
                let tally = self.tallies.entry(metric).or_default();
                tally.record(span, block);
                tally.contributed();
            }
        }
        if let Some(gaps) = record.gaps.as_ref().filter(|gaps| well && !gaps.is_empty()) {
            let tally = self.tallies.entry(Metric::Itl).or_default();
            gaps.iter().for_each(|gap| tally.record(*gap, block));
            tally.contributed();
        }
    }

    /// The 95 % interval of a quantile in nanoseconds, by the metric's name; none where too few values tell it.
    #[must_use]
    pub fn quantile(&self, metric: &str, level: Level) -> Option<[f64; 2]> {
        let tally = self.tally(metric)?;
        let Quantile { interval, .. } = *Distribution::of(tally, &[0; BLOCKS]).quantile(level)?;
        Some(interval.map(|end| end.as_s_f64() * 1e9))
    }

    /// A quantile in nanoseconds with every failure of the target as +infinity, and its 95 % interval, by the metric's name;
    /// either can be infinite. None where too few values tell it.
    #[must_use]
    pub fn quantile_with_failures(&self, metric: &str, level: Level) -> Option<(f64, [f64; 2])> {
        let (tally, q) = (self.tally(metric)?, level.q());
        let values = tally.values();
        let failed: u64 = self.failed.iter().sum();
        let all = values.count() + failed;
        let at = |q: f64| {
            let rank = quantile_rank(q.clamp(0.0, 1.0), all);
            (rank <= values.count()).then(|| values.at_rank(rank.max(1)))
        };
        let value = at(q);
        let blocks: Vec<Block> = tally
            .blocks()
            .iter()
            .zip(self.failed)
            .map(|(block, failed)| {
                let seen =
                    value.map_or_else(|| Block::counted(block.count(), 0), |value| Block::of(block, value));
                seen.and_infinite(failed)
            })
            .collect();
        let (n_eff, degrees) = effective(&blocks, q, tally.requests() + failed)?;
        if !enough(n_eff, q) {
            return None;
        }
        let margin = two_sided(CONFIDENCE, degrees) * libm::sqrt(q * (1.0 - q) / n_eff);
        let ns = |value: Option<u64>| value.map_or(f64::INFINITY, float);
        Some((ns(value), [ns(at(q - margin)), ns(at(q + margin))]))
    }

    /// The 95 % interval of a mean in nanoseconds, by the metric's name: that of a ratio of sums over the blocks (Cochran,
    /// Sampling Techniques, 6.3), Student's t; none where fewer than two blocks hold values.
    #[must_use]
    pub fn mean(&self, metric: &str) -> Option<[f64; 2]> {
        let sums: Vec<(f64, f64)> = self.tally(metric)?.blocks().iter().map(sums).collect();
        ratio(sums.into_iter().filter(|(_, count)| *count > 0.0))
    }

    /// The 95 % interval of successes per second: of the mean of the window's twenty parts. None of several stages, whose
    /// rates differ on purpose.
    #[must_use]
    pub fn requests_per_s(&self) -> Option<[f64; 2]> {
        let [(_, length)] = self.windows.as_slice() else { return None };
        let part_s = length.as_s_f64() / float(BLOCKS as u64);
        if part_s <= 0.0 {
            return None;
        }
        ratio(self.ended.iter().map(|ended| (float(*ended), part_s)))
    }

    fn tally(&self, metric: &str) -> Option<&Tally> {
        self.tallies.iter().find(|(has, _)| has.name() == metric).map(|(_, tally)| tally)
    }
}

/// The block of a window that holds an instant.
fn block_of((from, length): (Instant, Span), at: Instant) -> Option<usize> {
    let inside = (at - from).as_ns();
    let length = length.as_ns();
    if inside < 0 || inside >= length {
        return None;
    }
    let blocks = i128::try_from(BLOCKS).ok()?;
    usize::try_from(i128::from(inside) * blocks / i128::from(length)).ok()
}

/// A block's sum and count.
fn sums(block: &Histogram) -> (f64, f64) {
    (wide(block.sum()), float(block.count()))
}

/// The 95 % interval of a sum over a sum.
fn ratio(parts: impl Iterator<Item = (f64, f64)>) -> Option<[f64; 2]> {
    let parts: Vec<(f64, f64)> = parts.collect();
    let degrees = u32::try_from(parts.len().checked_sub(1)?).ok().filter(|degrees| *degrees > 0)?;
    let (sum, count) = parts.iter().fold((0.0, 0.0), |(sum, count), (s, c)| (sum + s, count + c));
    let mean = sum / count;
    let squares: f64 = parts.iter().map(|(s, c)| (s - mean * c) * (s - mean * c)).sum();
    let variance = (f64::from(degrees) + 1.0) / f64::from(degrees) * squares / (count * count);
    let margin = two_sided(CONFIDENCE, degrees) * libm::sqrt(variance);
    Some([mean - margin, mean + margin])
}

#[expect(clippy::cast_precision_loss, reason = "an interval has three digits")]
const fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "an interval has three digits")]
const fn wide(sum: u128) -> f64 {
    sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> (Instant, Span) {
        (Instant::from_ns(1_000), Span::from_ns(2_000))
    }

    #[test]
    fn an_instant_lies_in_its_block_or_in_none() {
        let at = |ns| block_of(window(), Instant::from_ns(ns));
        assert_eq!((at(999), at(1_000), at(1_099), at(1_100)), (None, Some(0), Some(0), Some(1)));
        assert_eq!((at(2_999), at(3_000)), (Some(19), None));
    }

    #[test]
    fn parts_that_are_alike_have_a_sure_ratio_and_parts_that_differ_have_not() {
        let [low, high] = ratio([(10.0, 2.0), (20.0, 4.0), (5.0, 1.0)].into_iter()).unwrap();
        assert!((low - 5.0).abs() < 1e-9 && (high - 5.0).abs() < 1e-9);
        let [low, high] = ratio([(10.0, 2.0), (30.0, 4.0), (2.0, 1.0)].into_iter()).unwrap();
        assert!(low < 42.0 / 7.0 && high > 42.0 / 7.0);
        // Two equal parts: the standard error of their mean is half their distance, and t at one degree 12.706.
        let [low, high] = ratio([(4.0, 1.0), (6.0, 1.0)].into_iter()).unwrap();
        assert!((low - (5.0 - 12.706_2)).abs() < 1e-3 && (high - (5.0 + 12.706_2)).abs() < 1e-3);
        assert_eq!(ratio([(1.0, 1.0)].into_iter()), None);
    }
}
