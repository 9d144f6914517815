//! One trial: what is asked of the server, and what it came to.
//!
//! It must not judge.

use crate::analysis::two_sided;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a trial is for.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A closed loop of so many slots, doubled until throughput gains no more; the first, of one slot, sees the idle server.
    Ladder,
    /// More than the server can do: what it completes then is its stability limit.
    Overload,
    /// Whether a rate keeps the service levels.
    Level,
    /// One point of the profile.
    Profile,
}

/// What a trial offers.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Open loop: requests per second.
    Rate(f64),
    /// Closed loop: slots.
    Slots(u32),
}

/// A trial to be made.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ask {
    /// What it is for.
    pub purpose: Purpose,
    /// What it offers.
    pub offer: Offer,
    /// Load before the window, unmeasured.
    #[serde(rename = "warmup_ns", with = "ns")]
    #[schemars(with = "i64")]
    pub warmup: Span,
    /// The window.
    #[serde(rename = "window_ns", with = "ns")]
    #[schemars(with = "i64")]
    pub window: Span,
    /// Which look this is at its rate, from 0: an undecided trial is followed by one of twice its window.
    pub look: u32,
}

/// What a trial came to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Whether our own side can be trusted.
    pub client: Trust,
    /// How it ended.
    pub ended: Ended,
    /// The window's length, as far as it was measured.
    #[serde(rename = "window_ns", with = "ns")]
    #[schemars(with = "i64")]
    pub window: Span,
    /// Requests that succeeded in the window, by twentieths of it.
    pub completed: Vec<u64>,
    /// Mean requests in flight, by twentieths of the window.
    pub in_flight: Vec<f64>,
    /// Whether requests in flight grew in both halves.
    pub grew: bool,
    /// The least growth that would have been seen, in requests per second.
    pub detectable_per_s: f64,
    /// Each term of the service levels, in their order.
    pub terms: Vec<TermOutcome>,
    /// Requests within every bound, per second.
    pub goodput_per_s: Option<f64>,
    /// Requests due in the window that succeeded, and that the target failed.
    pub succeeded: u64,
    /// See `succeeded`.
    pub failed: u64,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Latencies to show.
    pub shown: Vec<Shown>,
}

/// What one term came to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TermOutcome {
    /// Values over the bound, by block; empty where the term bounds no share.
    pub missed: Vec<u64>,
    /// Values, by block.
    pub of: Vec<u64>,
    /// Requests behind the values.
    pub requests: u64,
    /// Whether it was crossed; none where nothing told.
    pub crossed: Option<bool>,
}

/// One latency, to show.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// The metric.
    pub metric: String,
    /// The mean over successes, in nanoseconds.
    pub mean_ns: Option<i64>,
    /// Quantiles with failures as infinity, in nanoseconds; none where infinite or untold.
    pub p50_ns: Option<i64>,
    /// See `p50_ns`.
    pub p95_ns: Option<i64>,
    /// See `p50_ns`.
    pub p99_ns: Option<i64>,
    /// The 95 % interval of the median over successes: low, high.
    #[serde(default)]
    pub p50_ci: Option<[i64; 2]>,
    /// The 95 % interval of the 0.99 quantile over successes: low, high.
    #[serde(default)]
    pub p99_ci: Option<[i64; 2]>,
}

/// Whether our own side can be trusted, from best to worst.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// It can.
    Valid,
    /// With care.
    Suspect,
    /// It cannot: the trial is no evidence.
    Invalid,
}

/// How a trial ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// As planned.
    Whole,
    /// Before its time: it could only lose.
    Lost,
    /// The target failed outright: no request succeeded, or more failed than `--max-error-share` bears.
    Failed,
    /// A limit of the user's (`--abort-on`) was crossed.
    Aborted,
}

/// The probability with which an interval holds what it is of.
const CONFIDENCE: f64 = 0.95;

impl Outcome {
    /// Successes per second of the window.
    #[must_use]
    pub fn completed_per_s(&self) -> f64 {
        let seconds = self.window.as_s_f64();
        if seconds > 0.0 { float(self.completed.iter().sum()) / seconds } else { 0.0 }
    }

    /// The share of its requests that the target failed; latencies are of the others.
    #[must_use]
    pub fn failed_share(&self) -> f64 {
        float(self.failed) / float((self.succeeded + self.failed).max(1))
    }

    /// The 95 % interval of [`Outcome::completed_per_s`], by Student's t on the twentieths of the window.
    #[must_use]
    pub fn completed_interval(&self) -> (f64, f64) {
        let rate = self.completed_per_s();
        let n = float(self.completed.len() as u64);
        let mean = rate * self.window.as_s_f64() / n;
        let squares: f64 =
            self.completed.iter().map(|part| (float(*part) - mean) * (float(*part) - mean)).sum();
        let error = u32::try_from(self.completed.len().saturating_sub(1))
            .ok()
            .filter(|degrees| *degrees > 0)
            .map_or(0.0, |degrees| two_sided(CONFIDENCE, degrees) * libm::sqrt(squares / (n - 1.0) / n));
        let relative = if mean > 0.0 { error / mean } else { 0.0 };
        (rate * (1.0 - relative), rate * (1.0 + relative))
    }

    /// Mean requests in flight over the window; `None` where its end was not fixed.
    #[must_use]
    pub fn mean_in_flight(&self) -> Option<f64> {
        let parts = self.in_flight.len();
        (parts > 0).then(|| self.in_flight.iter().sum::<f64>() / float(parts as u64))
    }

    /// A latency to show, by the metric's name.
    #[must_use]
    pub fn shown(&self, metric: &str) -> Option<&Shown> {
        self.shown.iter().find(|shown| shown.metric == metric)
    }
}

impl Offer {
    /// Requests per second, of an open loop.
    #[must_use]
    pub const fn rate(self) -> Option<f64> {
        match self {
            Self::Rate(rate) => Some(rate),
            Self::Slots(_) => None,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of requests")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// Spans as whole nanoseconds.
mod ns {
    use crate::time::Span;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
        span.as_ns().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        i64::deserialize(from).map(Span::from_ns)
    }
}
