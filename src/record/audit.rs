//! The shard as a queue: its jobs' services and waits, and how its own time was spent (docs/METHOD.md, "The client as a queue").
//!
//! It must not read clocks or judge: the pump tells the facts, and the analysis makes formulas of these sums.

use super::busy::BusyTime;
use super::interruption::Ledger;
use super::queue::Queue;
use super::window::Window;
use super::{Excess, Interruption, Switches, ThreadCounts};
use crate::time::{Instant, Span};

/// The classes of a shard's work.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum WorkClass {
    /// One receive completion.
    Receive,
    /// One send.
    Send,
    /// One timer, or any other completion.
    Timer,
    /// The preparing of one body.
    Prepare,
    /// The counting of requests that are over, some at a time.
    Record,
}

impl WorkClass {
    /// Every class, in the order of the enum.
    pub const ALL: [Self; 5] = [Self::Receive, Self::Send, Self::Timer, Self::Prepare, Self::Record];

    /// The word that reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Send => "send",
            Self::Timer => "timer",
            Self::Prepare => "prepare",
            Self::Record => "record",
        }
    }
}

/// One job done.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// What it was.
    pub class: WorkClass,
    /// a_i: the receive stamp, or the instant it was due.
    pub arrival: Instant,
    /// b_i: when the shard began on it.
    pub begun: Instant,
    /// e_i: when the shard was done with it.
    pub ended: Instant,
    /// Bytes received or sent by it.
    pub bytes: u32,
}

/// One turn of the pump (wait, harvest, handle), told after its jobs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// When the pump went to wait.
    pub entered: Instant,
    /// Before this instant no arrival was to wake it: its own will, the end of the coalescing window.
    pub planned_wake: Instant,
    /// When it was to wake at the latest, if nothing arrived: for what is due, or out of caution.
    pub latest_wake: Instant,
    /// When it was back from the kernel.
    pub harvested: Instant,
    /// When the last job was done.
    pub ended: Instant,
    /// CPU time in the kernel while it waited and harvested.
    pub kernel: Span,
    /// CPU time over the whole turn.
    pub cpu: Span,
    /// What cut it, if anything did: then its jobs are interruptions, apart from the others.
    pub interrupted: Option<Interruption>,
    /// Whether it never meant to sleep: finding nothing is then how a busy-polling shard waits.
    pub polled: bool,
}

impl Turn {
    /// The part of it that was not waiting: the kernel's work and the handling. Polling in vain is how a busy-polling shard
    /// waits.
    pub(super) fn at_work(&self, has_jobs: bool) -> Span {
        if self.polled && !has_jobs { Span::ZERO } else { self.kernel + (self.ended - self.harvested) }
    }
}

/// A job as the queue counts it.
pub(super) struct Served {
    pub class: WorkClass,
    pub arrival: Instant,
    pub service: Span,
    /// b - a.
    pub wait: Span,
    /// The part of it that was our own deliberate coalescing.
    pub hold: Span,
    /// The part of it that Lindley's recursion explains by the jobs before.
    pub queueing: Span,
}

/// The audit of one shard over all stages of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Audit {
    windows: Vec<Window>,
    queues: Vec<Queue>,
    /// Jobs of the turn that is not over yet.
    pending: Vec<Work>,
    /// When the virtual server of Lindley's recursion is free.
    free_at: Instant,
    previous_end: Option<Instant>,
    /// Whether the turn before polled in vain.
    idled: bool,
    ledger: Ledger,
    switches: Option<(Instant, Switches)>,
    jobs: u64,
    service_ns: u64,
    busy: BusyTime,
}

impl Audit {
    /// An audit of stages with these windows, of a run that starts at the clock's zero.
    #[must_use]
    pub fn new(windows: &[Window]) -> Self {
        Self {
            windows: windows.to_vec(),
            queues: windows.iter().map(|_| Queue::default()).collect(),
            pending: Vec::new(),
            free_at: Instant::ZERO,
            previous_end: None,
            idled: false,
            ledger: Ledger::default(),
            switches: None,
            jobs: 0,
            service_ns: 0,
            busy: BusyTime::new(Instant::ZERO),
        }
    }

    /// The same, of a run that starts at `start`.
    #[must_use]
    pub fn starting_at(self, start: Instant) -> Self {
        Self { busy: BusyTime::new(start), ..self }
    }

