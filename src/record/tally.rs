//! One metric of one stage: its values over successes, its blocks, and what could not be counted as a value.
//!
//! It must not judge: intervals and infinities are made of this by the analysis.

use super::backwards::Backwards;
use super::histogram::Histogram;
use super::window::BLOCKS;
use crate::time::Span;

/// What was seen of one metric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    values: Histogram,
    blocks: Vec<Histogram>,
    requests: u64,
    backwards: Backwards,
    censored: u64,
    censored_from: Option<Span>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            values: Histogram::published(),
            blocks: Vec::new(),
            requests: 0,
            backwards: Backwards::default(),
            censored: 0,
            censored_from: None,
        }
    }
}

impl Tally {
    /// Counts a value of the block. A negative one is our own defect: it is counted as such, and is no value.
    pub fn record(&mut self, span: Span, block: usize) {
        if self.backwards.see(span) {
            return;
        }
        let ns = span.as_ns().unsigned_abs();
        self.values.record(ns);
        if self.blocks.is_empty() {
            self.blocks.resize(BLOCKS, Histogram::coarse());
        }
        self.blocks[block].record(ns);
    }

    /// Looks at what a value will be counted in.
    pub fn glance(&self, span: Span, block: usize) -> u32 {
        let ns = span.as_ns().unsigned_abs();
        self.values.glance(ns) ^ self.blocks.get(block).map_or(0, |block| block.glance(ns))
    }

    /// Counts a request that gave at least one value.
    pub fn contributed(&mut self) {
        self.requests += 1;
    }

    /// A request was cancelled by us when this metric of it was `age` old and still growing.
    pub fn censor(&mut self, age: Span) {
        self.censored += 1;
        self.censored_from = Some(self.censored_from.map_or(age, |from| from.min(age)));
    }

    /// Adds what `other` saw.
    pub fn merge(&mut self, other: &Self) {
        self.values.merge(&other.values);
        if self.blocks.is_empty() {
            self.blocks.clone_from(&other.blocks);
        } else {
            for (mine, theirs) in self.blocks.iter_mut().zip(&other.blocks) {
                mine.merge(theirs);
            }
        }
        self.requests += other.requests;
        self.backwards.merge(&other.backwards);
        self.censored += other.censored;
        self.censored_from = match (self.censored_from, other.censored_from) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// The values, to three significant digits.
    #[must_use]
    pub const fn values(&self) -> &Histogram {
        &self.values
    }

    /// The values by block, to two significant digits; empty or twenty.
    #[must_use]
    pub fn blocks(&self) -> &[Histogram] {
        &self.blocks
    }

    /// Requests that gave at least one value: the values of one request are not independent of each other.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// Negative spans: our own defect.
    #[must_use]
    pub const fn backwards(&self) -> &Backwards {
        &self.backwards
    }

    /// Requests cancelled by us before this metric of theirs was complete.
    #[must_use]
    pub const fn censored(&self) -> u64 {
        self.censored
    }

    /// The least age at which one was cancelled: quantiles above it are at least what they say.
    #[must_use]
    pub const fn censored_from(&self) -> Option<Span> {
        self.censored_from
    }
}
