//! The pump: one turn waits in the ring, harvests it, and has the handler handle what came and what is due.
//!
//! It must not know what anything means.

use super::buffers::Memory;
use super::coalesce::Coalescing;
use super::collect::{Sight, bytes};
use super::harvest::{Harvest, Other};
use super::kernel_cost::KernelCost;
use super::{Coalesce, Conn, Counters, Departure, Handler, Job, JobClass, Pass, Payload, Read, Ring};
use crate::clock::{self, CardClock, CardOffset, RealtimeOffset};
use crate::time::{Instant, Span};
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;

/// How a [`Pump`] waits.
#[derive(Clone, Debug)]
pub struct PumpConfig {
    /// Whether arrivals are let gather.
    pub coalesce: Coalesce,
    /// Never sleep: a turn that finds nothing returns at once.
    pub busy_poll: bool,
    /// The longest a turn sleeps. An arrival's interval reaches back no further than the harvest before it, so this also
    /// bounds what is not known of an event that shares its read with a later one.
    pub longest_sleep: Span,
    /// Whether the kernel's time is told, by reading the thread's CPU clock in one pass of thirty-two; without, it is zero.
    pub cpu_clock: bool,
    /// The clock of the network card, where it stamps; opened by whoever knows the card.
    pub card: Option<Arc<CardClock>>,
}

impl Default for PumpConfig {
    /// Half a millisecond of sleep is what a bias bound may be and still be valid (`docs/METHOD.md`, "Verdict"), and
    /// costs an idle thread about a hundredth of its core.
    fn default() -> Self {
        Self {
            coalesce: Coalesce::Auto,
            busy_poll: false,
            longest_sleep: Span::from_us(500),
            cpu_clock: true,
            card: None,
        }
    }
}

/// How often the realtime clock is looked at: a step misplaces the stamps of at most so long.
const OFFSET_BEAT: Span = Span::from_ms(100);

/// How long due things may go on before the next harvest: a shard that is behind its schedule must still read.
const LONGEST_TICKING: Span = Span::from_ms(1);

/// Drives one [`Ring`] and its [`Handler`], on the thread that made the ring.
pub struct Pump<P: Payload> {
    ring: Ring<P>,
    /// The memory of the ring's buffers, kept alive while reads of it are handed out.
    memory: Rc<Memory>,
    config: PumpConfig,
    coalescing: Coalescing,
    offset: RealtimeOffset,
    /// The card's clock and the way from it; the way is missing while the card does not answer.
    card: Option<(Arc<CardClock>, Option<CardOffset>)>,
    next_offset: Instant,
    harvest: Harvest,
    departures: Vec<(Conn, Departure)>,
    /// The start of the last full harvest: what reached a socket before was read.
    swept: Instant,
    /// Completions were left in the kernel: the next turn must not sleep.
    is_behind: bool,
    kernel_cost: KernelCost,
    /// What a reading of the CPU clock itself adds to a measurement.
    cpu_reading: Span,
    /// When the last pass was over.
    ended: Instant,
}

impl<P: Payload> Pump<P> {
    /// A pump for `ring`; sets this thread's timer slack low, or sleeps would end 50 us late.
    pub fn new(ring: Ring<P>, config: PumpConfig) -> Self {
        // A thread that may not set it sleeps longer, and its lateness shows it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let now = clock::now();
        Self {
            memory: Rc::clone(ring.memory()),
            ring,
            coalescing: Coalescing::new(config.coalesce),
            card: config.card.clone().map(|clock| {
                let way = CardOffset::measure(&clock);
                (clock, way)
            }),
            config,
            offset: RealtimeOffset::measure(),
            next_offset: now + OFFSET_BEAT,
            harvest: Harvest::default(),
            departures: Vec::new(),
            swept: Instant::ZERO,
            is_behind: false,
            kernel_cost: KernelCost::default(),
            cpu_reading: clock::thread_cpu_reading(),
            ended: now,
        }
    }

