//! The story of a run: look at the target, start the shards, let them send, join them, analyse, write, report.
//!
//! It decides no number: it carries facts from where they are made to where they are judged.

mod address;
mod card;
mod certificates;
mod channel;
mod conclusion;
mod error;
mod examination;
mod exchange;
mod fleet;
mod floor;
mod histograms;
mod imagination;
mod interrupt;
mod left;
mod off_core;
mod probe;
mod pulse;
mod simulator;
mod surroundings;
mod sweep;
mod target;

pub use certificates::check as check_certificates;
pub use conclusion::Done;
pub use error::RunError;
pub use examination::{examine, ring_refused};
pub use floor::floor;
pub use interrupt::{Interrupts, outlive_file_limits};
pub use simulator::{Running, serve};
pub use sweep::{Swept, outcome, sweep};

use crate::clock;
use crate::host::{Facts, Route};
use crate::plan::{Output, Plan};
use crate::report;
use crate::schedule::Extent;
use crate::shard::{Control, Orders, RowSink, Sinks, windows};
use crate::sim::SimHandle;
use crate::store::{Results, RowQueue};
use crate::time::Span;
use crate::watch::{Progress, Show};
use conclusion::{Gatherers, Story};
use fleet::Fleet;
use histograms::Intervals;
use imagination::Traffics;
use simulator::Known;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use surroundings::Surroundings;
use target::Target;

/// Connections that are opened ahead at most where no probe told how long an answer takes.
const BLIND_PRECONNECT: usize = 256;

/// How progress is shown, and where.
pub struct Screen<W> {
    /// How.
    pub show: Show,
    /// Where.
    pub out: W,
}

/// Makes one run of `plan` on `host`, of which `facts` were read before any thread was pinned. `prompts` is the text of the plan's file of prompts, if it has one.
///
/// # Errors
/// Nothing was measured: the target cannot be driven, or we cannot drive it.
pub fn run(
    plan: &Plan,
    prompts: Option<&str>,
    host: &report::Host,
    facts: &Facts,
    interrupts: &Interrupts,
    screen: Screen<impl Write + Send + 'static>,
) -> Result<Done, RunError> {
    let Prepared { mut plan, sim, known } = prepare(plan)?;
    let id = name(clock::unix_ns());
    let target = Target::look(&plan, prompts, known.as_ref(), &id, interrupts)?;
    plan.caveats.extend(examination::preflight(facts, &plan, target.first_tcp()));
    let results = directory(&plan.output, &target.model)?;
    let scene = Scene { plan: &plan, id, target: &target, host, results: &results };
    measure(scene, sim, interrupts, screen, &|_, _| false)
}

/// A plan that can be carried out, the simulator that it needs, and where that one listens.
struct Prepared {
    plan: Plan,
    sim: Option<SimHandle>,
    known: Option<Known>,
}

/// Keeps off the shards' cores and starts the simulator, if the plan has one: then it is the plan's only server, and its
/// addresses are given.
fn prepare(plan: &Plan) -> Result<Prepared, RunError> {
    let sim_cpus = plan.sim.iter().flat_map(|sim| sim.cpus.iter().copied());
    off_core::stay_off(plan.client.cpus.iter().copied().chain(sim_cpus));
    let running = simulator::start(plan.sim.as_ref())?;
    let mut plan = plan.clone();
    let Some(Running { sim, certificate }) = running else {
        return Ok(Prepared { plan, sim: None, known: None });
    };
    let known = Known { addresses: simulator::aim_at(&sim, &mut plan), certificate };
    Ok(Prepared { plan, sim: Some(sim), known: Some(known) })
}

/// What one measurement is made of: a plan, what is known of its target, and where its results go.
struct Scene<'a> {
    plan: &'a Plan,
    id: String,
    target: &'a Target,
    host: &'a report::Host,
    results: &'a Results,
}

