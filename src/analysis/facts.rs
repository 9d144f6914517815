//! What the analysis is told beside the statistics: what was asked for, and what the shards' surroundings counted.
//!
//! It must not hold findings.

use super::Slo;
use crate::time::{Instant, Span};

/// The facts of a run.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Facts {
    /// Each stage, in order.
    pub stages: Vec<StageFacts>,
    /// Each shard, in the order of its recorder and audit.
    pub shards: Vec<ShardFacts>,
    /// Half width of the offset between the stamps' clock and ours; zero where we stamp ourselves.
    pub clock_bound: Span,
    /// Times the stamps' clock was set during the run.
    pub clock_steps: u64,
    /// When the run was interrupted, if it was: windows end there.
    pub interrupted: Option<Instant>,
    /// The service levels asked for; each recorder held its requests to their bounds.
    pub slo: Slo,
}

/// What was asked of one stage.
#[derive(Copy, Clone, PartialEq, Default, Debug)]
pub struct StageFacts {
    /// Requests per second; `None` in a closed loop.
    pub requested_rate: Option<f64>,
    /// Whether the load changes within the stage: then so do the requests in flight, whatever the server does.
    pub is_ramp: bool,
    /// Requests that the schedule itself has in the window; `None` in a closed loop, or where it was cut short by the user.
    pub due: Option<u64>,
}

/// What one shard's surroundings counted over the whole run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ShardFacts {
    /// Reads.
    pub reads: u64,
    /// Reads without a stamp where its class promised one.
    pub lost_stamps: u64,
    /// Overflows of the completion queue.
    pub queue_overflows: u64,
    /// Rows that the writer's full queue refused.
    pub rows_dropped: u64,
    /// Why the shard ended early, if it did.
    pub failed: Option<String>,
}
