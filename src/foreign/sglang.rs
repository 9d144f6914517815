//! SGLang: the lines of `bench_serving --output-file`, one for each run.
//!
//! Known from SGLang 0.5.23, its Python client and its Rust client. It must not take their TPOT for ours: it ends with the
//! response.

use super::ForeignError;
use super::bench_serving::{RATE, rates, statistics};
use super::field::Field;
use super::quantity::Quantity;
use super::reading::Reading;
use serde_json::Value;

const TTFT: &str = "clock starts before a new TCP connection, which each request makes";
const ITL: &str = "gaps between messages with text";
const NATIVE_ITL: &str = "a message's gap is divided by its tokens and counted once for each";
const TPOT: &str =
    "(end of the response - first) / (tokens asked for - 1): the tokens of the answer are not counted";
const E2E: &str =
    "ends with the last line of the response, [DONE] included; clock starts before the connection";
const RUST_TPOT: &str =
    "(the response's [DONE] - first) / (tokens - 1): what comes after the last token is in it";
const RUST_TTFT: &str = "to the first message with text; clock starts before a connection is taken";
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
    rates(&root, &mut reading)?;
    reading.nearly(Quantity::InputTokensPerS, root.maybe_amount("input_throughput")?, RATE);

    let of = |metric: &str| statistics(&root, metric);
    let (ttft, tpot, itl, e2e) = (of("ttft")?, of("tpot")?, of("itl")?, of("e2e_latency")?);
    reading.distribution(Quantity::Ttft, ttft, if is_rust { RUST_TTFT } else { TTFT });
    reading.keep_apart("tpot", Quantity::Tpot, tpot, if is_rust { RUST_TPOT } else { TPOT });
    match root.get("backend").and_then(|backend| backend.as_text()) {
        Some("sglang" | "sglang-native") => reading.keep_apart("itl", Quantity::Itl, itl, NATIVE_ITL),
        _ => reading.distribution(Quantity::Itl, itl, ITL),
    }
    reading.distribution(Quantity::E2eDone, e2e, E2E);
    if !is_rust {
        reading.notes.push(EMPTY.to_owned());
    }
    Ok(reading)
}
