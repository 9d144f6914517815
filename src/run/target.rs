//! What is known of the target before the run: its address, its model, what the probe found, and the workload made for it.
//!
//! It must not send load.

use super::probe::{self, Findings};
use super::{Interrupts, RunError, address};
use crate::plan::Plan;
use crate::report;
use crate::time::Span;
use crate::wire::Api;
use crate::workload::Workload;
use std::net::SocketAddr;

/// The target of a run.
pub struct Target {
    /// Where connections go.
    pub address: SocketAddr,
    /// The model asked for.
    pub model: String,
    /// What will be sent, cut to length by what the probe found.
    pub workload: Workload,
    /// What the probe found, if there was one.
    pub probe: Option<Findings>,
}

impl Target {
    /// Looks at the target of `plan`; requests of the run will be called `<run>-<index>`. `prompts` is the text of the
    /// plan's file of prompts, if it has one.
    pub fn look(
        plan: &Plan,
        prompts: Option<&str>,
        run: &str,
        interrupts: &Interrupts,
    ) -> Result<Self, RunError> {
        let address = address::resolve(&plan.target.endpoint)?;
        if let Some(limit) = plan.target.wait_ready {
            probe::wait_ready(plan, address, limit, interrupts)?;
        }
        let model = probe::model(plan, address, interrupts)?;
        let workload =
            plan.workload(&model, run, prompts).map_err(|error| RunError::Plan(error.to_string()))?;
        if !plan.target.probe {
            return Ok(Self { address, model, workload, probe: None });
        }
        let found = probe::probe(plan, address, &workload, interrupts);
        if interrupts.count() > 0 {
            return Err(RunError::Interrupted);
        }
        let found = found?;
        let workload = match found.fit {
            Some(fit) => workload.calibrated(fit),
            None => workload,
        };
        Ok(Self { address, model, workload, probe: Some(found) })
    }
}

impl Target {
    /// The same target for the requests of another run, which are made from `plan`.
    pub fn for_run(&self, plan: &Plan, run: &str, prompts: Option<&str>) -> Result<Self, RunError> {
        let workload =
            plan.workload(&self.model, run, prompts).map_err(|error| RunError::Plan(error.to_string()))?;
        let workload = match self.probe.as_ref().and_then(|found| found.fit) {
            Some(fit) => workload.calibrated(fit),
            None => workload,
        };
        Ok(Self { address: self.address, model: self.model.clone(), workload, probe: self.probe.clone() })
    }

    /// What the summary tells of it.
    pub fn found(&self, plan: &Plan) -> report::Target {
        let told = report::Target {
            url: plan.target.endpoint.url(),
            api: match plan.target.api {
                Api::Chat => "chat".into(),
                Api::Completions => "completions".into(),
            },
            model: self.model.clone(),
            ..report::Target::default()
        };
        let Some(found) = &self.probe else { return told };
        report::Target {
            probed: true,
            streams: Some(true),
            counts_tokens: Some(found.counts_tokens),
            honours_output_tokens: found.honours_output_tokens,
            round_trip_ns: Some(found.round_trip.as_ns()),
            idle_ttft_ns: found.idle_ttft.map(Span::as_ns),
            idle_tpot_ns: found.idle_tpot.map(Span::as_ns),
            notes: found.notes.clone(),
            ..told
        }
    }
}
