//! The bias bound: how far a published quantile can be off by our own doing (docs/METHOD.md, "The client as a queue").
//!
//! It must not judge: the verdict compares it.

use super::{Level, Stolen};
use crate::record::{Bounds, Histogram, Metric, Stage};
use crate::time::{Span, StampClass};

/// The bounds of one metric, in the order of [`Level::ALL`].
pub type BiasBound = [Option<Span>; Level::ALL.len()];

/// The bias bounds of the published quantiles: each from the latest possible instants, less that from the earliest.
#[derive(Clone, PartialEq, Debug)]
pub struct Bias {
    stamps: StampClass,
    stolen: Option<Stolen>,
    bounds: [BiasBound; Bounds::METRICS.len()],
}

impl Bias {
    /// `clock` is the half width of the offset between the stamps' clock and ours, zero where we stamp ourselves; `stolen`
    /// tells where the kernel's stamps themselves can be late.
    #[must_use]
    pub fn of(stage: &Stage, stamps: StampClass, clock: Span, stolen: Option<Stolen>) -> Self {
        // What the kernel's softirq does late touches only the kernel's own stamps.
        let stolen = stolen.filter(|_| stamps == StampClass::Software);
        let bounds = Bounds::METRICS.map(|metric| {
            let published = stage.tally(metric).values();
            let bounds = stage.bounds.of(metric, published);
            let (earliest, latest) = bounds.expect("each of the bounded metrics has bounds");
            let in_each = if from_stamp_to_stamp(metric) { 2 } else { 1 };
            // Each stamp can be off by the clock bound either way.
            let clocks = clock * (2 * in_each);
            Level::ALL.map(|level| {
                let late = stolen.map(|stolen| Late { stamps: in_each, stolen });
                let low = lowest(&earliest, level.q(), late)?;
                // Only a late first stamp makes a span too short.
                let high = highest(&latest, level.q(), late.filter(|_| from_stamp_to_stamp(metric)))?;
                // Two quantiles of one bucket can be its width apart; but none moves further than the value that moves most.
                let apart = high - low + resolution(&earliest, level.q())?;
                let apart = if late.is_none() { apart.min(stage.bounds.widest(metric)) } else { apart };
                Some(apart + clocks)
            })
        });
        Self { stamps, stolen, bounds }
    }

    /// Who stamped.
    #[must_use]
    pub const fn stamps(&self) -> StampClass {
        self.stamps
    }

    /// Where the kernel's own stamps can be late, if anywhere.
    #[must_use]
    pub const fn stolen(&self) -> Option<Stolen> {
        self.stolen
    }

    /// The bounds of `metric`; all `None` for one that has none.
    #[must_use]
    pub fn get(&self, metric: Metric) -> BiasBound {
        let place = Bounds::METRICS.iter().position(|m| *m == metric);
        place.map_or([None; Level::ALL.len()], |place| self.bounds[place])
    }
}

/// How values can be off because stamps were late: each depends on so many.
#[derive(Copy, Clone)]
struct Late {
    stamps: i64,
    stolen: Stolen,
}

impl Late {
    /// The share of values that can be off, at the most.
    fn share(self) -> f64 {
        self.stolen.share * if self.stamps > 1 { 2.0 } else { 1.0 }
    }
}

/// The least that the quantile `q` can truly be when a share of the values is too long by `longest` at the most: lowering
/// them moves it down by no more than that, and no further than to the quantile `q - share`.
fn lowest(values: &Histogram, q: f64, late: Option<Late>) -> Option<Span> {
    let published = quantile(values, q)?;
    let Some(late) = late else { return Some(published) };
    let by_count = if q > late.share() { quantile(values, q - late.share())? } else { Span::ZERO };
    Some((published - late.stolen.longest).max(by_count).max(Span::ZERO))
}

/// The most that it can truly be when a share of the values is too short.
fn highest(values: &Histogram, q: f64, late: Option<Late>) -> Option<Span> {
    let published = quantile(values, q)?;
    let Some(late) = late else { return Some(published) };
    let longest = published + late.stolen.longest;
    if q + late.share() > 1.0 {
        return Some(longest);
    }
    Some(longest.min(quantile(values, q + late.share())?))
}

fn quantile(values: &Histogram, q: f64) -> Option<Span> {
    Some(Span::from_ns(i64::try_from(values.quantile(q)?).ok()?))
}

/// How wide the bucket is that holds the quantile.
fn resolution(values: &Histogram, q: f64) -> Option<Span> {
    Some(Span::from_ns(i64::try_from(values.width_at(values.quantile(q)?)).ok()?))
}

/// The others lead from our own clock to one stamp.
const fn from_stamp_to_stamp(metric: Metric) -> bool {
    matches!(metric, Metric::Itl | Metric::Tpot)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 1,000 ms, each once.
    fn values() -> Histogram {
        let mut values = Histogram::published();
        (1..=1_000).for_each(|ms| values.record(ms * 1_000_000));
        values
    }

    fn late(stamps: i64, share: f64, longest_ms: i64) -> Option<Late> {
        Some(Late { stamps, stolen: Stolen { share, longest: Span::from_ms(longest_ms) } })
    }

    fn ms(span: Option<Span>) -> f64 {
        span.unwrap().as_s_f64() * 1e3
    }

    #[test]
    fn late_stamps_lower_a_quantile_by_their_lateness_or_by_their_share_whichever_is_less() {
        let values = values();
        assert!((ms(lowest(&values, 0.9, None)) - 900.0).abs() < 1.0);
        assert!((ms(lowest(&values, 0.9, late(1, 0.5, 10))) - 890.0).abs() < 1.0);
        assert!((ms(lowest(&values, 0.9, late(1, 0.02, 500))) - 880.0).abs() < 1.0);
        assert!((ms(lowest(&values, 0.9, late(2, 0.02, 500))) - 860.0).abs() < 1.0, "either stamp of a gap");
        assert_eq!(lowest(&values, 0.5, late(1, 0.7, 900)), Some(Span::ZERO));
    }

    #[test]
    fn a_late_first_stamp_makes_a_gap_too_short() {
        let values = values();
        assert!((ms(highest(&values, 0.9, late(2, 0.01, 500))) - 920.0).abs() < 1.0);
        assert!((ms(highest(&values, 0.9, late(2, 0.5, 30))) - 930.0).abs() < 1.0);
        assert_eq!(highest(&values, 0.9, None), lowest(&values, 0.9, None));
    }
}