    /// Waits until something arrives or is due, then handles all of it: what arrived first, so that what is due sees it.
    pub fn turn<H: Handler<Payload = P>>(&mut self, handler: &mut H) -> Pass {
        self.prepare(handler);
        let measured_from = self.is_measured().then(clock::thread_cpu);
        let entered = clock::now();
        let latest_wake = self.latest_wake(entered, handler.wake(), handler.is_listening());
        let gathering_ends = self.wait(entered, latest_wake);
        let measured = measured_from.map(|from| clock::thread_cpu() - from - self.cpu_reading);
        let harvested = clock::now();
        let came = self.gather(harvested);
        let kernel = self.kernel_time(came, measured, harvested - entered);
        self.coalescing.learn(harvested - entered, self.harvest.reads.len());

        let mut work = Work { begun: harvested, jobs: 0 };
        self.handle_others(handler, harvested, &mut work);
        self.handle_reads(handler, &mut work);
        self.handle_ends(handler, harvested, &mut work);
        self.tick(handler, &mut work);

        self.ended = work.begun;
        let pass = Pass {
            entered,
            planned_wake: gathering_ends.min(harvested),
            latest_wake,
            harvested,
            ended: work.begun,
            kernel,
            cpu: kernel + (work.begun - harvested),
            jobs: work.jobs,
            polled: self.config.busy_poll,
        };
        handler.pass(&pass);
        pass
    }

    /// The ring, between turns.
    pub fn ring_mut(&mut self) -> &mut Ring<P> {
        &mut self.ring
    }

    /// The ring, between turns.
    #[must_use]
    pub fn ring(&self) -> &Ring<P> {
        &self.ring
    }

