//! Whether throughput falls beyond the limit: a server that thrashes does less the more it is asked.
//!
//! It must not say why.

use super::plan::Trial;
use super::trial::Purpose;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Throughput before and beyond the limit, in completions per second.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Collapse {
    /// The most that any trial completed.
    pub best_per_s: f64,
    /// What was completed under overload.
    pub overloaded_per_s: f64,
}

/// Less than this share of the best is a collapse: trials of one rate differ by less.
const SHARE: f64 = 0.95;

/// The collapse, if overload completed clearly less than the best trial did.
pub(super) fn of(trials: &[&Trial], overloaded_per_s: f64) -> Option<Collapse> {
    let steady = trials.iter().filter(|trial| trial.ask.purpose != Purpose::Overload);
    let best_per_s = steady.map(|trial| trial.outcome.completed_per_s()).fold(0.0, f64::max);
    (overloaded_per_s < SHARE * best_per_s).then_some(Collapse { best_per_s, overloaded_per_s })
}
