//! What a run would be, printed: a config file whose comments tell the rest; sends nothing.

use super::curl;
use crate::plan::{Balance, Client, CostSource, Plan, format_cpus};
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
    let mut lines = targets(plan);
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
    let Client { connections, engine, waiting, .. } = client;
    lines.push(format!("connections: at most {connections}; {engine}, {waiting}"));
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

fn targets(plan: &Plan) -> Vec<String> {
    if let Some(sim) = &plan.sim {
        let listen: Vec<String> = sim.listen.iter().map(ToString::to_string).collect();
        let (listen, model) = (listen.join(", "), &sim.script.model);
        return vec![format!(
            "target: the embedded simulator at {listen} on {}{}, model {model}",
            on(&sim.cpus),
            if sim.tls.is_some() { " over TLS" } else { "" }
        )];
    }
    let model = plan.target.model.as_deref().unwrap_or("asked from /v1/models");
    let target = &plan.target;
    if let [only] = target.endpoints.as_slice() {
        return vec![format!("target: {}, model: {model}", only.url())];
    }
    let all: u32 = target.weights().iter().sum();
    let each = target.endpoints.iter().zip(0..).map(|(endpoint, nth)| {
        format!("target {nth}: {}, {} of {all} requests", endpoint.url(), endpoint.weight)
    });
    let how = match target.balance {
        Balance::RoundRobin => "each in its turn (round-robin)",
        Balance::Sticky => "the same prompt or session always to the same one (sticky)",
    };
    each.chain([format!("targets: {how}, model: {model}")]).collect()
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn on(cpus: &[usize]) -> String {
    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{word} {}", format_cpus(cpus))
}
