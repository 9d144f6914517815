//! As `vllm bench serve --save-result` writes (keys and units of vLLM 0.33.0).
//!
//! It must not fill in what only that client knows.

use super::{
    MEAN, P50, P90, P95, P99, P99_9, SD, Statistic, TWO_POPULATIONS, failed, instant, told, window_s,
};
use crate::foreign::MS;
use crate::report::Summary;
use serde_json::{Value, json};

const STATISTICS: [(&str, Statistic); 8] = [
    ("mean", MEAN),
    ("median", P50),
    ("std", SD),
    ("p50", P50),
    ("p90", P90),
    ("p95", P95),
    ("p99", P99),
    ("p99.9", P99_9),
];

pub(super) fn value(summary: &Summary) -> Value {
    let total = &summary.total;
    let (load, latency, throughput) = (&total.load, &total.latency, &total.throughput);
    let backend = if summary.target.api == "completions" { "openai" } else { "openai-chat" };
    let both = throughput.input_tokens_per_s.zip(throughput.output_tokens_per_s);
    let mut value = json!({
        "date": instant(summary, 0, "%Y%m%d-%H%M%S"),
        "endpoint_type": backend,
        "backend": backend,
        "label": null,
        "model_id": summary.target.model,
        "tokenizer_id": null,
        "num_prompts": load.begun,
        "lowrho_version": summary.run.version,
        "lowrho_verdict": summary.client.verdict.name(),
        "lowrho_note": TWO_POPULATIONS,
        // Without a rate the tool sends as fast as it may: a closed loop, of --max-concurrency.
        "request_rate": load.requested_rate.map_or_else(|| unlimited(summary), Value::from),
        "burstiness": burstiness(summary),
        "max_concurrency": load.requested_concurrency,
        "duration": window_s(summary),
        "completed": load.completed,
        "failed": failed(summary),
        "total_input_tokens": total.tokens.input,
        "total_output_tokens": total.tokens.output,
        "request_throughput": throughput.requests_per_s,
        "request_goodput": total.slo.as_ref().and_then(|slo| slo.goodput_per_s),
        "output_throughput": throughput.output_tokens_per_s,
        "total_token_throughput": both.map(|(input, output)| input + output),
    });
    for (metric, found) in [
        ("ttft", &latency.ttft_ns),
        ("tpot", &latency.tpot_ns),
        ("itl", &latency.itl_ns),
        ("e2el", &latency.e2e_ns),
    ] {
        for (statistic, ms) in told(found, &STATISTICS, MS) {
            value[format!("{statistic}_{metric}_ms")] = ms;
        }
    }
    value
}

/// `inf` where the load was one closed loop; null where there were several rates.
fn unlimited(summary: &Summary) -> Value {
    let closed = summary.stages.iter().all(|stage| stage.arrival.is_none());
    if closed && summary.total.load.requested_concurrency.is_some() { "inf".into() } else { Value::Null }
}

/// The shape of gamma arrivals: 1 of Poisson's; null of others.
fn burstiness(summary: &Summary) -> Option<f64> {
    let [stage] = summary.stages.as_slice() else { return None };
    match stage.arrival.as_deref()? {
        "poisson" => Some(1.0),
        other => other.strip_prefix("gamma:")?.parse().ok(),
    }
}
