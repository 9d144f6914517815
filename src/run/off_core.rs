//! The program's other threads stay off the cores of shards and simulator, where there are others.
//!
//! It must not move a shard.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Lets this thread, and every thread it starts that does not choose for itself, run anywhere allowed but on `taken`.
/// Where nothing else is left it may run everywhere: the scheduler does better than a guess.
pub fn stay_off(taken: impl Iterator<Item = usize>) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut free = allowed;
    taken.filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| free.unset(cpu));
    if free.count() > 0 {
        // Refused only where a sandbox forbids it: then nothing is gained or lost.
        let _ = sched_setaffinity(None, &free);
    }
}
