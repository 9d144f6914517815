//! One shard as a queue: its jobs, its utilization, its waits by four methods, its lateness and what went wrong.

use crate::analysis::BusyCourse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The audit of one shard (`docs/METHOD.md`, "The client as a queue").
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ShardAudit {
    /// The shard's number.
    pub shard: u64,
    /// The CPU it was pinned to.
    pub cpu: Option<u64>,
    /// Wall time audited.
    pub wall_ns: i64,
    /// Share of wall time not waiting.
    pub rho_busy: Option<f64>,
    /// What that time went to.
    pub busy: Share,
    /// The same over the run's time.
    #[serde(default)]
    pub over_time: BusyOverTime,
    /// lambda E\[S\].
    pub rho_calc: Option<f64>,
    /// Whether the services of all jobs, interrupted ones too, and the time of turns with jobs agree within 10 % or 0.02; if not, the audit misses work.
    pub rho_agree: Option<bool>,
    /// Jobs per second.
    pub lambda_per_s: Option<f64>,
    /// E\[S\], interruptions left out.
    pub service_mean_ns: Option<i64>,
    /// Standard deviation of S.
    pub service_sd_ns: Option<i64>,
    /// Squared coefficient of variation of S.
    pub service_cv2: Option<f64>,
    /// Index of dispersion of arrivals, in bins of 0.1, 1 and 10 ms.
    pub dispersion: [Option<f64>; 3],
    /// Mean size of a burst: arrivals within E\[S\] of its first.
    pub burst_mean: Option<f64>,
    /// The largest burst.
    pub burst_max: u64,
    /// Jobs by class.
    pub jobs: Vec<JobAudit>,
    /// The mean wait, by four methods.
    pub waits: Waits,
    /// Begun - due.
    pub lateness_ns: Lateness,
    /// Jobs in turns that were cut by something else than the shard's own work: in no figure above.
    pub interruptions: u64,
    /// The time that those turns lost, of both kinds.
    pub interrupted_ns: i64,
    /// Turns cut because another had the CPU: run delay rose with them.
    pub preempted: LostTurns,
    /// Turns cut because the thread was neither running nor queued to run: its CPU was stolen, or it was stopped or blocked.
    pub off_cpu: LostTurns,
    /// Time runnable but not running (schedstat) within the windows; null = not read.
    pub run_delay_ns: Option<i64>,
    /// Times the thread gave up its CPU to sleep, within the windows; null = not read.
    pub voluntary_switches: Option<u64>,
    /// Times the thread lost its CPU while it had work, within the windows; null = not read.
    pub involuntary_switches: Option<u64>,
    /// Time stolen by the hypervisor from the shard's CPU over the run, to the kernel's tick (10 ms); null = not read.
    pub steal_ns: Option<i64>,
    /// Who else used the shard's CPU over the run, most first, ten at the most.
    pub neighbours: Vec<Neighbour>,
    /// CPU time of the shard's thread over the whole run, kernel included; wall_ns is of the windows alone.
    pub cpu_time_ns: Option<i64>,
    /// The kernel's share of that CPU time, by its own accounting in ticks (mostly of 10 ms).
    pub kernel_share: Option<f64>,
    /// Turns of the pump.
    pub turns: u64,
    /// Of them, those that found nothing to do.
    #[serde(default)]
    pub empty_turns: u64,
    /// What its ring counted over the whole run.
    #[serde(default)]
    pub ring: RingAudit,
    /// Reads.
    pub reads: u64,
    /// Reads in which a token-bearing event met something later.
    pub coalesced_reads: u64,
    /// Reads without a stamp where its class promised one.
    pub lost_stamps: u64,
    /// Receives that ended for want of buffers, and were armed again.
    pub buffer_shortages: u64,
    /// Overflows of the completion queue.
    pub queue_overflows: u64,
    /// Rows that the writer's full queue refused.
    pub rows_dropped: u64,
    /// Negative spans: a defect of ours.
    pub negative_spans: u64,
    /// Why the shard failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A shard's traffic with the kernel, from its start to its end, warm-up and cool-down included.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RingAudit {
    /// Calls of `io_uring_enter`; on epoll, of `epoll_wait` and of the sleeps before it.
    pub enters: u64,
    /// Sends given to the kernel.
    pub sends: u64,
    /// Bytes given to the kernel to send.
    pub bytes_sent: u64,
    /// Receives armed again, after a want of buffers or because the kernel ended them.
    pub receives_rearmed: u64,
    /// Reads stamped before the harvest that should have brought them: their interval falls back to the stream's own.
    pub reads_overtaken: u64,
    /// Completions of connections that were closed meanwhile, dropped.
    pub stale_completions: u64,
    /// Times that completions had to wait in the kernel because the completion queue was full; none is lost by it.
    pub completions_delayed: u64,
    /// Completions that the kernel lost.
    pub completions_lost: u64,
    /// Connections still open at the end.
    pub connections_left: u64,
}

