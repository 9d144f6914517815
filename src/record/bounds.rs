//! The same metrics from the earliest and from the latest possible instants: their distance is the bias bound
//! (docs/METHOD.md, "The client as a queue").
//!
//! It must not judge, and it leaves the clock's own bound to the analysis, where it is known.

use super::histogram::Histogram;
use super::metric::per_token;
use super::{Finished, Gap, Metric, Metrics};
use crate::time::Span;

/// What is uncertain of the bounded metrics, over successes due in the window. Nearly every gap is exact, and then it costs nothing
/// here: its earliest and latest possible values are the published one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    metrics: [Uncertain; Self::METRICS.len()],
}

/// The uncertain values of one metric: as published, at the earliest, at the latest.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Uncertain {
    published: Histogram,
    earliest: Histogram,
    latest: Histogram,
    /// The most that any value can be off.
    widest: Span,
}

impl Default for Bounds {
    fn default() -> Self {
        let empty = Histogram::published;
        Self {
            metrics: std::array::from_fn(|_| Uncertain {
                published: empty(),
                earliest: empty(),
                latest: empty(),
                widest: Span::ZERO,
            }),
        }
    }
}

impl Bounds {
    /// The metrics whose bias is bounded.
    pub const METRICS: [Metric; 5] = [Metric::Ttft, Metric::Itl, Metric::Tpot, Metric::Ntpot, Metric::E2e];

    /// The histograms of the earliest and of the latest possible values, of which `published` are the published ones; `None` for
    /// a metric that is not bounded.
    #[must_use]
    pub fn of(&self, metric: Metric, published: &Histogram) -> Option<(Histogram, Histogram)> {
        let uncertain = &self.metrics[place(metric)?];
        let exact = published.without(&uncertain.published);
        let with = |more: &Histogram| {
            let mut all = exact.clone();
            all.merge(more);
            all
        };
        Some((with(&uncertain.earliest), with(&uncertain.latest)))
    }

    /// The most that any value of a metric can be off; zero where all are exact.
    #[must_use]
    pub fn widest(&self, metric: Metric) -> Span {
        place(metric).map_or(Span::ZERO, |place| self.metrics[place].widest)
    }

    /// Adds what `other` saw.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.metrics.iter_mut().zip(&other.metrics) {
            mine.published.merge(&theirs.published);
            mine.earliest.merge(&theirs.earliest);
            mine.latest.merge(&theirs.latest);
            mine.widest = mine.widest.max(theirs.widest);
        }
    }

    /// Looks at one gap of a success.
    pub(super) fn gap(&mut self, gap: &Gap) {
        self.add(Metric::Itl, gap.span, gap.shortest, gap.longest);
    }

    /// Looks at the other metrics of one success.
    pub(super) fn see(&mut self, finished: &Finished, metrics: &Metrics) {
        for (metric, published, earliest, latest) in extremes(finished, metrics) {
            self.add(metric, published, earliest, latest);
        }
    }

    /// Looks at what these metrics will be counted in (see [`super::Recorder::glance`]).
    pub(super) fn glance(&self, finished: &Finished, metrics: &Metrics) -> u32 {
        extremes(finished, metrics).fold(0, |seen, (metric, published, earliest, latest)| {
            let Some(place) = place(metric).filter(|_| earliest != latest) else { return seen };
            let of = &self.metrics[place];
            seen ^ of.published.glance(ns(published))
                ^ of.earliest.glance(ns(earliest))
                ^ of.latest.glance(ns(latest))
        })
    }

    fn add(&mut self, metric: Metric, published: Span, earliest: Span, latest: Span) {
        if earliest == latest || published.is_negative() {
            return;
        }
        let uncertain = &mut self.metrics[place(metric).expect("only bounded metrics are added")];
        uncertain.published.record(ns(published));
        uncertain.earliest.record(ns(earliest));
        uncertain.latest.record(ns(latest));
        uncertain.widest = uncertain.widest.max(latest - earliest);
    }
}

/// The bounded metrics of one success, but for its gaps: as published, at the earliest, at the latest.
fn extremes(finished: &Finished, metrics: &Metrics) -> impl Iterator<Item = (Metric, Span, Span, Span)> {
    let record = finished.record();
    let (first, last) = (finished.first_uncertainty(), finished.last_uncertainty());
    let share = |span: Span, tokens: Option<u64>| {
        tokens.and_then(|tokens| per_token(span, tokens)).unwrap_or(Span::ZERO)
    };
    let tokens = record.output_tokens;
    let after_first = tokens.map(|tokens| tokens.saturating_sub(u64::from(record.n_first)));
    let off = [
        (Metric::Ttft, first + record.sent_uncertainty, Span::ZERO),
        (Metric::E2e, last + record.sent_uncertainty, Span::ZERO),
        (Metric::Ntpot, share(last, tokens), Span::ZERO),
        (Metric::Tpot, share(last, after_first), share(first, after_first)),
    ];
    off.into_iter().filter_map(|(metric, earlier, later)| {
        let span = metrics.get(metric)?;
        Some((metric, span, span - earlier, span + later))
    })
}

/// A bound is never before its cause: nothing arrives before it is sent, and events of a stream keep their order.
fn ns(span: Span) -> u64 {
    u64::try_from(span.as_ns()).unwrap_or(0)
}

fn place(metric: Metric) -> Option<usize> {
    Bounds::METRICS.iter().position(|m| *m == metric)
}
