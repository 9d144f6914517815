//! The histograms of the latest interval of a run (`histograms.hlog`).
//!
//! It must not feed the report: that is made of the stages, after the run.

use super::histogram::Histogram;
use super::{Metric, Metrics};
use crate::time::Span;

/// Histograms of the measured successes that finished in one interval.
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

    /// Each metric with its histogram.
    pub fn histograms(&self) -> impl Iterator<Item = (Metric, &Histogram)> {
        Self::METRICS.into_iter().zip(&self.histograms)
    }

    /// Forgets the values and keeps the memory, for the next interval.
    pub fn clear(&mut self) {
        self.histograms.iter_mut().for_each(Histogram::clear);
    }

    /// Adds another shard's interval.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.merge(theirs);
        }
    }

    /// Looks at what these metrics will be counted in (see [`super::Recorder::glance`]).
    pub(super) fn glance(&self, metrics: &Metrics) -> u32 {
        let kept = Self::METRICS.into_iter().zip(&self.histograms);
        let seen = kept.filter_map(|(metric, histogram)| {
            Some(histogram.glance(u64::try_from(metrics.get(metric)?.as_ns()).ok()?))
        });
        seen.fold(0, |all, seen| all ^ seen)
    }

    pub(super) fn record(&mut self, metric: Metric, span: Span) {
        let kept = Self::METRICS.iter().position(|m| *m == metric);
        if let (Some(place), Ok(ns)) = (kept, u64::try_from(span.as_ns())) {
            self.histograms[place].record(ns);
        }
    }
}
