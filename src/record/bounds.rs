//! The same metrics from the earliest and from the latest possible instants: their distance is the bias bound
//! (docs/METHOD.md, "The client as a queue").
//!
//! It must not judge, and it leaves the clock's own bound to the analysis, where it is known.

use super::histogram::Histogram;
use super::metric::per_token;
use super::{Finished, Metric, Metrics};
use crate::time::Span;

/// Earliest and latest possible values of the bounded metrics, over successes due in the window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    earliest: [Histogram; Self::METRICS.len()],
    latest: [Histogram; Self::METRICS.len()],
}

impl Default for Bounds {
    fn default() -> Self {
        let empty = || std::array::from_fn(|_| Histogram::published());
        Self { earliest: empty(), latest: empty() }
    }
}

impl Bounds {
    /// The metrics whose bias is bounded.
    pub const METRICS: [Metric; 5] = [Metric::Ttft, Metric::Itl, Metric::Tpot, Metric::Ntpot, Metric::E2e];

    /// The histograms of the earliest and of the latest possible values; `None` for a metric that is not bounded.
    #[must_use]
    pub fn of(&self, metric: Metric) -> Option<(&Histogram, &Histogram)> {
        let place = Self::METRICS.iter().position(|m| *m == metric)?;
        Some((&self.earliest[place], &self.latest[place]))
    }

    /// Adds what `other` saw.
    pub fn merge(&mut self, other: &Self) {
        let mine = self.earliest.iter_mut().chain(&mut self.latest);
        for (mine, theirs) in mine.zip(other.earliest.iter().chain(&other.latest)) {
            mine.merge(theirs);
        }
    }

    /// Looks at one success.
    pub(super) fn see(&mut self, finished: &Finished, metrics: &Metrics) {
        let record = finished.record();
        let (first, last) = (finished.first_uncertainty(), finished.last_uncertainty());
        let mut add = |metric, earlier: Span, later: Span| {
            if let Some(span) = metrics.get(metric) {
                self.add(metric, span - earlier, span + later);
            }
        };
        add(Metric::Ttft, first + record.sent_uncertainty, Span::ZERO);
        add(Metric::E2e, last + record.sent_uncertainty, Span::ZERO);
        if let Some(tokens) = record.output_tokens {
            let share = |span, tokens| per_token(span, tokens).unwrap_or(Span::ZERO);
            add(Metric::Ntpot, share(last, tokens), Span::ZERO);
            let after_first = tokens.saturating_sub(u64::from(record.n_first));
            add(Metric::Tpot, share(last, after_first), share(first, after_first));
        }
        for gap in finished.gaps() {
            self.add(Metric::Itl, gap.shortest, gap.longest);
        }
    }

    fn add(&mut self, metric: Metric, earliest: Span, latest: Span) {
        let place = Self::METRICS.iter().position(|m| *m == metric).expect("only bounded metrics are added");
        // A bound is never before its cause: nothing arrives before it is sent, and events of a stream keep their order.
        self.earliest[place].record(u64::try_from(earliest.as_ns()).unwrap_or(0));
        self.latest[place].record(u64::try_from(latest.as_ns()).unwrap_or(0));
    }
}
