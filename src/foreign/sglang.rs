//! SGLang: the lines of `bench_serving --output-file`, one for each run.
//!
//! Known from SGLang 0.5.23, its Python client and its Rust client. It must not line up latencies of the Rust client: what
//! they begin and end with was not read.

use super::field::Field;
use super::quantity::{Quantity, Statistic};
use super::reading::Reading;
use super::{ForeignError, MS};
use serde_json::Value;

const TTFT: &str = "clock starts before a new TCP connection, which each request makes";
const ITL: &str = "gaps between messages with text";
const NATIVE_ITL: &str = "a message's gap is divided by its tokens and counted once for each";
const TPOT: &str =
    "(end of the response - first) / (tokens asked for - 1): the tokens of the answer are not counted";
const E2E: &str =
    "ends with the last line of the response, [DONE] included; clock starts before the connection";
const RATE: &str = "from the first dispatch to the last answer: the drain is inside";
const RUST: &str = "what the Rust client's clock begins and ends with was not read";
const EMPTY: &str = "an answer without text is counted as a success with a TTFT of 0";

/// Whether a line is one of its results.
pub(super) fn is(value: &Value) -> bool {
    value.get("mean_e2e_latency_ms").is_some() && value.get("total_output_tokens_retokenized").is_some()
}

/// Reads one line.
pub(super) fn read(value: &Value, name: &str) -> Result<Reading, ForeignError> {
    let root = Field::root(value, "sglang bench_serving");
    let is_rust = root.get("protocol").is_some();
    let client = if is_rust { ", Rust client" } else { "" };
    let mut reading = Reading::of(name, format!("sglang bench_serving{client}"));
    reading.counts(Some(root.need("completed")?.count()?), None);
    if let Some(rate) = root.get("request_rate").filter(Field::is_number) {
        reading.single(Quantity::RequestedRate, Some(rate.number()?));
    }
    reading.nearly(Quantity::RequestsPerS, root.maybe_number("request_throughput")?, RATE);
    reading.nearly(Quantity::OutputTokensPerS, root.maybe_number("output_throughput")?, RATE);
    reading.nearly(Quantity::InputTokensPerS, root.maybe_number("input_throughput")?, RATE);

    let of = |metric: &str| statistics(&root, metric);
    let (ttft, tpot, itl, e2e) = (of("ttft")?, of("tpot")?, of("itl")?, of("e2e_latency")?);
    if is_rust {
        for (theirs, not, figures) in [
            ("ttft", Quantity::Ttft, ttft),
            ("tpot", Quantity::Tpot, tpot),
            ("itl", Quantity::Itl, itl),
            ("e2e_latency", Quantity::E2eDone, e2e),
        ] {
            reading.keep_apart(theirs, not, figures, RUST);
        }
        return Ok(reading);
    }
    reading.distribution(Quantity::Ttft, ttft, TTFT);
    reading.keep_apart("tpot", Quantity::Tpot, tpot, TPOT);
    match root.get("backend").and_then(|backend| backend.as_text()) {
        Some("sglang" | "sglang-native") => reading.keep_apart("itl", Quantity::Itl, itl, NATIVE_ITL),
        _ => reading.distribution(Quantity::Itl, itl, ITL),
    }
    reading.distribution(Quantity::E2eDone, e2e, E2E);
    reading.notes.push(EMPTY.to_owned());
    Ok(reading)
}

fn statistics(root: &Field<'_>, metric: &str) -> Result<Vec<(Statistic, f64)>, ForeignError> {
    let keys = [
        ("mean", Statistic::Mean),
        ("std", Statistic::Sd),
        ("median", Statistic::P50),
        ("p90", Statistic::P90),
        ("p95", Statistic::P95),
        ("p99", Statistic::P99),
    ]
    .map(|(word, statistic)| (format!("{word}_{metric}_ms"), statistic));
    let keys: Vec<(&str, Statistic)> = keys.iter().map(|(key, one)| (key.as_str(), *one)).collect();
    root.statistics(&keys, MS)
}
