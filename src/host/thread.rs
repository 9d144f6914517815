//! What the kernel counts of one thread: run delay and switches, from files kept open, read without an allocation.
//!
//! It must not be read on a hot path: a reading takes microseconds.

use super::text;
use crate::time::Span;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::pread;

/// How often a thread gave up its CPU, since it began.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Switches {
    /// To sleep.
    pub voluntary: u64,
    /// To another thread, while it had work.
    pub involuntary: u64,
}

/// The counters of the thread that made it. What cannot be read is `None`, never 0.
#[derive(Debug)]
pub struct ThreadFiles {
    schedstat: Option<OwnedFd>,
    status: Option<OwnedFd>,
}

/// More than `status` of any thread takes: its longest lines are masks of 8192 CPUs.
const STATUS_BYTES: usize = 8192;

impl ThreadFiles {
    /// Opens the counters of the calling thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self { schedstat: opened("/proc/thread-self/schedstat"), status: opened("/proc/thread-self/status") }
    }

    /// Time that the thread was runnable and not running, since it began (`/proc/PID/task/TID/schedstat`, second number).
    #[must_use]
    pub fn run_delay(&self) -> Option<Span> {
        let mut buffer = [0; 96];
        text::run_delay(read(self.schedstat.as_ref()?, &mut buffer)?)
    }

    /// Its switches (`/proc/PID/task/TID/status`).
    #[must_use]
    pub fn switches(&self) -> Option<Switches> {
        let mut buffer = [0; STATUS_BYTES];
        let status = read(self.status.as_ref()?, &mut buffer)?;
        let (voluntary, involuntary) = text::switches(status)?;
        Some(Switches { voluntary, involuntary })
    }
}

fn opened(path: &str) -> Option<OwnedFd> {
    open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

fn read<'a>(file: &OwnedFd, buffer: &'a mut [u8]) -> Option<&'a str> {
    let bytes = pread(file, &mut *buffer, 0).ok()?;
    std::str::from_utf8(buffer.get(..bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_counters_never_fall() {
        let files = ThreadFiles::of_this_thread();
        let (delay, switches) = (files.run_delay(), files.switches());
        std::thread::yield_now();
        assert!(files.run_delay() >= delay);
        let (before, after) = (switches.expect("Linux has them"), files.switches().expect("Linux has them"));
        assert!(after.voluntary >= before.voluntary && after.involuntary >= before.involuntary);
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_not_read() {
        let files = ThreadFiles { schedstat: opened("/proc/no-such-file"), status: None };
        assert_eq!((files.run_delay(), files.switches()), (None, None));
    }
}
