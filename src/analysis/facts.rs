//! What the analysis is told beside the statistics: what was asked for, and what the shards' surroundings counted.
//!
//! It must not hold findings.

use super::Slo;
use crate::time::{Instant, Span, StampClass};

/// The facts of a run.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Facts {
    /// Each stage, in order.
    pub stages: Vec<StageFacts>,
    /// Each shard, in the order of its recorder and audit.
    pub shards: Vec<ShardFacts>,
    /// Who stamped what arrived.
    pub stamps: StampClass,
    /// Half width of the offset between the stamps' clock and ours; zero where we stamp ourselves.
    pub clock_bound: Span,
    /// Times the stamps' clock was set during the run.
    pub clock_steps: u64,
    /// The round trip to the server, where arrivals are acknowledged the usual way; `None` = at once, or by no TCP.
    pub delayed_acks: Option<Span>,
    /// When the run was cut short, by a signal or because enough was seen, if it was: windows end there.
    pub interrupted: Option<Instant>,
    /// The service levels asked for; each recorder held its requests to their bounds.
    pub slo: Slo,
    /// What ends a sweep.
    pub abort_on: Slo,
    /// What the host did beside the run.
    pub host: HostFacts,
    /// What TCP knew of the connections.
    pub tcp: TcpFacts,
    /// TTFT without load, by the probe; `None` = it was not measured.
    pub idle_ttft: Option<Span>,
}

/// What TCP told of the connections when they were closed.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct TcpFacts {
    /// Connections that it was asked about.
    pub connections: u64,
    /// Segments of ours that were sent again; those that the server sent again are not known here.
    pub retransmits: u64,
    /// The least round trip of any; `None` = none was measured.
    pub min_rtt: Option<Span>,
}

/// What the host's own counters told over the whole run. `None` = not read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HostFacts {
    /// The interface that leads to the target.
    pub interface: Option<String>,
    /// CPUs that stamp what arrives there; `None` over loopback too, where the sender's own CPU does.
    pub stamping_cpus: Option<Vec<usize>>,
    /// How long the card may hold a received packet back before it interrupts a CPU: so late can the kernel's stamps be.
    pub moderation: Option<Span>,
    /// Time stolen from all CPUs together.
    pub steal: Option<Span>,
    /// Time stolen from the CPUs that stamp.
    pub stamping_steal: Option<Span>,
    /// Packets dropped because a CPU's backlog was full.
    pub softnet_dropped: Option<u64>,
    /// Times that the network's softirq left work for later.
    pub softnet_squeezed: Option<u64>,
}

/// Stretches of a stage in which a CPU that stamps was stolen: software stamps made in them can be late.
#[derive(Copy, Clone, PartialEq, Default, Debug)]
pub struct Stolen {
    /// Their share of the window.
    pub share: f64,
    /// The most that was stolen in one of them: so late can a stamp be.
    pub longest: Span,
}

/// Who else used a shard's CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// The process's name; a thread of our own has its own name.
    pub name: String,
    /// The process.
    pub pid: u32,
    /// Time it used of that CPU.
    pub used: Span,
    /// How long that CPU was watched: the whole run, what came before and after its window too.
    pub watched: Span,
}

/// What was asked of one stage.
#[derive(Copy, Clone, PartialEq, Default, Debug)]
pub struct StageFacts {
    /// Requests per second; `None` in a closed loop.
    pub requested_rate: Option<f64>,
    /// Whether the load changes within the stage: then so do the requests in flight, whatever the server does.
    pub is_ramp: bool,
    /// Requests that the schedule itself has in the window, up to where it was cut short, if it was; `None` in a closed loop.
    pub due: Option<u64>,
    /// Where stamps can be late because their CPU was stolen; `None` = nowhere, as far as is known.
    pub stolen: Option<Stolen>,
}

/// What one shard's surroundings counted over the whole run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ShardFacts {
    /// The CPU it was pinned to.
    pub cpu: Option<usize>,
    /// Time stolen from that CPU; `None` = not read.
    pub steal: Option<Span>,
    /// Who else used that CPU, most first.
    pub neighbours: Vec<Neighbour>,
    /// Reads.
    pub reads: u64,
    /// Reads without a stamp where its class promised one.
    pub lost_stamps: u64,
    /// Overflows of the completion queue.
    pub queue_overflows: u64,
    /// Rows that the writer's full queue refused.
    pub rows_dropped: u64,
    /// Why it failed, if it did.
    pub failed: Option<String>,
    /// For how long it had shown no sign of life when the run gave up waiting for it; what it counted is lost.
    pub stuck: Option<Span>,
    /// When it showed no sign of life while something was measured.
    pub missed_beats: MissedBeats,
}

impl Facts {
    /// Whether a shard failed: some of what it did may be in no count.
    pub(super) fn has_lost_counts(&self) -> bool {
        self.shards.iter().any(|shard| shard.failed.is_some())
    }
}

impl ShardFacts {
    /// Its CPU, in words.
    pub(super) fn say_cpu(&self) -> String {
        self.cpu.map_or("its cpu".into(), |cpu| format!("cpu {cpu}"))
    }
}

/// Silences of a shard of a second and more, as its watchdog saw them from outside.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct MissedBeats {
    /// How many.
    pub times: u64,
    /// How long they were together.
    pub total: Span,
    /// How long the longest was.
    pub longest: Span,
}
