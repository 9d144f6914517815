//! How much time the hypervisor has stolen from each CPU, and what the network's softirq had to drop or put off.
//!
//! It must not be read on a shard's core: the kernel adds up counters of all CPUs for each reading.

use super::text;
use crate::clock;
use crate::time::{Instant, Span};
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

/// How long each CPU was not busy since the host started: idle, waiting for disks, or stolen by the hypervisor. Linux measures
/// these and counts them in ticks; user and system time it samples at ticks, which misses work that keeps step with them, such as
/// requests at a constant rate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unbusy {
    at: Instant,
    by_cpu: Vec<(usize, Span)>,
}

impl Unbusy {
    /// Reads it; `None` where it cannot be.
    #[must_use]
    pub fn read() -> Option<Self> {
        let ticks_per_s = i64::try_from(rustix::param::clock_ticks_per_second()).ok()?;
        let stat = fs::read_to_string("/proc/stat").ok()?;
        Some(Self::of(&stat, ticks_per_s, clock::now()))
    }

    fn of(stat: &str, ticks_per_s: i64, at: Instant) -> Self {
        let span = |ticks: i64| Span::from_ns(ticks * (1_000_000_000 / ticks_per_s));
        let by_cpu = text::unbusy(stat).into_iter().map(|(cpu, ticks)| (cpu, span(ticks))).collect();
        Self { at, by_cpu }
    }

    /// How long these CPUs together were busy from an earlier reading to this one, to some ticks; `None` when one of them is not
    /// told, or there is none.
    #[must_use]
    pub fn busy_since(&self, earlier: &Self, cpus: &[usize]) -> Option<Span> {
        let of = |cpu: &usize| {
            let unbusy = |reading: &Self| {
                reading.by_cpu.iter().find(|(number, _)| number == cpu).map(|(_, span)| *span)
            };
            // Of a CPU that was idle throughout a tick more may be told than time went by.
            Some(((self.at - earlier.at) - (unbusy(self)? - unbusy(earlier)?)).max(Span::ZERO))
        };
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
    fn a_cpu_is_busy_while_it_is_neither_idle_nor_waiting_nor_stolen() {
        let of = |stat: &str, ms: u64| Unbusy::of(stat, 100, Instant::from_ns(ms * 1_000_000));
        let before =
            of("cpu 1 2 3 4\ncpu0 1 2 3 400 500 6 7 800\ncpu2 10 0 0 9 9 0 0 9 0 0\nintr 1\n", 1_000);
        let after =
            of("cpu 1 2 3 4\ncpu0 1 2 3 410 505 6 7 820\ncpu2 10 0 0 108 10 0 0 9 0 0\nintr 1\n", 2_000);
        let busy = |cpus: &[usize]| after.busy_since(&before, cpus);
        assert_eq!((busy(&[0]), busy(&[2])), (Some(Span::from_ms(650)), Some(Span::ZERO)));
        assert_eq!(busy(&[0, 2]), Some(Span::from_ms(650)));
        assert_eq!((busy(&[1]), busy(&[0, 1]), busy(&[])), (None, None, None));
    }

    #[test]
    fn ticks_become_time() {
        let steal = Steal::of("cpu  1 2 3 4 5 6 7 8 9 0\ncpu3 1 2 3 4 5 6 7 5 0 0\nintr 1\n", 100).unwrap();
        assert_eq!((steal.total, steal.of_cpu(3)), (Span::from_ms(80), Some(Span::from_ms(50))));
    }
}
