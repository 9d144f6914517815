//! The options of our own side to shards and connections, and whether this machine can carry them; pins and opens nothing.

use super::cost::{Cost, CostSource, Demand};
use super::raw::Raw;
use super::reading::{Given, Reading, option};
use super::ways::Ways;
use super::{
    Engine, Limits, Load, Payload, SimPlan, Target, Waiting, cpus, engine, expected, format_cpus, pool,
    sources, waiting,
};
use crate::time::StampClass;
use core::net::IpAddr;

/// Our own side: shards and connections.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Client {
    /// The CPU of each shard; its length is the number of shards.
    pub cpus: Vec<usize>,
    /// The most connections open at once, over all shards.
    pub connections: usize,
    /// Whether connections for the expected concurrency are opened before the first due instant.
    pub preconnect: bool,
    /// How the shards wait for what arrives.
    pub waiting: Waiting,
    /// By which system calls they drive their sockets.
    pub engine: Engine,
    /// Whether that engine was asked for by name.
    pub engine_by_name: bool,
    /// Who stamps what arrives.
    pub stamps: StampClass,
    /// Requests per second at the load's peak, as far as they can be told before the run.
    pub expected_requests_per_s: f64,
    /// Whether the network card may be told to stamp, where it does not.
    pub enable_stamps: bool,
    /// Whether requests share connections; else each has its own.
    pub reuse: bool,
    /// Addresses to connect from, in turn; none = the kernel's choice.
    pub sources: Vec<IpAddr>,
    /// Whether what arrives is acknowledged at once.
    pub quick_ack: bool,
    /// Streamed events per second at the load's peak, as far as they can be told before the run.
    pub expected_events_per_s: f64,
    /// What they are expected to cost.
    pub cost: Cost,
    /// The utilization of each shard that follows.
    pub expected_rho: f64,
}

/// Who may stamp what arrives.
const STAMPS: [(&str, StampClass); 3] =
    [("software", StampClass::Software), ("hardware", StampClass::Hardware), ("user", StampClass::User)];
const REUSES: [(&str, bool); 2] = [("reuse", true), ("new", false)];

