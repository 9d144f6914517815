//! This machine, read for the doctor and for the preflight of a run.
//!
//! It must not judge: `plan` does.

use super::address;
use crate::host::{Facts, Route, Topology};
use crate::plan::{Health, Machine, Plan, judge};
use crate::ring::{Address, RingFeatures};
use std::net::{Ipv4Addr, SocketAddr};

/// Somewhere beyond the default route: an address kept for documentation (RFC 5737), to which nothing is ever sent.
const SOMEWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80);

/// What this machine shows, on the way to the target of `plan` or to anywhere. A ring is made for a moment.
#[must_use]
pub fn examine(facts: &Facts, plan: Option<&Plan>) -> Machine {
    let target = match plan {
        Some(plan) if plan.sim.is_some() => Some((Ipv4Addr::LOCALHOST, 0).into()),
        // The first of several stands for all; a Unix socket has no way to it.
        Some(plan) => {
            let all = address::resolve(&plan.target.endpoints[0]).unwrap_or_default();
            all.iter().find_map(Address::tcp)
        }
        None => Some(SOMEWHERE),
    };
    let ring = RingFeatures::try_out().map(|ring| ring.min_wait).map_err(|error| error.to_string());
    machine(facts, ring, target.map(Route::to).unwrap_or_default())
}

/// Why a shard's rings cannot be had here, the remedy after a colon; `None` = they can. They are made for a moment.
#[must_use]
pub fn ring_refused() -> Option<String> {
    RingFeatures::try_out().err().map(|error| error.to_string())
}

fn machine(facts: &Facts, ring: Result<bool, String>, route: Route) -> Machine {
    let Topology { governors, siblings, isolated, seccomp } = Topology::read(&facts.cpus);
    let (low, high) = facts.port_range;
    Machine {
        kernel: facts.kernel.clone(),
        kernel_version: facts.kernel_version,
        ring,
        io_uring_forbidden: facts.io_uring_forbidden.clone(),
        container: facts.container.clone(),
        seccomp,
        cpus: facts.cpus.clone(),
        cpu_quota: facts.cpu_quota,
        governors,
        siblings,
        isolated,
        interface: route.interface,
        interrupt_cpus: route.stamping_cpus,
        clocksource: facts.clocksource.clone(),
        files: (facts.files_soft, facts.files_hard),
        source_ports: u32::from(high - low) + 1,
        memlock_bytes: facts.memlock_bytes,
    }
}

/// What a reader of the report should know of this machine: findings that may touch the numbers of `plan`, in words. What
/// cannot work was refused with the plan, and what the plan itself remarks is not said twice.
pub fn preflight(facts: &Facts, plan: &Plan, target: Option<SocketAddr>) -> Vec<String> {
    // By whose want of io_uring the plan has chosen its engine, and said so.
    const OF_THE_PLAN: [&str; 6] =
        ["expected rho", "cgroup quota", "kernel", "io_uring", "container", "locked memory"];
    // A shard's own ring tells more than one made for a moment.
    let machine = machine(facts, Ok(true), target.map(Route::to).unwrap_or_default());
    let findings = judge(&machine, Some(plan)).into_iter();
    let telling = findings
        .filter(|finding| finding.health == Health::Warn && !OF_THE_PLAN.contains(&finding.name))
        .map(|finding| format!("{}: {}; {}", finding.name, finding.words, finding.remedy));
    telling.collect()
}
