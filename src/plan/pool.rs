//! The size of the pool of connections, within files, source ports and the load; opens nothing.

use super::raw::{Raw, Text};
use super::reading::{Given, Place, Reading, option};
use super::ways::Ways;
use super::{Limits, Load, Payload, SimPlan};
use crate::time::{Span, format_span};

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
    let cap = load.most_in_flight();
    if cap.is_some_and(|cap| cap > bound.most) {
        r.refuse(most_in_flight(raw, load), format!("at most {}", bound.by), bound.remedy);
        return bound.most;
    }
    let given = option!(raw.client.connections);
    if given.value.is_some_and(|text| text.as_str() == "auto") {
        if cap.is_none() {
            open_loop_fits(r, raw, load, payload, sim, &bound);
        }
        return cap.unwrap_or(bound.most);
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
    let Some(slots) = load.slots() else { return option!(raw.load.max_concurrency) };
    let most = slots.to_string();
    let says = |text: &&Option<Text>| text.as_ref().is_some_and(|text| text.0 == most);
    let of_stages = raw.stage.iter().zip(1..).find_map(|(stage, n)| {
        let keys = [("concurrency", &stage.concurrency), ("concurrency_end", &stage.concurrency_end)];
        let (name, value) = keys.into_iter().find(|(_, value)| says(value))?;
        Some(Given { place: Place::Stage(n, name), value: value.as_ref() })
    });
    of_stages.unwrap_or(option!(raw.load.concurrency))
}

/// The option that sets the highest rate: of stages, the first that asks for it.
fn highest_rate<'a>(raw: &'a Raw, load: &Load) -> Given<'a> {
    let rate = |text: &Option<Text>| text.as_ref().and_then(|text| text.as_str().parse::<f64>().ok());
    let of_stages = raw.stage.iter().zip(1..).find_map(|(stage, n)| {
        let keys = [("rate", &stage.rate), ("rate_end", &stage.rate_end)];
        let (name, value) = keys.into_iter().find(|(_, value)| rate(value) == load.peak_rate_per_s())?;
        Some(Given { place: Place::Stage(n, name), value: value.as_ref() })
    });
    of_stages.unwrap_or(option!(raw.load.rate))
}

/// Whether an open loop without a cap has the connections that it needs: with the simulator, whose answers take a time
/// that is known, by Little's law; with another server at least those that a fast one would need.
fn open_loop_fits(
    r: &mut Reading,
    raw: &Raw,
    load: &Load,
    payload: &Payload,
    sim: Option<&SimPlan>,
    bound: &Bound,
) {
    let input_tokens = payload.mean_input_tokens().unwrap_or(0.0);
    let of_sim = |sim: &SimPlan| sim.expected_e2e(input_tokens, payload.mean_output_tokens());
    let e2e = sim.map_or_else(|| payload.fast_e2e(), of_sim);
    let (mean, needed) = load.expected_in_flight(e2e);
    if needed <= bound.most {
        return;
    }
    let whose = if sim.is_some() { "" } else { " of a fast server" };
    let why = format!(
        "{} requests/s at {} a request{whose} keep {mean:.0} in flight, with their bursts {needed}",
        load.peak_rate_per_s().unwrap_or_default(),
        format_span(e2e)
    );
    // Whose fault it is: the rate's, unless it would fit at the simulator's own defaults.
    let usual = load.expected_in_flight(USUAL_SIM_E2E).1 <= bound.most;
    let given = match sim {
        Some(sim) if usual => slowest_part(raw, payload, sim),
        _ => highest_rate(raw, load),
    };
    r.refuse(
        given,
        format!("what fits into {}", bound.by),
        format!("{why}: lower one of them, {}, or set --max-concurrency", bound.remedy),
    );
}

/// What a request to the simulator takes by the defaults: 20 ms and fifteen gaps of 5 ms.
const USUAL_SIM_E2E: Span = Span::from_ms(95);

/// The option that makes up most of the time that a request to the simulator takes.
fn slowest_part<'a>(raw: &'a Raw, payload: &Payload, sim: &SimPlan) -> Given<'a> {
    if sim.script.engine.is_one_queue() {
        return option!(raw.sim.engine);
    }
    let alone = |input_tokens, output_tokens| sim.expected_e2e(input_tokens, output_tokens);
    let ttft = alone(0.0, 0.0);
    let prefill = alone(payload.mean_input_tokens().unwrap_or(0.0), 0.0) - ttft;
    let decode = alone(0.0, payload.mean_output_tokens()) - ttft;
    if ttft >= prefill.max(decode) {
        option!(raw.sim.ttft)
    } else if prefill >= decode {
        option!(raw.sim.prefill_per_token)
    } else if sim.expected_itl() > Span::from_ms(5) {
        option!(raw.sim.itl)
    } else {
        option!(raw.payload.output_tokens)
    }
}
