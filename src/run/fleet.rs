//! The shards of one run: started together, told when to send and when to stop, and joined, whatever becomes of them.
//!
//! It must not look at what they measured.

use super::pulse::{Change, NOTICED, Pulse};
use super::{Interrupts, RunError};
use crate::analysis::LostTurns;
use crate::clock;
use crate::plan::Client;
use crate::record::ShardGauge;
use crate::ring::CoreError;
use crate::schedule::Extent;
use crate::shard::{Order, Orders, Outcome, Shard, Sinks, Standing};
use crate::time::{Instant, Span, format_span};
use crate::watch::Progress;
use std::sync::Arc;
use std::thread::JoinHandle;

/// How often the fleet is looked at: the precision of the end of a cool-down, which nothing measured depends on.
/// At 5 ms the looking alone cost a sixth of all CPU at 1,000 short answers per second.
const LOOK: Span = Span::from_ms(50);

/// From "all are ready" to the first due instant: every shard has seen the start by then.
const LEAD: Span = Span::from_ms(50);

/// How long unmeasured requests may go on after the last measured one: a usual answer ends by itself within it.
const GRACE: Span = Span::from_s(2);

/// How long an interrupted run waits for what is in flight.
const INTERRUPTED_DRAIN: Span = Span::from_s(30);

/// The same after SIGTERM: whoever sends that kills after 10 s (docker) or 30 s (Kubernetes), and the report is to be written by then.
const TERMINATED_DRAIN: Span = Span::from_s(5);

/// How long those who interrupted have patience.
fn patience(interrupts: &Interrupts) -> Span {
    if interrupts.is_terminated() { TERMINATED_DRAIN } else { INTERRUPTED_DRAIN }
}

/// Without what nobody reads of it.
fn in_seconds(span: Span) -> Span {
    Span::from_s(span.as_ns() / Span::from_s(1).as_ns())
}

/// How far ahead a cut is set: shards look for orders at least every 10 ms.
const NOTICE: Span = Span::from_ms(20);

/// How long a shard may show no sign of life, or take to cancel what it has in flight: then nobody waits for it, and the others report.
const STUCK: Span = Span::from_s(10);

struct Member {
    number: u16,
    cpu: usize,
    handle: Option<JoinHandle<Result<Outcome, CoreError>>>,
    standing: Arc<Standing>,
    gauge: Arc<ShardGauge>,
    pulse: Pulse,
}

