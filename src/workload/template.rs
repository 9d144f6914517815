//! The body around the prompt: every key written once, with places for the prompt and for the number of tokens asked.
//! It must not know prompts: they come last in the body and are the caller's.

use super::{WorkloadError, WorkloadSpec, merge};
use crate::wire::Api;
use serde_json::{Map, Value, json};

/// A body that is ready but for the number of tokens asked and the prompt.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Template {
    /// What stands before, between and after the places of the number; the last ends where the prompt's value begins.
    parts: Vec<Vec<u8>>,
    /// What stands after the prompt's value.
    pub(super) tail: &'static [u8],
    /// What the body itself asks for, instead of a number for each request.
    pub(super) output: Output,
    /// Answers asked for.
    pub(super) choices: u32,
    /// Whether a stream is asked for.
    pub(super) streams: bool,
}

/// Who says how many tokens are asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Output {
    /// Each request.
    Each,
    /// `--extra-body`, for all alike.
    Fixed(u32),
    /// Nobody: the key was removed.
    Unasked,
}

/// Stands in the object where the number goes; no user writes it.
const PLACE: &str = "\u{0}output tokens\u{0}";

impl Template {
    pub(super) fn new(spec: &WorkloadSpec) -> Result<Self, WorkloadError> {
        let (prompt_key, limits): (_, &[&str]) = match spec.api {
            // Older servers know the first only, newer ones prefer the second.
            Api::Chat => ("messages", &["max_tokens", "max_completion_tokens"]),
            Api::Completions => ("prompt", &["max_tokens"]),
        };
        if spec.extra_body.contains_key(prompt_key) {
            return Err(WorkloadError::new(format!(
                "extra-body: {prompt_key:?} is written for each request; use --prompts FILE for prompts of your own"
            )));
        }
        let mut body = Map::new();
        body.insert("model".into(), json!(spec.model));
        for limit in limits {
            body.insert((*limit).into(), json!(PLACE));
        }
        if spec.ignore_eos {
            body.insert("ignore_eos".into(), json!(true));
        }
        if spec.choices != 1 {
            body.insert("n".into(), json!(spec.choices));
        }
        body.insert("stream".into(), json!(true));
        if spec.include_usage {
            body.insert("stream_options".into(), json!({"include_usage": true}));
        }
        merge(&mut body, &spec.extra_body);
        let streams = body.get("stream") == Some(&json!(true));
        if !streams && !spec.extra_body.contains_key("stream_options") {
            // Servers refuse it where nothing is streamed.
            body.shift_remove("stream_options");
        }
        let choices = match body.get("n") {
            None => 1,
            Some(n) => n
                .as_u64()
                .and_then(|n| u32::try_from(n).ok())
                .filter(|n| (1..=128).contains(n))
                .ok_or_else(|| WorkloadError::new(format!("n {n}: must be a whole number in 1 to 128")))?,
        };
        // Where both are given the newer one counts.
        let asked = ["max_completion_tokens", "max_tokens"].iter().find_map(|key| body.get(*key));
        let output = match asked {
            None => Output::Unasked,
            Some(Value::String(place)) if place == PLACE => Output::Each,
            Some(count) => match count.as_u64().and_then(|n| u32::try_from(n).ok()) {
                Some(count) => Output::Fixed(count),
                None => {
                    return Err(WorkloadError::new(format!("extra-body: max_tokens {count} is no count")));
                }
            },
        };
        let (mut parts, mut part) = (Vec::new(), b"{".to_vec());
        for (key, value) in &body {
            part.extend_from_slice(format!("{}:", json!(key)).as_bytes());
            if value == PLACE {
                parts.push(std::mem::take(&mut part));
            } else {
                part.extend_from_slice(value.to_string().as_bytes());
            }
            part.push(b',');
        }
        part.extend_from_slice(format!("{}:", json!(prompt_key)).as_bytes());
        parts.push(part);
        Ok(Self { parts, tail: b"}", output, choices, streams })
    }

    /// Bytes of the body without the prompt's value, when the number takes `digits`.
    pub(super) fn length(&self, digits: usize) -> usize {
        let fixed: usize = self.parts.iter().map(Vec::len).sum();
        fixed + digits * (self.parts.len() - 1) + self.tail.len()
    }

    /// Writes everything before the prompt's value.
    pub(super) fn write(&self, number: &str, into: &mut Vec<u8>) {
        for (part, nth) in self.parts.iter().zip(0..) {
            if nth > 0 {
                into.extend_from_slice(number.as_bytes());
            }
            into.extend_from_slice(part);
        }
    }
}
