//! The latency laws of a server that is never busy: when its first token comes, and each one after it.

use crate::random::{Delays, Law, Purpose, Stream};
use std::fmt;

/// When tokens come, seen from the instant the server begins on a request.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Latencies {
    /// Time to the first token event, prompt aside.
    pub ttft: Delays,
    /// Gap before every later token event.
    pub itl: Delays,
    /// Added to the first for every token of the prompt, in nanoseconds.
    pub prefill_per_token_ns: u64,
}

impl Default for Latencies {
    /// 20 ms and 5 ms: a small model on one accelerator, hardly loaded.
    fn default() -> Self {
        Self { ttft: Delays::constant(20_000_000), itl: Delays::constant(5_000_000), prefill_per_token_ns: 0 }
    }
}

impl Latencies {
    /// Reads the three from their text forms (`20ms`, `lognormal:20ms:5ms`, ...); the third must be constant.
    ///
    /// # Errors
    /// Names the flag, the text, and what is accepted.
    pub fn parse(ttft: &str, itl: &str, prefill_per_token: &str) -> Result<Self, LatencyError> {
        let read = |flag: &'static str, text: &str| {
            text.parse::<Delays>().map_err(|error| LatencyError { flag, why: error.to_string() })
        };
        let prefill = read("--prefill-per-token", prefill_per_token)?;
        let Law::Constant(_) = prefill.law() else {
            return Err(LatencyError {
                flag: "--prefill-per-token",
                why: format!("{prefill_per_token:?} is not one length of time; accepted: 50us"),
            });
        };
        Ok(Self {
            ttft: read("--ttft", ttft)?,
            itl: read("--itl", itl)?,
            // A constant law draws nothing: any stream will do.
            prefill_per_token_ns: prefill.sample_ns(&mut Stream::new(0, Purpose::named("none"), 0)),
        })
    }
}

/// A latency's text that cannot be obeyed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatencyError {
    /// The flag at fault.
    pub flag: &'static str,
    /// Why, and what is accepted.
    pub why: String,
}

impl fmt::Display for LatencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.flag, self.why)
    }
}

impl std::error::Error for LatencyError {}
