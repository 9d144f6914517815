//! This machine's facts to the limits a plan is checked against; reads neither itself.

use crate::host::Facts;
use crate::plan::{Cost, Limits};

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
        cost: Cost::default(),
    }
}
