//! The shards of one run: started together, told when to send and when to stop, and joined, whatever becomes of them.
//!
//! It must not look at what they measured.

use super::left::{Left, Missing};
use super::pulse::{Change, Pulse, SILENT_AFTER};
use super::{Interrupts, RunError};
use crate::clock;
use crate::plan::Client;
use crate::record::ShardGauge;
use crate::ring::CoreError;
use crate::schedule::{Extent, Window};
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
    let second = Span::from_s(1).as_ns();
    Span::from_s((span.as_ns() + second / 2) / second)
}

/// How far ahead a cut is set: shards look for orders at least every 10 ms.
pub const CUT_LEAD: Span = Span::from_ms(20);

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

    /// Why a shard that should get ready is not waited for any longer.
    fn kept_off(&mut self) -> Option<RunError> {
        self.feel(false);
        (!self.standing.is_ready() && self.is_over(STUCK)).then(|| {
            let Self { number, cpu, .. } = self;
            RunError::Own(format!(
                "shard {number} has shown no sign of life for {} and was never ready: see what keeps its thread from cpu {cpu} (a \
                 real-time process, a debugger, a frozen cgroup), or give it another (--cpus)",
                format_span(STUCK)
            ))
        })
    }

    /// Whether something is measured for which it is needed: in a window, and after the last one while it has measured
    /// requests left.
    fn is_needed(&self, windows: &[Window]) -> bool {
        let now = clock::now();
        let is_last = |window: &Window| windows.last() == Some(window);
        let is_within =
            |window: &Window| now >= window.measured_from && (now < window.measured_until || is_last(window));
        windows.iter().any(is_within) && !self.standing.is_measured_over()
    }

    /// Looks for a sign of life.
    fn feel(&mut self, counts: bool) -> Option<Change> {
        if self.is_gone() { None } else { self.pulse.feel(self.gauge.beats(), clock::now(), counts) }
    }

    /// Whether it has ended, or has been silent for `borne`: then nobody waits for it.
    fn is_over(&self, borne: Span) -> bool {
        self.is_gone() || self.pulse.silent() >= borne
    }
}

/// What a run looks at while it waits for its shards, and where it says what it sees.
#[derive(Copy, Clone)]
struct Watch<'a> {
    interrupts: &'a Interrupts,
    progress: &'a Progress,
    /// What comes before, between and after them is measured nowhere.
    windows: &'a [Window],
}

