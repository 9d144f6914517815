//! What one shard saw of one stage: populations, distributions, and what was stamped inside the window.
//!
//! It must not divide: rates, quantiles and verdicts are the analysis' affair. All is whole numbers, so merging is exact.

use super::backwards::Backwards;
use super::bounds::Bounds;
use super::judged::{Bound, Judged};
use super::sums::{Flow, Population, TokenSums};
use super::window::{BLOCKS, Window};
use super::{Finished, Metric, Metrics, Record, Slowest, Split, Tally};
use crate::time::{Instant, Span};
use crate::wire::ErrorClass;

/// One stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    window: Window,
    tallies: [Tally; Metric::ALL.len()],
    /// For the bias bound.
    pub bounds: Bounds,
    /// For the parts of NTPOT.
    pub split: Split,
    /// Fates.
    pub population: Population,
    /// Throughput.
    pub flow: Flow,
    /// Tokens.
    pub tokens: TokenSums,
    /// Failures of begun requests by block, but for those of our own making.
    pub failed_by_block: [u64; BLOCKS],
    /// What became of each request under the bounds it is held to.
    pub judged: Judged,
    /// Successes completed within each of twenty equal parts of the window, where its end is fixed.
    pub completed_by_part: [u64; BLOCKS],
    /// Time in flight of all requests within each of twenty equal parts of the window, in nanoseconds.
    pub in_flight_ns: [u128; BLOCKS],
    /// The slowest.
    pub slowest: Slowest,
    /// When the last measured request was over.
    pub last_over: Option<Instant>,
}

impl Stage {
    /// A stage of which nothing was seen yet, whose requests are held to `bounds`.
    #[must_use]
    pub fn new(window: Window, bounds: &[Bound]) -> Self {
        Self {
            window,
            tallies: std::array::from_fn(|_| Tally::default()),
            bounds: Bounds::default(),
            split: Split::default(),
            population: Population::default(),
            flow: Flow::default(),
            tokens: TokenSums::default(),
            failed_by_block: [0; BLOCKS],
            judged: Judged::new(bounds),
            completed_by_part: [0; BLOCKS],
            in_flight_ns: [0; BLOCKS],
            slowest: Slowest::default(),
            last_over: None,
        }
    }

    /// Its window.
    #[must_use]
    pub const fn window(&self) -> &Window {
        &self.window
    }

    /// The run was cut short at `at`: what is stamped later is in no rate of this stage.
    pub(super) fn cut(&mut self, at: Instant) {
        self.window.cut(at);
    }

    /// One metric of the successes due in the window. Lateness is of all that were begun.
    #[must_use]
    pub const fn tally(&self, metric: Metric) -> &Tally {
        &self.tallies[metric.index()]
    }

    /// Negative spans of each metric that has any: our own defects.
    pub fn backwards(&self) -> impl Iterator<Item = (Metric, Backwards)> {
        let all = Metric::ALL.into_iter().map(|metric| (metric, *self.tally(metric).backwards()));
        all.filter(|(_, backwards)| backwards.count > 0)
    }

