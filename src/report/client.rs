//! The client's state: whether the numbers can be trusted, why not, and what to do about it.

use super::figures::{percent, time};
use super::{ImaginedClient, Reported, ShardAudit, Tls};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The audit of ourselves.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Whether the numbers can be trusted.
    pub verdict: Verdict,
    /// What keeps the verdict from being valid, worst first.
    pub reasons: Vec<Reason>,
    /// Every check behind the verdict with its value and thresholds.
    pub checks: Vec<Check>,
    /// What a reader should know that does not change the verdict.
    pub caveats: Vec<String>,
    /// How far the published quantiles can be off by our own doing.
    pub bias: Bias,
    /// What this same run would have reported had events been stamped when they were processed: the bias that receive stamps
    /// remove. Null where it was not followed.
    pub bias_removed: Option<Reported>,
    /// What other clients would have reported of the same traffic; empty where that was not followed.
    pub imagined: Vec<ImaginedClient>,
    /// By which system calls the shards drove their sockets: `uring` or `epoll`; empty in summaries that do not say.
    #[serde(default)]
    pub engine: String,
    /// Who made the receive stamps.
    pub stamps: Stamps,
    /// How servers were spoken to over TLS; null where none was.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// What the host did beside the run.
    pub surroundings: Surroundings,
    /// Each shard's own service and waiting.
    pub shards: Vec<ShardAudit>,
}

/// What the host's own counters told over the run; null = not read, or there is none.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Surroundings {
    /// The interface that leads to the target.
    pub interface: Option<String>,
    /// CPUs that stamp what arrives there; null over loopback too, where the sender's own CPU does.
    pub stamping_cpus: Option<Vec<u64>>,
    /// How long the network card may hold a received packet back before it interrupts a CPU (rx-usecs).
    pub interrupt_moderation_ns: Option<i64>,
    /// Time stolen from all CPUs together.
    pub steal_ns: Option<i64>,
    /// Time stolen from the CPUs that stamp.
    pub stamping_steal_ns: Option<i64>,
    /// Packets dropped because a CPU's backlog was full.
    pub softnet_dropped: Option<u64>,
    /// Times that the network's softirq left work for later.
    pub softnet_squeezed: Option<u64>,
    /// Times the clock of the receive stamps was set.
    pub clock_steps: u64,
    /// What TCP told of the connections when they were closed.
    pub tcp: Tcp,
}

/// What TCP told of the connections.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tcp {
    /// Connections that it was asked about.
    pub connections: u64,
    /// Segments of ours that were sent again; those that the server sent again are not known here.
    pub retransmits: u64,
    /// The least round trip of any connection, to the microsecond; null = none was measured.
    pub min_rtt_ns: Option<i64>,
}

/// The 0.99 quantile of TTFT, by whose it is: client + network + server.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Blame {
    /// The 0.99 quantile of TTFT.
    pub ttft_p99_ns: i64,
    /// At most so much of it is the client's: its bias bound.
    pub client_ns: i64,
    /// The same as a share.
    pub client_share: Option<f64>,
    /// The network's: the least round trip that TCP measured; null = not measured, and then with the server's.
    pub network_ns: Option<i64>,
    /// The same as a share.
    pub network_share: Option<f64>,
    /// The server's: the rest.
    pub server_ns: i64,
    /// The same as a share.
    pub server_share: Option<f64>,
    /// Of the server's part: what it takes without load, by the probe; null = not known.
    pub server_idle_ns: Option<i64>,
    /// Of the server's part: what load has added, queueing and contention; null = not known.
    pub server_load_ns: Option<i64>,
}

impl Blame {
    /// `24.3 ms = client at most 279 us (1.1 %) + network 4.00 us (0.02 %, least round trip) + server 24.0 ms (98.8 %)`.
    pub(super) fn sentence(&self) -> String {
        let network = self.network_ns.map_or("network not measured".into(), |ns| {
            format!("network {} ({}, least round trip)", time(ns), percent(self.network_share))
        });
        let split = self.server_idle_ns.zip(self.server_load_ns).map_or_else(String::new, |(idle, load)| {
            format!(": {} when idle, {} added by load", time(idle), time(load))
        });
        format!(
            "{} = client at most {} ({}) + {network} + server {} ({}){split}",
            time(self.ttft_p99_ns),
            time(self.client_ns),
            percent(self.client_share),
            time(self.server_ns),
            percent(self.server_share),
        )
    }
}

/// Trust in the client's numbers, from best to worst.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every check passed.
    Valid,
    /// Some check lies between its thresholds.
    Suspect,
    /// Some check failed outright; or nobody has judged.
    #[default]
    Invalid,
}

impl Verdict {
    /// The word that reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

/// Why the verdict is not valid.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// How bad it is: suspect or invalid.
    pub verdict: Verdict,
    /// The name of the check it comes from.
    pub check: String,
    /// What is wrong, with its numbers.
    pub words: String,
    /// What to do about it.
    pub remedy: String,
}

/// One row of the verdict's table (`docs/METHOD.md`, "Verdict").
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The check's name.
    pub name: String,
    /// What it came to.
    pub verdict: Verdict,
    /// The value found; null where it could not be measured.
    pub value: Option<f64>,
    /// What the value is counted in.
    pub unit: Unit,
    /// Which side of the thresholds is the good one.
    pub good: Good,
    /// Valid as far as this.
    pub valid: Option<f64>,
    /// Invalid beyond this; null where it never is.
    pub invalid: Option<f64>,
}

/// What a value beside a bound is counted in.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A plain number, mostly a share of a whole.
    #[default]
    Ratio,
    /// Nanoseconds.
    Ns,
    /// So many per second.
    #[serde(rename = "per_s")]
    PerS,
}

/// Which side of a threshold is the good one.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Good {
    /// Up to the threshold.
    #[default]
    AtMost,
    /// From the threshold on.
    AtLeast,
}

/// Bias bounds of the published quantiles (`docs/METHOD.md`, "The client as a queue").
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the same keys as `Latency`")]
pub struct Bias {
    pub ttft_ns: BiasBound,
    pub itl_ns: BiasBound,
    pub tpot_ns: BiasBound,
    pub ntpot_ns: BiasBound,
    pub e2e_ns: BiasBound,
}

/// For each quantile, its value from the latest possible instants less that from the earliest.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the same keys as `Distribution`")]
pub struct BiasBound {
    pub p50: Option<i64>,
    pub p90: Option<i64>,
    pub p95: Option<i64>,
    pub p99: Option<i64>,
    pub p99_9: Option<i64>,
}

/// Reads by who stamped them.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stamps {
    /// Stamped by the network card.
    pub hardware: u64,
    /// Stamped by the kernel.
    pub software: u64,
    /// Stamped by us, when they were processed.
    pub user: u64,
    /// Without a stamp where its class promised one.
    pub lost: u64,
    /// Half width of the offset between the stamps' clock and ours.
    pub clock_bound_ns: Option<i64>,
}