/// All shards of a run.
pub struct Fleet {
    orders: Arc<Orders>,
    members: Vec<Member>,
    gauges: Vec<Arc<ShardGauge>>,
    stuck_after: Span,
    /// When the shards were told to cancel what they had in flight, once they were.
    abandoned: Option<Instant>,
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
        let mut fleet =
            Self { orders, members: Vec::new(), gauges: Vec::new(), stuck_after: STUCK, abandoned: None };
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
            if let Some(kept_off) = fleet.members.iter_mut().find_map(Member::kept_off) {
                return fleet.or_end(Err(kept_off));
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
        let schedule = self.orders.schedule.starting_at(start);
        let watch = Watch { interrupts, progress, windows: schedule.timetable().windows() };
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
                self.orders.control.cut_at(clock::now() + CUT_LEAD);
                // Interrupted once: what is in flight may end; twice: it may not.
                self.drain(limit, watch, || interrupts.count() >= 2);
                break;
            }
            let now = clock::now();
            let missed = self.gauges.iter().map(|gauge| gauge.read().missed).sum();
            if now > start && cut(now - start, missed) {
                was_cut = true;
                self.orders.control.cut_at(now + CUT_LEAD);
                break;
            }
            self.feel(watch);
            let is_done =
                |member: &Member| member.is_over(self.stuck_after) || member.standing.is_measured_over();
            if now >= window_end && self.members.iter().all(is_done) {
                self.drain(GRACE, watch, || interrupts.count() > 0);
                break;
            }
        }
        self.orders.control.give(Order::Abandon);
        let now = clock::now();
        self.abandoned = Some(now);
        self.wait_until(now + self.stuck_after, watch, || false);
        (self.members.iter_mut().map(join).collect(), was_cut)
    }

    fn drain(&mut self, limit: Span, watch: Watch<'_>, stop: impl FnMut() -> bool) {
        self.orders.control.give(Order::Drain);
        self.wait_until(clock::now() + limit, watch, stop);
    }

    fn wait_until(&mut self, until: Instant, watch: Watch<'_>, mut stop: impl FnMut() -> bool) {
        while clock::now() < until && !stop() {
            let borne = self.borne(watch.interrupts);
            if self.members.iter().all(|member| member.is_over(borne)) {
                break;
            }
            clock::sleep(LOOK);
            self.feel(watch);
        }
    }

    /// How long a silence is borne. Who is in haste waits for no shard that was silent when it was told to cancel; to cancel
    /// very many requests can take one that is not silent a while without a beat.
    fn borne(&self, interrupts: &Interrupts) -> Span {
        let is_in_haste = interrupts.count() >= 2 || interrupts.is_terminated();
        let since = self.abandoned.map_or(Span::ZERO, |abandoned| clock::now() - abandoned);
        if is_in_haste { (SILENT_AFTER + since).min(self.stuck_after) } else { self.stuck_after }
    }

    /// Looks at every shard for a sign of life, and says when one has none, and when it has one again.
    fn feel(&mut self, watch: Watch<'_>) {
        let Watch { progress, windows, .. } = watch;
        for member in &mut self.members {
            // What is cancelled is measured no more.
            let counts = self.abandoned.is_none() && member.is_needed(windows);
            let Some(change) = member.feel(counts) else { continue };
            let Member { number, cpu, .. } = member;
            progress.say(match change {
                Change::FellSilent => format!(
                    "shard {number} on cpu {cpu} has not beaten for {}: the others go on, and from {} on nobody waits for it",
                    format_span(SILENT_AFTER),
                    format_span(self.stuck_after)
                ),
                Change::BeatsAgain(silent) => {
                    format!("shard {number} on cpu {cpu} beats again, after {}", format_span(in_seconds(silent)))
                }
            });
        }
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
    let (number, cpu, silent) = (member.number, member.cpu, member.pulse.silent());
    let outcome = match member.handle.take_if(|handle| handle.is_finished()).map(JoinHandle::join) {
        Some(Ok(Ok(outcome))) => Ok(outcome),
        Some(Ok(Err(error))) => Err(Missing::Ended(error.to_string())),
        Some(Err(_)) => Err(Missing::Ended("it panicked where nothing could be kept".into())),
        None if silent >= SILENT_AFTER => Err(Missing::Silent(silent)),
        None => Err(Missing::Busy),
    };
    Left { number, cpu, outcome, missed_beats: member.pulse.missed() }
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
    use crate::analysis::MissedBeats;
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
        let outcome = left.outcome.as_ref().unwrap_or_else(|missing| panic!("{missing}"));
        outcome.measured.as_ref().unwrap().recorders[0].stages()[0].population.completed
    }

    #[test]
    fn a_shard_that_stops_beating_is_given_up_and_the_other_reports() {
        let (open, gate): (Sender<()>, Receiver<()>) = bounded(0);
        let [well, stuck] = left(gate, Span::from_s(1));
        drop(open);
        assert!(completed(&well) > 0 && well.missed_beats.times == 0);
        let Err(Missing::Silent(silent)) = stuck.outcome else { panic!("it left something") };
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
        assert_eq!(well.missed_beats.times, 0);
        let MissedBeats { times, total, longest } = late.missed_beats;
        assert!(times == 1 && total == longest && total >= SILENT_AFTER, "{:?}", late.missed_beats);
    }
}
