//! The sums of one shard and one stage seen as a queue.
//!
//! It must not divide: the analysis does. All is whole numbers.

use super::audit::{Served, Turn, WorkClass};
use super::dispersion::{Bursts, Dispersion};
use super::histogram::Histogram;
use super::{Backwards, Cause, Interruption, Switches};
use crate::time::{Instant, Span};

/// The jobs of one class, or the interrupted ones.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Jobs {
    /// How many.
    pub count: u64,
    /// Sum of services.
    pub service_ns: i128,
    /// Sum of squared services.
    pub service_squares: u128,
    /// The longest service.
    pub service_max: Span,
    /// Sum of waits b - a.
    pub wait_ns: i128,
    /// Sum of our own deliberate coalescing within the waits.
    pub hold_ns: i128,
    /// Sum of the waits that Lindley's recursion explains.
    pub queueing_ns: i128,
}

impl Jobs {
    fn add(&mut self, served: &Served) {
        self.count += 1;
        self.service_ns += i128::from(served.service.as_ns());
        let magnitude = u128::from(served.service.as_ns().unsigned_abs());
        self.service_squares += magnitude * magnitude;
        self.service_max = self.service_max.max(served.service);
        self.wait_ns += i128::from(served.wait.as_ns());
        self.hold_ns += i128::from(served.hold.as_ns());
        self.queueing_ns += i128::from(served.queueing.as_ns());
    }

    /// Adds other jobs.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.count += other.count;
        self.service_ns += other.service_ns;
        self.service_squares += other.service_squares;
        self.service_max = self.service_max.max(other.service_max);
        self.wait_ns += other.wait_ns;
        self.hold_ns += other.hold_ns;
        self.queueing_ns += other.queueing_ns;
        self
    }
}

/// Where the shard's wall time went.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Spent {
    /// All of it.
    pub wall_ns: i128,
    /// Waiting: asleep, or polling in vain on purpose.
    pub waiting_ns: i128,
    /// Turns with jobs: the kernel's part and the handling.
    pub jobs_ns: i128,
    /// Wakes that found nothing.
    pub empty_ns: i128,
    /// Between turns: records, glommio.
    pub rest_ns: i128,
    /// CPU time of the turns.
    pub cpu_ns: i128,
}

impl Spent {
    fn merge(&mut self, other: &Self) {
        self.wall_ns += other.wall_ns;
        self.waiting_ns += other.waiting_ns;
        self.jobs_ns += other.jobs_ns;
        self.empty_ns += other.empty_ns;
        self.rest_ns += other.rest_ns;
        self.cpu_ns += other.cpu_ns;
    }
}

/// Turns that were cut in one way.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Lost {
    /// How many.
    pub turns: u64,
    /// The time they lost.
    pub ns: i128,
    /// The most that one of them lost.
    pub longest: Span,
}

impl Lost {
    fn merge(&mut self, other: &Self) {
        self.turns += other.turns;
        self.ns += other.ns;
        self.longest = self.longest.max(other.longest);
    }
}

/// What the kernel counted of the shard's thread; `None` = it was not read.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Scheduling {
    /// Time runnable and not running.
    pub run_delay: Option<Span>,
    /// How often it gave up its CPU.
    pub switches: Option<Switches>,
}

impl Scheduling {
    pub(super) fn delayed(&mut self, by: Span) {
        self.run_delay = Some(self.run_delay.unwrap_or(Span::ZERO) + by);
    }

    pub(super) fn switched(&mut self, before: Switches, now: Switches) {
        let so_far = self.switches.unwrap_or_default();
        self.switches = Some(Switches {
            voluntary: so_far.voluntary + now.voluntary.saturating_sub(before.voluntary),
            involuntary: so_far.involuntary + now.involuntary.saturating_sub(before.involuntary),
        });
    }

    fn merge(&mut self, other: &Self) {
        other.run_delay.into_iter().for_each(|by| self.delayed(by));
        other.switches.into_iter().for_each(|more| self.switched(Switches::default(), more));
    }
}

