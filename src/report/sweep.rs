//! The report of a sweep: `sweep.json`, and what the terminal's table is printed from.
//!
//! It reads and writes text; where that text is kept is the store's affair.

use super::figures::{percent, rate};
use super::{GpuCost, Reason, Verdict};
use crate::search::{End, Ended, Findings, Limit, Offer, Purpose, Trial, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of `sweep.json`; it changes when a key changes its meaning or goes.
pub const SWEEP_VERSION: u32 = 2;

/// Throughputs that differ by less than this share are the same.
const AS_MUCH: f64 = 0.99;

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
    /// Why our own side could not be trusted, and what to do about it; only where the client is `invalid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
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
        let spoiled = match self.end {
            Some(End::TargetFailed | End::Aborted) => 1,
            Some(End::ClientLimit) if self.is_searched() => {
                self.trials.iter().rev().take_while(is_none).count()
            }
            _ => 0,
        };
        &self.trials[..self.trials.len() - spoiled.min(self.trials.len())]
    }

    /// What was found, in one sentence; empty where nothing was.
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
        } else {
            words.extend(self.most_done());
        }
        words.extend(self.kept());
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
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
            sentence.push('.');
        }
        sentence
    }

    /// Whether its loads were looked for, and not given as a list.
    #[must_use]
    pub fn is_searched(&self) -> bool {
        self.trials.iter().any(|trial| trial.trial.ask.purpose != Purpose::Profile)
    }

    /// The latest trial of which our own side could not be trusted, where that is what ended the search, or one of the loads
    /// of a list: with its reasons and their remedies. (A search makes such a trial again.)
    #[must_use]
    pub fn untrusted(&self) -> Option<&SweepTrial> {
        let matters = self.end == Some(End::ClientLimit) || !self.is_searched();
        self.trials.iter().rev().find(|trial| !trial.reasons.is_empty()).filter(|_| matters)
    }

    /// Trials whose client can be trusted.
    fn trusted(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().map(|trial| &trial.trial).filter(|trial| trial.outcome.client != Trust::Invalid)
    }

    /// The most that was done, and where, if there was no limit to tell of.
    fn most_done(&self) -> Option<String> {
        let done = |trial: &&Trial| trial.outcome.completed_per_s();
        let highest = self.trusted().map(|trial| done(&trial)).fold(0.0, f64::max);
        // Of those that did as much, the one that kept its requests the shortest: the others only made them wait.
        let mean =
            |trial: &&Trial| trial.outcome.shown("e2e").and_then(|e2e| e2e.mean_ns).unwrap_or(i64::MAX);
        let most = self.trusted().filter(|trial| done(trial) >= AS_MUCH * highest).min_by_key(mean)?;
        if highest <= 0.0 {
            return None;
        }
        let at = match most.ask.offer {
            Offer::Rate(offered) => format!("{} offered", rate(Some(offered))),
            Offer::Slots(slots) => format!("{slots} in flight"),
        };
        let failed = match most.outcome.failed_share() {
            share if share > 0.0 => format!(", where {} of the requests failed", percent(Some(share))),
            _ => String::new(),
        };
        Some(format!("at most {} requests/s done, at {at}{failed}", rate(Some(done(&most)))))
    }

    /// Up to which of the loads of a list the service levels were kept.
    fn kept(&self) -> Option<String> {
        if self.slo.is_empty() || self.found.slo_capacity.is_some() {
            return None;
        }
        let load = |trial: &Trial| match trial.ask.offer {
            Offer::Rate(offered) => (offered, format!("{} requests/s", rate(Some(offered)))),
            Offer::Slots(slots) => (f64::from(slots), format!("{slots} in flight")),
        };
        let mut loads: Vec<_> = self
            .trusted()
            .filter(|trial| trial.ask.purpose == Purpose::Profile)
            .map(|trial| (load(trial), trial.outcome.terms.iter().all(|term| term.crossed == Some(false))))
            .collect();
        loads.sort_by(|((a, _), _), ((b, _), _)| a.total_cmp(b));
        let terms = self.slo.join(",");
        let kept = loads.iter().take_while(|(_, kept)| *kept).count();
        let (_, lowest) = &loads.first()?.0;
        Some(match kept {
            0 => format!("{terms} crossed at {lowest} already"),
            n if n == loads.len() => {
                format!("{terms} kept up to {}, the most that was offered", loads[n - 1].0.1)
            }
            n => format!("{terms} kept up to {} and crossed at {}", loads[n - 1].0.1, loads[n].0.1),
        })
    }

    /// How it ended, if there is something to say of that, and how bad it is.
    #[must_use]
    pub fn ending(&self) -> (Verdict, String) {
        let (verdict, words) = match self.end {
            Some(End::Found) => (Verdict::Valid, ""),
            Some(End::Nowhere) => (Verdict::Invalid, "no rate worth trying keeps the service levels"),
            Some(End::ClientLimit) if self.untrusted().is_some() => {
                (Verdict::Invalid, "client limit: three trials running were INVALID")
            }
            Some(End::ClientLimit) => (
                Verdict::Invalid,
                "client limit: three trials running were INVALID; use more shards (--shards, --cpus) or another host",
            ),
            Some(End::TargetFailed) => {
                (Verdict::Invalid, "the target failed: what was measured until then is told")
            }
            Some(End::Aborted) => {
                (Verdict::Invalid, "ended by --abort-on: what was measured until then is told")
            }
            Some(End::Undecided) => (Verdict::Suspect, "undecided: the bounds are as far as they were found"),
            Some(End::NeverOverloaded) => {
                (Verdict::Suspect, "the server could not be driven beyond its limit: no limit was found")
            }
            None => (Verdict::Suspect, "broken off: --resume goes on with it"),
        };
        let why = self.why.as_deref().unwrap_or_default();
        let parts = [words, why].into_iter().filter(|part| !part.is_empty());
        (verdict, parts.collect::<Vec<_>>().join("; "))
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