/// Measures: from the shards' start to the summary. `sim` ends with it. See [`Fleet::conduct`] for `cut`.
fn measure(
    scene: Scene<'_>,
    sim: Option<SimHandle>,
    interrupts: &Interrupts,
    screen: Screen<impl Write + Send + 'static>,
    cut: &dyn Fn(Span, u64) -> bool,
) -> Result<Done, RunError> {
    let Scene { plan, id, target, host, results } = scene;
    // The way to a Unix socket never leaves this host either.
    let route = Route::to(target.first_tcp().unwrap_or((Ipv4Addr::LOCALHOST, 0).into()));
    // Until the shards have ended: dropped, it leaves the card as it was.
    let stamping = card::stamping(plan, &route, target.tcp().map(Route::to))?;
    results.write_config(&plan.effective_toml()).map_err(RunError::of_store)?;
    results.keep_space().map_err(RunError::of_store)?;
    let card = stamping.as_ref().map(|stamping| stamping.clock.clone());
    let orders = Arc::new(Orders { card, ..orders(plan, target) });
    let (rows, intervals) = (RowQueue::new(plan.output.records), Intervals::new());
    let traffics = Traffics::new(plan.client.cpus.len());
    let sinks = |shard| Sinks {
        rows: row_sink(&rows),
        intervals: intervals.sink(shard),
        traffic: traffics.sink(shard),
    };
    let fleet = Fleet::start(orders.clone(), &plan.client, sinks, interrupts)?;

    let start = fleet.begin();
    let start_unix_ns = unix_ns_at(start);
    let writer = fleet.or_end(results.start_records(rows, start).map_err(RunError::of_store))?;
    let log = fleet.or_end(results.start_histograms(start_unix_ns).map_err(RunError::of_store))?;
    let histograms = intervals.collect(log, plan.client.cpus.len());
    let no_thread = |error: std::io::Error| RunError::Own(format!("no thread is to be had: {error}"));
    let histograms = fleet.or_end(histograms.map_err(no_thread))?;
    let imagination = fleet.or_end(traffics.imagine(&orders.schedule, start).map_err(no_thread))?;
    let Screen { show, out } = screen;
    let progress = Progress::start(fleet.gauges().to_vec(), start, planned(&orders), show, out);
    let progress = fleet.or_end(progress.map_err(no_thread))?;
    let (_, in_flight) = plan.load.expected_in_flight(target.expected_e2e(plan).unwrap_or_default());
    if in_flight > orders.connections {
        progress.say(format!(
            "about {in_flight} requests will be in flight, and {} connections are allowed: requests will wait for the pool \
             (--connections, ulimit -n)",
            orders.connections
        ));
    }
    let watched = windows(&orders.schedule.starting_at(start));
    let surroundings = Surroundings::watch(plan.client.cpus.clone(), route, watched);
    let surroundings = fleet.or_end(surroundings.map_err(no_thread))?;
    let (left, was_cut) = fleet.conduct(start, interrupts, &progress, cut);
    drop(stamping);
    progress.finish();
    let seen = surroundings.end();

    let ended = clock::now();
    // Once the window is over nothing is cut short.
    let was_cut = was_cut && planned(&orders).is_none_or(|planned| ended < start + planned);
    let story = Story { plan, host, id, target, was_cut, orders: &orders, start, start_unix_ns, ended, seen };
    Ok(story.conclude(left, Gatherers { histograms, writer, imagination }, sim, interrupts, results))
}

/// The run's name: its second since 1970 and what is left of its nanoseconds, short and in order.
fn name(unix_ns: u64) -> String {
    format!("{:x}-{:04x}", unix_ns / 1_000_000_000, (unix_ns % 1_000_000_000) >> 14)
}

/// The unix time of an instant.
fn unix_ns_at(instant: crate::time::Instant) -> u64 {
    let from_now = instant - clock::now();
    clock::unix_ns().saturating_add_signed(from_now.as_ns())
}

fn directory(output: &Output, model: &str) -> Result<Results, RunError> {
    let of_nth = |dir: &Path, nth: u32| Results::create(&dir.join(nth.to_string()));
    let default = || Results::create_default(Path::new("."), clock::unix_ns(), model);
    let results = match (output.dir.as_deref().map(Path::new), output.nth) {
        (Some(dir), Some(nth)) => of_nth(dir, nth),
        (Some(dir), None) => Results::create(dir),
        (None, Some(nth)) => default().and_then(|of_all| of_nth(of_all.dir(), nth)),
        (None, None) => default(),
    };
    results.map_err(RunError::of_store)
}

fn orders(plan: &Plan, target: &Target) -> Orders {
    let client = &plan.client;
    let e2e = target.expected_e2e(plan);
    let (_, in_flight) = plan.load.expected_in_flight(e2e.unwrap_or(crate::plan::GUESSED_E2E));
    // Of a server that was not looked at a guess would open thousands.
    let to_preconnect = if e2e.is_some() { in_flight } else { in_flight.min(BLIND_PRECONNECT) };
    let schedule = plan.schedule();
    Orders {
        windows: windows(&schedule),
        schedule,
        workload: target.workload.clone(),
        targets: target.ways(plan),
        peers: target.servers.iter().map(|server| server.peer.clone()).collect(),
        reuse: client.reuse,
        quick_ack: client.quick_ack,
        api: plan.target.api,
        choices: u16::try_from(target.workload.choices()).unwrap_or(u16::MAX),
        timeouts: plan.target.timeouts,
        retry: plan.target.retry,
        shards: u16::try_from(client.cpus.len()).expect("a plan has fewer shards than that"),
        connections: client.connections,
        max_in_flight: plan.load.max_concurrency.and_then(|most| usize::try_from(most).ok()),
        preconnect: if client.preconnect { to_preconnect.min(client.connections) } else { 0 },
        bounds: plan.slo.bounds(),
        stamps: client.stamps,
        card: None,
        record_gaps: plan.output.record_gaps,
        control: Control::default(),
    }
}

fn row_sink(rows: &RowQueue) -> RowSink {
    let sender = rows.sender();
    Box::new(move |record| sender.send(record))
}

/// How long the load is to last, where the plan tells.
fn planned(orders: &Orders) -> Option<Span> {
    let schedule = &orders.schedule;
    let timed = schedule.stages().iter().all(|stage| matches!(stage.extent, Extent::Duration(_)));
    let last = schedule.timetable().windows().last()?;
    timed.then(|| last.measured_until - schedule.start())
}