/// One shard in one stage's window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    classes: [Jobs; WorkClass::ALL.len()],
    /// Jobs of interrupted turns: in no other sum.
    pub interruptions: Jobs,
    /// Turns of the pump.
    pub turns: u64,
    /// Turns without jobs.
    pub empty_turns: u64,
    /// Turns cut because another had the CPU.
    pub preempted: Lost,
    /// Turns cut because the thread was neither running nor queued to run.
    pub off_cpu: Lost,
    /// The thread, as the kernel saw it.
    pub scheduling: Scheduling,
    /// The shard's time.
    pub spent: Spent,
    /// Waits b - a, holds included.
    pub waits: Histogram,
    /// Arrivals within a mean service of their first.
    pub bursts: Bursts,
    /// Counts of arrivals in bins of 0.1, 1 and 10 ms.
    pub dispersion: [Dispersion; 3],
    /// Waits that ran backwards: our own defect.
    pub backward_waits: Backwards,
    /// Services that ran backwards: our own defect.
    pub backward_services: Backwards,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            classes: [Jobs::default(); WorkClass::ALL.len()],
            interruptions: Jobs::default(),
            turns: 0,
            empty_turns: 0,
            preempted: Lost::default(),
            off_cpu: Lost::default(),
            scheduling: Scheduling::default(),
            spent: Spent::default(),
            waits: Histogram::coarse(),
            bursts: Bursts::default(),
            dispersion: [Span::from_us(100), Span::from_ms(1), Span::from_ms(10)].map(Dispersion::of_bins),
            backward_waits: Backwards::default(),
            backward_services: Backwards::default(),
        }
    }
}

impl Queue {
    /// The jobs of one class, interruptions left out.
    #[must_use]
    pub const fn class(&self, class: WorkClass) -> &Jobs {
        &self.classes[class as usize]
    }

    /// All jobs, interruptions left out.
    #[must_use]
    pub fn all(&self) -> Jobs {
        self.classes.iter().fold(Jobs::default(), Jobs::and)
    }

    /// Adds the same shard in another stage's window.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            *mine = mine.and(theirs);
        }
        self.interruptions = self.interruptions.and(&other.interruptions);
        self.turns += other.turns;
        self.empty_turns += other.empty_turns;
        self.preempted.merge(&other.preempted);
        self.off_cpu.merge(&other.off_cpu);
        self.scheduling.merge(&other.scheduling);
        self.spent.merge(&other.spent);
        self.waits.merge(&other.waits);
        self.bursts.merge(&other.bursts);
        for (mine, theirs) in self.dispersion.iter_mut().zip(&other.dispersion) {
            mine.merge(theirs);
        }
        self.backward_waits.merge(&other.backward_waits);
        self.backward_services.merge(&other.backward_services);
    }

    pub(super) fn serve(&mut self, served: &Served, mean_service: Span) {
        self.classes[served.class as usize].add(served);
        self.notice(served);
        self.bursts.arrival(served.arrival, mean_service);
        for dispersion in &mut self.dispersion {
            dispersion.arrival(served.arrival);
        }
    }

    pub(super) fn interrupted(&mut self, served: &Served) {
        self.interruptions.add(served);
        self.notice(served);
    }

    fn notice(&mut self, served: &Served) {
        self.backward_services.see(served.service);
        if !self.backward_waits.see(served.wait) {
            self.waits.record(served.wait.as_ns().unsigned_abs());
        }
    }

    /// Books the time from `since` (the end of the turn before) to the end of this one; between the two it was busy for `rest`.
    pub(super) fn spend(&mut self, turn: &Turn, since: Instant, rest: Span, has_jobs: bool) {
        let ns = |span: Span| i128::from(span.as_ns());
        self.turns += 1;
        self.empty_turns += u64::from(!has_jobs);
        if let Some(interruption) = turn.interrupted {
            self.lose(interruption);
        }
        let spent = &mut self.spent;
        spent.wall_ns += ns(turn.ended - since);
        spent.rest_ns += ns(rest);
        spent.cpu_ns += ns(turn.cpu);
        let at_work = ns(turn.at_work(has_jobs));
        spent.waiting_ns += ns(turn.ended - since) - ns(rest) - at_work;
        if has_jobs {
            spent.jobs_ns += at_work;
        } else {
            spent.empty_ns += at_work;
        }
    }

    /// Books a part of an interrupted turn: it was `inside`, of which it was `handling` for so long.
    pub(super) fn share(&mut self, interruption: Interruption, inside: Span, handling: Span, has_jobs: bool) {
        if interruption.lost > Span::ZERO {
            self.lose(interruption);
        }
        let ns = |span: Span| i128::from(span.as_ns());
        let spent = &mut self.spent;
        spent.wall_ns += ns(inside);
        spent.waiting_ns += ns(inside - handling);
        if has_jobs {
            spent.jobs_ns += ns(handling);
        } else {
            spent.empty_ns += ns(handling);
        }
    }

    fn lose(&mut self, interruption: Interruption) {
        let lost = match interruption.cause {
            Cause::Preempted => &mut self.preempted,
            Cause::OffCpu => &mut self.off_cpu,
        };
        lost.turns += 1;
        lost.ns += i128::from(interruption.lost.as_ns());
        lost.longest = lost.longest.max(interruption.lost);
    }
}