impl Member {
    fn is_gone(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Looks for a sign of life, and says when it has none, and when it has one again.
    fn feel(&mut self, stuck_after: Span, progress: &Progress) {
        if self.is_gone() {
            return;
        }
        let shard = format_args!("shard {} on cpu {}", self.number, self.cpu);
        match self.pulse.feel(self.gauge.beats(), clock::now()) {
            None => {}
            Some(Change::FellSilent) => progress.say(format!(
                "{shard} has not beaten for {}: the others go on; from {} on nobody waits for it",
                format_span(NOTICED),
                format_span(stuck_after)
            )),
            Some(Change::BeatsAgain(silent)) => {
                progress.say(format!("{shard} beats again, after {}", format_span(in_seconds(silent))));
            }
        }
    }

    /// Whether it has ended, or has shown no sign of life for so long that nobody should wait for it.
    fn is_over(&self, stuck_after: Span) -> bool {
        self.is_gone() || self.pulse.silent() >= stuck_after
    }
}

/// All shards of a run.
pub struct Fleet {
    orders: Arc<Orders>,
    members: Vec<Member>,
    gauges: Vec<Arc<ShardGauge>>,
    stuck_after: Span,
}

/// What is left of one shard.
pub struct Left {
    /// Its number.
    pub number: u16,
    /// Its CPU.
    pub cpu: usize,
    /// What it counted, unless it is stuck.
    pub outcome: Option<Outcome>,
    /// For how long it had shown no sign of life when the run gave up waiting for it.
    pub stuck: Option<Span>,
    /// Its silences that were noticed.
    pub silences: LostTurns,
}

impl Fleet {
    /// Starts a shard on each CPU of `client`, and waits until all have their connections. Nothing is due yet.
    ///
    /// # Errors
    /// A shard cannot have its thread, its core or its ring; those already started are told to end.
    pub fn start(
        orders: Arc<Orders>,
        client: &Client,
        mut sinks: impl FnMut(u16) -> Sinks,
        interrupts: &Interrupts,
    ) -> Result<Self, RunError> {
        let mut fleet = Self { orders, members: Vec::new(), gauges: Vec::new(), stuck_after: STUCK };
        for (&cpu, number) in client.cpus.iter().zip(0_u16..) {
            let gauge = Arc::new(ShardGauge::new());
            let standing = Arc::new(Standing::default());
            let shard = Shard {
                number,
                cpu,
                waiting: client.waiting,
                engine: client.engine,
                orders: fleet.orders.clone(),
                gauge: gauge.clone(),
                standing: standing.clone(),
                sinks: sinks(number),
            };
            let handle = shard
                .start()
                .map_err(|error| RunError::Own(format!("no thread for shard {number}: {error}")));
            let handle = fleet.or_end(handle)?;
            let (pulse, shown) = (Pulse::new(clock::now()), gauge.clone());
            let handle = Some(handle);
            fleet.members.push(Member { number, cpu, handle, standing, gauge: shown, pulse });
            fleet.gauges.push(gauge);
        }
        while !fleet.members.iter().all(|member| member.standing.is_ready()) {
            if let Some(gone) = fleet.members.iter_mut().find(|member| member.is_gone()) {
                let why = failure(gone);
                return fleet.or_end(Err(why));
            }
            if interrupts.count() > 0 {
                return fleet.or_end(Err(RunError::Interrupted));
            }
            clock::sleep(LOOK);
        }
        Ok(fleet)
    }

    /// Ends every shard when `result` is a failure.
    pub fn or_end<T>(&self, result: Result<T, RunError>) -> Result<T, RunError> {
        if result.is_err() {
            self.orders.control.give(Order::Abandon);
        }
        result
    }

    /// What each shard shows while it runs.
    pub fn gauges(&self) -> &[Arc<ShardGauge>] {
        &self.gauges
    }

    /// Fixes the run's zero.
    pub fn begin(&self) -> Instant {
        let start = clock::now() + LEAD;
        self.orders.control.start_at(start);
        start
    }

    /// Lets the run go on to its end, or until it is interrupted; then drains, and joins the shards. When `cut` says of an
    /// instant, and of the measured requests that have missed by then, that enough was seen, all is closed at once; the answer
    /// is whether it did.
    pub fn conduct(
        mut self,
        start: Instant,
        interrupts: &Interrupts,
        progress: &Progress,
        cut: &dyn Fn(Span, u64) -> bool,
    ) -> (Vec<Left>, bool) {
        let mut was_cut = false;
        let window_end = window_end(&self.orders, start);
        let load_end = load_end(&self.orders, start);
        let mut told = false;
        while !self.all_gone() {
            clock::sleep(LOOK);
            if !told && clock::now() > load_end + GRACE {
                told = true;
                progress.say("the load is over: waiting for the last measured requests, each up to its --timeout (Ctrl-C ends it)");
            }
            if interrupts.count() > 0 {
                let limit = patience(interrupts);
                progress.say(format!(
                    "interrupted: no more is sent; what is in flight may end within {} (once more to cancel it)",
                    format_span(limit)
                ));
                self.orders.control.cut_at(clock::now() + NOTICE);
                // Interrupted once: what is in flight may end; twice: it may not.
                self.drain(limit, progress, || interrupts.count() >= 2);
                break;
            }
            let now = clock::now();
            let missed = self.gauges.iter().map(|gauge| gauge.read().missed).sum();
            if now > start && cut(now - start, missed) {
                was_cut = true;
                self.orders.control.cut_at(now + NOTICE);
                break;
            }
            // Before the start nobody beats.
            if now >= start {
                self.feel(progress);
            }
            let is_done =
                |member: &Member| member.is_over(self.stuck_after) || member.standing.is_measured_over();
            if now >= window_end && self.members.iter().all(is_done) {
                self.drain(GRACE, progress, || interrupts.count() > 0);
                break;
            }
        }
        self.orders.control.give(Order::Abandon);
        let patience = self.stuck_after;
        if interrupts.count() > 0 {
            // Whoever interrupts will not wait for a shard that is silent already.
            self.stuck_after = self.stuck_after.min(NOTICED);
        }
        self.wait_until(clock::now() + patience, progress, || false);
        (self.members.iter_mut().map(join).collect(), was_cut)
    }

