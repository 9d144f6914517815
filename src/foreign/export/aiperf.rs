//! As AIPerf 0.13.0 writes `profile_export_aiperf.json` (its schema 1.4), and GenAI-Perf, whose form that is,
//! `profile_export_genai_perf.json`.
//!
//! It must not fill in what only those clients know, such as distributions of lengths.

use super::{
    MAX, MEAN, MIN, P50, P90, P95, P99, SD, Statistic, TWO_POPULATIONS, failed, instant, told, window_s,
};
use crate::foreign::MS;
use crate::report::{Distribution, Ended, Summary};
use serde_json::{Map, Value, json};

const STATISTICS: [(&str, Statistic); 8] = [
    ("avg", MEAN),
    ("p50", P50),
    ("p90", P90),
    ("p95", P95),
    ("p99", P99),
    ("min", MIN),
    ("max", MAX),
    ("std", SD),
];

/// A metric that has a distribution; null without values.
fn spread(found: &Distribution, with_count: bool) -> Value {
    if found.count == 0 {
        return Value::Null;
    }
    let mut metric = Map::from_iter([("unit".to_owned(), Value::from("ms"))]);
    metric.extend(told(found, &STATISTICS, MS));
    if with_count {
        metric.insert("count".into(), found.count.into());
    }
    Value::Object(metric)
}

/// A metric that has one value; null without it.
fn single(unit: &str, value: Option<impl Into<Value>>) -> Value {
    value.map_or(Value::Null, |value| json!({ "unit": unit, "avg": value.into() }))
}

/// What both have.
fn common(summary: &Summary, with_count: bool) -> Map<String, Value> {
    let total = &summary.total;
    let latency = &total.latency;
    let metrics = [
        ("request_throughput", single("requests/sec", total.throughput.requests_per_s)),
        ("request_latency", spread(&latency.e2e_ns, with_count)),
        ("request_count", single(if with_count { "requests" } else { "count" }, Some(total.load.completed))),
        ("time_to_first_token", spread(&latency.ttft_ns, with_count)),
        ("inter_token_latency", spread(&latency.tpot_ns, with_count)),
        ("output_token_throughput", single("tokens/sec", total.throughput.output_tokens_per_s)),
    ];
    metrics
        .into_iter()
        .filter(|(_, metric)| !metric.is_null())
        .map(|(tag, metric)| (tag.to_owned(), metric))
        .collect()
}

pub(super) fn genai_perf(summary: &Summary) -> Value {
    Value::Object(common(summary, false))
}

pub(super) fn value(summary: &Summary) -> Value {
    let total = &summary.total;
    let mut value = Map::from_iter([
        ("schema_version".to_owned(), Value::from("1.4")),
        ("lowrho_version".to_owned(), summary.run.version.clone().into()),
        ("lowrho_note".to_owned(), TWO_POPULATIONS.into()),
        ("benchmark_id".to_owned(), summary.run.id.clone().into()),
    ]);
    value.extend(common(summary, true));
    let slo = total.slo.as_ref();
    for (tag, metric) in [
        ("time_to_first_output_token", spread(&total.latency.ttfo_ns, true)),
        ("inter_chunk_latency", spread(&total.latency.itl_ns, true)),
        ("input_token_throughput", single("tokens/sec", total.throughput.input_tokens_per_s)),
        ("goodput", single("requests/sec", slo.and_then(|slo| slo.goodput_per_s))),
        ("good_request_count", single("requests", slo.map(|slo| slo.good))),
        ("total_osl", single("tokens", Some(total.tokens.output))),
        ("total_isl", single("tokens", total.tokens.input)),
        ("total_reasoning_tokens", single("tokens", total.tokens.reasoning)),
        ("error_request_count", single("requests", Some(failed(summary)).filter(|failed| *failed > 0))),
        ("benchmark_duration", single("sec", window_s(summary))),
    ] {
        if !metric.is_null() {
            value.insert(tag.into(), metric);
        }
    }
    value.insert("run_info".into(), json!({ "random_seed": summary.run.seed }));
    value.insert("was_cancelled".into(), (summary.run.ended == Ended::Interrupted).into());
    value.insert("is_complete".into(), (summary.run.ended == Ended::Complete).into());
    value.insert("error_summary".into(), errors(summary));
    // Theirs has no zone either.
    const WHEN: &str = "%Y-%m-%dT%H:%M:%S.%6f";
    value.insert("start_time".into(), instant(summary, 0, WHEN).into());
    value.insert("end_time".into(), instant(summary, summary.run.duration_ns, WHEN).into());
    Value::Object(value)
}

fn errors(summary: &Summary) -> Value {
    let one = |failure: &crate::report::Failure| {
        let details = json!({ "code": failure.status, "type": failure.class, "message": failure.detail });
        json!({ "error_details": details, "count": failure.count })
    };
    summary.failures.iter().map(one).collect()
}