    /// The run was cut short at `at`: turns that end later are not counted, but for what an interrupted one had before.
    pub fn cut(&mut self, at: Instant) {
        self.windows.iter_mut().for_each(|window| window.cut(at));
    }

    /// A job was done in the turn that is going on.
    pub fn work(&mut self, work: Work) {
        self.pending.push(work);
    }

    /// How much longer the turn took than its jobs and its plan explain; asked before [`Audit::turn`].
    #[must_use]
    pub fn excess(&self, turn: &Turn) -> Excess {
        let since = self.previous_end.unwrap_or(turn.entered);
        let receives = self.pending.iter().filter(|work| work.class == WorkClass::Receive);
        let first = receives.map(|work| work.arrival).min().unwrap_or(turn.latest_wake);
        let due = turn.planned_wake.max(first).min(turn.latest_wake).max(turn.entered);
        let jobs = i64::try_from(self.pending.len()).expect("jobs of one turn are few");
        let at_least_none = |span: Span| span.max(Span::ZERO);
        Excess {
            between: at_least_none(turn.entered - since),
            waking: at_least_none(turn.harvested - due - turn.kernel),
            handling: at_least_none((turn.ended - turn.harvested) - self.mean_service() * jobs),
        }
    }

    /// What cut the turn that is long by `excess`, given the thread's counters just after it; asked before [`Audit::turn`].
    #[must_use]
    pub fn judge(&self, turn: &Turn, excess: &Excess, counts: &ThreadCounts) -> Option<Interruption> {
        self.ledger.judge(turn, self.previous_end.unwrap_or(turn.entered), excess, counts)
    }

    /// How long the thread was at work since its counters were read last.
    #[must_use]
    pub const fn work_since_read(&self) -> Span {
        self.ledger.at_work()
    }

    /// The thread's counters were read at `at`. What they rose by belongs to the window of the reading before.
    pub fn counted(&mut self, at: Instant, counts: ThreadCounts) {
        if let Some((since, Some(run_delay))) = self.ledger.read(at, counts)
            && let Some(queue) = self.queue_at(since)
        {
            queue.scheduling.delayed(run_delay);
        }
    }

    /// The thread's switches were read at `at`, as in [`Audit::counted`].
    pub fn switched(&mut self, at: Instant, switches: Switches) {
        if let Some((since, before)) = self.switches.replace((at, switches))
            && let Some(queue) = self.queue_at(since)
        {
            queue.scheduling.switched(before, switches);
        }
    }

    /// The instant after `at` at which a window begins or ends: counters read there belong to one window alone.
    #[must_use]
    pub fn next_edge(&self, at: Instant) -> Instant {
        let edges = self.windows.iter().flat_map(Window::edges);
        edges.filter(|edge| *edge > at).min().unwrap_or(Instant::NEVER)
    }

    fn queue_at(&mut self, at: Instant) -> Option<&mut Queue> {
        let place = self.windows.iter().position(|window| window.contains(at))?;
        Some(&mut self.queues[place])
    }

    /// The turn is over.
    pub fn turn(&mut self, turn: &Turn) {
        let since = self.previous_end.replace(turn.ended).unwrap_or(turn.entered);
        self.ledger.book(turn, since);
        let has_jobs = !self.pending.is_empty();
        // Between two polls in vain a busy-polling shard waits too: it came round to poll again.
        let idles = turn.polled && !has_jobs;
        let rest = if std::mem::replace(&mut self.idled, idles) && idles {
            Span::ZERO
        } else {
            turn.entered - since
        };
        // Over the whole run, whatever is measured: between the turns, and at the end of this one as long as it was at work.
        self.busy.busy(rest, turn.entered);
        self.busy.busy(turn.at_work(has_jobs), turn.ended);
        let at = self.windows.iter().position(|window| window.contains(turn.ended));
        let mut pending = std::mem::take(&mut self.pending);
        // The order of arrival, not of harvest: what a queue with one server would have served first.
        pending.sort_unstable_by_key(|work| work.arrival);
        match (at, turn.interrupted) {
            (Some(at), _) if self.windows[at].contains(since) => {
                self.queues[at].spend(turn, since, rest, has_jobs);
            }
            (_, Some(interruption)) => self.spread(turn, interruption, since, has_jobs),
            (Some(at), None) => self.queues[at].spend(turn, since, rest, has_jobs),
            (None, None) => {}
        }
        let free_before = self.free_at;
        let bytes: u64 = pending.iter().map(|work| u64::from(work.bytes)).sum();
        for work in &pending {
            let kernel = kernel_share(turn.kernel, work.bytes, bytes, pending.len());
            let service = (work.ended - work.begun) + kernel;
            let served = self.serve(work, turn, service, free_before);
            if let Some(at) = at {
                if turn.interrupted.is_some() {
                    self.queues[at].interrupted(&served);
                } else {
                    let mean_service = self.mean_service();
                    self.queues[at].serve(&served, mean_service);
                }
            }
        }
        pending.clear();
        self.pending = pending;
    }

