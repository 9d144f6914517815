//! What a run would be, printed: a config file whose comments tell the rest; sends nothing.

use crate::plan::{Balance, CostSource, Endpoint, Header, Plan, format_cpus};
use crate::schedule::{Extent, Load};
use crate::time::{Phase, format_span};
use crate::workload::Request;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Prints the plan, the expected rho, the effective config and the first request as a curl command. `prompts` is the
/// text of the plan's file of prompts, if it has one.
pub(super) fn print(plan: &Plan, prompts: Option<&str>, to: &mut impl Write) -> io::Result<()> {
    for line in words(plan) {
        writeln!(to, "# {line}")?;
    }
    writeln!(to, "\n{}", plan.effective_toml())?;
    writeln!(to, "# The first request; nothing was sent:")?;
    curl(plan, &first_body(plan, prompts)).lines().try_for_each(|line| writeln!(to, "# {line}"))
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

fn targets(plan: &Plan) -> Vec<String> {
    if let Some(sim) = &plan.sim {
        let listen: Vec<String> = sim.listen.iter().map(ToString::to_string).collect();
        let (listen, model) = (listen.join(", "), &sim.script.model);
        return vec![format!(
            "target: the embedded simulator at {listen} on {}, model {model}",
            on(&sim.cpus)
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

/// The body of request 0; a model that must be asked for is left to be filled in.
fn first_body(plan: &Plan, prompts: Option<&str>) -> String {
    let of_sim = plan.sim.as_ref().map(|sim| sim.script.model.as_str());
    let model = plan.target.model.as_deref().or(of_sim).unwrap_or("MODEL");
    let workload = plan.workload(model, "RUN", prompts).expect("the workload was made once to check it");
    let mut request = Request::new();
    workload.request(0, &mut request);
    String::from_utf8(request.body()).expect("a body is JSON, and JSON is UTF-8")
}

/// The same request by curl; secrets are named, not shown.
fn curl(plan: &Plan, body: &str) -> String {
    let first = &plan.target.endpoints[0];
    let http = Endpoint { socket: None, ..first.clone() };
    let mut text = format!("curl --no-buffer {}", quoted(&http.url()));
    let mut line = |argument: &str, value: &str| {
        let _ = write!(text, " \\\n  {argument} {value}");
    };
    if let Some(socket) = &first.socket {
        line("--unix-socket", &quoted(socket));
    }
    line("--header", &quoted("Content-Type: application/json"));
    for header in plan.target.headers_of(first) {
        line("--header", &shown(header));
    }
    if plan.payload.request_id {
        line("--header", &quoted("x-request-id: RUN-0"));
    }
    line("--data-raw", &quoted(body));
    text
}

/// A header as the shell reads it: a bearer key comes from where it usually is, another secret is left to be filled in.
fn shown(header: &Header) -> String {
    if !header.secret {
        return quoted(&format!("{}: {}", header.name, header.value));
    }
    if header.name.eq_ignore_ascii_case("authorization") && header.value.starts_with("Bearer ") {
        return format!("\"{}: Bearer $OPENAI_API_KEY\"", header.name);
    }
    quoted(&format!("{}: ***", header.name))
}

/// In single quotes, as a POSIX shell reads them.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
