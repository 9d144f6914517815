//! Who else uses given CPUs: time by process, from the last CPU and the time used of each, looked at every now and then.
//!
//! It must not run on a shard's core: it opens a file for each process. What lives and dies between two looks is not seen.

use super::text::{self, Usage};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// More than a `stat` takes: 52 numbers of 20 digits and a short name.
const STAT_BYTES: usize = 2048;

/// Time that one process, or one thread of our own, spent on one CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spent {
    /// The CPU it was seen on.
    pub cpu: usize,
    /// Its process.
    pub pid: u32,
    /// Its name, as the kernel has it (15 characters).
    pub name: String,
    /// Time, in the kernel's ticks.
    pub ticks: u64,
}

/// Remembers what each process had used at the last look.
#[derive(Debug, Default)]
pub struct Neighbours {
    looked: bool,
    processes: HashMap<u32, u64>,
    threads: HashMap<u32, u64>,
}

impl Neighbours {
    /// What was used since the last look; nothing at the first. Threads of ours are told one by one, by their own names.
    pub fn look(&mut self) -> Vec<Spent> {
        let own = std::process::id();
        let mut seen = HashMap::new();
        let mut seen_threads = HashMap::new();
        let mut spent = Vec::new();
        for (pid, usage) in usages(Path::new("/proc")) {
            let before = self.processes.get(&pid).copied();
            seen.insert(pid, usage.ticks);
            let used = usage.ticks.saturating_sub(self.baseline(before, usage.ticks));
            if used == 0 && pid != own {
                continue;
            }
            if usage.threads <= 1 {
                spent.push(Spent { cpu: usage.cpu, pid, name: usage.name, ticks: used });
                continue;
            }
            // The CPU of a process is that of its first thread: which of them worked where takes a closer look.
            for (tid, thread) in usages(&Path::new("/proc").join(pid.to_string()).join("task")) {
                let known = self.threads.get(&tid).copied();
                seen_threads.insert(tid, thread.ticks);
                // Threads of a process that was not looked into before: nobody knows what they used since.
                let newborn = before.is_none() && self.looked;
                let Some(base) = known.or(newborn.then_some(0)) else { continue };
                let ticks = thread.ticks.saturating_sub(base);
                let name = if pid == own { thread.name } else { usage.name.clone() };
                spent.push(Spent { cpu: thread.cpu, pid, name, ticks });
            }
        }
        (self.processes, self.threads, self.looked) = (seen, seen_threads, true);
        spent.retain(|spent| spent.ticks > 0);
        spent
    }

    /// What a process had used at the last look: nothing if it was born since, all of it at the first look.
    fn baseline(&self, before: Option<u64>, ticks: u64) -> u64 {
        before.unwrap_or(if self.looked { 0 } else { ticks })
    }
}

/// The tasks that a folder of `/proc` lists. One that ends meanwhile is left out.
fn usages(folder: &Path) -> Vec<(u32, Usage)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let numbered = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // A kernel of many processes: one call for each text, and no asking how long it is.
    let mut buffer = [0; STAT_BYTES];
    numbered
        .filter_map(|id| {
            let read = File::open(folder.join(id.to_string()).join("stat")).ok()?.read(&mut buffer).ok()?;
            Some((id, text::usage(std::str::from_utf8(&buffer[..read]).ok()?)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::time::Span;

    #[test]
    fn a_thread_that_works_is_seen_on_its_cpu_under_its_own_name() {
        let mut neighbours = Neighbours::default();
        assert!(neighbours.look().is_empty(), "the first look has nothing to compare with");
        let busy = || {
            // Work until the kernel has booked some ticks of 10 ms; looked at while the thread lives.
            let mut neighbours = Neighbours::default();
            neighbours.look();
            let begun = clock::thread_cpu();
            while clock::thread_cpu() - begun < Span::from_ms(60) {}
            neighbours.look()
        };
        let spent = std::thread::Builder::new().name("busy-one".into()).spawn(busy).unwrap().join().unwrap();
        let mine = spent.iter().find(|spent| spent.pid == std::process::id() && spent.name == "busy-one");
        assert!(mine.is_some_and(|mine| mine.ticks >= 3), "{spent:?}");
    }
}
