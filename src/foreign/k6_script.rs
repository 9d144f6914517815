//! The script of a fair k6 baseline for a plan: the same rate, bodies and headers, k6's own pacing and pool.
//!
//! It must not change what is sent: a plan that k6 cannot keep (several stages, a closed loop) is refused, and what it does
//! otherwise is told.

use crate::analysis::{Slo, Statistic, What};
use crate::plan::{Endpoint, Plan};
use crate::time::{Span, format_span};
use serde_json::{Value, json};
use std::fmt;

/// What goes into every request beside its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptHeader {
    /// Its name.
    pub name: String,
    /// Its value; of a secret, what stands before the variable (`Bearer `).
    pub value: String,
    /// The variable of the environment that a secret is taken from.
    pub variable: Option<String>,
}

/// What a script is made from, beside the plan.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptParts {
    /// The headers of every request, but for those that k6 writes itself.
    pub headers: Vec<ScriptHeader>,
    /// The name of the file of bodies, as the script opens it.
    pub bodies: String,
    /// The load.
    pub load: ScriptLoad,
    /// How many bodies are in it.
    pub kept: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long a request is expected to take.
    pub e2e: Span,
    /// VUs, all of them from the start and no more, so that k6 has as many connections; `None` = by Little's law.
    pub vus: Option<u64>,
}

/// A script and what is to be said of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// Its text.
    pub text: String,
    /// What k6 does otherwise than the plan.
    pub differs: Vec<String>,
}

/// Why no script can be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptError(&'static str);

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ScriptError {}

/// The load of a script: one rate, held.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptLoad {
    /// Requests per second.
    pub rate_per_s: f64,
    /// The arrival process of the plan, in its words.
    pub process: String,
    /// The measured window.
    pub window: Span,
    /// Unmeasured load before it.
    pub warmup: Span,
}

impl ScriptLoad {
    /// Requests due in the warm-up: the index of the first measured one.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.due(self.warmup)
    }

    /// Requests due in all.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.first().saturating_add(self.due(self.window))
    }

    /// Of equal gaps from 0 on, how many begin before so long.
    fn due(&self, length: Span) -> u64 {
        whole(libm::ceil(self.rate_per_s * length.as_s_f64() - 1e-9))
    }

    /// Whole requests in whole seconds, as k6 wants a rate: the rate and its unit of time.
    fn in_whole(&self) -> Result<(u64, u64), ScriptError> {
        [1_u64, 2, 3, 4, 5, 6, 8, 10, 60, 100, 1_000, 3_600, 10_000]
            .into_iter()
            .map(|s| (self.rate_per_s * super::reading::float(s), s))
            .find(|(rate, _)| (rate - libm::round(*rate)).abs() < 1e-9 * rate && *rate >= 1.0)
            .map(|(rate, s)| (whole(libm::round(rate)), s))
            .ok_or(ScriptError(
                "k6 takes whole requests in whole seconds: give a --rate of at most four decimals",
            ))
    }
}

/// Makes the script.
///
/// # Errors
/// A plan that k6 cannot keep.
pub fn k6_script(plan: &Plan, parts: &ScriptParts) -> Result<Script, ScriptError> {
    let load = &parts.load;
    let (rate, unit_s) = load.in_whole()?;
    let endpoint = match plan.target.endpoints.as_slice() {
        [one] if one.socket.is_none() => one,
        [_] => return Err(ScriptError("k6 cannot be given a Unix socket: give an http URL")),
        _ => return Err(ScriptError("a script has one URL: leave the others out")),
    };
    let mut differs = differs(load, parts.kept);
    let (thresholds, untold) = thresholds(&plan.slo);
    differs.extend(untold);
    let text = text(plan, load, (rate, unit_s), endpoint, parts, &thresholds);
    Ok(Script { text, differs })
}

fn differs(load: &ScriptLoad, kept: u64) -> Vec<String> {
    let mut told = Vec::new();
    if load.process != "constant" {
        told.push(format!(
            "k6's gaps are all alike, the plan's are {}: run lowrho with --arrival constant beside it",
            load.process
        ));
    }
    if kept < load.requests() {
        told.push(format!(
            "{kept} bodies are kept of {} requests: after them they are sent again, and a server may have their prefixes cached",
            load.requests()
        ));
    }
    told
}

