//! A run of several stages as a profile.

use super::profile::{Load, Profile, Value};
use super::told::Told;
use crate::report::{Distribution, Stage, Verdict};

/// The profile of a run's stages; one of a single stage is drawn beside others only.
pub(super) fn profile(told: &Told, name: &str) -> Profile {
    let mut stages: Vec<(f64, &Stage)> =
        told.summary.stages.iter().filter_map(|stage| Some((offered(stage)?, stage))).collect();
    stages.sort_by(|a, b| a.0.total_cmp(&b.0));
    let closed = stages
        .iter()
        .any(|(_, stage)| stage.section.load.scheduled_rate.is_none() || stage.arrival.is_none());
    // A verdict is on the run: which stage brought it is not told.
    let invalid = told.summary.client.verdict == Verdict::Invalid;
    Profile {
        name: name.into(),
        unit: if closed { "concurrency" } else { "offered requests/s" },
        points: stages.into_iter().map(|(at, stage)| load(at, stage, invalid)).collect(),
        limits: Vec::new(),
        gpus: told.summary.gpus.map(|found| found.cost),
    }
}

/// What a stage was offered: its rate, or its concurrency.
#[expect(clippy::cast_precision_loss, reason = "a concurrency for the eye")]
fn offered(stage: &Stage) -> Option<f64> {
    let load = &stage.section.load;
    match &stage.arrival {
        Some(_) => load.scheduled_rate,
        None => load.requested_concurrency.map(|slots| slots as f64),
    }
}

fn load(at: f64, stage: &Stage, invalid: bool) -> Load {
    let (section, latency) = (&stage.section, &stage.section.latency);
    let plain = |value| Value { value, interval: None };
    let quantiles = |found: &Distribution| {
        let interval = found.p99_ci.map(|[low, high]| (float(low), float(high)));
        [found.p50.map(|ns| plain(float(ns))), found.p99.map(|ns| Value { value: float(ns), interval })]
    };
    Load {
        at,
        joined: true,
        invalid,
        done: section.load.achieved_rate.map(plain),
        good: section.slo.as_ref().and_then(|slo| slo.goodput_per_s),
        tokens_per_s: section.throughput.output_tokens_per_s,
        latencies: [&latency.ttft_ns, &latency.tpot_ns, &latency.ntpot_ns, &latency.e2e_ns].map(quantiles),
        ntpot: [&latency.ntpot_ns, &latency.ntpot_waiting_ns, &latency.ntpot_decoding_ns]
            .map(|found| found.mean.map(float)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds for the eye")]
fn float(ns: i64) -> f64 {
    ns as f64
}
