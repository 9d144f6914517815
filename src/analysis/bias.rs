//! The bias bound: how far a published quantile can be off by our own doing (docs/METHOD.md, "The client as a queue").
//!
//! It must not judge: the verdict compares it.

use super::Level;
use crate::record::{Bounds, Metric, Stage};
use crate::time::Span;

/// The bounds of one metric, in the order of [`Level::ALL`].
pub type BiasBound = [Option<Span>; Level::ALL.len()];

/// The bias bounds of the published quantiles: each from the latest possible instants, less that from the earliest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bias {
    bounds: [BiasBound; Bounds::METRICS.len()],
}

impl Bias {
    /// `clock` is the half width of the offset between the stamps' clock and ours, zero where we stamp ourselves.
    #[must_use]
    pub fn of(stage: &Stage, clock: Span) -> Self {
        let bounds = Bounds::METRICS.map(|metric| {
            let published = stage.tally(metric).values();
            let bounds = stage.bounds.of(metric, published);
            let (earliest, latest) = bounds.expect("each of the bounded metrics has bounds");
            let stamps = if from_stamp_to_stamp(metric) { 2 } else { 1 };
            // Each stamp can be off by the clock bound either way.
            let clocks = clock * (2 * stamps);
            Level::ALL.map(|level| {
                let (earliest, latest) = (earliest.quantile(level.q())?, latest.quantile(level.q())?);
                let ns = i64::try_from(latest).ok()? - i64::try_from(earliest).ok()?;
                Some(Span::from_ns(ns) + clocks)
            })
        });
        Self { bounds }
    }

    /// The bounds of `metric`; all `None` for one that has none.
    #[must_use]
    pub fn get(&self, metric: Metric) -> BiasBound {
        let place = Bounds::METRICS.iter().position(|m| *m == metric);
        place.map_or([None; Level::ALL.len()], |place| self.bounds[place])
    }
}

/// The others lead from our own clock to one stamp.
const fn from_stamp_to_stamp(metric: Metric) -> bool {
    matches!(metric, Metric::Itl | Metric::Tpot)
}
