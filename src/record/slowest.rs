//! The slowest requests of a stage, with the split of their time.
//!
//! It must not keep more than ten of each kind, and equal ones by index, so that merging gives the same in any order.

use super::{Metric, Metrics, Record};
use crate::time::{Instant, Span};

/// How many are kept of each kind: what a reader can take in.
const KEPT: usize = 10;

/// One slow request. Spans as in docs/METHOD.md; `None` where undefined.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "docs/METHOD.md defines each field under the same name")]
pub struct Slow {
    pub index: u64,
    pub shard: u16,
    pub stage: u16,
    pub due: Instant,
    pub sent: Option<Instant>,
    pub lateness: Option<Span>,
    pub pool_wait: Option<Span>,
    /// `None` on a reused connection.
    pub connect: Option<Span>,
    pub ttft: Option<Span>,
    /// last - first.
    pub streaming: Option<Span>,
    pub stall: Option<Span>,
    pub e2e: Option<Span>,
    pub e2e_due: Option<Span>,
    pub output_tokens: Option<u64>,
}

impl Slow {
    fn of(record: &Record, metrics: &Metrics) -> Self {
        Self {
            index: record.index,
            shard: record.shard,
            stage: record.stage,
            due: record.due,
            sent: record.sent,
            lateness: metrics.get(Metric::Lateness),
            pool_wait: metrics.get(Metric::PoolWait),
            connect: metrics.get(Metric::Connect),
            ttft: metrics.get(Metric::Ttft),
            streaming: record.first.and_then(|first| Some(record.last? - first)),
            stall: record.stall,
            e2e: metrics.get(Metric::E2e),
            e2e_due: metrics.get(Metric::E2eDue),
            output_tokens: record.output_tokens,
        }
    }
}

/// The slowest successes by E2E and by TTFT, slowest first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Slowest {
    by_e2e: Vec<Slow>,
    by_ttft: Vec<Slow>,
}

impl Slowest {
    /// Looks at one success.
    pub fn see(&mut self, record: &Record, metrics: &Metrics) {
        offer(&mut self.by_e2e, |slow| slow.e2e, metrics.get(Metric::E2e), || Slow::of(record, metrics));
        offer(&mut self.by_ttft, |slow| slow.ttft, metrics.get(Metric::Ttft), || Slow::of(record, metrics));
    }

    /// Adds what `other` saw.
    pub fn merge(&mut self, other: &Self) {
        for slow in &other.by_e2e {
            offer(&mut self.by_e2e, |slow| slow.e2e, slow.e2e, || *slow);
        }
        for slow in &other.by_ttft {
            offer(&mut self.by_ttft, |slow| slow.ttft, slow.ttft, || *slow);
        }
    }

    /// The slowest by E2E.
    #[must_use]
    pub fn by_e2e(&self) -> &[Slow] {
        &self.by_e2e
    }

    /// The slowest by TTFT.
    #[must_use]
    pub fn by_ttft(&self) -> &[Slow] {
        &self.by_ttft
    }
}

fn offer(
    kept: &mut Vec<Slow>,
    by: fn(&Slow) -> Option<Span>,
    value: Option<Span>,
    slow: impl FnOnce() -> Slow,
) {
    let full = kept.len() == KEPT;
    let Some(value) = value else { return };
    if full && kept.last().is_some_and(|least| by(least) > Some(value)) {
        return;
    }
    let slow = slow();
    let place = kept.partition_point(|other| (by(other), slow.index) > (Some(value), other.index));
    kept.insert(place, slow);
    kept.truncate(KEPT);
}
