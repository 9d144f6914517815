//! AIPerf: `profile_export_aiperf.json`.
//!
//! Known from AIPerf 0.13.0 (its schema 1.4). It must not take its `inter_token_latency` for gaps: that is our TPOT.

use super::field::Field;
use super::quantity::{Quantity, Statistic};
use super::reading::Reading;
use super::{ForeignError, MS};
use serde_json::Value;

const KEYS: [(&str, Statistic); 9] = [
    ("avg", Statistic::Mean),
    ("std", Statistic::Sd),
    ("min", Statistic::Min),
    ("p50", Statistic::P50),
    ("p90", Statistic::P90),
    ("p95", Statistic::P95),
    ("p99", Statistic::P99),
    ("p99.9", Statistic::P99_9),
    ("max", Statistic::Max),
];

pub(super) const START: &str = "clock starts in the worker before a connection is taken";
pub(super) const ITL: &str = "inter_token_latency: (last - first) / (output tokens - 1), tokens by the client's tokenizer unless the \
                   server's count was asked for";
pub(super) const CHUNK: &str = "inter_chunk_latency: gaps between responses with content";
const ITL_IS_TPOT: &str = "a request's mean time per token after the first, which is TPOT";
const RATE: &str = "over valid requests, from the first start to the last end: the drain is inside";
pub(super) const WAITING: &str =
    "ends with the first bytes of the body, though of a stream the head can have come long before";

/// Whether a document is one of its exports.
pub(super) fn is(value: &Value) -> bool {
    value.get("schema_version").is_some_and(Value::is_string)
        && value.get("request_count").is_some_and(Value::is_object)
}

/// Reads one.
pub(super) fn read(value: &Value, name: &str) -> Result<Reading, ForeignError> {
    let root = Field::root(value, "aiperf");
    let version = root.get("aiperf_version").map(|version| version.text()).transpose()?.unwrap_or("format");
    let mut reading = Reading::of(name, format!("aiperf {version}"));
    let completed = single(&root, "request_count")?.map(|(_, count)| count);
    let failed = single(&root, "error_request_count")?.map(|(_, count)| count);
    reading.counts(
        completed.map(|count| count.count()).transpose()?,
        failed.map(|count| count.count()).transpose()?,
    );
    for (tag, quantity, unit) in [
        ("request_throughput", Quantity::RequestsPerS, "requests/sec"),
        ("output_token_throughput", Quantity::OutputTokensPerS, "tokens/sec"),
        ("input_token_throughput", Quantity::InputTokensPerS, "tokens/sec"),
    ] {
        if let Some((metric, rate)) = single(&root, tag)? {
            same_unit(&metric, unit)?;
            reading.nearly(quantity, Some(rate.amount()?), RATE);
        }
    }
    for (tag, quantity, how) in [
        ("time_to_first_token", Quantity::Ttft, START),
        ("time_to_first_output_token", Quantity::Ttfo, START),
        ("inter_chunk_latency", Quantity::Itl, CHUNK),
        ("inter_token_latency", Quantity::Tpot, ITL),
        ("request_latency", Quantity::E2e, START),
    ] {
        if let Some(metric) = root.get(tag) {
            same_unit(&metric, "ms")?;
            reading.distribution(quantity, metric.statistics(&KEYS, MS)?, how);
        }
    }
    if let Some(waiting) = root.get("http_req_waiting") {
        same_unit(&waiting, "ms")?;
        reading.keep_apart("http_req_waiting", Quantity::Head, waiting.statistics(&KEYS, MS)?, WAITING);
    }
    if root.get("inter_token_latency").is_some() && !reading.has(Quantity::Itl) {
        reading.keep_apart("inter_token_latency", Quantity::Itl, Vec::new(), ITL_IS_TPOT);
    }
    if value.get("was_cancelled") == Some(&Value::Bool(true)) {
        reading.notes.push("the run was cancelled".to_owned());
    }
    Ok(reading)
}

/// A metric that has one value, under `avg`.
fn single<'a>(root: &Field<'a>, tag: &str) -> Result<Option<(Field<'a>, Field<'a>)>, ForeignError> {
    let Some(metric) = root.get(tag) else { return Ok(None) };
    let value = metric.need("avg")?;
    Ok(Some((metric, value)))
}

pub(super) fn same_unit(metric: &Field<'_>, known: &str) -> Result<(), ForeignError> {
    let unit = metric.need("unit")?;
    let text = unit.text()?;
    if text == known { Ok(()) } else { Err(unit.wrong(format!("is {text:?}, not {known:?}"))) }
}