/// Turns of the pump that were cut in one way.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LostTurns {
    /// How many.
    pub turns: u64,
    /// The time they lost.
    pub lost_ns: i64,
    /// The most that one of them lost.
    pub longest_ns: i64,
}

/// Who else used a shard's CPU.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// The process's name; a thread of our own has its own.
    pub name: String,
    /// The process.
    pub pid: u64,
    /// CPU time it used of that CPU, as far as looks every five seconds tell: of one that ends between two, what it used since the first of them is missed.
    pub cpu_time_ns: i64,
}

/// Shares of wall time.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Handling jobs.
    pub jobs: Option<f64>,
    /// Wakes that found nothing.
    pub empty_wakes: Option<f64>,
    /// Between turns of the pump: rows, the executor's other tasks.
    pub between_turns: Option<f64>,
}

/// How busy a shard was when: from the run's start to its end, warm-up and cool-down included.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BusyOverTime {
    /// The length of a stretch: 0.25 s, doubled as often as a run needs to have at most 240 of them.
    pub step_ns: i64,
    /// The share of each stretch that the shard did not wait, in order, to four digits after the point.
    pub rho_busy: Vec<f64>,
}

impl From<&BusyCourse> for BusyOverTime {
    fn from(found: &BusyCourse) -> Self {
        let rounded = |rho: &f64| libm::round(rho * 1e4) / 1e4;
        Self { step_ns: found.step.as_ns(), rho_busy: found.rho.iter().map(rounded).collect() }
    }
}

/// Jobs of one class.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobAudit {
    /// `receive`, `send`, `timer`, `prepare` or `record`.
    pub class: String,
    /// How many.
    pub count: u64,
    /// Mean service time.
    pub service_mean_ns: Option<i64>,
    /// Standard deviation of the service time.
    pub service_sd_ns: Option<i64>,
    /// Longest service time.
    pub service_max_ns: Option<i64>,
    /// Mean wait, our own hold included.
    pub wait_mean_ns: Option<i64>,
    /// Mean of our own hold.
    pub hold_mean_ns: Option<i64>,
}

/// The mean wait of a job, by four methods.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Measured: start - arrival.
    pub observed_ns: Option<i64>,
    /// The 0.99 quantile of what was measured.
    pub observed_p99_ns: Option<i64>,
    /// The part of the mean that is our own coalescing.
    pub hold_ns: Option<i64>,
    /// Lindley's recursion over the real arrivals and services: the reference.
    pub lindley_ns: Option<i64>,
    /// M/G/1, Pollaczek-Khinchine.
    pub pollaczek_khinchine: Wait,
    /// M^X/G/1, arrivals in batches.
    pub batch: Wait,
    /// Whether the batch formula is the one to read: arrivals come in batches.
    pub in_batches: Option<bool>,
    /// Observed - hold - Lindley: wake-up, preemption, steal.
    pub unexplained_ns: Option<i64>,
}

/// A wait by formula.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    /// The mean wait; null where the formula has none (rho >= 1).
    pub mean_ns: Option<i64>,
    /// Whether it lies within a factor of 2 of Lindley's.
    pub holds: Option<bool>,
}

/// Lateness of one shard.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the same keys as `Distribution`")]
pub struct Lateness {
    pub p50: Option<i64>,
    pub p99: Option<i64>,
    pub p99_9: Option<i64>,
    pub max: Option<i64>,
}
