//! Turns that something else than our own work made long: told by the time they lost, beside what the kernel counted of the
//! thread meanwhile (docs/METHOD.md, "The client as a queue"; docs/decisions/0006).
//!
//! It must not read the kernel's counters: they are handed in.

use super::Turn;
use crate::time::{Instant, Span};

/// What kept the thread from its work.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It could have run, and another had its CPU: its run delay rose.
    Preempted,
    /// It was neither on its CPU nor queued for it: the CPU itself was stolen, or the thread stopped or blocked.
    OffCpu,
}

/// One turn that was interrupted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// By what.
    pub cause: Cause,
    /// Time it took beyond what its jobs and its plan explain.
    pub lost: Span,
}

/// What the kernel has counted of a thread since the thread began.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct ThreadCounts {
    /// Time on a CPU.
    pub cpu: Span,
    /// Time runnable and not running; `None` = it cannot be read.
    pub run_delay: Option<Span>,
}

/// How often a thread gave up its CPU, since it began.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Switches {
    /// To sleep.
    pub voluntary: u64,
    /// To another thread, while it had work.
    pub involuntary: u64,
}

/// Time a turn took beyond what is expected of it, by where in the turn.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Excess {
    /// Between the end of the turn before and this turn's wait.
    pub between: Span,
    /// From when it should have woken to when it had.
    pub waking: Span,
    /// While it handled its jobs.
    pub handling: Span,
}

impl Excess {
    /// From here on a turn is long, and the kernel's counters are asked why. Half of what a bias bound may be: shorter ones
    /// are the usual noise of waking up, and stay in the waits. Asking takes 3 us, so that it costs a hundredth at most.
    pub const LONG: Span = Span::from_us(250);

    /// All of it.
    #[must_use]
    pub fn total(&self) -> Span {
        self.between + self.waking + self.handling
    }

    /// Whether the kernel should be asked why.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.total() >= Self::LONG
    }
}

/// The thread's time since its counters were read last.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Ledger {
    read: Option<(Instant, ThreadCounts)>,
    /// Time that the thread should have been on its CPU.
    at_work: Span,
}

impl Ledger {
    /// Books a turn whose predecessor ended at `since`.
    pub(super) fn book(&mut self, turn: &Turn, since: Instant) {
        self.at_work += at_work(turn, since);
    }

    /// How long the thread should have been on its CPU since its counters were read.
    pub(super) const fn at_work(&self) -> Span {
        self.at_work
    }

    /// What made the turn long by `excess`, given the counters just after it; `None` = its own work did, or nobody knows.
    ///
    /// Where the thread was on its CPU for all the time it was at work, the excess was work. Where at least half of the
    /// excess is missing from its CPU time, something took it.
    pub(super) fn judge(
        &self,
        turn: &Turn,
        since: Instant,
        excess: &Excess,
        counts: &ThreadCounts,
    ) -> Option<Interruption> {
        let (_, before) = self.read?;
        let expected = self.at_work + at_work(turn, since) + excess.waking;
        let lost = excess.total();
        let missing = expected - (counts.cpu - before.cpu);
        if missing < lost / 2 {
            return None;
        }
        let delayed = counts.run_delay.zip(before.run_delay).map(|(now, before)| now - before);
        let preempted = delayed.is_some_and(|delayed| delayed >= lost / 2);
        Some(Interruption { cause: if preempted { Cause::Preempted } else { Cause::OffCpu }, lost })
    }

    /// Takes new counters; gives when the last ones were read, and the run delay since.
    pub(super) fn read(&mut self, at: Instant, counts: ThreadCounts) -> Option<(Instant, Option<Span>)> {
        self.at_work = Span::ZERO;
        let (since, before) = self.read.replace((at, counts))?;
        Some((since, counts.run_delay.zip(before.run_delay).map(|(now, before)| now - before)))
    }
}

