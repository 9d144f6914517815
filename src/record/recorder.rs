//! A shard's statistics: every finished request goes in once, and memory does not grow with their number.
//!
//! It must not keep rows, and it must not know how requests were made.

use super::interval::Interval;
use super::{Bound, Failures, Finished, Metrics, Silence, Stage, Window};
use crate::time::{Instant, Phase};

/// What one shard, or after merging all of them, saw of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorder {
    stages: Vec<Stage>,
    failures: Failures,
    silence: Silence,
}

impl Recorder {
    /// A recorder of stages with these windows, in order of time and disjoint.
    #[must_use]
    pub fn new(windows: &[Window]) -> Self {
        Self::judging(windows, &[])
    }

    /// The same, holding each measured request to `bounds` as it ends.
    #[must_use]
    pub fn judging(windows: &[Window], bounds: &[Bound]) -> Self {
        assert!(
            windows.is_sorted_by(|a, b| a.until.is_some_and(|until| until <= b.from)),
            "windows follow one another"
        );
        Self {
            stages: windows.iter().map(|window| Stage::new(*window, bounds)).collect(),
            failures: Failures::default(),
            silence: Silence::default(),
        }
    }

    /// The run was cut short at `at`: what is stamped later is in no rate.
    pub fn cut(&mut self, at: Instant) {
        self.stages.iter_mut().for_each(|stage| stage.cut(at));
    }

    /// Bytes arrived.
    pub fn read(&mut self, stamp: Instant, bytes: usize) {
        self.silence.heard(stamp);
        if let Some(stage) = stage_at(&mut self.stages, stamp) {
            stage.flow.bytes += bytes as u64;
        }
    }

    /// Looks at what a request will be counted in, so that counting finds it at hand: looks wait for the memory side by side, where
    /// counting waits for one place after the other. The answer means nothing.
    #[must_use]
    pub fn glance(&self, finished: &Finished) -> u32 {
        let record = finished.record();
        let stage = self.stages.get(usize::from(record.stage)).filter(|_| record.phase == Phase::Measured);
        let Some(stage) = stage else { return 0 };
        let metrics = Metrics::of(record);
        stage.glance(finished, &metrics)
    }

    /// A request is over. Each request of the run comes here once, whatever its fate. The answer is whether a measured one kept
    /// every bound, where that can be said.
    ///
    /// # Panics
    /// When its stage is none of this recorder's: the schedule and the recorder are made from the same plan.
    pub fn finish(&mut self, finished: &Finished) -> Option<bool> {
        let record = finished.record();
        let metrics = Metrics::of(record);
        for stage in &mut self.stages {
            stage.pass_through(record);
        }
        self.token_flow(finished);
        self.silence.see(record);
        if record.phase == Phase::Measured {
            self.failures.count(record);
            let stage =
                self.stages.get_mut(usize::from(record.stage)).expect("a request's stage has a window");
            return stage.count(finished, &metrics);
        }
        None
    }

    /// Puts each output token into the window of its event's stamp. Where the reply counted other than the events did,
    /// its tokens are spread over the events in proportion, so that the sum is the reply's.
    fn token_flow(&mut self, finished: &Finished) {
        let record = finished.record();
        let tokens = record.output_tokens.unwrap_or(0);
        let last = record.last.unwrap_or(record.over);
        // Nearly every request lies within one window, or outside of all: then its events need not be gone through.
        if let Some(within) = self.in_one_place(record.first.unwrap_or(last), last) {
            if let Some(stage) = within.and_then(|stage| self.stages.get_mut(stage)) {
                stage.flow.output_tokens += tokens;
                stage.flow.events += u64::from(record.events);
            }
            return;
        }
        let mut weight_so_far = 0_u128;
        let mut given = 0;
        for event in finished.token_events() {
            weight_so_far += u128::from(event.tokens.max(1));
            let up_to_here = u128::from(tokens) * weight_so_far / u128::from(record.streamed_tokens);
            let up_to_here = u64::try_from(up_to_here).expect("at most all of its tokens");
            if let Some(stage) = stage_at(&mut self.stages, event.at) {
                stage.flow.output_tokens += up_to_here - given;
                stage.flow.events += u64::from(event.opens_event);
            }
            given = up_to_here;
        }
        if given < tokens
            && let Some(stage) = stage_at(&mut self.stages, last)
        {
            stage.flow.output_tokens += tokens - given;
        }
    }

    /// The stage whose window holds all from `first` to `last`, or no stage if no window holds any of it; `None` where that differs.
    fn in_one_place(&self, first: Instant, last: Instant) -> Option<Option<usize>> {
        let edges_before = |at: Instant| {
            let begun = self.stages.partition_point(|stage| stage.window().from <= at);
            let inside = self.stages[..begun].last().is_some_and(|stage| stage.window().contains(at));
            (begun, inside)
        };
        let ((begun, inside), at_last) = (edges_before(first), edges_before(last));
        ((begun, inside) == at_last).then(|| begun.checked_sub(1).filter(|_| inside))
    }

    /// Adds another shard's recorder of the same run.
    ///
    /// # Panics
    /// When the stages differ: shards of one run are made from one plan.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.stages.len(), other.stages.len(), "shards of one run have the same stages");
        for (mine, theirs) in self.stages.iter_mut().zip(&other.stages) {
            assert_eq!(mine.window(), theirs.window(), "shards of one run have the same windows");
            mine.merge(theirs);
        }
        self.failures.merge(&other.failures);
        self.silence.merge(&other.silence);
    }

    /// The stages, in order.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Failures of measured requests by their words.
    #[must_use]
    pub const fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The silence of the server at the end of what was heard.
    #[must_use]
    pub const fn silence(&self) -> &Silence {
        &self.silence
    }

    /// What was counted so far of what is kept by interval.
    #[must_use]
    pub fn counted(&self) -> Interval {
        Interval::of(&self.stages)
    }
}

fn stage_at(stages: &mut [Stage], at: Instant) -> Option<&mut Stage> {
    let after = stages.partition_point(|stage| stage.window().from <= at);
    stages[..after].last_mut().filter(|stage| stage.window().contains(at))
}
