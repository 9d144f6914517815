//! How the CPUs are arranged and run: governors, threads that share a core, CPUs kept free of others, the sandbox around us.
//!
//! It must not judge, and what cannot be read is absent.

use super::text;
use std::fs;

/// What is read besides [`super::Facts`], before a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Topology {
    /// The frequency governor of each CPU that has one.
    pub governors: Vec<(usize, String)>,
    /// CPUs that are threads of one core, for each core with several; `None` = it cannot be read.
    pub siblings: Option<Vec<Vec<usize>>>,
    /// CPUs that the scheduler leaves alone (`isolcpus`); `None` = it cannot be read.
    pub isolated: Option<Vec<usize>>,
    /// Seccomp: 0 = off, 1 = strict, 2 = a filter; `None` = it cannot be read.
    pub seccomp: Option<u8>,
}

impl Topology {
    /// Reads what concerns `cpus`.
    #[must_use]
    pub fn read(cpus: &[usize]) -> Self {
        let line = |path: String| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let of_cpu = |cpu: usize, name: &str| line(format!("/sys/devices/system/cpu/cpu{cpu}/{name}"));
        let governor = |cpu: &usize| Some((*cpu, of_cpu(*cpu, "cpufreq/scaling_governor")?));
        let lists: Vec<Vec<usize>> = cpus
            .iter()
            .filter_map(|cpu| text::cpu_list(&of_cpu(*cpu, "topology/thread_siblings_list")?))
            .collect();
        let siblings = (lists.len() == cpus.len()).then(|| shared_cores(lists));
        Self {
            governors: cpus.iter().filter_map(governor).collect(),
            siblings,
            isolated: line("/sys/devices/system/cpu/isolated".into()).and_then(|list| text::cpu_list(&list)),
            seccomp: fs::read_to_string("/proc/self/status").ok().and_then(|status| text::seccomp(&status)),
        }
    }
}

/// Each core with several threads, once.
fn shared_cores(mut lists: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    lists.retain(|list| list.len() > 1);
    lists.sort();
    lists.dedup();
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_told_once_and_one_with_a_single_thread_not_at_all() {
        let lists = vec![vec![0, 4], vec![1], vec![4, 8], vec![0, 4]];
        assert_eq!(shared_cores(lists), [vec![0, 4], vec![4, 8]]);
    }

    #[test]
    fn this_machine_can_be_read() {
        let topology = Topology::read(&crate::host::read().cpus);
        assert!(topology.seccomp.is_some_and(|mode| mode <= 2), "{topology:?}");
    }
}