    fn drain(&mut self, limit: Span, progress: &Progress, stop: impl FnMut() -> bool) {
        self.orders.control.give(Order::Drain);
        self.wait_until(clock::now() + limit, progress, stop);
    }

    fn wait_until(&mut self, until: Instant, progress: &Progress, mut stop: impl FnMut() -> bool) {
        let is_over = |fleet: &Self| fleet.members.iter().all(|member| member.is_over(fleet.stuck_after));
        while !is_over(self) && clock::now() < until && !stop() {
            clock::sleep(LOOK);
            self.feel(progress);
        }
    }

    fn feel(&mut self, progress: &Progress) {
        self.members.iter_mut().for_each(|member| member.feel(self.stuck_after, progress));
    }

    fn all_gone(&self) -> bool {
        self.members.iter().all(Member::is_gone)
    }
}

/// Before the last window is over the load must not stop, even if its last request has been answered.
fn window_end(orders: &Orders, start: Instant) -> Instant {
    let schedule = &orders.schedule;
    let timed = schedule.stages().iter().all(|stage| matches!(stage.extent, Extent::Duration(_)));
    let last = schedule.timetable().windows().last().expect("a schedule has a window");
    if timed { start + (last.measured_until - schedule.start()) } else { start }
}

/// Where load ends at the latest; the end of time where only the server tells.
fn load_end(orders: &Orders, start: Instant) -> Instant {
    let schedule = &orders.schedule;
    let until = schedule.timetable().load_until();
    // Near the end of time nothing is added.
    if until == Instant::NEVER { Instant::NEVER - GRACE } else { start + (until - schedule.start()) }
}

fn join(member: &mut Member) -> Left {
    let (number, cpu) = (member.number, member.cpu);
    let handle = member.handle.take_if(|handle| handle.is_finished());
    let stuck = handle.is_none().then(|| member.pulse.silent());
    // A thread that panicked outside its own net left nothing; so did one that is stuck.
    let outcome = handle.and_then(|handle| handle.join().ok()).and_then(Result::ok);
    Left { number, cpu, outcome, stuck, silences: member.pulse.silences() }
}

fn failure(member: &mut Member) -> RunError {
    let number = member.number;
    match member.handle.take().map(JoinHandle::join) {
        Some(Ok(Err(error @ (CoreError::Ring(_) | CoreError::Executor(_))))) => {
            RunError::Own(format!("shard {number}: {error}; --engine epoll does without io_uring"))
        }
        Some(Ok(Err(error))) => RunError::Own(format!("shard {number}: {error}")),
        Some(Ok(Ok(Outcome { died: Some(words), .. }))) => {
            RunError::Own(format!("shard {number} failed: {words}"))
        }
        _ => RunError::Own(format!("shard {number} ended before the run began")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Cost, Limits, Plan, Raw};
    use crate::record::Traffic;
    use crate::run::{orders, target::Server, target::Target};
    use crate::sim::{Sim, SimConfig};
    use crate::watch::Show;
    use crossbeam_channel::{Receiver, Sender, bounded};

    /// A run of two shards on one CPU, one second long.
    fn two_shards(address: std::net::SocketAddr) -> Arc<Orders> {
        let limits = Limits {
            cpus: vec![0],
            cpu_quota: None,
            files: 20_000,
            source_ports: 28_000,
            memlock_bytes: None,
            kernel: None,
            io_uring_forbidden: None,
            ring_refused: None,
            cost: Cost::default(),
        };
        let asked = format!(
            "[target]\nurl = \"http://{address}\"\n[load]\nrate = 100\nduration = \"1s\"\n[payload]\noutput-tokens = 2\n"
        );
        let plan = Plan::new(Raw::from_toml(&asked).unwrap(), &limits).unwrap();
        let workload = plan.workload("lowrho-sim", "run", None).unwrap();
        let servers =
            vec![Server { addresses: vec![address.into()], peer: None, probe: None, notes: Vec::new() }];
        let target = Target { servers, model: "lowrho-sim".into(), workload };
        Arc::new(Orders { shards: 2, ..orders(&plan, &target) })
    }

    /// What a shard gives its second's statistics to; the second shard's is one that never returns while `gate` is shut.
    fn sinks(gate: Receiver<()>) -> impl FnMut(u16) -> Sinks {
        move |shard| {
            let (hangs, gate) = (shard == 1, gate.clone());
            let intervals = move |_, _| {
                if hangs {
                    let _ = gate.recv();
                }
            };
            Sinks {
                rows: Box::new(|_| ()),
                intervals: Box::new(intervals),
                traffic: Box::new(|_| Traffic::default()),
            }
        }
    }

    /// What is left of two shards of which the second stops beating after a second, until `gate` is opened; nobody waits for
    /// it for longer than `stuck_after`.
    fn left(gate: Receiver<()>, stuck_after: Span) -> [Left; 2] {
        let sim = Sim::start(&SimConfig::default()).unwrap();
        let orders = two_shards(sim.address());
        let interrupts = Interrupts::default();
        let cpu = crate::host::read().cpus[0];
        let client = Client { cpus: vec![cpu, cpu], ..Client::default() };
        let mut fleet = Fleet::start(orders, &client, sinks(gate), &interrupts).unwrap();
        fleet.stuck_after = stuck_after;
        let start = fleet.begin();
        let gauges = fleet.gauges().to_vec();
        let progress = Progress::start(gauges, start, None, Show::Quiet, std::io::sink()).unwrap();
        let (left, _) = fleet.conduct(start, &interrupts, &progress, &|_, _| false);
        drop(progress);
        drop(sim.join());
        left.try_into().unwrap_or_else(|_| panic!("two shards were started"))
    }

    fn completed(left: &Left) -> u64 {
        let measured = left.outcome.as_ref().and_then(|outcome| outcome.measured.as_ref());
        measured.unwrap().recorders[0].stages()[0].population.completed
    }

    #[test]
    fn a_shard_that_stops_beating_is_given_up_and_the_other_reports() {
        let (open, gate): (Sender<()>, Receiver<()>) = bounded(0);
        let [well, stuck] = left(gate, Span::from_s(1));
        drop(open);
        assert!(completed(&well) > 0 && well.stuck.is_none() && well.silences.turns == 0);
        assert!(stuck.outcome.is_none());
        let silent = stuck.stuck.unwrap();
        // Neither the time for unmeasured requests nor that for cancelling them was waited for on top.
        assert!((Span::from_s(1)..Span::from_s(2)).contains(&silent), "{silent:?}");
    }

    #[test]
    fn a_shard_that_beats_again_reports_too_and_its_silence_is_remembered() {
        let (open, gate): (Sender<()>, Receiver<()>) = bounded(0);
        let opener = std::thread::spawn(move || {
            clock::sleep(Span::from_s(4));
            drop(open);
        });
        let [well, late] = left(gate, STUCK);
        opener.join().unwrap();
        assert!(completed(&well) > 0 && completed(&late) > 0);
        assert!(late.stuck.is_none() && well.silences.turns == 0);
        let LostTurns { turns, lost, longest } = late.silences;
        assert!(turns == 1 && lost == longest && lost >= NOTICED, "{:?}", late.silences);
    }
}
