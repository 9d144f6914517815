//! The facts about this machine in one structure, for plans and reports; a fact that cannot be read is absent.

use super::{cgroup, files, text};
use rustix::process::{Resource, getrlimit};
use rustix::system::uname;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;
use std::fs;

/// What this machine is and allows, as of the reading.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Facts {
    /// The name it gives itself.
    pub hostname: String,
    /// The kernel's release, such as `6.18.44`.
    pub kernel: String,
    /// Its major and minor version; `None` = the release does not say.
    pub kernel_version: Option<(u32, u32)>,
    /// CPUs this process may run on, ascending; never empty.
    pub cpus: Vec<usize>,
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Soft limit of open files.
    pub files_soft: u64,
    /// Hard limit of open files.
    pub files_hard: u64,
    /// Memory that may be locked, in bytes; `None` = no limit holds for this process.
    pub memlock_bytes: Option<u64>,
    /// Source ports of the kernel's own choice, both ends included.
    pub port_range: (u16, u16),
    /// Why io_uring is forbidden, where the kernel's own switch forbids it. A sandbox may still do so.
    pub io_uring_forbidden: Option<String>,
    /// Where the kernel's time comes from.
    pub clocksource: Option<String>,
    /// Frequency governor of the first allowed CPU.
    pub governor: Option<String>,
    /// CPUs' worth of time that control groups allow; `None` = no quota.
    pub cpu_quota: Option<f64>,
    /// What kind of container this seems to be.
    pub container: Option<String>,
}

/// `CAP_IPC_LOCK` of `linux/capability.h`: with it no limit of locked memory holds.
const CAP_IPC_LOCK: u32 = 14;
/// `CAP_SYS_ADMIN`: with it `kernel.io_uring_disabled=1` does not hold.
const CAP_SYS_ADMIN: u32 = 21;
/// The kernel's own default, for where `/proc/sys` is hidden.
const DEFAULT_PORTS: (u16, u16) = (32768, 60999);

/// Reads the facts. Call it before any thread is pinned: allowed CPUs are those of the calling thread.
#[must_use]
pub fn read() -> Facts {
    let name = uname();
    let kernel = name.release().to_string_lossy().into_owned();
    let status = file("/proc/self/status").unwrap_or_default();
    let cpus = allowed_cpus();
    let (files_soft, files_hard) = files::limits();
    let memlock = getrlimit(Resource::Memlock).current;
    let governor = format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpus[0]);
    Facts {
        hostname: name.nodename().to_string_lossy().into_owned(),
        kernel_version: text::kernel_version(&kernel),
        kernel,
        cpu_model: file("/proc/cpuinfo").and_then(|text| text::cpu_model(&text)),
        memory_bytes: file("/proc/meminfo").and_then(|text| text::memory_bytes(&text)),
        files_soft,
        files_hard,
        memlock_bytes: memlock.filter(|_| !text::has_capability(&status, CAP_IPC_LOCK)),
        port_range: file("/proc/sys/net/ipv4/ip_local_port_range")
            .and_then(|text| text::port_range(&text))
            .unwrap_or(DEFAULT_PORTS),
        io_uring_forbidden: file("/proc/sys/kernel/io_uring_disabled")
            .and_then(|text| forbidden(text.trim(), text::has_capability(&status, CAP_SYS_ADMIN))),
        clocksource: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor: line(&governor),
        cpu_quota: cgroup::cpu_quota(),
        container: cgroup::container(),
        cpus,
    }
}

fn allowed_cpus() -> Vec<usize> {
    let cpus: Vec<usize> = match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        // More CPUs than the set holds: take those the standard library counts.
        Err(_) => (0..std::thread::available_parallelism().map_or(1, usize::from)).collect(),
    };
    assert!(!cpus.is_empty(), "a running process may run somewhere");
    cpus
}

/// `kernel.io_uring_disabled`: 0 = for all, 1 = for the privileged and one group, 2 = for none.
fn forbidden(switch: &str, privileged: bool) -> Option<String> {
    match switch {
        "2" => Some("kernel.io_uring_disabled is 2: io_uring is off for everyone".into()),
        "1" if !privileged => {
            Some("kernel.io_uring_disabled is 1: io_uring is off for unprivileged users".into())
        }
        _ => None,
    }
}

fn file(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn line(path: &str) -> Option<String> {
    file(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_read() {
        let facts = read();
        assert!(facts.cpus.is_sorted() && !facts.cpus.is_empty());
        assert!(facts.kernel_version.is_some_and(|version| version > (3, 0)), "{}", facts.kernel);
        assert!(facts.files_soft <= facts.files_hard && facts.memory_bytes.is_some());
    }

    #[test]
    fn the_kernels_switch_tells_who_may_use_io_uring() {
        assert_eq!(forbidden("0", false), None);
        assert_eq!(forbidden("1", true), None);
        assert!(forbidden("1", false).is_some_and(|why| why.contains("unprivileged")));
        assert!(forbidden("2", true).is_some_and(|why| why.contains("everyone")));
    }
}