/// k6's thresholds of the terms that it can judge; the others in words.
fn thresholds(slo: &Slo) -> (Vec<(&'static str, String)>, Vec<String>) {
    let (mut thresholds, mut untold) = (Vec::new(), Vec::new());
    for term in slo.terms() {
        match *term.what() {
            What::Latency { bound, statistic } => {
                let metric = match bound.metric.name() {
                    "e2e_end" => "http_req_duration{scenario:measured}",
                    "head" => "http_req_waiting{scenario:measured}",
                    _ => {
                        untold.push(format!(
                            "{}: k6 does not measure it, and no threshold stands for it",
                            term.text()
                        ));
                        continue;
                    }
                };
                let of = match statistic {
                    Statistic::Mean => "avg".to_owned(),
                    Statistic::Quantile(q) => format!("p({})", libm::round(q * 1e5) / 1e3),
                };
                thresholds.push((metric, format!("{of}<={}", exact_ms(bound.most))));
            }
            What::ErrorRate { most, below } => {
                let sign = if below { "<" } else { "<=" };
                thresholds.push(("http_req_failed{scenario:measured}", format!("rate{sign}{most}")));
            }
            What::Throughput { .. } => {
                untold.push(format!(
                    "{}: k6's rates are over the whole test, and no threshold stands for it",
                    term.text()
                ));
            }
        }
    }
    (thresholds, untold)
}

/// A threshold that is always kept: only metrics with a threshold are told by scenario.
const TOLD: [(&str, &str); 5] = [
    ("http_req_duration{scenario:measured}", "max>=0"),
    ("http_req_duration{scenario:measured,expected_response:true}", "max>=0"),
    ("http_req_waiting{scenario:measured}", "max>=0"),
    ("http_req_failed{scenario:measured}", "rate>=0"),
    ("http_reqs{scenario:measured}", "count>=0"),
];

/// What copies of all bodies, one for each VU, may take.
const MOST_COPIED_BYTES: u64 = 64 << 20;

fn text(
    plan: &Plan,
    load: &ScriptLoad,
    (rate, unit_s): (u64, u64),
    endpoint: &Endpoint,
    parts: &ScriptParts,
    thresholds: &[(&'static str, String)],
) -> String {
    let expected = plan.load.expected_in_flight(parts.e2e).1.max(1) as u64;
    let (in_flight, most) = parts.vus.map_or((expected, expected.saturating_mul(4)), |vus| (vus, vus));
    let why = match parts.vus {
        Some(_) => "preAllocatedVUs is the number of connections that the other side has.".to_owned(),
        None => format!(
            "preAllocatedVUs is rate x {} (Little's law) and four deviations more: --expect-e2e says how long requests take.",
            format_span(parts.e2e)
        ),
    };
    let timeout = format_span(plan.target.timeouts.total);
    let scenario = |start: Span, length: Span, exec: &str| {
        json!({
            "executor": "constant-arrival-rate", "exec": exec, "startTime": milliseconds(start),
            "rate": rate, "timeUnit": format!("{unit_s}s"), "duration": milliseconds(length),
            "preAllocatedVUs": in_flight, "maxVUs": most, "gracefulStop": timeout,
        })
    };
    let mut scenarios = json!({ "measured": scenario(load.warmup, load.window, "measured") });
    if load.warmup > Span::ZERO {
        scenarios["warmup"] = scenario(Span::ZERO, load.warmup, "warmup");
    }
    let mut limits = json!({});
    for (metric, limit) in
        TOLD.map(|(metric, limit)| (metric, limit.to_owned())).into_iter().chain(thresholds.iter().cloned())
    {
        match &mut limits[metric] {
            Value::Array(list) => list.push(limit.into()),
            none => *none = json!([limit]),
        }
    }
    let options = json!({
        "discardResponseBodies": true,
        "noConnectionReuse": !plan.client.reuse,
        "summaryTrendStats": ["avg", "min", "med", "max", "p(90)", "p(95)", "p(99)", "p(99.9)", "count"],
        "scenarios": scenarios,
        "thresholds": limits,
    });
    let bodies = Value::from(parts.bodies.as_str());
    // At 1,000 requests/s a SharedArray's parsing raised k6's E2E from 0.3 to 5 ms.
    let shared = if parts.bytes.saturating_mul(most) <= MOST_COPIED_BYTES {
        format!(
            "
// Of request `index` the same body as lowrho's. Each VU has a copy: of an array that all share every look is a JSON.parse.
const bodies = JSON.parse(open({bodies}));"
        )
    } else {
        format!(
            "import {{ SharedArray }} from 'k6/data';

// Of request `index` the same body as lowrho's; shared by all VUs, for copies would take too much memory.
const bodies = new SharedArray('bodies', () => JSON.parse(open({bodies})));"
        )
    };
    let id = if plan.payload.request_id { "\n  headers['x-request-id'] = `k6-${index}`;" } else { "" };
    format!(
        "\
// A k6 baseline of a plan of lowrho {version}: the same rate, bodies and headers.
// {why}
import http from 'k6/http';
import exec from 'k6/execution';
{shared}
const url = {url};
const fixed = {headers};

export const options = {options:#};

function send(index) {{
  const headers = Object.assign({{}}, fixed);{id}
  http.post(url, bodies[index % bodies.length], {{ headers, timeout: {timeout} }});
}}

// k6 may begin one iteration more than a rate has in a length: its body would be another request's.
export function warmup() {{
  if (exec.scenario.iterationInTest < {first}) send(exec.scenario.iterationInTest);
}}
export function measured() {{
  if (exec.scenario.iterationInTest < {requests} - {first}) send({first} + exec.scenario.iterationInTest);
}}
",
        version = env!("CARGO_PKG_VERSION"),
        url = Value::from(endpoint.url()),
        headers = headers(&parts.headers),
        first = load.first(),
        requests = load.requests(),
        timeout = Value::from(timeout.clone()),
    )
}

/// The headers as a literal; a secret's value is the environment's.
fn headers(headers: &[ScriptHeader]) -> String {
    let one = |header: &ScriptHeader| {
        let name = Value::from(header.name.as_str());
        let value = Value::from(header.value.as_str());
        match &header.variable {
            None => format!("  {name}: {value},\n"),
            Some(variable) => format!("  {name}: {value} + __ENV.{variable},\n"),
        }
    };
    format!("{{\n{}}}", headers.iter().map(one).collect::<String>())
}

fn milliseconds(span: Span) -> String {
    format!("{}ms", span.as_ns() / 1_000_000)
}

/// Milliseconds to the nanosecond, without a float's last digits.
fn exact_ms(span: Span) -> String {
    let ns = span.as_ns();
    let text = format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number that is known not to be negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and a plan's rate and length are bounded far below"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(rate_per_s: f64, window_ms: i64, warmup_ms: i64) -> ScriptLoad {
        let process = "constant".into();
        ScriptLoad { rate_per_s, process, window: Span::from_ms(window_ms), warmup: Span::from_ms(warmup_ms) }
    }

    #[test]
    fn requests_are_those_that_are_due_in_the_length() {
        let load = load(50.0, 2_000, 1_000);
        assert_eq!((load.first(), load.requests()), (50, 150));
        // At 0, 1/3 s and 2/3 s, and at 1 s no more.
        assert_eq!(self::load(3.0, 1_000, 0).requests(), 3);
        assert_eq!(self::load(3.0, 1_001, 0).requests(), 4);
    }

    #[test]
    fn a_rate_becomes_whole_requests_in_whole_seconds_or_is_refused() {
        let whole = |rate| load(rate, 1_000, 0).in_whole().ok();
        assert_eq!(whole(200.0), Some((200, 1)));
        assert_eq!(whole(0.25), Some((1, 4)));
        assert_eq!(whole(12.34), Some((1_234, 100)));
        assert_eq!(whole(0.000_1), Some((1, 10_000)));
        assert_eq!(whole(std::f64::consts::PI), None);
    }

    #[test]
    fn a_bound_keeps_its_last_nanosecond() {
        assert_eq!(exact_ms(Span::from_ns(499_999_999)), "499.999999");
        assert_eq!(exact_ms(Span::from_ms(500)), "500");
        assert_eq!(exact_ms(Span::from_ns(1_500_000)), "1.5");
    }

    #[test]
    fn terms_that_k6_measures_become_thresholds_and_the_others_are_told() {
        let (limits, untold) = thresholds(
            &"e2e_end_p99<=500ms,head_mean<=5ms,error_rate<1%,ttft_p99<1s,requests_per_s>5".parse().unwrap(),
        );
        let limits: Vec<&str> = limits.iter().map(|(_, limit)| limit.as_str()).collect();
        assert_eq!(limits, ["p(99)<=500", "avg<=5", "rate<0.01"]);
        assert_eq!(untold.len(), 2);
    }
}
