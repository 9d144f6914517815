//! What a summary tells besides the findings: which run, which host, which server, and what was asked of each stage.
//!
//! The run fills it in; nothing here is measured by a shard's statistics.

use super::{GpuCost, Host, RingAudit, Run, Simulator, Stamps, Target, Tls};
use crate::plan::Plan;

/// Everything that the findings do not know.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct About {
    /// Which run; its `window_ns` is taken from the findings.
    pub run: Run,
    /// The effective configuration, as [`About::config_of`] gives it.
    pub config: serde_json::Value,
    /// The machine.
    pub host: Host,
    /// The server, or what holds for all of them.
    pub target: Target,
    /// Each server, in the order of its number.
    pub targets: Vec<Target>,
    /// Each stage, in order.
    pub stages: Vec<AboutStage>,
    /// Each shard, in order.
    pub shards: Vec<AboutShard>,
    /// What the plan and the run have to say beside the verdict's own caveats.
    pub caveats: Vec<String>,
    /// By which system calls the shards drove their sockets: `uring` or `epoll`.
    pub engine: String,
    /// Reads by who stamped them; `lost` and the clock bound are taken from the facts of the analysis.
    pub stamps: Stamps,
    /// How servers were spoken to over TLS; `None` where none was.
    pub tls: Option<Tls>,
    /// What the servers run on, if that was said.
    pub gpus: Option<GpuCost>,
    /// The embedded simulator's audit, when it was the server.
    pub simulator: Option<Simulator>,
}

/// What was asked of one stage.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AboutStage {
    /// Its name, or its number from 0.
    pub name: String,
    /// The arrival process in its text form; `None` in a closed loop.
    pub arrival: Option<String>,
    /// The concurrency asked for, if any.
    pub requested_concurrency: Option<u64>,
}

/// What one shard's surroundings counted, beyond what the verdict looks at.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct AboutShard {
    /// CPU time of its thread over the run.
    pub cpu_time_ns: Option<i64>,
    /// The kernel's share of that CPU time, by its own accounting in ticks.
    pub kernel_share: Option<f64>,
    /// Receives that ended for want of buffers.
    pub buffer_shortages: u64,
    /// What its ring counted.
    pub ring: RingAudit,
}

impl About {
    /// The effective configuration of a plan, secrets hidden, with the keys of its TOML form.
    ///
    /// # Panics
    /// Never: what a plan writes is TOML.
    #[must_use]
    pub fn config_of(plan: &Plan) -> serde_json::Value {
        toml::from_str(&plan.effective_toml()).expect("what a plan writes is TOML")
    }
}
