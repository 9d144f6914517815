//! The io_uring itself: entries in, one enter at a time, completions out.
//!
//! It must not know what an entry is for.
#![allow(unsafe_code, reason = "system calls on memory shared with the kernel")]

use super::{Counters, RingConfig, RingError};
use crate::time::Span;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Submitter, cqueue, squeue};
use std::collections::VecDeque;
use std::time::Duration;

/// One enter of a waiting ring runs at most this many deferred completions beyond those it waited for
/// (`IO_LOCAL_TW_DEFAULT_MAX`); fewer mean that it has seen to all.
pub(super) const DEFERRED_AT_ONCE: usize = 20;

/// So many arrivals are worth a harvest of their own, before the gathering's end. It also is how many deferred
/// completions one waiting enter runs.
const GATHERED: usize = 128;

/// The submission and completion queues of one thread.
pub(super) struct Queue {
    uring: IoUring,
    /// Whether one enter can gather and wait (`IORING_FEAT_MIN_TIMEOUT`, 6.12); otherwise it takes two.
    min_wait: bool,
    /// Entries that found no room; before all later ones.
    backlog: VecDeque<squeue::Entry>,
    enters: u64,
    overflows: u64,
    lost: u64,
}

impl Queue {
    /// Makes the io_uring for this thread.
    pub(super) fn new(config: &RingConfig) -> Result<Self, RingError> {
        // Every buffer may be filled, every entry complete, before we look; what is beyond waits in the kernel.
        let completions = (2 * u32::from(config.buffers)).max(4 * config.entries);
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            // Says without a system call whether anything is deferred.
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(completions)
            .build(config.entries)
            .map_err(|error| RingError::of_io("io_uring_setup", &error))?;
        let min_wait = uring.params().is_feature_min_timeout();
        Ok(Self { uring, min_wait, backlog: VecDeque::new(), enters: 0, overflows: 0, lost: 0 })
    }

