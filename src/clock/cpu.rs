//! How a thread's CPU time is split between its own code and the kernel, by the kernel's own accounting.
//!
//! It must not be read on the way of a request: it opens a file.

use crate::time::Span;

/// CPU time of a thread, as `/proc` tells it: in ticks, mostly of 10 ms, which on most kernels also are what the split is
/// sampled by. Over seconds of work it is good to a few per cent.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct CpuTimes {
    /// In its own code.
    pub user: Span,
    /// In the kernel on its behalf.
    pub system: Span,
}

impl CpuTimes {
    /// The kernel's share; `None` where there is no time to share.
    #[must_use]
    pub fn kernel_share(&self) -> Option<f64> {
        let all = self.user + self.system;
        (all > Span::ZERO).then(|| self.system.as_s_f64() / all.as_s_f64())
    }
}

/// The CPU time of this thread so far; `None` where `/proc` does not tell.
#[must_use]
pub fn thread_cpu_times() -> Option<CpuTimes> {
    let text = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    times_of(&text, rustix::param::clock_ticks_per_second())
}

/// Fields 14 and 15 of `/proc/PID/stat` (proc_pid_stat(5)), counted behind the name, which may hold anything.
fn times_of(stat: &str, ticks_per_s: u64) -> Option<CpuTimes> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let mut span = || {
        let ns = u128::from(fields.next()?.ok()?) * 1_000_000_000 / u128::from(ticks_per_s.max(1));
        i64::try_from(ns).ok().map(Span::from_ns)
    };
    Some(CpuTimes { user: span()?, system: span()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn the_name_of_a_thread_does_not_move_the_fields() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194304 120 0 0 0 250 31 0 0 20 0 1 0 5 0 0";
        let times = CpuTimes { user: Span::from_ms(2_500), system: Span::from_ms(310) };
        assert_eq!(times_of(stat, 100), Some(times));
        for broken in ["", "7 (a) S 1", "7 (a) S 1 7 7 0 -1 0 0 0 0 0 x 31 0"] {
            assert_eq!(times_of(broken, 100), None, "{broken:?}");
        }
    }

    #[test]
    fn work_shows_in_the_times_of_its_thread() {
        let before = thread_cpu_times().expect("this test runs on Linux");
        let begun = clock::thread_cpu();
        while clock::thread_cpu() - begun < Span::from_ms(60) {}
        let after = thread_cpu_times().expect("this test runs on Linux");
        assert!(after.user + after.system >= before.user + before.system + Span::from_ms(40));
    }
}
