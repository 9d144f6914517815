//! What a run would meet on this machine: facts to findings, each with its state and its remedy. Reads nothing.

mod judge;

pub use judge::judge;

/// This machine, as far as a run depends on it. Filled by `run` for a real machine, by hand in tests.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// Its major and minor version; `None` = the release does not say.
    pub kernel_version: Option<(u32, u32)>,
    /// Whether a ring could be had and can gather and wait in one call; else why not, with the remedy.
    pub ring: Result<bool, String>,
    /// Why the kernel's own switch forbids io_uring, if it does.
    pub io_uring_forbidden: Option<String>,
    /// What kind of container this seems to be.
    pub container: Option<String>,
    /// Seccomp: 0 = off, 1 = strict, 2 = a filter; `None` = not known.
    pub seccomp: Option<u8>,
    /// CPUs this process may run on.
    pub cpus: Vec<usize>,
    /// CPUs' worth of time that control groups allow; `None` = no quota.
    pub cpu_quota: Option<f64>,
    /// Governors of CPUs that have one.
    pub governors: Vec<(usize, String)>,
    /// CPUs that share a core; `None` = not known.
    pub siblings: Option<Vec<Vec<usize>>>,
    /// CPUs that the scheduler leaves alone; `None` = not known.
    pub isolated: Option<Vec<usize>>,
    /// The interface to the target, or the one of the default route; `None` = not known.
    pub interface: Option<String>,
    /// CPUs that take its interrupts; `None` = not known, or it has none.
    pub interrupt_cpus: Option<Vec<usize>>,
    /// Where the kernel's time comes from.
    pub clocksource: Option<String>,
    /// Soft and hard limit of open files.
    pub files: (u64, u64),
    /// Source ports towards one address and port.
    pub source_ports: u32,
    /// Memory that may be locked, in bytes; `None` = no limit holds.
    pub memlock_bytes: Option<u64>,
}

/// How a finding stands.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Health {
    /// As it should be.
    Ok,
    /// It cannot be read here.
    Unknown,
    /// A run works, and its numbers may suffer.
    Warn,
    /// A run cannot work.
    Fail,
}

impl Health {
    /// The word that reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Its name.
    pub name: &'static str,
    /// How it stands.
    pub health: Health,
    /// What was found, in words.
    pub words: String,
    /// What to do; empty where there is nothing to do.
    pub remedy: String,
}
