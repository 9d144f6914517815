//! One child process: started on its CPUs, waited for no longer than its time, and what it used from start to exit.
//!
//! It must not know what the child does. No child outlives its owner, and none of a child's own children outlives the child: each
//! has a process group of its own, which is stopped as a whole. A terminal's Ctrl-C reaches no such group, so lowrho's is passed on.

use crate::clock;
use crate::run::Interrupts;
use crate::time::{Instant, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use wait4::Wait4;

/// How often a waiting parent looks whether it was interrupted: seldom, for it may share the child's CPU.
const LOOK: Span = Span::from_ms(100);

/// How long a child that is asked to stop has for it.
const PATIENCE: Span = Span::from_s(10);

/// Why a child ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    /// By itself.
    Itself,
    /// It was stopped when its time was over.
    TimeLimit,
    /// It was stopped because lowrho was interrupted.
    Interrupted,
}

/// What became of a child.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) struct Used {
    /// Its exit status.
    pub(super) status: ExitStatus,
    /// Why it ended.
    pub(super) ended: Ended,
    /// CPU seconds, user's and kernel's, of the process and of its own children that it waited for.
    pub(super) cpu_s: f64,
    /// The most memory it had resident, in bytes: by wait4(2), or where that is no more than its parent had, as it was seen.
    pub(super) rss_bytes: u64,
}

/// A running child, and what it started; killed when it is dropped before it was waited for.
pub(super) struct Running {
    child: Option<Child>,
    handle: OwnedFd,
    pid: Pid,
    /// The most memory that this process had resident when it started the child: the kernel takes it for the child's too,
    /// for until it runs its program the child has its parent's memory.
    inherited_bytes: u64,
    /// The most memory that the child was seen to have resident.
    seen_bytes: u64,
}

