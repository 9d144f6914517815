//! inference-perf: `summary_lifecycle_metrics.json` and `stage_N_lifecycle_metrics.json`.
//!
//! Known from inference-perf 0.7.0. It must not line up what the client's tokenizer makes of a message: gaps of 0.

use super::field::Field;
use super::quantity::{Quantity, Statistic};
use super::reading::Reading;
use super::{ForeignError, S};
use serde_json::Value;

const KEYS: [(&str, Statistic); 8] = [
    ("mean", Statistic::Mean),
    ("min", Statistic::Min),
    ("median", Statistic::P50),
    ("p90", Statistic::P90),
    ("p95", Statistic::P95),
    ("p99", Statistic::P99),
    ("p99.9", Statistic::P99_9),
    ("max", Statistic::Max),
];

const START: &str = "clock starts before a connection is taken; of answers with two or more token times";
const TPOT: &str =
    "(last - first) / (tokens - 1), tokens by the client's tokenizer unless the server's count was asked for";
const E2E: &str = "ends after the client has tokenised the answer; clock starts before a connection is taken";
const NTPOT: &str = "request_latency / tokens, 0 for an answer without a token; it ends after the client has tokenised the answer";
const ITL: &str = "with a tokenizer each token of a message has the message's time, so that gaps of 0 are among them, and the \
                   file does not say whether there was one";
const DELAY: &str = "schedule_delay, of all requests, failed ones among them";
const RATE: &str =
    "over successes, from the first start to the last end of all requests: the drain is inside";

/// Whether a document is one of its reports.
pub(super) fn is(value: &Value) -> bool {
    value.get("load_summary").is_some_and(Value::is_object)
        && value.get("successes").is_some_and(Value::is_object)
}

/// Reads one.
pub(super) fn read(value: &Value, name: &str) -> Result<Reading, ForeignError> {
    let root = Field::root(value, "inference-perf");
    let load = root.need("load_summary")?;
    let stage = load.get("send_duration").is_some();
    let mut reading =
        Reading::of(name, if stage { "inference-perf stage" } else { "inference-perf summary" });
    let successes = root.need("successes")?;
    let failed = root.get("failures").map(|failures| failures.need("count")?.count()).transpose()?;
    reading.counts(Some(successes.need("count")?.count()?), failed);
    reading.single(Quantity::RequestedRate, load.maybe_amount("requested_rate")?);
    if let Some(delay) = load.get("schedule_delay") {
        reading.distribution(Quantity::Lateness, delay.lateness(&KEYS, S)?, DELAY);
    }
    if let Some(throughput) = successes.get("throughput") {
        for (key, quantity) in [
            ("requests_per_sec", Quantity::RequestsPerS),
            ("output_tokens_per_sec", Quantity::OutputTokensPerS),
            ("input_tokens_per_sec", Quantity::InputTokensPerS),
        ] {
            reading.nearly(quantity, throughput.maybe_amount(key)?, RATE);
        }
    }
    if let Some(latency) = successes.get("latency") {
        for (key, quantity, how) in [
            ("time_to_first_token", Quantity::Ttft, START),
            ("time_per_output_token", Quantity::Tpot, TPOT),
            ("normalized_time_per_output_token", Quantity::NtpotSent, NTPOT),
            ("request_latency", Quantity::E2eEnd, E2E),
        ] {
            if let Some(found) = latency.get(key) {
                reading.distribution(quantity, found.statistics(&KEYS, S)?, how);
            }
        }
        if let Some(itl) = latency.get("inter_token_latency") {
            reading.keep_apart("inter_token_latency", Quantity::Itl, itl.statistics(&KEYS, S)?, ITL);
        }
    }
    missing(&root, &successes, &mut reading)?;
    Ok(reading)
}

/// Requests that were sent and are in neither count would be hidden otherwise.
fn missing(root: &Field<'_>, successes: &Field<'_>, reading: &mut Reading) -> Result<(), ForeignError> {
    let sent = root.need("load_summary")?.maybe_count("count")?;
    let done = successes.need("count")?.count()?;
    let failed = root.get("failures").map_or(Ok(None), |failures| failures.maybe_count("count"))?;
    let told = done.saturating_add(failed.unwrap_or(0));
    if let Some(sent) = sent.filter(|sent| *sent > told) {
        reading.notes.push(format!("{} of {sent} requests are in neither count", sent - told));
    }
    Ok(())
}
