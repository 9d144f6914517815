//! How much time the hypervisor has stolen from each CPU, and what the network's softirq had to drop or put off.
//!
//! It must not be read on a shard's core: the kernel adds up counters of all CPUs for each reading.

use super::text;
use crate::time::Span;
use std::fs;

/// Time stolen since the host started, to the kernel's tick (10 ms as a rule).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Steal {
    /// From all CPUs together.
    pub total: Span,
    /// By CPU; a CPU that is offline is missing.
    pub by_cpu: Vec<(usize, Span)>,
}

impl Steal {
    /// Reads it; `None` where it cannot be.
    #[must_use]
    pub fn read() -> Option<Self> {
        let ticks_per_s = i64::try_from(rustix::param::clock_ticks_per_second()).ok()?;
        Self::of(&fs::read_to_string("/proc/stat").ok()?, ticks_per_s)
    }

    fn of(stat: &str, ticks_per_s: i64) -> Option<Self> {
        let span = |ticks: i64| Span::from_ns(ticks * (1_000_000_000 / ticks_per_s));
        let (total, by_cpu) = text::steal(stat)?;
        Some(Self {
            total: span(total),
            by_cpu: by_cpu.into_iter().map(|(cpu, ticks)| (cpu, span(ticks))).collect(),
        })
    }

    /// Stolen from one CPU.
    #[must_use]
    pub fn of_cpu(&self, cpu: usize) -> Option<Span> {
        self.by_cpu.iter().find(|(number, _)| *number == cpu).map(|(_, span)| *span)
    }
}

/// How long each CPU was busy since the host started, to the kernel's tick: user, nice, system, irq and softirq; neither idle
/// time nor waiting for disks nor what the hypervisor stole.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Busy {
    by_cpu: Vec<(usize, Span)>,
}

impl Busy {
    /// Reads it; `None` where it cannot be.
    #[must_use]
    pub fn read() -> Option<Self> {
        let ticks_per_s = i64::try_from(rustix::param::clock_ticks_per_second()).ok()?;
        Some(Self::of(&fs::read_to_string("/proc/stat").ok()?, ticks_per_s))
    }

    fn of(stat: &str, ticks_per_s: i64) -> Self {
        let span = |ticks: i64| Span::from_ns(ticks * (1_000_000_000 / ticks_per_s));
        Self { by_cpu: text::busy(stat).into_iter().map(|(cpu, ticks)| (cpu, span(ticks))).collect() }
    }

    /// Of these CPUs together; `None` when one of them is not told, or there is none.
    #[must_use]
    pub fn of_cpus(&self, cpus: &[usize]) -> Option<Span> {
        let of = |wanted: &usize| self.by_cpu.iter().find(|(cpu, _)| cpu == wanted).map(|(_, busy)| *busy);
        let all: Option<Vec<Span>> = cpus.iter().map(of).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.into_iter().sum())
    }
}

/// Packets between the network card and the sockets, since the host started, over all CPUs.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Softnet {
    /// Dropped because the backlog was full.
    pub dropped: u64,
    /// Times that work was left because its time or budget was used up.
    pub squeezed: u64,
}

impl Softnet {
    /// Reads it; `None` where it cannot be.
    #[must_use]
    pub fn read() -> Option<Self> {
        let (dropped, squeezed) = text::softnet(&fs::read_to_string("/proc/net/softnet_stat").ok()?)?;
        Some(Self { dropped, squeezed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_hosts_counters_can_be_read_and_do_not_fall() {
        let (before, after) = (Steal::read().expect("Linux has it"), Steal::read().expect("Linux has it"));
        assert!(!before.by_cpu.is_empty() && after.total >= before.total);
        assert!(before.of_cpu(before.by_cpu[0].0).is_some() && before.of_cpu(usize::MAX).is_none());
    }

    #[test]
    fn busy_time_is_of_the_cpus_that_are_named() {
        let busy = Busy::of("cpu 1 2 3 4\ncpu0 1 2 3 400 500 6 7 800\ncpu2 10 0 0 9 9 0 0 9\nintr 1\n", 100);
        assert_eq!(busy.of_cpus(&[0]), Some(Span::from_ms(190)));
        assert_eq!(busy.of_cpus(&[0, 2]), Some(Span::from_ms(290)));
        assert_eq!((busy.of_cpus(&[1]), busy.of_cpus(&[0, 1]), busy.of_cpus(&[])), (None, None, None));
    }

    #[test]
    fn ticks_become_time() {
        let steal = Steal::of("cpu  1 2 3 4 5 6 7 8 9 0\ncpu3 1 2 3 4 5 6 7 5 0 0\nintr 1\n", 100).unwrap();
        assert_eq!((steal.total, steal.of_cpu(3)), (Span::from_ms(80), Some(Span::from_ms(50))));
    }
}