impl Running {
    /// Starts a command on these CPUs; on all that are allowed where none are named.
    ///
    /// # Errors
    /// The program cannot be started, or the CPUs are not allowed.
    pub(super) fn start(command: &mut Command, cpus: &[usize]) -> io::Result<Self> {
        let mut child = spawn(command.process_group(0), cpus)?;
        let pid = Pid::from_child(&child);
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => {
                let inherited_bytes = most_resident("self").unwrap_or(0);
                Ok(Self { child: Some(child), handle, pid, inherited_bytes, seen_bytes: 0 })
            }
            Err(error) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = child.wait();
                Err(error.into())
            }
        }
    }

    /// Whether it has ended, waiting for that for so long.
    ///
    /// # Errors
    /// What poll(2) refuses.
    pub(super) fn has_ended(&self, wait: Span) -> io::Result<bool> {
        let ns = wait.as_ns().max(0);
        let timeout = Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
        let mut fds = [PollFd::new(&self.handle, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until it ends; asks it to stop when that takes longer than `limit` or lowrho is interrupted, and kills it when it
    /// does not, or at a second interrupt. What it started and left is killed at its end.
    ///
    /// # Errors
    /// What the system refuses; the child is killed then.
    pub(super) fn wait(mut self, limit: Span, interrupts: &Interrupts) -> io::Result<Used> {
        let deadline = clock::now() + limit;
        let mut ended = Ended::Itself;
        let mut asked: Option<Instant> = None;
        while !self.has_ended(LOOK)? {
            let now = clock::now();
            let resident = most_resident(&self.pid.as_raw_nonzero().to_string());
            self.seen_bytes = self.seen_bytes.max(resident.unwrap_or(0));
            match asked {
                Some(at) if now - at > PATIENCE || interrupts.count() > 1 => self.signal(Signal::KILL),
                Some(_) => {}
                None if interrupts.count() > 0 || now > deadline => {
                    ended = if now > deadline { Ended::TimeLimit } else { Ended::Interrupted };
                    self.signal(Signal::TERM);
                    asked = Some(now);
                }
                None => {}
            }
        }
        self.reap(ended)
    }

    /// Asks it to stop, and waits until it has.
    ///
    /// # Errors
    /// What the system refuses; the child is killed then.
    pub(super) fn stop(self) -> io::Result<Used> {
        self.signal(Signal::TERM);
        let asked = clock::now();
        while !self.has_ended(LOOK)? {
            if clock::now() - asked > PATIENCE {
                self.signal(Signal::KILL);
            }
        }
        self.reap(Ended::Itself)
    }

    /// Signals it and what it started. Its number is its group's, and no other's until it is reaped.
    fn signal(&self, signal: Signal) {
        // One that has just ended cannot be signalled, and need not be.
        let _ = kill_process_group(self.pid, signal);
    }

    fn reap(mut self, ended: Ended) -> io::Result<Used> {
        let Some(mut child) = self.child.take() else {
            return Err(io::Error::other("a child is waited for once"));
        };
        self.signal(Signal::KILL);
        let used = child.wait4()?;
        Ok(Used {
            status: used.status,
            ended,
            cpu_s: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
            rss_bytes: if used.rusage.maxrss > self.inherited_bytes || self.seen_bytes == 0 {
                used.rusage.maxrss
            } else {
                self.seen_bytes
            },
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            self.signal(Signal::KILL);
            let _ = child.wait();
        }
    }
}

/// The most memory that a process had resident so far, in bytes.
fn most_resident(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    kib.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}

/// A child has the CPUs of the thread that starts it: a thread is made for it.
fn spawn(command: &mut Command, cpus: &[usize]) -> io::Result<Child> {
    if cpus.is_empty() {
        return command.spawn();
    }
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    thread::scope(|scope| {
        let starter = scope.spawn(|| {
            sched_setaffinity(None, &set)?;
            command.spawn()
        });
        starter.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it failed")))
    })
}

#[cfg(test)]
mod tests {
    use super::super::folder::Folder;
    use super::*;
    use crate::host;

    fn sh(script: &str) -> Running {
        let cpu = host::read().cpus.into_iter().last().expect("a process runs somewhere");
        Running::start(Command::new("sh").args(["-c", script]), &[cpu]).expect("there is a shell")
    }

    fn waited(script: &str, limit: Span) -> Used {
        sh(script).wait(limit, &Interrupts::default()).expect("it can be waited for")
    }

    #[test]
    fn what_a_child_used_is_known_when_it_ends() {
        let used = waited("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7", Span::from_s(60));
        assert_eq!((used.status.code(), used.ended), (Some(7), Ended::Itself));
        assert!(used.cpu_s > 0.0 && used.rss_bytes > 100_000, "{used:?}");
    }

    #[test]
    fn a_small_child_is_not_taken_to_be_as_large_as_its_parent() {
        let large: Vec<u8> = vec![1; 64 << 20];
        let used = waited("sleep 1", Span::from_s(60));
        assert!(used.rss_bytes < large.len() as u64 && used.rss_bytes > 100_000, "{used:?}");
    }

    #[test]
    fn a_child_runs_on_the_cpus_it_is_given() {
        let cpu = host::read().cpus.into_iter().last().expect("a process runs somewhere");
        let script = format!("grep -q 'Cpus_allowed_list:.{cpu}$' /proc/self/status");
        assert!(waited(&script, Span::from_s(60)).status.success());
    }

    #[test]
    fn a_child_that_takes_too_long_is_stopped() {
        let used = waited("exec sleep 1000", Span::from_ms(1));
        assert_eq!((used.ended, used.status.success()), (Ended::TimeLimit, false));
    }

    #[test]
    fn no_child_outlives_its_owner() {
        let running = sh("exec sleep 1000");
        let pid = running.pid;
        drop(running);
        assert!(rustix::process::test_kill_process(pid).is_err(), "it is gone");
    }

    /// A script that starts a process that would stay, tells its number, and goes on with `then`; with that number.
    fn with_a_child_of_its_own(then: &str) -> (Running, String) {
        let folder = Folder::new(None).expect("a folder");
        let (made, told) = (folder.path().join("made"), folder.path().join("told"));
        let (made, there) = (made.display(), told.display());
        let running = sh(&format!("sleep 1000 & echo $! > {made}; mv {made} {there}; {then}"));
        while !told.exists() {
            assert!(!running.has_ended(Span::from_ms(1)).expect("it can be asked") || told.exists());
        }
        let pid = std::fs::read_to_string(told).expect("a number").trim().to_owned();
        (running, pid)
    }

    /// Waits until that process is gone, or is only waited for by whoever inherited it.
    fn is_gone(pid: &str) {
        let lives = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
        };
        let deadline = clock::now() + Span::from_s(60);
        while lives() {
            assert!(clock::now() < deadline, "{pid} was left running");
            thread::yield_now();
        }
    }

    #[test]
    fn what_a_child_started_does_not_outlive_it() {
        let none = Interrupts::default();
        let (running, pid) = with_a_child_of_its_own("wait");
        let used = running.wait(Span::from_ms(1), &none).expect("it can be waited for");
        assert_eq!(used.ended, Ended::TimeLimit);
        is_gone(&pid);
        let (running, pid) = with_a_child_of_its_own("exit 3");
        let used = running.wait(Span::from_s(60), &none).expect("it can be waited for");
        assert_eq!((used.ended, used.status.code()), (Ended::Itself, Some(3)));
        is_gone(&pid);
        let (running, pid) = with_a_child_of_its_own("wait");
        drop(running);
        is_gone(&pid);
        let (running, pid) = with_a_child_of_its_own("wait");
        running.stop().expect("it can be stopped");
        is_gone(&pid);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(Running::start(&mut Command::new("/nonexistent/program"), &[]).is_err());
    }
}
