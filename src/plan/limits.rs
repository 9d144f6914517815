//! What this machine allows, as far as a plan is checked against it; reads nothing, whoever asks for a plan fills it in.

use super::Cost;

/// The bounds that a plan must fit into. Filled by `host` for a real run, by hand in tests.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// CPUs this process may run on, ascending; never empty.
    pub cpus: Vec<usize>,
    /// CPUs' worth of time that control groups allow; `None` = no quota.
    pub cpu_quota: Option<f64>,
    /// Files that may be open at once (the hard limit: the soft one is raised to it).
    pub files: u64,
    /// Source ports towards one address and port.
    pub source_ports: u32,
    /// Memory that may be locked, in bytes; `None` = no limit holds (privileged).
    pub memlock_bytes: Option<u64>,
    /// Kernel version, major and minor; `None` = it does not say.
    pub kernel: Option<(u32, u32)>,
    /// Why the kernel's own switch forbids io_uring, if it does.
    pub io_uring_forbidden: Option<String>,
    /// Why a ring made for a moment was refused, the remedy after a colon; `None` = it was not, or none was tried.
    pub ring_refused: Option<String>,
    /// What requests and events cost a shard here, as far as it was measured.
    pub cost: Cost,
}

#[cfg(test)]
impl Limits {
    /// A machine of which only the CPUs bound a small plan.
    pub(crate) fn roomy(cpus: &[usize]) -> Self {
        Self {
            cpus: cpus.to_vec(),
            cpu_quota: None,
            files: 100_000,
            source_ports: 28_232,
            memlock_bytes: None,
            kernel: Some((6, 18)),
            io_uring_forbidden: None,
            ring_refused: None,
            cost: Cost::default(),
        }
    }
}