/// Reads section `[client]`, the load being known, and adds what had to be given up.
pub(super) fn read(
    r: &mut Reading,
    raw: &Raw,
    limits: &Limits,
    target: &Target,
    load: &Load,
    payload: &Payload,
    sim: Option<&SimPlan>,
) -> (Client, Vec<String>) {
    let mut caveats = Vec::new();
    let cores = cores(r, raw, limits, sim, &mut caveats);
    let itl = sim.map(SimPlan::expected_itl);
    let demand = expected::demand(load, payload, itl);
    let wish = engine::wish(r, option!(raw.client.engine));
    let cost = limits.cost.clone().of(match wish {
        None if engine::is_refused(limits) => Engine::Epoll,
        wish => wish.unwrap_or_default(),
    });
    if let CostSource::Refused(why) = &cost.source {
        caveats.push(format!("the capacity card is not used: {why}; lowrho floor makes a new one"));
    }
    let given = option!(raw.client.source_ip);
    let sources = r.parsed(given, sources::ACCEPTED, sources::read).unwrap_or_default();
    let reuse = r.word(option!(raw.client.connections_per_request), &REUSES).unwrap_or(true);
    let ways = Ways::to(target, &sources, sim);
    let connections = pool::read(r, raw, limits, &ways, load, payload, sim);
    // A shard that may hold no connection, or no request, could never send what is due on it.
    let flag = if load.slots().is_some() { "--concurrency" } else { "--max-concurrency" };
    let shares = load.most_in_flight().map(|most| (most, flag));
    let shares = shares.filter(|(most, _)| *most <= connections).unwrap_or((connections, "--connections"));
    let most = cores.len().min(shares.0).max(1);
    let shards = match option!(raw.client.shards) {
        given if given.value.is_some_and(|text| text.as_str() == "auto") => {
            expected::shards(demand, &cost, most)
        }
        given => explicit_shards(r, given, most, &cores, shares, sim),
    };
    let cpus: Vec<usize> = cores.into_iter().take(shards).collect();
    let threads = cpus.len() + sim.map_or(0, |sim| sim.cpus.len());
    if let Some(quota) = limits.cpu_quota.filter(|quota| *quota < expected::whole_f64(threads)) {
        caveats.push(format!(
            "a control group allows {quota:.2} CPUs' worth of time to {threads} pinned threads: they are stopped when it \
             is used up; raise the quota (docker run --cpus, cpu.max) or take fewer shards"
        ));
    }
    let expected_rho = expected::rho(demand, &cost, shards);
    if expected_rho > 0.5 {
        caveats.push(format!(
            "the expected rho of a shard is {expected_rho:.2} at {}: above 0.5 the client's own queueing \
             shows; give it more cores (--cpus) or a lower rate",
            cost
        ));
    }
    let of_sim = sim.filter(|sim| sim.engine != Some(Engine::Epoll)).map_or(0, |sim| sim.cpus.len());
    let obstacles = engine::obstacles(limits, cpus.len(), of_sim);
    let (engine, caveat) = engine::choose(r, wish, &obstacles, "--engine");
    caveats.extend(caveat);
    if !reuse {
        caveats.extend(ways.exhausted_by(load, limits.source_ports));
    }
    let waiting = waiting::read(r, raw);
    let stamps = r.word(option!(raw.client.stamps), &STAMPS).unwrap_or_default();
    let enable_stamps = raw.client.enable_hw_stamps == Some(true);
    if enable_stamps && stamps != StampClass::Hardware {
        r.note(
            option!(@place client.enable_hw_stamps),
            Some("true".into()),
            "with --stamps hardware",
            "leave it out, or ask for the card's stamps",
        );
    }
    let Demand { requests_per_s, events_per_s } = demand;
    let client = Client {
        cpus,
        connections,
        preconnect: raw.client.no_preconnect != Some(true) && reuse,
        reuse,
        sources,
        waiting,
        engine,
        engine_by_name: wish.is_some(),
        stamps,
        enable_stamps,
        quick_ack: raw.client.quickack == Some(true),
        expected_requests_per_s: requests_per_s,
        expected_events_per_s: events_per_s,
        cost,
        expected_rho,
    };
    (client, caveats)
}

/// The CPUs that shards may have, the simulator's left out where there are others.
fn cores(
    r: &mut Reading,
    raw: &Raw,
    limits: &Limits,
    sim: Option<&SimPlan>,
    caveats: &mut Vec<String>,
) -> Vec<usize> {
    let given = option!(raw.client.cpus);
    let allowed =
        if given.value.is_some() { cpus::read(r, given, &limits.cpus) } else { limits.cpus.clone() };
    let Some(sim) = sim else { return allowed };
    let free: Vec<usize> = allowed.iter().copied().filter(|cpu| !sim.cpus.contains(cpu)).collect();
    if !free.is_empty() {
        return free;
    }
    caveats.push(format!(
        "client and simulator share CPU {}: each waits for the other, and latencies contain it",
        format_cpus(&allowed)
    ));
    allowed
}

/// `shares`: what is split over the shards, of which each needs one, and by which option.
fn explicit_shards(
    r: &mut Reading,
    given: Given<'_>,
    most: usize,
    cores: &[usize],
    shares: (usize, &str),
    sim: Option<&SimPlan>,
) -> usize {
    let shards = given.value.and_then(|text| text.as_str().parse::<usize>().ok());
    shards.filter(|shards| (1..=most).contains(shards)).unwrap_or_else(|| {
        let remedy = match cores.len() {
            n if n > most => format!("a shard needs at least one of the {} of {}", shares.0, shares.1),
            _ => {
                let taken =
                    sim.map(|sim| &sim.cpus).filter(|taken| taken.iter().all(|cpu| !cores.contains(cpu)));
                let taken = taken.map_or(String::new(), |taken| {
                    format!(": the simulator has {} (--sim-cpus)", format_cpus(taken))
                });
                format!("a shard has a CPU of its own, and the shards' are {}{taken}", format_cpus(cores))
            }
        };
        r.refuse(given, format!("auto, or a whole number from 1 to {most}"), remedy);
        1
    })
}
