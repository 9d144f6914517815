//! The size of the pool of connections, within files, source ports and the load; opens nothing.

use super::raw::{Raw, Text};
use super::reading::{Given, Place, Reading, option};
use super::ways::Ways;
use super::{Limits, Load, Payload, SimPlan};
use crate::time::format_span;

/// Files a run needs beside its connections: standard streams, results, rings, executors, timers, a probe.
const OTHER_FILES: u64 = 64;

/// The most connections this machine carries to the servers, what bounds them, and what would raise it.
struct Bound {
    most: usize,
    by: String,
    remedy: &'static str,
}

fn bound(limits: &Limits, ways: &Ways, sim: Option<&SimPlan>) -> Bound {
    // Both ends of a connection to the embedded simulator are files of this process.
    let ends = if sim.is_some() { 2 } else { 1 };
    let by_files = limits.files.saturating_sub(OTHER_FILES) / ends;
    let by_ports = ways.most(limits.source_ports).unwrap_or(u64::MAX);
    let most = usize::try_from(by_files.min(by_ports)).unwrap_or(usize::MAX);
    if by_files <= by_ports {
        let both_ends = if sim.is_some() { ", the simulator's end being one too" } else { "" };
        Bound {
            most,
            by: format!("{most} connections in {} open files{both_ends}", limits.files),
            remedy: "raise the limit of open files (ulimit -n, LimitNOFILE)",
        }
    } else {
        Bound {
            most,
            by: format!("{most} connections by {}", ways.words(limits.source_ports)),
            remedy: "connect from several addresses (--source-ip 127.0.0.2-127.0.0.9), or widen the range of ports \
                     (sysctl net.ipv4.ip_local_port_range='1024 65535')",
        }
    }
}

/// Reads `--connections`, and refuses a load that cannot have the connections it needs.
pub(super) fn read(
    r: &mut Reading,
    raw: &Raw,
    limits: &Limits,
    ways: &Ways,
    load: &Load,
    payload: &Payload,
    sim: Option<&SimPlan>,
) -> usize {
    let bound = bound(limits, ways, sim);
    let cap = load.slots().or(load.max_concurrency.and_then(|cap| usize::try_from(cap).ok()));
    if cap.is_some_and(|cap| cap > bound.most) {
        r.refuse(most_in_flight(raw, load), format!("at most {}", bound.by), bound.remedy);
        return bound.most;
    }
    let given = option!(raw.client.connections);
    if given.value.is_some_and(|text| text.as_str() == "auto") {
        let pool = cap.unwrap_or(bound.most);
        open_loop_fits(r, raw, load, payload, sim, &bound);
        return pool;
    }
    let pool = r.count(given, 1..=10_000_000_usize).unwrap_or(1);
    if pool > bound.most {
        r.refuse(given, format!("at most {}", bound.by), bound.remedy);
    }
    if let Some(slots) = load.slots().filter(|slots| pool < *slots) {
        r.refuse(given, format!("at least the {slots} of the closed loop"), "every slot needs a connection");
    }
    pool
}

/// The option that says how many requests may be in flight: of stages, the first that asks for the most.
fn most_in_flight<'a>(raw: &'a Raw, load: &Load) -> Given<'a> {
    let most = load.slots().map(|slots| slots.to_string());
    let says = |text: &Option<Text>| text.as_ref().map(|text| &text.0) == most.as_ref();
    let stages = raw.stage.iter().zip(1..).filter(|_| most.is_some());
    for (stage, n) in stages {
        for (name, value) in
            [("concurrency", &stage.concurrency), ("concurrency_end", &stage.concurrency_end)]
        {
            if says(value) {
                return Given { place: Place::Stage(n, name), value: value.as_ref() };
            }
        }
    }
    if most.is_some() { option!(raw.load.concurrency) } else { option!(raw.load.max_concurrency) }
}

/// Whether an open loop without a cap fits, where the time a request takes is known: that of the simulator.
fn open_loop_fits(
    r: &mut Reading,
    raw: &Raw,
    load: &Load,
    payload: &Payload,
    sim: Option<&SimPlan>,
    bound: &Bound,
) {
    let Some(sim) = sim.filter(|_| load.max_concurrency.is_none() && load.slots().is_none()) else { return };
    let e2e = sim.expected_e2e(payload.mean_input_tokens().unwrap_or(0.0), payload.mean_output_tokens());
    let (mean, high) = load.expected_in_flight(e2e);
    if high > bound.most {
        let needed = format!("this rate at {} a request keeps {mean:.0} in flight", format_span(e2e));
        let given = option!(raw.load.rate);
        r.refuse(
            given,
            format!("what fits into {}", bound.by),
            format!("{needed}: lower it, or {}", bound.remedy),
        );
    }
}
