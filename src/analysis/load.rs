//! Rates of load and throughput: what was asked, scheduled, sent and achieved (docs/METHOD.md, "Load").
//!
//! It must not judge.

use crate::record::Stage;
use crate::time::{Instant, Span};

/// Load of a window. Rates are requests per second, `None` where the window has no length.
#[derive(Copy, Clone, PartialEq, Default, Debug)]
pub struct Load {
    /// The rate asked for; `None` in a closed loop and over several stages.
    pub requested_rate: Option<f64>,
    /// Due in the window / window.
    pub scheduled_rate: Option<f64>,
    /// Begun in the window / window.
    pub sent_rate: Option<f64>,
    /// Successes completed in the window / window.
    pub achieved_rate: Option<f64>,
    /// Due in the window.
    pub due: u64,
    /// Of these, begun.
    pub begun: u64,
    /// Begun, and successes.
    pub completed: u64,
    /// Begun, and failures.
    pub failed: u64,
    /// Failures of our own making among them.
    pub ours: u64,
    /// Begun, and cancelled by us.
    pub cancelled: u64,
}

/// What was stamped inside the window, per second.
#[derive(Copy, Clone, PartialEq, Default, Debug)]
pub struct Throughput {
    /// Successes.
    pub requests_per_s: Option<f64>,
    /// Output tokens.
    pub output_tokens_per_s: Option<f64>,
    /// Input tokens, as the server counted them; `None` where it counted none.
    pub input_tokens_per_s: Option<f64>,
    /// Token-bearing events.
    pub events_per_s: Option<f64>,
    /// Bytes received.
    pub bytes_per_s: Option<f64>,
}

/// The length of a stage's window: fixed by the plan, or up to the end of its last request; and no longer than the run
/// lasted, where it was `interrupted`.
#[must_use]
pub fn window_length(stage: &Stage, interrupted: Option<Instant>) -> Span {
    let window = stage.window();
    let until_last = || stage.last_over.map(|over| over - window.from);
    let whole = window.duration().or_else(until_last).unwrap_or(Span::ZERO);
    let lasted = interrupted.map_or(whole, |at| at - window.from);
    whole.min(lasted).max(Span::ZERO)
}

/// The load of `stage`, whose window has this length. `due` is the schedule's own count where it has one: requests that the
/// shards never came to begin are due all the same.
pub(super) fn load(stage: &Stage, length: Span, requested_rate: Option<f64>, due: Option<u64>) -> Load {
    let population = &stage.population;
    let due = due.unwrap_or(population.due).max(population.due);
    let per_s = |count: u64| rate(count, length);
    Load {
        requested_rate,
        scheduled_rate: per_s(due),
        sent_rate: per_s(stage.flow.begun),
        achieved_rate: per_s(stage.flow.completed),
        due,
        begun: population.begun,
        completed: population.completed,
        failed: population.failed,
        ours: population.ours,
        cancelled: population.cancelled,
    }
}

pub(super) fn throughput(stage: &Stage, length: Span) -> Throughput {
    let flow = &stage.flow;
    Throughput {
        requests_per_s: rate(flow.completed, length),
        output_tokens_per_s: rate(flow.output_tokens, length),
        input_tokens_per_s: rate(flow.input_tokens, length).filter(|_| flow.input_tokens > 0),
        events_per_s: rate(flow.events, length),
        bytes_per_s: rate(flow.bytes, length),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate of a few digits")]
fn rate(count: u64, length: Span) -> Option<f64> {
    (length > Span::ZERO).then(|| count as f64 / length.as_s_f64())
}
