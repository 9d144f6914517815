//! The embedded simulator of `run --sim`: started before the target is looked at, its account taken after the run.
//!
//! It must not be told anything about the load.

use super::RunError;
use crate::plan::SimPlan;
use crate::report::Simulator;
use crate::sim::{Sim, SimConfig, SimHandle, SimReport};
use std::path::PathBuf;

/// The simulator's configuration of a plan.
#[must_use]
pub fn config(plan: &SimPlan) -> SimConfig {
    SimConfig {
        script: plan.script.clone(),
        address: plan.listen,
        cpus: plan.cpus.clone(),
        log: plan.log.as_ref().map(PathBuf::from),
    }
}

/// Starts the simulator of a plan, if it has one.
pub fn start(plan: Option<&SimPlan>) -> Result<Option<SimHandle>, RunError> {
    plan.map(|plan| Sim::start(&config(plan)).map_err(|error| RunError::Own(error.to_string()))).transpose()
}

/// Its account, as the summary holds it.
pub fn account(report: &SimReport) -> Simulator {
    let whole = |span: crate::time::Span| span.as_ns();
    Simulator {
        rho_busy: report.rho(),
        lateness_p50_ns: report.lateness(0.5).map(whole),
        lateness_p99_ns: report.lateness(0.99).map(whole),
        was_the_limit: report.limited(),
    }
}
