//! The embedded simulator of `run --sim`: started before the target is looked at, its account taken after the run.
//!
//! It must not be told anything about the load.

use super::RunError;
use super::address::from_here;
use super::certificates::server_side;
use crate::plan::{self, Listen, Plan, SimPlan};
use crate::report::Simulator;
use crate::ring::{Address, Engine};
use crate::sim::{Sim, SimConfig, SimHandle, SimReport};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A simulator that runs.
pub struct Running {
    /// Its handle.
    pub sim: SimHandle,
    /// The certificate by which clients know it, PEM, where it speaks TLS.
    pub certificate: Option<String>,
}

/// What is known of the only server, because we have started it.
#[derive(Clone, Debug)]
pub struct Known {
    /// All addresses that it listens on.
    pub addresses: Vec<Address>,
    /// The certificate by which clients know it, PEM, where it speaks TLS.
    pub certificate: Option<String>,
}

/// Starts the simulator of a plan.
///
/// # Errors
/// A certificate or a key that cannot be used; and what keeps a simulator from starting.
pub fn serve(plan: &SimPlan) -> Result<Running, RunError> {
    let tls = plan.tls.as_ref().map(|tls| server_side(tls, &hosts(plan))).transpose()?;
    let (secure, certificate) = tls.unzip();
    let config = SimConfig {
        script: plan.script.clone(),
        addresses: plan.listen.iter().map(address).collect(),
        cpus: plan.cpus.clone(),
        secure,
        log: plan.log.as_ref().map(PathBuf::from),
        engine: match plan.engine.unwrap_or_default() {
            plan::Engine::Uring => Engine::Uring,
            plan::Engine::Epoll => Engine::Epoll,
        },
    };
    let sim = Sim::start(&config).map_err(|error| RunError::Own(error.to_string()))?;
    Ok(Running { sim, certificate })
}

/// The names and addresses by which a simulator is asked for from this host.
fn hosts(plan: &SimPlan) -> Vec<String> {
    let listens = plan.listen.iter().map(address);
    let listens = listens.filter_map(|address| Some(from_here(&address).tcp()?.ip().to_string()));
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(Into::into).into();
    for host in listens {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

fn address(place: &Listen) -> Address {
    match place {
        Listen::Tcp(address) => (*address).into(),
        Listen::Unix(path) => Address::Unix(Path::new(path).into()),
    }
}

/// Makes the running simulator the target of `plan`: one server, at all the addresses that it listens on. Gives these.
pub fn aim_at(sim: &SimHandle, plan: &mut Plan) -> Vec<Address> {
    let addresses: Vec<Address> = sim.addresses().iter().map(from_here).collect();
    let endpoint = &mut plan.target.endpoints[0];
    match &addresses[0] {
        Address::Tcp(address) => {
            (endpoint.host, endpoint.port) = (address.ip().to_string(), address.port());
        }
        Address::Unix(path) => {
            (endpoint.host, endpoint.port) = ("localhost".into(), 80);
            endpoint.socket = Some(path.display().to_string());
        }
    }
    addresses
}

/// Starts the simulator of a plan, if it has one.
pub fn start(plan: Option<&SimPlan>) -> Result<Option<Running>, RunError> {
    plan.map(serve).transpose()
}

/// Stops it and takes its account; what went wrong with it is added to `failures`.
pub fn end(sim: SimHandle, failures: &mut Vec<String>) -> Option<Simulator> {
    // A defect of the simulator must not take the client's numbers with it.
    let Ok(report) = catch_unwind(AssertUnwindSafe(|| sim.join())) else {
        failures.push("the simulator failed: its own account is missing".into());
        return None;
    };
    if let Some(log) = &report.log {
        failures
            .extend(log.error.as_ref().map(|error| format!("the simulator's log is incomplete: {error}")));
        if log.dropped > 0 {
            failures.push(format!("the simulator's log lacks {} requests: its queue was full", log.dropped));
        }
    }
    Some(account(&report))
}

/// Its account, as the summary holds it.
fn account(report: &SimReport) -> Simulator {
    let whole = |span: crate::time::Span| span.as_ns();
    Simulator {
        rho_busy: report.rho(),
        lateness_p50_ns: report.lateness(0.5).map(whole),
        lateness_p99_ns: report.lateness(0.99).map(whole),
        accepts_failed: report.accepts_failed(),
        was_the_limit: report.limited(),
    }
}
