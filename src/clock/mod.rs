//! The only reader of clocks: the run's monotonic clock, this thread's CPU clock, and the way from kernel stamps to both.
//!
//! It must not decide what an instant means; everywhere else an instant is an argument.

#![expect(clippy::disallowed_methods, reason = "the one room that reads clocks, and sleeps")]

mod card;
mod cpu;
mod offset;
mod realtime;

pub use card::{CardClock, CardOffset};
pub use cpu::{CpuTimes, thread_cpu_times};
pub use offset::{ClockReading, Offered, RealtimeOffset};
pub use realtime::{read_realtime, unix_ns};

use crate::time::{Instant, Span};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// The instant it is now on `CLOCK_MONOTONIC`; read without a system call.
#[must_use]
pub fn now() -> Instant {
    Instant::from_ns(whole_ns(clock_gettime(ClockId::Monotonic)))
}

/// The CPU time this thread has used, kernel included. A system call that takes a lock: up to microseconds.
#[must_use]
pub fn thread_cpu() -> Span {
    let ns = whole_ns(clock_gettime(ClockId::ThreadCPUTime));
    Span::from_ns(i64::try_from(ns).expect("no thread has run for 292 years"))
}

/// What a reading of [`thread_cpu`] adds to the next one: the least of some, as others were interrupted.
#[must_use]
pub fn thread_cpu_reading() -> Span {
    const READINGS: usize = 32;
    let once = || {
        let before = thread_cpu();
        thread_cpu() - before
    };
    (0..READINGS).map(|_| once()).min().expect("there are some")
}

/// Puts this thread to sleep; for threads that own no ring (a shard sleeps in its ring). Nothing when `span` is not positive.
pub fn sleep(span: Span) {
    if let Ok(ns) = u64::try_from(span.as_ns()) {
        std::thread::sleep(Duration::from_nanos(ns));
    }
}

/// Nanoseconds of a clock that never runs below zero.
fn whole_ns(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).expect("a clock is not before its zero");
    let ns = u64::try_from(time.tv_nsec).expect("a clock's nanoseconds are not negative");
    seconds * 1_000_000_000 + ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_run_backwards() {
        let readings: Vec<Instant> = (0..1000).map(|_| now()).collect();
        assert!(readings.is_sorted());
    }

    #[test]
    fn work_shows_on_the_cpu_clock_and_sleep_does_not_hide_it() {
        let before = thread_cpu();
        let begun = now();
        while (now() - begun).as_ns() < 1_000_000 {}
        let worked = thread_cpu() - before;
        assert!(worked > Span::ZERO, "{worked:?}");
        let slept_from = now();
        sleep(Span::from_ms(1));
        assert!(now() - slept_from >= Span::from_ms(1));
        sleep(Span::from_ms(-1));
    }
}