    /// An interrupted turn can be longer than a window: each has its part of it.
    fn spread(&mut self, turn: &Turn, interruption: Interruption, since: Instant, has_jobs: bool) {
        let whole = turn.ended - since;
        for (window, queue) in self.windows.iter().zip(&mut self.queues) {
            let inside = window.overlap(since, turn.ended);
            if inside > Span::ZERO {
                // When exactly it was interrupted is not known: told is the least that it lost inside.
                let lost = (interruption.lost - (whole - inside)).max(Span::ZERO);
                let handling = window.overlap(turn.harvested, turn.ended);
                queue.share(Interruption { lost, ..interruption }, inside, handling, has_jobs);
            }
        }
    }

    /// One step of Lindley's recursion: start = max(a, previous end, planned wake). `free_before` is when the virtual server
    /// was done with the turns before this one.
    fn serve(&mut self, work: &Work, turn: &Turn, service: Span, free_before: Instant) -> Served {
        let arrival = work.arrival;
        let start = arrival.max(self.free_at);
        // Where the shard did not mean to sleep, or was woken before it meant to, nothing was held back.
        let held = turn.entered < turn.planned_wake && turn.planned_wake <= turn.harvested;
        let gate = turn.planned_wake;
        let (start, hold, queueing) = if held && arrival < gate {
            let start = start.max(gate);
            // Only what was slept on purpose is a hold: before, the shard was busy with other jobs, or with no job at all.
            let hold = (gate - arrival.max(turn.entered).max(free_before)).max(Span::ZERO);
            let before_gate = (free_before.min(gate) - arrival).max(Span::ZERO);
            (start, hold, before_gate + (start - gate))
        } else {
            (start, Span::ZERO, start - arrival)
        };
        let undisturbed = if turn.interrupted.is_some() {
            self.mean_service()
        } else {
            self.jobs += 1;
            // A service that runs backwards is counted by the queue; the recursion goes on without it.
            self.service_ns += u64::try_from(service.as_ns()).unwrap_or(0);
            service.max(Span::ZERO)
        };
        self.free_at = start + undisturbed;
        Served { class: work.class, arrival, service, wait: work.begun - arrival, hold, queueing }
    }

    fn mean_service(&self) -> Span {
        let mean = self.service_ns.checked_div(self.jobs).unwrap_or(0);
        Span::from_ns(i64::try_from(mean).expect("a mean service is a span"))
    }

    /// When the shard was busy, over the whole run.
    #[must_use]
    pub const fn busy(&self) -> &BusyTime {
        &self.busy
    }

    /// The queue of each stage, in order.
    #[must_use]
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }
}

/// The kernel's time of a turn is shared by bytes; by head where no job has any.
fn kernel_share(kernel: Span, bytes: u32, of: u64, jobs: usize) -> Span {
    let (weight, weights) = if of > 0 { (u64::from(bytes), of) } else { (1, jobs as u64) };
    let exact = || {
        let ns = i128::from(kernel.as_ns()) * i128::from(weight) / i128::from(weights);
        i64::try_from(ns).expect("a part of a span is one")
    };
    // A division of 64 bits is a few cycles, one of 128 is a call; only absurd passes need it.
    let short = || {
        let ns = u64::try_from(kernel.as_ns()).ok()?.checked_mul(weight)? / weights;
        i64::try_from(ns).ok()
    };
    Span::from_ns(short().unwrap_or_else(exact))
}