    /// Adds what `other` saw of the same stage, or of another one, block by block.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.tallies.iter_mut().zip(&other.tallies) {
            mine.merge(theirs);
        }
        self.bounds.merge(&other.bounds);
        self.split.merge(&other.split);
        self.population.merge(&other.population);
        self.flow.merge(&other.flow);
        self.tokens.merge(&other.tokens);
        for (mine, theirs) in self.failed_by_block.iter_mut().zip(other.failed_by_block) {
            *mine += theirs;
        }
        self.judged.merge(&other.judged);
        for (mine, theirs) in self.completed_by_part.iter_mut().zip(other.completed_by_part) {
            *mine += theirs;
        }
        for (mine, theirs) in self.in_flight_ns.iter_mut().zip(other.in_flight_ns) {
            *mine += theirs;
        }
        self.slowest.merge(&other.slowest);
        self.last_over = self.last_over.max(other.last_over);
    }

    /// What a request of any stage and phase leaves inside this window; its tokens are told apart, by `token_flow`.
    pub(super) fn pass_through(&mut self, record: &Record) {
        let Some(begun) = record.begun else { return };
        self.flow.begun += u64::from(self.window.contains(begun));
        let completed = record.error.is_none() && self.window.contains(record.over);
        self.flow.completed += u64::from(completed);
        if let Some(part) = self.window.part_at(record.over).filter(|_| completed) {
            self.completed_by_part[part] += 1;
        }
        let input_at = record.first.or(record.done).unwrap_or(record.over);
        if let Some(input) = record.usage.prompt_tokens.filter(|_| self.window.contains(input_at)) {
            self.flow.input_tokens += input;
        }
        for (block, ns) in self.window.shares(begun, record.over) {
            self.in_flight_ns[block] += u128::from(ns);
        }
    }

    /// Looks at most of what a success will be counted in (see [`super::Recorder::glance`]).
    pub(super) fn glance(&self, finished: &Finished, metrics: &Metrics) -> u32 {
        let block = self.window.block_of(finished.record());
        let there = Metric::ALL.into_iter().filter_map(|metric| Some((metric, metrics.get(metric)?)));
        let seen = there.map(|(metric, span)| self.tallies[metric.index()].glance(span, block));
        seen.fold(self.bounds.glance(finished, metrics), |all, seen| all ^ seen)
    }

    /// Counts a measured request of this stage.
    /// Whether it kept every bound, where that can be said.
    pub(super) fn count(&mut self, finished: &Finished, metrics: &Metrics) -> Option<bool> {
        let record = finished.record();
        self.population.count(record);
        self.last_over = self.last_over.max(Some(record.over));
        let block = self.window.block_of(record);
        if let Some(lateness) = metrics.get(Metric::Lateness) {
            self.add(Metric::Lateness, lateness, block);
        }
        let kept = self.judged.see(finished, metrics, block);
        if record.error.is_some() {
            self.tokens.partial_output += record.output_tokens.unwrap_or(0);
        }
        match record.error {
            None => self.success(finished, metrics, block),
            Some(ErrorClass::Cancelled) => self.censor(record, metrics),
            Some(_) => {
                self.failed_by_block[block] += u64::from(record.begun.is_some() && !record.ours);
            }
        }
        kept
    }

    fn success(&mut self, finished: &Finished, metrics: &Metrics, block: usize) {
        let record = finished.record();
        for metric in Metric::ALL.into_iter().filter(|m| *m != Metric::Lateness) {
            if let Some(span) = metrics.get(metric) {
                self.add(metric, span, block);
            }
        }
        let mut gaps = 0_u32;
        for gap in finished.gaps() {
            self.tallies[Metric::Itl.index()].record(gap.span, block);
            self.bounds.gap(&gap);
            gaps += 1;
        }
        if gaps > 0 {
            self.tallies[Metric::Itl.index()].contributed();
        }
        let mut choices = 0_u32;
        for tpot in finished.tpot_by_choice() {
            self.tallies[Metric::Tpot.index()].record(tpot, block);
            choices += 1;
        }
        if choices > 0 {
            self.tallies[Metric::Tpot.index()].contributed();
        }
        self.bounds.see(finished, metrics);
        self.split.see(record, metrics, block);
        self.tokens.count(record, metrics);
        self.slowest.see(record, metrics);
    }

    fn add(&mut self, metric: Metric, span: Span, block: usize) {
        let tally = &mut self.tallies[metric.index()];
        tally.record(span, block);
        tally.contributed();
    }

    /// A request cancelled by us had lived this long in each metric that was not complete (docs/METHOD.md: right-censored).
    fn censor(&mut self, record: &Record, metrics: &Metrics) {
        for metric in Metric::ALL {
            if let Some(age) = record.age_when_cancelled(metric, metrics) {
                self.tallies[metric.index()].censor(age);
            }
        }
    }
}
