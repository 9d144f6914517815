//! Each request held to bounds as it ends: how many values lay over each, and how many requests kept all, by block.
//!
//! It must not know what share may miss: that is the analysis' affair. Its memory is fixed by the number of bounds.

use super::window::BLOCKS;
use super::{Finished, Metric, Metrics};
use crate::time::Span;
use crate::wire::ErrorClass;

/// The most that a value of one metric may be.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Which metric.
    pub metric: Metric,
    /// The greatest value that keeps it.
    pub most: Span,
}

/// How many values were held to a bound, and how many of them lay over it, by block.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// Values; a failure of the target is one.
    pub of: [u64; BLOCKS],
    /// Values over the bound; a failure of the target is one.
    pub over: [u64; BLOCKS],
}

/// What became of the requests of one stage under its bounds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Judged {
    bounds: Vec<Bound>,
    held: Vec<Held>,
    good: [u64; BLOCKS],
    judged: [u64; BLOCKS],
}

impl Judged {
    /// Nothing judged yet.
    #[must_use]
    pub fn new(bounds: &[Bound]) -> Self {
        Self {
            bounds: bounds.to_vec(),
            held: vec![Held::default(); bounds.len()],
            good: [0; BLOCKS],
            judged: [0; BLOCKS],
        }
    }

    /// What was seen under each bound, in the order they were given.
    #[must_use]
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Requests that succeeded and kept every bound, by block.
    #[must_use]
    pub const fn good(&self) -> &[u64; BLOCKS] {
        &self.good
    }

    /// Requests that could be judged, by block: successes, failures of the target, and those cancelled by us that were over a
    /// bound already.
    #[must_use]
    pub const fn judged(&self) -> &[u64; BLOCKS] {
        &self.judged
    }

    /// Adds what `other` saw under the same bounds.
    pub(super) fn merge(&mut self, other: &Self) {
        assert_eq!(self.bounds, other.bounds, "shards of one run have the same bounds");
        let add = |mine: &mut [u64; BLOCKS], theirs: &[u64; BLOCKS]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        };
        for (mine, theirs) in self.held.iter_mut().zip(&other.held) {
            add(&mut mine.of, &theirs.of);
            add(&mut mine.over, &theirs.over);
        }
        add(&mut self.good, &other.good);
        add(&mut self.judged, &other.judged);
    }

    /// Judges a measured request: whether it kept every bound. A failure of our own making, and a request that never began,
    /// say nothing of the target.
    pub(super) fn see(&mut self, finished: &Finished, metrics: &Metrics, block: usize) -> Option<bool> {
        let record = finished.record();
        let kept = match record.error {
            None => Some(self.success(finished, metrics, block)),
            Some(ErrorClass::Cancelled) => self.cancelled(finished, metrics, block).then_some(false),
            Some(_) if record.ours || record.begun.is_none() => None,
            Some(_) => {
                self.failure(metrics, block);
                Some(false)
            }
        };
        if let Some(kept) = kept {
            self.judged[block] += 1;
            self.good[block] += u64::from(kept);
        }
        kept
    }

    /// Whether a success kept every bound. One without a value under a bound keeps that one.
    fn success(&mut self, finished: &Finished, metrics: &Metrics, block: usize) -> bool {
        let mut kept = true;
        for (bound, held) in self.bounds.iter().zip(&mut self.held) {
            let mut see = |span: Span| {
                let over = span > bound.most;
                held.of[block] += 1;
                held.over[block] += u64::from(over);
                kept &= !over;
            };
            match bound.metric {
                Metric::Itl => finished.gaps().for_each(|gap| see(gap.span)),
                Metric::Tpot => {
                    metrics.get(Metric::Tpot).into_iter().for_each(&mut see);
                    finished.tpot_by_choice().for_each(see);
                }
                metric => metrics.get(metric).into_iter().for_each(see),
            }
        }
        kept
    }

    /// A failure is over every bound, whatever its values were; but it was late as it was late.
    fn failure(&mut self, metrics: &Metrics, block: usize) {
        for (bound, held) in self.bounds.iter().zip(&mut self.held) {
            let lateness = metrics.get(Metric::Lateness).filter(|_| bound.metric == Metric::Lateness);
            held.of[block] += 1;
            held.over[block] += u64::from(lateness.is_none_or(|lateness| lateness > bound.most));
        }
    }

    /// Whether a request that we cancelled was over some bound already; under the others nobody knows.
    fn cancelled(&mut self, finished: &Finished, metrics: &Metrics, block: usize) -> bool {
        let mut over = false;
        for (bound, held) in self.bounds.iter().zip(&mut self.held) {
            let age = finished.record().age_when_cancelled(bound.metric, metrics);
            if age.is_some_and(|age| age > bound.most) {
                held.of[block] += 1;
                held.over[block] += 1;
                over = true;
            }
        }
        over
    }
}
