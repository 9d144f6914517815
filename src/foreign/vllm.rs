//! vLLM: the result of `vllm bench serve --save-result`, with or without `--save-detailed`.
//!
//! Known from vLLM 0.33.0, its Python client and its Rust client. It must not take the two for one: where a chat opens with a
//! message that has a role and no text, only the Rust client takes that for the first.

use super::ForeignError;
use super::bench_serving::{RATE, keep_apart, rates, statistics};
use super::field::Field;
use super::quantity::Quantity;
use super::reading::{Reading, float};
use serde_json::Value;

const START: &str = "clock starts before the request's JSON is made and a connection is taken";
const FIRST_CHOICE: &str =
    "with the completions API the first message with choices, even one whose text is empty: that is TTFE";
const FIRST_OF_RUST: &str =
    "the Rust client takes the first message with choices, a chat's opening one too: that is TTFE";
const PER_MESSAGE: &str =
    "gaps between messages with choices, those without a token (role, finish) among them";
const E2E: &str = "ends with the last message with choices; clock starts before a connection is taken";
const TPOT: &str = "from the first to the last message with choices, over output tokens - 1";
const BACKEND: &str = "what this backend's function measures was not read";

/// Whether a document is one of its results.
pub(super) fn is(value: &Value) -> bool {
    value.get("tokenizer_id").is_some()
        && value.get("request_throughput").is_some()
        && (value.get("endpoint_type").is_some() || value.get("backend").is_some())
}

/// Whether it is the Rust client's: these keys are its own.
fn is_rust(value: &Value) -> bool {
    ["max_model_len", "steady_state", "failed_requests"].iter().any(|key| value.get(key).is_some())
}

/// Reads one.
pub(super) fn read(value: &Value, name: &str) -> Result<Reading, ForeignError> {
    let root = Field::root(value, "vllm bench serve");
    let is_rust = is_rust(value);
    let client = if is_rust { ", Rust client" } else { "" };
    let mut reading = Reading::of(name, format!("vllm bench serve --save-result{client}"));
    let backend = root.get("endpoint_type").or_else(|| root.get("backend")).and_then(|field| field.as_text());

    reading.counts(Some(root.need("completed")?.count()?), root.maybe_count("failed")?);
    rates(&root, &mut reading)?;
    let seconds = root.maybe_amount("duration")?.filter(|s| *s > 0.0);
    let input = root.maybe_count("total_input_tokens")?.zip(seconds).map(|(tokens, s)| float(tokens) / s);
    reading.nearly(Quantity::InputTokensPerS, input, RATE);

    let of = |metric: &str| statistics(&root, metric);
    let (ttft, tpot, itl, e2e) = (of("ttft")?, of("tpot")?, of("itl")?, of("e2el")?);
    match backend {
        Some("openai-chat") if !is_rust => reading.distribution(Quantity::Ttft, ttft, START),
        Some("openai" | "vllm" | "openai-comp" | "openai-chat") => {
            reading.distribution(Quantity::Ttfe, ttft, START);
            if reading.has(Quantity::Ttfe) {
                let why = if is_rust { FIRST_OF_RUST } else { FIRST_CHOICE };
                reading.keep_apart("ttft", Quantity::Ttft, Vec::new(), why);
            }
        }
        _ => {
            let latencies = [
                ("ttft", Quantity::Ttft, ttft),
                ("tpot", Quantity::Tpot, tpot),
                ("itl", Quantity::Itl, itl),
                ("e2el", Quantity::E2e, e2e),
            ];
            keep_apart(&mut reading, latencies, BACKEND);
            return Ok(reading);
        }
    }
    reading.distribution(Quantity::Tpot, tpot, TPOT);
    reading.distribution(Quantity::E2e, e2e, E2E);
    if !itl.is_empty() {
        reading.keep_apart("itl", Quantity::Itl, itl, PER_MESSAGE);
    }
    Ok(reading)
}
