//! As inference-perf 0.7.0 writes `summary_lifecycle_metrics.json`.
//!
//! It must not fill in percentiles that the summary does not have: they are null.

use super::{
    MAX, MEAN, MIN, P50, P90, P95, P99, P99_9, Statistic, TWO_POPULATIONS, failed, in_units, window_s,
};
use crate::foreign::S;
use crate::report::{Distribution, Summary};
use serde_json::{Map, Value, json};

/// Every key of a distribution, in the tool's order; those without a statistic are percentiles that we do not keep.
const KEYS: [(&str, Option<Statistic>); 14] = [
    ("mean", Some(MEAN)),
    ("min", Some(MIN)),
    ("max", Some(MAX)),
    ("p0.1", None),
    ("p1", None),
    ("p5", None),
    ("p10", None),
    ("p25", None),
    ("median", Some(P50)),
    ("p75", None),
    ("p90", Some(P90)),
    ("p95", Some(P95)),
    ("p99", Some(P99)),
    ("p99.9", Some(P99_9)),
];

/// Null without values, as the tool has it.
fn spread(found: &Distribution) -> Value {
    if found.count == 0 {
        return Value::Null;
    }
    let of = |statistic: Option<Statistic>| {
        statistic.and_then(|of| of(found)).map_or(Value::Null, |ns| in_units(ns, S))
    };
    let keys = KEYS.into_iter().map(|(key, statistic)| (key.to_owned(), of(statistic)));
    Value::Object(keys.collect::<Map<_, _>>())
}

pub(super) fn value(summary: &Summary) -> Value {
    let total = &summary.total;
    let (load, latency, throughput) = (&total.load, &total.latency, &total.throughput);
    let tokens = &total.tokens;
    let both = throughput.input_tokens_per_s.zip(throughput.output_tokens_per_s);
    let uncached = tokens.input.zip(tokens.cached_input).and_then(|(all, cached)| all.checked_sub(cached));
    let mut successes = json!({
        "count": load.completed,
        "latency": {
            "request_latency": spread(&latency.e2e_end_ns),
            "normalized_time_per_output_token": spread(&latency.ntpot_sent_ns),
            "time_per_output_token": spread(&latency.tpot_ns),
            "time_to_first_token": spread(&latency.ttft_ns),
            "inter_token_latency": spread(&latency.itl_ns),
        },
        "throughput": {
            "input_tokens_per_sec": throughput.input_tokens_per_s,
            "output_tokens_per_sec": throughput.output_tokens_per_s,
            "total_tokens_per_sec": both.map(|(input, output)| input + output),
            "requests_per_sec": throughput.requests_per_s,
        },
        "prompt_tokens": { "total": tokens.input, "cached": tokens.cached_input, "uncached": uncached },
        "output_tokens": { "total": tokens.output },
    });
    if let Some(slo) = &total.slo {
        successes["goodput_metrics"] = json!({
            "goodput_percentage": slo.good_share.map(|share| share * 100.0),
            "request_goodput": slo.goodput_per_s,
            "good_requests": slo.good,
            "total_requests": slo.judged,
        });
    }
    json!({
        "lowrho_note": TWO_POPULATIONS,
        "benchmark_time_seconds": window_s(summary),
        "load_summary": {
            "count": load.begun,
            "schedule_delay": spread(&load.lateness_ns),
            "requested_rate": load.requested_rate,
            "achieved_rate": load.achieved_rate,
        },
        "successes": successes,
        "failures": { "count": failed(summary), "by_label": labels(summary) },
    })
}

/// Failures by class, with the words of the most frequent.
fn labels(summary: &Summary) -> Value {
    let label = |class: &String, count: &u64| {
        let words = summary.failures.iter().filter(|failure| failure.class == *class);
        let messages: Vec<Value> =
            words.filter_map(|it| it.detail.as_ref()).map(|it| json!({ "message": it })).collect();
        (class.clone(), json!({ "count": count, "messages": messages }))
    };
    Value::Object(summary.total.errors.iter().map(|(class, count)| label(class, count)).collect())
}
