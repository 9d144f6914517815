//! The histograms of the latest interval of a run (`histograms.hlog`): what was counted since the one before.
//!
//! It must not feed the report: that is made of the stages, after the run. Nor does a request pay for it: the stages count each once,
//! and an interval is what they have more at its end than at its beginning.

use super::histogram::Histogram;
use super::{Metric, Stage};

/// Histograms of the measured successes that finished in one interval, or up to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interval {
    histograms: [Histogram; Self::METRICS.len()],
}

impl Default for Interval {
    fn default() -> Self {
        Self { histograms: std::array::from_fn(|_| Histogram::published()) }
    }
}

impl Interval {
    /// The metrics that are kept by interval.
    pub const METRICS: [Metric; 5] = [Metric::Ttft, Metric::Itl, Metric::Tpot, Metric::Ntpot, Metric::E2e];

    /// All that these stages have counted.
    pub(super) fn of(stages: &[Stage]) -> Self {
        let counted = |metric| {
            let mut values = stages.iter().map(|stage| stage.tally(metric).values());
            let first = values.next().cloned().unwrap_or_else(Histogram::published);
            values.fold(first, |mut sum, more| {
                sum.merge(more);
                sum
            })
        };
        Self { histograms: Self::METRICS.map(counted) }
    }

    /// What is left when `part`, which is all in it, is taken away.
    ///
    /// # Panics
    /// When some of `part` is not in it.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        Self { histograms: std::array::from_fn(|nth| self.histograms[nth].without(&part.histograms[nth])) }
    }

    /// Each metric with its histogram.
    pub fn histograms(&self) -> impl Iterator<Item = (Metric, &Histogram)> {
        Self::METRICS.into_iter().zip(&self.histograms)
    }

    /// Adds another shard's interval.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.merge(theirs);
        }
    }
}

#[cfg(test)]
impl Interval {
    /// One in which these TTFTs were counted, in nanoseconds.
    pub fn of_ttfts(ns: &[u64]) -> Self {
        let mut interval = Self::default();
        ns.iter().for_each(|ns| interval.histograms[0].record(*ns));
        interval
    }
}
