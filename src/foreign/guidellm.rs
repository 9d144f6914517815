//! GuideLLM: the JSON report, one reading for each of its benchmarks.
//!
//! Known from GuideLLM 0.8.1. It must not line up its TPOT (which includes the prefill) nor its ITL (a mean by request,
//! counted once for each token).

use super::field::Field;
use super::quantity::{Quantity, Statistic};
use super::reading::Reading;
use super::{ForeignError, MS, S};
use serde_json::Value;

const KEYS: [(&str, Statistic); 5] = [
    ("mean", Statistic::Mean),
    ("std_dev", Statistic::Sd),
    ("min", Statistic::Min),
    ("median", Statistic::P50),
    ("max", Statistic::Max),
];

const PERCENTILES: [(&str, Statistic); 5] = [
    ("p50", Statistic::P50),
    ("p90", Statistic::P90),
    ("p95", Statistic::P95),
    ("p99", Statistic::P99),
    ("p999", Statistic::P99_9),
];

/// Its lateness.
const DISPATCH: &str = "request_dispatch_delay";

const START: &str = "clock starts before a connection is taken";
const DELAY: &str = "request_dispatch_delay, of successes";
const RATE: &str = "over the benchmark's measured time";
const TPOT: &str = "(last - start) / N: the prefill is in it";
const ITL: &str = "a request's (last - first) / (N - 1), counted once for each of its tokens: no gaps";
const ITL_TPOT: &str =
    "(last - first) / (N - 1), but counted once for each token of a request: long answers weigh more";
const WEIGHTED: &str =
    "the mean of time_per_output_token_ms, which counts a request once for each of its tokens";

/// Whether a document is one of its reports.
pub(super) fn is(value: &Value) -> bool {
    value.get("benchmarks").is_some_and(Value::is_array)
        && value.pointer("/metadata/guidellm_version").is_some()
}

/// Reads every benchmark of one.
pub(super) fn read(value: &Value, name: &str) -> Result<Vec<Reading>, ForeignError> {
    let root = Field::root(value, "guidellm");
    let version = root.need("metadata")?.need("guidellm_version")?.text()?;
    let benchmarks: Vec<Field<'_>> = root.need("benchmarks")?.list()?.collect();
    if benchmarks.is_empty() {
        return Err(root.wrong("has no benchmark".to_owned()));
    }
    let several = benchmarks.len() > 1;
    benchmarks
        .iter()
        .enumerate()
        .map(|(n, benchmark)| {
            let name = if several { format!("{name}#{}", n + 1) } else { name.to_owned() };
            one(benchmark, Reading::of(&name, format!("guidellm {version}")))
        })
        .collect()
}

fn one(benchmark: &Field<'_>, mut reading: Reading) -> Result<Reading, ForeignError> {
    let metrics = benchmark.need("metrics")?;
    let totals = metrics.need("request_totals")?;
    reading.counts(Some(totals.need("successful")?.count()?), totals.maybe_count("errored")?);
    let rate =
        benchmark.get("config").and_then(|config| config.get("strategy")).and_then(|it| it.get("rate"));
    reading.single(Quantity::RequestedRate, rate.map(|rate| rate.amount()).transpose()?);
    for (key, quantity) in [
        ("requests_per_second", Quantity::RequestsPerS),
        ("output_tokens_per_second", Quantity::OutputTokensPerS),
        ("prompt_tokens_per_second", Quantity::InputTokensPerS),
    ] {
        let mean = of(&metrics, key).map_or(Ok(None), |found| found.maybe_amount("mean"))?;
        reading.nearly(quantity, mean, RATE);
    }
    for (key, quantity, unit, how) in [
        (DISPATCH, Quantity::Lateness, S, DELAY),
        ("time_to_first_token_ms", Quantity::Ttft, MS, START),
        ("time_to_first_output_token_ms", Quantity::Ttfo, MS, START),
        ("request_latency", Quantity::E2eEnd, S, START),
    ] {
        reading.distribution(quantity, statistics(&metrics, key, unit)?, how);
    }
    let tpot = statistics(&metrics, "time_per_output_token_ms", MS)?;
    let mean = tpot.iter().find(|(statistic, _)| *statistic == Statistic::Mean).map(|(_, ns)| *ns);
    reading.nearly(Quantity::NtpotWeighted, mean, WEIGHTED);
    reading.keep_apart("time_per_output_token_ms", Quantity::Tpot, tpot, TPOT);
    let itl = statistics(&metrics, "inter_token_latency_ms", MS)?;
    reading.keep_apart("inter_token_latency_ms", Quantity::Tpot, Vec::new(), ITL_TPOT);
    reading.keep_apart("inter_token_latency_ms", Quantity::Itl, itl, ITL);
    Ok(reading)
}

/// A metric's statistics over successes.
fn of<'a>(metrics: &Field<'a>, key: &str) -> Option<Field<'a>> {
    metrics.get(key)?.get("successful")
}

fn statistics(metrics: &Field<'_>, key: &str, unit_ns: f64) -> Result<Vec<(Statistic, f64)>, ForeignError> {
    let Some(found) = of(metrics, key) else { return Ok(Vec::new()) };
    // A metric without values is all zeros.
    if found.maybe_count("count")? == Some(0) {
        return Ok(Vec::new());
    }
    let times = |field: &Field<'_>, keys: &[(&str, Statistic)]| {
        if key == DISPATCH { field.lateness(keys, unit_ns) } else { field.statistics(keys, unit_ns) }
    };
    let mut all = times(&found, &KEYS)?;
    if let Some(percentiles) = found.get("percentiles") {
        for (statistic, ns) in times(&percentiles, &PERCENTILES)? {
            if !all.iter().any(|(has, _)| *has == statistic) {
                all.push((statistic, ns));
            }
        }
    }
    Ok(all)
}
