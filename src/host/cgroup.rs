//! The CPU time that control groups allow, and whether this is a container; changes none of it.

use std::fs;
use std::path::Path;

/// CPUs' worth of time that the tightest of this process's groups allows; `None` = no quota.
pub(super) fn cpu_quota() -> Option<f64> {
    let unified = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| unified_path(&text));
    let v2 = unified.and_then(|path| tightest(Path::new("/sys/fs/cgroup"), &path));
    v2.or_else(|| {
        let quota = fs::read_to_string("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").ok()?;
        let period = fs::read_to_string("/sys/fs/cgroup/cpu/cpu.cfs_period_us").ok()?;
        quota_of(&format!("{} {}", quota.trim(), period.trim()))
    })
}

/// The lowest quota of the group at `path` below `root` and of all groups around it.
fn tightest(root: &Path, path: &str) -> Option<f64> {
    let group = root.join(path.trim_start_matches('/'));
    let quotas = group
        .ancestors()
        .take_while(|ancestor| ancestor.starts_with(root))
        .filter_map(|ancestor| fs::read_to_string(ancestor.join("cpu.max")).ok())
        .filter_map(|text| quota_of(&text));
    quotas.reduce(f64::min)
}

/// This process's group of the unified hierarchy in `/proc/self/cgroup`.
fn unified_path(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

/// `cpu.max`: quota and period in microseconds, or `max`; the old hierarchy says -1 for none.
fn quota_of(text: &str) -> Option<f64> {
    let mut parts = text.split_ascii_whitespace().map(str::parse::<f64>);
    let (quota, period) = (parts.next()?.ok()?, parts.next()?.ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// What kind of container this seems to be, if any; a hint, never sure.
pub(super) fn container() -> Option<String> {
    for (path, name) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if Path::new(path).exists() {
            return Some(name.to_owned());
        }
    }
    fs::read_to_string("/proc/1/cgroup").ok().and_then(|text| container_of(&text).map(str::to_owned))
}

fn container_of(cgroup_of_init: &str) -> Option<&'static str> {
    [
        ("kubepods", "kubernetes"),
        ("docker", "docker"),
        ("libpod", "podman"),
        ("containerd", "containerd"),
        ("lxc", "lxc"),
    ]
    .iter()
    .find(|(mark, _)| cgroup_of_init.contains(mark))
    .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_cpus_worth_of_time() {
        assert_eq!(quota_of("150000 100000\n"), Some(1.5));
        for none in ["max 100000\n", "-1 100000", "", "5"] {
            assert_eq!(quota_of(none), None, "{none:?}");
        }
    }

    #[test]
    fn the_unified_group_is_found_among_the_old_ones() {
        let text = "12:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/user.slice/a.scope\n";
        assert_eq!(unified_path(text).as_deref(), Some("/user.slice/a.scope"));
        assert_eq!(unified_path("12:cpu:/x\n"), None);
    }

    #[test]
    fn containers_are_told_by_the_group_of_the_first_process() {
        assert_eq!(container_of("0::/kubepods/besteffort/pod1/docker-2"), Some("kubernetes"));
        assert_eq!(container_of("4:cpu:/docker/abc"), Some("docker"));
        assert_eq!(container_of("0::/init.scope"), None);
    }
}
