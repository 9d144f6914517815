//! How long trials are: as asked for, or by how long a lone request takes, and what that depends on, in words.
//!
//! It must not look at a trial.

use super::seconds;
use crate::plan::SweepPlan;
use crate::run::Interrupts;
use crate::run::target::Target;
use crate::search::Lengths;

/// The lengths of a sweep's trials, and where they come from.
pub(super) struct Chosen {
    pub(super) lengths: Lengths,
    /// Such as `20 and 80 times the 95 ms of a lone request, since the server is our own simulator`.
    pub(super) because: String,
}

/// Chooses them.
pub(super) fn choose(plan: &SweepPlan, target: &Target, interrupts: &Interrupts) -> Chosen {
    let (usual, why) = match target.expected_e2e(&plan.plan) {
        None => (Lengths::default(), "the usual ones; how long a lone request takes is not known".to_owned()),
        Some(e2e) if target.is_our_simulator(&plan.plan, interrupts) => {
            let why = "20 and 80 times that, at least 0.5 s and 4 s, since the server is lowrho's simulator";
            (Lengths::for_simulator(e2e), format!("a lone request takes {}; {why}", seconds(e2e)))
        }
        Some(e2e) => {
            let usual = Lengths::for_service(e2e);
            let why = if usual == Lengths::default() { "the usual ones" } else { "shortened with it" };
            (usual, format!("a lone request takes {}; {why}", seconds(e2e)))
        }
    };
    let lengths =
        Lengths { warmup: plan.warmup.unwrap_or(usual.warmup), window: plan.window.unwrap_or(usual.window) };
    let because = match (plan.warmup, plan.window) {
        (Some(_), Some(_)) => "as asked for".into(),
        (Some(_), None) => format!("the warm-up as asked for, the window: {why}"),
        (None, Some(_)) => format!("the window as asked for, the warm-up: {why}"),
        (None, None) => why,
    };
    Chosen { lengths, because }
}
