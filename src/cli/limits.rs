//! This machine's facts to the limits a plan is checked against; makes one ring to see whether it may.

use crate::host::Facts;
use crate::plan::{Cost, Limits};
use crate::run;

/// What `facts` mean for a plan. The hard limit of files counts, since the soft one is raised to it before a run.
#[must_use]
pub fn limits(facts: &Facts) -> Limits {
    let (low, high) = facts.port_range;
    Limits {
        cpus: facts.cpus.clone(),
        cpu_quota: facts.cpu_quota,
        files: facts.files_hard,
        source_ports: u32::from(high - low) + 1,
        memlock_bytes: facts.memlock_bytes,
        kernel: facts.kernel_version,
        io_uring_forbidden: facts.io_uring_forbidden.clone(),
        ring_refused: None,
        cost: Cost::default(),
    }
}

/// The same, with what a ring made for a moment tells: whether a sandbox forbids io_uring is written nowhere.
pub(super) fn tried_limits(facts: &Facts) -> Limits {
    let ring_refused = facts.io_uring_forbidden.is_none().then(run::ring_refused).flatten();
    Limits { ring_refused, ..limits(facts) }
}
