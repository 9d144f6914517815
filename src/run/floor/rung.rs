//! One rung: a short run, and its figures for the floor's table.
//!
//! It must not judge: the run's own verdict is told.

use super::truth::{self, Errors};
use crate::host::Facts;
use crate::plan::{Answers, Ladder, Rung};
use crate::record::WorkClass;
use crate::report::{Came, Host, RungFound, ShardAudit, Summary};
use crate::run::{self, Interrupts, RunError, Screen};
use crate::store::Results;
use crate::time::Instant;
use crate::watch::Show;
use std::path::{Path, PathBuf};

/// How answers come, for the report and in words.
pub(super) const fn came(answers: Answers) -> (Came, &'static str) {
    match answers {
        Answers::Whole => (Came::Whole, "whole answers"),
        Answers::Streamed => (Came::Streamed, "streamed answers"),
        Answers::Foreign => (Came::Foreign, "the server's answers"),
    }
}

/// The simulator's log lies beside the results: their directory must be new.
pub(super) fn log_of(folder: &Path) -> PathBuf {
    folder.with_extension("truth.jsonl")
}

/// Makes the run, its results in `folder`, and reads them.
pub(super) fn run(
    ladder: &Ladder,
    rung: &Rung,
    folder: &Path,
    (host, facts): (&Host, &Facts),
    interrupts: &Interrupts,
) -> Result<RungFound, RunError> {
    let mut plan = rung.plan.clone();
    let log = log_of(folder);
    plan.output.dir = Some(folder.display().to_string());
    if let Some(sim) = &mut plan.sim {
        sim.log = Some(log.display().to_string());
    }
    // What must be said while it runs is, though its figures come with the table.
    let screen = Screen { show: Show::Quiet, out: std::io::stderr() };
    let done = run::run(&plan, None, host, facts, interrupts, screen)?;
    let summary = done.summary;
    let run_id = plan.sim.is_some().then_some(summary.run.id.as_str());
    let start = Instant::from_ns(summary.run.start_mono_ns);
    let records = Results::open(&done.dir).and_then(|results| results.records(start));
    let records = records.map_err(|error| RunError::Own(error.to_string()))?;
    let errors = truth::errors(records, run_id.map(|id| (id, log.as_path()))).map_err(RunError::Own)?;
    let mut found = figures(&summary, &errors);
    found.answers = came(ladder.answers).0;
    found.waiting = rung.waiting.to_string();
    found.asked_rate = rung.rate_per_s;
    // What the run could not write or lost is a reason to doubt it.
    found.reasons.extend(done.failures);
    Ok(found)
}

/// What the summary and the records say.
fn figures(summary: &Summary, errors: &Errors) -> RungFound {
    let (total, client) = (&summary.total, &summary.client);
    let shards = &client.shards;
    let cpu_ns: i64 = shards.iter().filter_map(|shard| shard.cpu_time_ns).sum();
    let busy_ns = sum(shards, |shard| Some(shard.rho_busy? * whole(shard.wall_ns)));
    let reads: u64 = shards.iter().map(|shard| shard.reads).sum();
    let coalesced: u64 = shards.iter().map(|shard| shard.coalesced_reads).sum();
    let sim = summary.server.simulator.as_ref();
    // Seconds for 1,000 are microseconds for one, over a thousand.
    let per_1k = |count: u64| (count > 0).then(|| whole(cpu_ns) / 1e6 / share_of(count));
    let latest = |of: fn(&ShardAudit) -> Option<i64>| shards.iter().filter_map(of).max();
    let highest = |of: fn(&ShardAudit) -> Option<f64>| shards.iter().filter_map(of).reduce(f64::max);
    RungFound {
        shards: shards.len() as u64,
        sent_rate: total.load.sent_rate,
        achieved_rate: total.load.achieved_rate,
        server_kept_up: summary.server.kept_up,
        events_per_s: total.throughput.events_per_s,
        requests: total.load.begun,
        failed: total.load.failed,
        verdict: client.verdict,
        reasons: client.reasons.iter().map(|reason| reason.words.clone()).collect(),
        tries: 1,
        ttft_over_ns: errors.ttft,
        e2e_over_ns: errors.e2e,
        compared: errors.compared,
        cpu_s_per_1k_requests: per_1k(errors.requests),
        cpu_s_per_1k_events: per_1k(errors.events),
        kernel_share: kernel_share(shards),
        recording_per_request_ns: per_request(recording_ns(shards), total.load.begun),
        service_mean_ns: latest(|shard| shard.service_mean_ns),
        rho: highest(|shard| shard.rho_busy),
        busy_per_request_ns: per_request(busy_ns, total.load.begun),
        lateness_p50_ns: latest(|shard| shard.lateness_ns.p50),
        lateness_p99_ns: latest(|shard| shard.lateness_ns.p99),
        coalesced: (reads > 0).then(|| share_of(coalesced) / share_of(reads)),
        bias_itl_p99_ns: client.bias.itl_ns.p99,
        sim_rho: sim.and_then(|sim| sim.rho_busy),
        sim_lateness_p99_ns: sim.and_then(|sim| sim.lateness_p99_ns),
        sim_was_the_limit: sim.is_some_and(|sim| sim.was_the_limit),
        ..RungFound::default()
    }
}

fn sum(shards: &[ShardAudit], of: impl Fn(&ShardAudit) -> Option<f64>) -> f64 {
    shards.iter().filter_map(of).sum()
}

/// The services of all jobs that counted what was over.
fn recording_ns(shards: &[ShardAudit]) -> f64 {
    let jobs =
        shards.iter().flat_map(|shard| &shard.jobs).filter(|jobs| jobs.class == WorkClass::Record.name());
    jobs.filter_map(|jobs| Some(whole(jobs.service_mean_ns?) * share_of(jobs.count))).sum()
}

/// Of all shards together, each by its CPU time.
fn kernel_share(shards: &[ShardAudit]) -> Option<f64> {
    let all = sum(shards, |shard| shard.kernel_share.and(shard.cpu_time_ns).map(whole));
    let kernel = sum(shards, |shard| Some(shard.kernel_share? * whole(shard.cpu_time_ns?)));
    (all > 0.0).then(|| kernel / all)
}

#[expect(clippy::cast_possible_truncation, reason = "a float cast saturates, and no request takes 292 years")]
fn per_request(busy_ns: f64, requests: u64) -> Option<i64> {
    (requests > 0).then(|| libm::round(busy_ns / share_of(requests)) as i64)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of a few digits")]
const fn share_of(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of a few digits")]
const fn whole(ns: i64) -> f64 {
    ns as f64
}