    /// What the ring has counted.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.ring.counters()
    }

    /// How kernel stamps are mapped, how well, and how often the realtime clock was stepped.
    #[must_use]
    pub const fn realtime_offset(&self) -> &RealtimeOffset {
        &self.offset
    }

    /// How the card's stamps are mapped, how well, and how often its clock was set; `None` = it stamps nothing.
    #[must_use]
    pub fn card_offset(&self) -> Option<&CardOffset> {
        self.card.as_ref().and_then(|(_, way)| way.as_ref())
    }

    /// Does what is better done late than in the way of a wake-up.
    fn prepare<H: Handler<Payload = P>>(&mut self, handler: &mut H) {
        if self.ended >= self.next_offset {
            self.offset.refresh();
            if let Some((clock, way)) = &mut self.card {
                match way {
                    Some(way) => way.refresh(clock),
                    None => *way = CardOffset::measure(clock),
                }
            }
            self.next_offset = self.ended + OFFSET_BEAT;
        }
        self.ring.resume(self.ended);
        self.ring.flush();
        self.tell_departures(handler);
    }

    fn is_measured(&mut self) -> bool {
        self.config.cpu_clock && self.kernel_cost.is_next_measured()
    }

    /// The CPU time of the kernel in a pass that `waited` and brought so many completions: measured or estimated.
    fn kernel_time(&mut self, came: usize, measured: Option<Span>, waited: Span) -> Span {
        if let Some(kernel) = measured {
            let kernel = kernel.max(Span::ZERO);
            self.kernel_cost.learn(came, kernel);
            return kernel;
        }
        self.kernel_cost.estimate(came, waited)
    }

    /// When the pass that begins is to wake though nothing has arrived; `entered` where it must not sleep at all.
    fn latest_wake(&self, entered: Instant, due: Option<Instant>, is_listening: bool) -> Instant {
        if self.is_behind || self.config.busy_poll {
            return entered;
        }
        let longest = entered + self.config.longest_sleep;
        match due {
            Some(due) if is_listening => due.min(longest).max(entered),
            Some(due) => due.max(entered),
            None => longest,
        }
    }

    /// Sleeps in the ring until `latest`; gives the end of the gathering, before which no arrival was to wake us.
    fn wait(&mut self, entered: Instant, latest: Instant) -> Instant {
        if latest <= entered {
            self.ring.sweep();
            return entered;
        }
        let gather = self.coalescing.window().min(latest - entered);
        if gather == Span::ZERO && self.ring.has_completions() {
            // Sends complete as they are submitted: what has come already is no reason for an enter.
            return entered;
        }
        self.ring.wait(gather, latest - entered);
        entered + gather
    }

    /// Collects what has come, and what still comes: a full harvest leaves nothing that came before it. Gives how many
    /// completions the wait itself had brought.
    fn gather(&mut self, harvested: Instant) -> usize {
        let room = self.memory.count() / 2;
        let card = self.card.as_ref().and_then(|(_, way)| way.as_ref());
        let sight = Sight { offset: &self.offset, card, harvested, swept: self.swept };
        let began = self.ring.looked().unwrap_or(harvested);
        let came = self.ring.collect(sight, &mut self.harvest);
        let (later, left) = self.ring.collect_deferred(sight, room, &mut self.harvest);
        // What is known to lie unread came before this harvest all the same.
        self.is_behind = left || self.ring.has_unread();
        if !self.is_behind {
            self.swept = later.unwrap_or(began);
        }
        self.harvest.sort();
        came
    }

    fn handle_others<H: Handler<Payload = P>>(
        &mut self,
        handler: &mut H,
        harvested: Instant,
        work: &mut Work,
    ) {
        let mut others = std::mem::take(&mut self.harvest.others);
        for other in others.drain(..) {
            match other {
                Other::Accepted(conn) if self.ring.is_open(conn) => {
                    handler.accepted(&mut self.ring, conn, work.begun);
                }
                Other::Connected(conn, result) if self.ring.is_open(conn) => {
                    handler.connected(&mut self.ring, conn, result, work.begun);
                    if result.is_err() {
                        self.ring.close(conn);
                    }
                }
                Other::Accepted(_) | Other::Connected(..) => {}
                Other::Sent(index, result) => {
                    let (conn, payload) = (self.ring.payloads.conn(index), self.ring.payloads.unload(index));
                    if self.ring.is_open(conn) {
                        handler.sent(&mut self.ring, conn, payload, result);
                    }
                    self.tell_departures(handler);
                    // Memory comes back: less than a job's clock and books would take. It is time of the next job.
                    continue;
                }
            }
            self.tell_departures(handler);
            work.done(handler, JobClass::Timer, harvested, 0);
        }
        self.harvest.others = others;
    }

    fn handle_reads<H: Handler<Payload = P>>(&mut self, handler: &mut H, work: &mut Work) {
        let mut reads = std::mem::take(&mut self.harvest.reads);
        for read in reads.drain(..) {
            if self.ring.is_open(read.conn) {
                let told = Read { bytes: bytes(&self.memory, &read), arrival: read.arrival };
                // The sweep for what was put off brings what came after the harvest had begun: no job begins before that.
                work.begun = work.begun.max(read.arrival.stamp);
                handler.read(&mut self.ring, read.conn, told);
                self.tell_departures(handler);
                work.done(handler, JobClass::Receive, read.arrival.stamp, read.bytes);
            }
            self.ring.lend(read);
        }
        self.harvest.reads = reads;
        self.ring.publish();
        self.ring.feed(self.memory.count());
    }

    fn handle_ends<H: Handler<Payload = P>>(&mut self, handler: &mut H, harvested: Instant, work: &mut Work) {
        let mut ends = std::mem::take(&mut self.harvest.ends);
        for (conn, end) in ends.drain(..) {
            if self.ring.is_open(conn) {
                handler.ended(&mut self.ring, conn, end, work.begun);
                self.tell_departures(handler);
                work.done(handler, JobClass::Timer, harvested, 0);
            }
        }
        self.harvest.ends = ends;
    }

    fn tick<H: Handler<Payload = P>>(&mut self, handler: &mut H, work: &mut Work) {
        // What the harvest had us send goes before what is due.
        self.flush(handler);
        let latest = work.begun + LONGEST_TICKING;
        while work.begun < latest {
            let sent_before = self.ring.counters.bytes_sent;
            let Some(task) = handler.tick(&mut self.ring, work.begun) else { break };
            // Sends may gather only while more of them are due now.
            if task.class != JobClass::Send || handler.wake().is_none_or(|next| next > work.begun) {
                self.flush(handler);
            } else {
                self.tell_departures(handler);
            }
            let sent = self.ring.counters.bytes_sent - sent_before;
            work.done(handler, task.class, task.due, u32::try_from(sent).unwrap_or(u32::MAX));
        }
        self.flush(handler);
    }

    /// Asks the kernel for all sends that were queued.
    fn flush<H: Handler<Payload = P>>(&mut self, handler: &mut H) {
        if self.ring.has_unasked_sends() {
            self.ring.flush();
        }
        self.tell_departures(handler);
    }

    /// Tells the handler which of its sends have left; after each of its calls.
    fn tell_departures<H: Handler<Payload = P>>(&mut self, handler: &mut H) {
        assert!(Rc::ptr_eq(&self.memory, self.ring.memory()), "a pump keeps the ring it was made with");
        if self.ring.departures.is_empty() {
            return;
        }
        std::mem::swap(&mut self.departures, &mut self.ring.departures);
        for (conn, departure) in self.departures.drain(..) {
            if self.ring.is_open(conn) {
                handler.departed(conn, departure);
            }
        }
    }
}

/// The jobs of one pass, back to back: the end of one is the beginning of the next.
struct Work {
    begun: Instant,
    jobs: u32,
}

impl Work {
    fn done<H: Handler>(&mut self, handler: &mut H, class: JobClass, arrival: Instant, bytes: u32) {
        let ended = clock::now();
        handler.job(&Job { class, arrival, begun: self.begun, ended, bytes });
        self.begun = ended;
        self.jobs += 1;
    }
}