    /// Whether one enter can gather and wait.
    pub(super) const fn min_wait(&self) -> bool {
        self.min_wait
    }

    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.uring.submitter()
    }

    /// Whether the next entry finds no room.
    pub(super) fn is_full(&mut self) -> bool {
        !self.backlog.is_empty() || self.uring.submission().is_full()
    }

    /// Queues `entry`; submits what is queued when there is no room.
    ///
    /// # Safety
    /// What the entry points to must stay valid and in place until the kernel is done with it.
    pub(super) unsafe fn push(&mut self, entry: squeue::Entry) {
        if self.backlog.is_empty() && self.uring.submission().is_full() {
            self.submit();
        }
        self.backlog.push_back(entry);
        self.fill();
    }

    /// Moves the backlog into the queue as far as there is room.
    fn fill(&mut self) {
        let mut submission = self.uring.submission();
        while let Some(entry) = self.backlog.front() {
            // SAFETY: `push` had it promised.
            if unsafe { submission.push(entry) }.is_err() {
                break;
            }
            self.backlog.pop_front();
        }
    }

    /// Whether everything queued was given to the kernel.
    pub(super) fn is_submitted(&mut self) -> bool {
        self.backlog.is_empty() && self.uring.submission().is_empty()
    }

    /// Gives the kernel what is queued, and runs nothing that was deferred: it takes no longer than it must.
    pub(super) fn submit(&mut self) {
        self.fill();
        // No progress means that the kernel is short of memory: what is queued goes with a later enter.
        while !self.is_submitted() && self.enter(EnterFlags::empty()).is_ok_and(|taken| taken > 0) {
            self.fill();
        }
    }

    /// Runs what was deferred, without waiting.
    pub(super) fn sweep(&mut self) {
        self.fill();
        // A failed sweep has interrupted nothing: what is deferred is run by the next.
        let _ = self.enter(EnterFlags::GETEVENTS);
    }

    /// Whether completions are deferred that a sweep would bring.
    pub(super) fn is_work_deferred(&mut self) -> bool {
        let submission = self.uring.submission();
        if submission.cq_overflow() {
            drop(submission);
            self.lost = u64::from(self.uring.completion().overflow());
            self.overflows += 1;
            return true;
        }
        submission.taskrun()
    }

    /// Sleeps until a completion comes or `longest` is over; with `gather`, arrivals are let gather for so long first.
    /// A signal ends the sleep early.
    pub(super) fn wait(&mut self, gather: Span, longest: Span) {
        self.fill();
        let (gather_us, longest) = (gather.min(longest).as_ns() / 1_000, timespec(longest));
        let Some(gather_us) = u32::try_from(gather_us).ok().filter(|us| *us > 0) else {
            return self.sleep(1, 0, longest);
        };
        if self.min_wait {
            return self.sleep(GATHERED, gather_us, longest);
        }
        self.sleep(GATHERED, 0, timespec(gather));
        if self.uring.completion().is_empty() {
            // What is left of `longest` is longer by our own work in between: a microsecond.
            self.sleep(1, 0, longest);
        }
    }

    fn sleep(&mut self, want: usize, min_wait_us: u32, longest: Timespec) {
        let args = SubmitArgs::new().timespec(&longest).min_wait_usec(min_wait_us);
        self.enters += 1;
        // ETIME and EINTR are ways to wake; whatever else is wrong, the harvest after it will meet.
        let _ = self.uring.submitter().submit_with_args(want, &args);
    }

    /// One enter that does not wait; gives how many entries the kernel took.
    fn enter(&mut self, flags: EnterFlags) -> std::io::Result<usize> {
        let queued = u32::try_from(self.uring.submission().len()).expect("at most 4096 entries");
        self.enters += 1;
        // SAFETY: no argument is passed; the entries were promised to be valid when they were pushed.
        unsafe { self.uring.submitter().enter::<libc::sigset_t>(queued, 0, flags.bits(), None) }
    }

    /// The next completion that has come.
    pub(super) fn completion(&mut self) -> Option<cqueue::Entry> {
        self.uring.completion().next()
    }

    /// How many completions have come.
    pub(super) fn completions(&mut self) -> usize {
        self.uring.completion().len()
    }

    pub(super) const fn count(&self, counters: &mut Counters) {
        counters.enters = self.enters;
        counters.cq_overflows = self.overflows;
        counters.cq_lost = self.lost;
    }
}

fn timespec(span: Span) -> Timespec {
    Timespec::from(Duration::from_nanos(u64::try_from(span.as_ns()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use io_uring::opcode::Nop;

    fn small() -> Queue {
        Queue::new(&RingConfig { entries: 4, ..RingConfig::default() }).expect("io_uring works here")
    }

    fn push(queue: &mut Queue, name: u64) {
        // SAFETY: a no-op points to nothing.
        unsafe { queue.push(Nop::new().build().user_data(name)) };
    }

    #[test]
    fn more_entries_than_room_are_all_submitted_in_order() {
        let mut queue = small();
        (0..50).for_each(|name| push(&mut queue, name));
        queue.submit();
        assert!(queue.is_submitted());
        let names: Vec<u64> =
            std::iter::from_fn(|| queue.completion()).map(|done| done.user_data()).collect();
        assert_eq!(names, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn a_wait_ends_when_its_time_is_over_with_or_without_the_kernels_minimum_wait() {
        for min_wait in [true, false] {
            let mut queue = small();
            queue.min_wait &= min_wait;
            for gather in [Span::ZERO, Span::from_us(100)] {
                queue.wait(gather, Span::from_us(300));
                assert_eq!(queue.completions(), 0);
            }
        }
    }

    #[test]
    fn what_has_completed_ends_a_wait_at_the_latest_with_the_gathering() {
        for min_wait in [true, false] {
            let mut queue = small();
            queue.min_wait &= min_wait;
            for gather in [Span::ZERO, Span::from_us(100)] {
                push(&mut queue, 7);
                // A wait that missed it would hang for an hour.
                queue.wait(gather, Span::from_s(3_600));
                assert_eq!(queue.completion().map(|done| done.user_data()), Some(7));
            }
        }
    }
}
