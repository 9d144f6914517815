//! What a run would be, printed: a config file whose comments tell the rest; sends nothing.

use super::curl;
use crate::plan::{CostSource, Plan, format_cpus};
use crate::schedule::{Extent, Load};
use crate::time::{Phase, format_span};
use std::io::{self, Write};

/// Prints the plan, the expected rho and the effective config to `to`, which a config file can be made of, and the first
/// request as commands for a shell to `aside`. `prompts` is the text of the plan's file of prompts, if it has one.
pub(super) fn print(
    plan: &Plan,
    prompts: Option<&str>,
    to: &mut impl Write,
    aside: &mut impl Write,
) -> io::Result<()> {
    for line in words(plan) {
        writeln!(to, "# {line}")?;
    }
    write!(to, "\n{}", plan.effective_toml())?;
    // Where both go to one terminal they come in this order.
    to.flush()?;
    writeln!(aside, "\n{}", curl::first_request(plan, prompts))
}

/// The plan in words, a line each.
fn words(plan: &Plan) -> Vec<String> {
    let mut lines = vec![target(plan)];
    let schedule = plan.schedule();
    for (n, stage) in plan.load.stages.iter().enumerate() {
        let name = if plan.load.stages.len() == 1 { "load".to_owned() } else { format!("stage {}", n + 1) };
        let what = match stage.load {
            Load::Open { rate_per_s, process } => {
                let (from, to) = (rate_per_s.from(), rate_per_s.to());
                let rate = if from == to { format!("{from}") } else { format!("{from} to {to}") };
                format!("open loop, {process}, {rate} requests/s")
            }
            Load::Closed { slots, .. } => {
                let (from, to) = (slots.from(), slots.to());
                let slots = if from == to { format!("{from}") } else { format!("{from} to {to}") };
                format!("closed loop, {slots} requests in flight")
            }
        };
        let extent = match stage.extent {
            Extent::Duration(span) => format!("for {}", format_span(span)),
            Extent::Requests(n) => format!("for {n} requests"),
        };
        lines.push(format!("{name}: {what} {extent}, after {} of warm-up", format_span(stage.warmup)));
    }
    if let Some(requests) = schedule.expected_requests(Phase::Measured) {
        lines.push(format!("expected: {requests:.0} measured requests"));
    }
    let client = &plan.client;
    lines.push(format!(
        "client: {} on {}; {:.0} requests/s and {:.0} events/s at {} are an expected rho of {:.3} a shard ({})",
        counted(client.cpus.len(), "shard"),
        on(&client.cpus),
        client.expected_requests_per_s,
        client.expected_events_per_s,
        client.cost,
        client.expected_rho,
        source(&client.cost.source)
    ));
    lines.push(format!("connections: at most {}; {}", client.connections, client.waiting));
    lines.extend(plan.caveats.iter().map(|caveat| format!("caveat: {caveat}")));
    lines
}

/// Where the costs come from.
fn source(source: &CostSource) -> String {
    match source {
        CostSource::Guess | CostSource::Refused(_) => "a guess: lowrho floor measures this host".into(),
        CostSource::Card(file) => format!("capacity card {file}"),
    }
}

fn target(plan: &Plan) -> String {
    let model = plan.target.model.as_deref().unwrap_or("asked from /v1/models");
    match &plan.sim {
        Some(sim) => {
            let model = &sim.script.model;
            format!("target: the embedded simulator at {} on {}, model {model}", sim.listen, on(&sim.cpus))
        }
        None => format!("target: {}, model: {model}", plan.target.endpoint.url()),
    }
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn on(cpus: &[usize]) -> String {
    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{word} {}", format_cpus(cpus))
}
