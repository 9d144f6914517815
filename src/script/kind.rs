//! Which engine the simulator is, and the text form of it: `laws`, `mdc:8:20ms`, `batch:8ms:100us:20us:2048`.
//!
//! It must not serve: the engines do.

use crate::time::{Span, format_span, parse_span};
use std::fmt;
use std::str::FromStr;

/// The engine that makes the tokens.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub enum EngineKind {
    /// Requests follow latency laws and do not slow one another.
    #[default]
    Laws,
    /// One queue before so many servers, each request taking the same time: M/D/c under Poisson arrivals.
    Mdc {
        /// Servers.
        servers: u32,
        /// What each request takes, whatever it asks for.
        service: Span,
    },
    /// Continuous batching: steps, in each of which every running request makes a token or prefills.
    Batch(StepCosts),
}

/// What a step of continuous batching costs: base + per sequence + per token.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct StepCosts {
    /// Of any step.
    pub base: Span,
    /// For each sequence that takes part.
    pub per_sequence: Span,
    /// For each token made or prefilled.
    pub per_token: Span,
    /// Most tokens of one step: what decoding leaves of it goes to prompts, so that long ones are cut (chunked prefill).
    pub chunk: u32,
}

/// Requests running at once under `batch` unless told: vLLM's own default for `max_num_seqs`.
pub const BATCH_RUNNING: u32 = 256;

/// vLLM's default for `max_num_batched_tokens` where chunked prefill is on.
const CHUNK: u32 = 2048;

/// What a text of an engine may be.
const FORMS: &str = "laws, mdc:SERVERS:SERVICE such as mdc:8:20ms, or batch:BASE:PER_SEQUENCE:PER_TOKEN[:CHUNK] such as \
                     batch:8ms:100us:20us:2048";

/// An engine's text that cannot be obeyed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineError(String);

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EngineError {}

impl EngineKind {
    /// Whether it is one queue, that no second shard may have a part of.
    #[must_use]
    pub const fn is_one_queue(&self) -> bool {
        !matches!(self, Self::Laws)
    }

    /// Requests per second that it completes when it never idles, each with so many tokens of prompt and answer; `None` where
    /// nothing limits it, or where prompts do not fit a step beside the decoding ones.
    #[must_use]
    pub fn saturation_per_s(&self, max_running: u32, prompt: u32, output: u32) -> Option<f64> {
        match self {
            Self::Laws => None,
            Self::Mdc { servers, service } => Some(f64::from(*servers) / service.as_s_f64()),
            Self::Batch(costs) => {
                // With all places taken, each request takes part in `output` steps, the first of which prefills it. Costs are
                // linear, so the time of many steps is that of their sequences and tokens, however they meet.
                let (places, prompt, output) = (f64::from(max_running), f64::from(prompt), f64::from(output));
                let per_request = costs.base.as_s_f64() * output / places
                    + costs.per_sequence.as_s_f64() * output
                    + costs.per_token.as_s_f64() * (prompt + output - 1.0);
                (prompt + places <= f64::from(costs.chunk)).then(|| 1.0 / per_request)
            }
        }
    }

    /// What a lone request takes, from its arrival to its last token; `None` under laws, which draw it.
    #[must_use]
    pub fn alone(&self, prompt: f64, output: f64) -> Option<Span> {
        match self {
            Self::Laws => None,
            Self::Mdc { service, .. } => Some(*service),
            Self::Batch(costs) => {
                let prefills = libm::ceil(prompt / f64::from(costs.chunk)).max(1.0);
                let steps = prefills + (output - 1.0).max(0.0);
                let each = costs.base.as_s_f64() + costs.per_sequence.as_s_f64();
                Some(Span::from_s_f64(
                    steps * each + costs.per_token.as_s_f64() * (prompt + (output - 1.0).max(0.0)),
                ))
            }
        }
    }
}

impl FromStr for EngineKind {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, EngineError> {
        let refuse = |why: String| EngineError(format!("{text:?}: {why}; accepted: {FORMS}"));
        let span = |what: &str, text: &str| {
            let span = parse_span(text).map_err(|why| refuse(format!("{what}: {why}")))?;
            let most = Span::from_s(3_600);
            (span <= most).then_some(span).ok_or_else(|| refuse(format!("{what} is longer than an hour")))
        };
        let count = |what: &str, text: &str| {
            let count = text.parse::<u32>().ok().filter(|count| (1..=10_000_000).contains(count));
            count.ok_or_else(|| refuse(format!("{what} is a whole number from 1 to 10000000, not {text:?}")))
        };
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            ["laws"] => Ok(Self::Laws),
            ["mdc", servers, service] => {
                let (servers, service) = (count("SERVERS", servers)?, span("SERVICE", service)?);
                if service <= Span::ZERO {
                    return Err(refuse("SERVICE takes some time".into()));
                }
                Ok(Self::Mdc { servers, service })
            }
            ["batch", base, per_sequence, per_token, rest @ ..] if rest.len() <= 1 => {
                let costs = StepCosts {
                    base: span("BASE", base)?,
                    per_sequence: span("PER_SEQUENCE", per_sequence)?,
                    per_token: span("PER_TOKEN", per_token)?,
                    chunk: rest.first().map_or(Ok(CHUNK), |chunk| count("CHUNK", chunk))?,
                };
                // A step of no time would make endless tokens in one instant.
                if costs.base + costs.per_sequence + costs.per_token <= Span::ZERO {
                    return Err(refuse("a step takes some time".into()));
                }
                Ok(Self::Batch(costs))
            }
            _ => Err(refuse("no such engine".into())),
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Laws => f.write_str("laws"),
            Self::Mdc { servers, service } => write!(f, "mdc:{servers}:{}", format_span(*service)),
            Self::Batch(StepCosts { base, per_sequence, per_token, chunk }) => write!(
                f,
                "batch:{}:{}:{}:{chunk}",
                format_span(*base),
                format_span(*per_sequence),
                format_span(*per_token)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written_again() {
        for text in ["laws", "mdc:8:20ms", "batch:8ms:100us:20us:2048", "batch:0s:0s:1us:1"] {
            assert_eq!(text.parse::<EngineKind>().unwrap().to_string(), text);
        }
        let EngineKind::Batch(costs) = "batch:8ms:0s:20us".parse().unwrap() else { panic!("a batch") };
        assert_eq!(costs.chunk, 2048);
    }

    #[test]
    fn what_no_engine_is_is_refused_with_what_is_one() {
        for (text, why) in [
            ("mdc", "no such engine"),
            ("mdc:0:20ms", "SERVERS is a whole number"),
            ("mdc:8:20", "write 20ms or 20s"),
            ("mdc:8:0s", "SERVICE takes some time"),
            ("mdc:8:2h", "an hour"),
            ("batch:1ms:1us", "no such engine"),
            ("batch:0s:0s:0s", "a step takes some time"),
            ("batch:1ms:1us:1us:0", "CHUNK is a whole number"),
            ("gpu", "accepted: laws, mdc:SERVERS:SERVICE"),
        ] {
            let error = text.parse::<EngineKind>().expect_err(text).to_string();
            let found = error.contains(why) || (why.starts_with("write") && error.contains("has no unit"));
            assert!(found, "{text}: {error}");
        }
    }
}