/// Time of the turn, and of what came between it and the one before, in which the thread did not mean to sleep.
fn at_work(turn: &Turn, since: Instant) -> Span {
    let between = turn.entered - since;
    if turn.polled {
        return between + (turn.ended - turn.entered);
    }
    between + turn.kernel + (turn.ended - turn.harvested)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_ns(us * 1_000)
    }

    fn turn(entered: u64, harvested: u64, ended: u64) -> Turn {
        Turn {
            entered: us(entered),
            planned_wake: us(entered),
            latest_wake: us(entered + 500),
            harvested: us(harvested),
            ended: us(ended),
            kernel: Span::from_us(20),
            cpu: Span::ZERO,
            interrupted: None,
            polled: false,
        }
    }

    fn counts(cpu: i64, run_delay: Option<i64>) -> ThreadCounts {
        ThreadCounts { cpu: Span::from_us(cpu), run_delay: run_delay.map(Span::from_us) }
    }

    /// Ten usual turns (20 us in the kernel, 30 of handling, 10 between), then one that is long by `excess`.
    fn judged(last: Turn, excess: &Excess, counts_after: &ThreadCounts) -> Option<Interruption> {
        let mut ledger = Ledger::default();
        ledger.read(us(0), counts(0, Some(0)));
        for n in 0..10 {
            ledger.book(&turn(n * 400 + 10, n * 400 + 370, n * 400 + 400), us(n * 400));
        }
        ledger.judge(&last, us(4_000), excess, counts_after)
    }

    /// CPU time of the ten turns.
    const USUAL: i64 = 10 * 60;

    #[test]
    fn a_turn_that_worked_all_the_time_was_not_interrupted() {
        let long = turn(4_010, 4_370, 6_400);
        let excess = Excess { handling: Span::from_us(2_000), ..Excess::default() };
        assert_eq!(judged(long, &excess, &counts(USUAL + 2_060, Some(90))), None);
    }

    #[test]
    fn a_turn_whose_thread_was_queued_for_its_cpu_was_preempted() {
        let long = turn(4_010, 4_370, 6_400);
        let excess = Excess { handling: Span::from_us(2_000), ..Excess::default() };
        let found = judged(long, &excess, &counts(USUAL + 60, Some(1_990))).unwrap();
        assert_eq!((found.cause, found.lost), (Cause::Preempted, Span::from_us(2_000)));
    }

    #[test]
    fn a_turn_whose_thread_was_neither_running_nor_queued_was_off_its_cpu() {
        let late = turn(4_010, 9_510, 9_540);
        let excess = Excess { waking: Span::from_us(5_000), ..Excess::default() };
        let found = judged(late, &excess, &counts(USUAL + 60, Some(12))).unwrap();
        assert_eq!((found.cause, found.lost), (Cause::OffCpu, Span::from_us(5_000)));
    }

    #[test]
    fn where_run_delay_cannot_be_read_nothing_is_called_preempted() {
        let long = turn(4_010, 4_370, 6_400);
        let excess = Excess { handling: Span::from_us(2_000), ..Excess::default() };
        assert_eq!(judged(long, &excess, &counts(USUAL + 60, None)).unwrap().cause, Cause::OffCpu);
    }

    #[test]
    fn a_wake_that_the_kernels_own_work_delayed_is_no_interruption() {
        let late = turn(4_010, 5_510, 5_540);
        let excess = Excess { waking: Span::from_us(1_000), ..Excess::default() };
        assert_eq!(judged(late, &excess, &counts(USUAL + 1_060, Some(12))), None);
    }

    #[test]
    fn a_thread_that_polls_is_at_work_all_the_time() {
        let polling = Turn { polled: true, ..turn(4_010, 5_000, 5_030) };
        let mut ledger = Ledger::default();
        ledger.read(us(4_000), counts(0, Some(0)));
        ledger.book(&polling, us(4_000));
        assert_eq!(ledger.at_work, Span::from_us(1_030));
    }

    #[test]
    fn the_first_reading_is_where_counting_begins() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.read(us(5), counts(900, Some(70))), None);
        assert_eq!(ledger.read(us(9), counts(910, Some(75))), Some((us(5), Some(Span::from_us(5)))));
        assert_eq!(ledger.read(us(12), counts(920, None)), Some((us(9), None)));
    }
}
