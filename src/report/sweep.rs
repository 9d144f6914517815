//! The report of a sweep: `sweep.json`, and what the terminal's table is printed from.
//!
//! It reads and writes text; where that text is kept is the store's affair.

use super::GpuCost;
use super::figures::rate;
use crate::search::{End, Ended, Findings, Limit, Purpose, Trial, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of `sweep.json`; it changes when a key changes its meaning or goes.
pub const SWEEP_VERSION: u32 = 2;

/// A sweep. Times are integer nanoseconds, rates per second, null = undefined.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The version of this format.
    pub schema_version: u32,
    /// The version of lowrho.
    pub version: String,
    /// When it began, since 1970.
    pub start_unix_ns: u64,
    /// The URL that requests went to; of several, all with commas between.
    pub url: String,
    /// The model asked for.
    pub model: String,
    /// The terms of the service levels.
    pub slo: Vec<String>,
    /// The warm-up of a trial, at least.
    pub warmup_ns: i64,
    /// The window of a trial, at least.
    pub window_ns: i64,
    /// The MLPerf preset asked for.
    pub mlperf: Option<String>,
    /// The effective configuration, secrets as `***`: that of its trials but for their load, and what is looked for.
    #[serde(default)]
    pub config: serde_json::Value,
    /// What was said of the servers' GPUs; null without `--gpus`.
    #[serde(default)]
    pub gpus: Option<GpuCost>,
    /// How the search ended; null while it goes on, and where it was broken off.
    pub end: Option<End>,
    /// Why it ended early, in words.
    pub why: Option<String>,
    /// What was found.
    #[serde(flatten)]
    pub found: Findings,
    /// What the server's own gauges said under overload; null where it has none, or nothing was short.
    pub limited_by: Option<String>,
    /// Every trial, in order.
    pub trials: Vec<SweepTrial>,
}

/// One trial of a sweep.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SweepTrial {
    /// Its results, below the sweep's directory.
    pub dir: String,
    /// What it decided: `passes`, `fails`, `undecided`; null where it decided nothing.
    pub judgement: Option<String>,
    /// What was asked, and what it came to.
    #[serde(flatten)]
    pub trial: Trial,
}

impl Sweep {
    /// The text of `sweep.json`.
    ///
    /// # Panics
    /// Never: every key is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key of a sweep is a string");
        text.push('\n');
        text
    }

    /// Reads the text of a `sweep.json`.
    ///
    /// # Errors
    /// When it is not a sweep, or one that a newer lowrho wrote.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let sweep: Self = serde_json::from_str(text)?;
        if sweep.schema_version > SWEEP_VERSION {
            return Err(serde::de::Error::custom("a newer lowrho wrote this sweep: use that one"));
        }
        Ok(sweep)
    }

    /// The trials that a sweep goes on from: those that ended it, because the target failed or our own side could not be
    /// trusted, are made again.
    #[must_use]
    pub fn worth_keeping(&self) -> &[SweepTrial] {
        let is_none = |trial: &&SweepTrial| {
            let outcome = &trial.trial.outcome;
            matches!(outcome.ended, Ended::Failed | Ended::Aborted) || outcome.client == Trust::Invalid
        };
        let searched = self.trials.iter().any(|trial| trial.trial.ask.purpose != Purpose::Profile);
        let spoiled = match self.end {
            Some(End::TargetFailed | End::Aborted) => 1,
            Some(End::ClientLimit) if searched => self.trials.iter().rev().take_while(is_none).count(),
            _ => 0,
        };
        &self.trials[..self.trials.len() - spoiled.min(self.trials.len())]
    }

    /// What was found, in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut words = Vec::new();
        if let Some(capacity) = &self.found.slo_capacity {
            words.push(format!("Capacity under {}: {}", self.slo.join(","), between(capacity)));
        }
        if let Some(Limit { estimate: Some(limit), low: Some(low), high: Some(high), .. }) =
            &self.found.stability_limit
        {
            words.push(format!(
                "stability limit {} requests/s ({} to {})",
                rate(Some(*limit)),
                rate(Some(*low)),
                rate(Some(*high))
            ));
        }
        if let Some(limited_by) = &self.limited_by {
            words.push(format!("there {limited_by}"));
        }
        if let Some(collapse) = &self.found.collapse {
            words.push(format!(
                "throughput collapses beyond it, from {} to {} requests/s",
                rate(Some(collapse.best_per_s)),
                rate(Some(collapse.overloaded_per_s))
            ));
        }
        if let Some(efficient) = self.found.efficient_rate {
            words.push(format!("most throughput per response time at {} requests/s", rate(Some(efficient))));
        }
        let mut sentence = words.join("; ");
        if !sentence.is_empty() {
            sentence.push('.');
        }
        sentence
    }

    /// What MLPerf's performance rules say of it, where a preset was asked for.
    #[must_use]
    pub fn mlperf_words(&self) -> Option<String> {
        /// The shortest run of the rules.
        const LEAST_NS: i64 = 600_000_000_000;
        let preset = self.mlperf.as_ref()?;
        let low = self
            .found
            .slo_capacity
            .as_ref()
            .filter(|limit| limit.estimate.is_some())
            .and_then(|limit| limit.low);
        Some(match low.filter(|_| self.window_ns >= LEAST_NS) {
            Some(low) => format!(
                "{preset}: performance rules met at {} requests/s (600 s on the schedule, latencies from the scheduled time); \
                 not an MLPerf result",
                rate(Some(low))
            ),
            None => format!("{preset}: performance rules not met: not an MLPerf result"),
        })
    }
}

fn between(capacity: &Limit) -> String {
    let times = |counts: Option<(u32, u32)>, word: &str| match counts {
        Some((_, 0)) => " (the stability limit)".to_owned(),
        Some((n, of)) => format!(" ({word} {n} of {of})"),
        None => String::new(),
    };
    match (capacity.low, capacity.high) {
        (Some(low), Some(high)) => format!(
            "between {}{} and {}{} requests/s",
            rate(Some(low)),
            times(capacity.passed, "passed"),
            rate(Some(high)),
            times(capacity.failed, "failed"),
        ),
        (Some(low), None) => format!("at least {} requests/s", rate(Some(low))),
        (None, Some(high)) => format!("below {} requests/s", rate(Some(high))),
        (None, None) => "not found".into(),
    }
}
