//! The options of our own side to shards and connections, and whether this machine can carry them; pins and opens nothing.

use super::cost::{Cost, CostSource, Demand};
use super::raw::Raw;
use super::reading::{Given, Place, Reading, option};
use super::ways::Ways;
use super::{
    Limits, Load, Payload, SimPlan, Target, Waiting, cpus, expected, format_cpus, pool, sources, waiting,
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
    machine(r, limits);
    let cores = cores(r, raw, limits, sim, &mut caveats);
    let itl = sim.map(SimPlan::expected_itl);
    let demand = expected::demand(load, payload, itl);
    if let CostSource::Refused(why) = &limits.cost.source {
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
            expected::shards(demand, &limits.cost, most)
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
    let expected_rho = expected::rho(demand, &limits.cost, shards);
    if expected_rho > 0.5 {
        caveats.push(format!(
            "the expected rho of a shard is {expected_rho:.2} at {}: above 0.5 the client's own queueing \
             shows; give it more cores (--cpus) or a lower rate",
            limits.cost
        ));
    }
    memlock(r, limits, cpus.len(), sim);
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
        stamps,
        enable_stamps,
        quick_ack: raw.client.quickack == Some(true),
        expected_requests_per_s: requests_per_s,
        expected_events_per_s: events_per_s,
        cost: limits.cost.clone(),
        expected_rho,
    };
    (client, caveats)
}

/// What no option can change.
pub(super) fn machine(r: &mut Reading, limits: &Limits) {
    /// Deferred task running and multishot receive with control messages came with it.
    const OLDEST: (u32, u32) = (6, 1);
    if let Some((major, minor)) = limits.kernel.filter(|version| *version < OLDEST) {
        let version = format!("{major}.{minor}");
        r.note(
            Place::Whole("this machine's kernel"),
            Some(version),
            "Linux 6.1 or later",
            "run on a host with a newer kernel",
        );
    }
    if let Some(why) = &limits.io_uring_forbidden {
        r.note(
            Place::Whole("io_uring"),
            Some(why.clone()),
            "a kernel and container that allow io_uring",
            "sysctl kernel.io_uring_disabled=0; in a container a seccomp profile that allows io_uring_setup, \
             io_uring_enter and io_uring_register (docker run --security-opt seccomp=...)",
        );
    }
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

/// Locked memory of one shard: its socket ring and the executor's rings. Measured as an unprivileged user on Linux 6.18:
/// 6 shards start within 1,185 KiB, 16 within 3,592, 32 within 7,756, so at most 243 KiB each.
pub const SHARD_LOCKED_BYTES: u64 = 256 * 1024;

/// glommio refuses to start below this limit, whatever it needs.
const LEAST_LOCKED_BYTES: u64 = 512 * 1024;

/// Whether the rings of so many shards of ours, and of those of a simulator in this process, may be locked.
pub(super) fn memlock(r: &mut Reading, limits: &Limits, shards: usize, sim: Option<&SimPlan>) {
    let of_sim = sim.map_or(0, |sim| sim.cpus.len());
    let needed = u64::try_from(shards + of_sim).expect("few shards") * SHARD_LOCKED_BYTES;
    let needed = needed.max(LEAST_LOCKED_BYTES);
    let Some(allowed) = limits.memlock_bytes.filter(|allowed| *allowed < needed) else { return };
    let counted = |n: usize, whose: &str| match n {
        0 => None,
        1 => Some(format!("1 shard of {whose}")),
        n => Some(format!("{n} shards of {whose}")),
    };
    let whose = [counted(shards, "the client"), counted(of_sim, "the simulator")];
    let whose: Vec<String> = whose.into_iter().flatten().collect();
    let fewer = match (shards, of_sim) {
        (0 | 1, 0 | 1) => String::new(),
        (0, _) => ", or take fewer CPUs (--cpus)".into(),
        _ => ", or take fewer shards (--shards, --sim-cpus)".into(),
    };
    r.note(
        Place::Whole("locked memory (ulimit -l)"),
        Some(format!("{} KiB", allowed / 1024)),
        format!("at least {} KiB for {}", needed / 1024, whose.join(" and ")),
        format!(
            "raise it (ulimit -l unlimited, LimitMEMLOCK=infinity, docker run --ulimit memlock=-1){fewer}"
        ),
    );
}
