//! What a search found: the limits with their intervals, the efficient point.
//!
//! It must not choose trials.

use super::bracket::Bounds;
use super::collapse::Collapse;
use super::plan::Trial;
use super::trial::{Ended, Outcome, Purpose, Trust};
use super::usl::Usl;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known at the end of a search, or by now.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Requests per second that the server completes while ever more of them wait.
    pub stability_limit: Option<Limit>,
    /// The highest rate at which the service levels hold.
    pub slo_capacity: Option<Limit>,
    /// Throughput that falls beyond the limit, if it does.
    pub collapse: Option<Collapse>,
    /// The rate of the greatest throughput per response time (Kleinrock's power), among those tried.
    pub efficient_rate: Option<f64>,
    /// A fit of the Universal Scalability Law to the closed loops, where it deserves one.
    pub usl: Option<Usl>,
}

/// A limit, in requests per second.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The best single number.
    pub estimate: Option<f64>,
    /// The limit lies above this.
    pub low: Option<f64>,
    /// The limit lies below this.
    pub high: Option<f64>,
    /// How often the low one passed, of how many trials.
    pub passed: Option<(u32, u32)>,
    /// How often the high one failed, of how many.
    pub failed: Option<(u32, u32)>,
    /// The numbers of the trials behind it.
    pub trials: Vec<usize>,
}

impl Findings {
    /// Of trials that no search made.
    #[must_use]
    pub fn of_profile(trials: &[Trial]) -> Self {
        let valid: Vec<&Trial> =
            trials.iter().filter(|trial| trial.outcome.client != Trust::Invalid).collect();
        Self { efficient_rate: efficient(&valid), ..Self::default() }
    }
}

/// Completions per second over the window of an overloaded trial, with the interval that its twentieths give.
pub(super) fn interval(outcome: &Outcome, number: usize) -> Limit {
    let (low, high) = outcome.completed_interval();
    Limit {
        estimate: Some(outcome.completed_per_s()),
        low: Some(low),
        high: Some(high),
        trials: vec![number],
        ..Limit::default()
    }
}

/// A capacity whose bounds are confirmed: its best number is their geometric mean, since rates were bisected by ratio.
pub(super) fn proved(bounds: Bounds, trials: Vec<usize>) -> Limit {
    Limit {
        estimate: Some(libm::sqrt(bounds.low * bounds.high)),
        low: Some(bounds.low),
        high: Some(bounds.high),
        passed: Some(bounds.passed),
        failed: Some(bounds.failed),
        trials,
    }
}

/// With a larger share of failures a trial's latencies say little of the server.
const DOUBTFUL_FAILURES: f64 = 0.01;

/// The rate at which throughput over mean response time is greatest (Kleinrock 1979, "Power and deterministic rules of thumb").
pub(super) fn efficient(trials: &[&Trial]) -> Option<f64> {
    let power = |trial: &&Trial| {
        let mean_ns = trial.outcome.shown("e2e")?.mean_ns.filter(|ns| *ns > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "a mean of a few digits")]
        let power = trial.outcome.completed_per_s() / mean_ns as f64;
        Some((power, trial.ask.offer.rate()?))
    };
    // Of a trial that was cut, and of an overload, the response times are those of requests that were quick enough to be seen.
    // And where the target failed some, throughput is of what it did not refuse.
    let told = |trial: &&&Trial| {
        let outcome = &trial.outcome;
        outcome.ended == Ended::Whole
            && trial.ask.purpose != Purpose::Overload
            && outcome.failed_share() <= DOUBTFUL_FAILURES
    };
    trials.iter().filter(told).filter_map(power).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rate)| rate)
}
