//! What is known of the servers before the run: their addresses, the model, what the probe found, and the workload made for it.
//!
//! It must not send load.

use super::certificates::peers;
use super::probe::{Findings, Site};
use super::simulator::Known;
use super::{Interrupts, RunError, address};
use crate::plan::{Endpoint, Plan};
use crate::report;
use crate::ring::Address;
use crate::shard::Ways;
use crate::time::Span;
use crate::tls::Peer;
use crate::wire::Api;
use crate::workload::{TokenFit, Workload};
use std::net::SocketAddr;

/// The servers of a run and what they are sent.
#[derive(Clone)]
pub struct Target {
    /// Each server, in the order of the plan; at least one.
    pub servers: Vec<Server>,
    /// The model asked for.
    pub model: String,
    /// What will be sent, cut to length by what the probe found.
    pub workload: Workload,
}

/// One server.
#[derive(Clone)]
pub struct Server {
    /// Where connections go, in turn; at least one place.
    pub addresses: Vec<Address>,
    /// The server as TLS knows it; `None` = it is spoken to in the clear.
    pub peer: Option<Peer>,
    /// What the probe found, if there was one.
    pub probe: Option<Findings>,
    /// What is to be said of its addresses.
    pub notes: Vec<String>,
}

impl Server {
    /// Looks where the server of `endpoint` is; `known` are its addresses where they need not be asked for.
    fn find(
        plan: &Plan,
        endpoint: &Endpoint,
        peer: Option<Peer>,
        known: Option<&Known>,
        interrupts: &Interrupts,
    ) -> Result<Self, RunError> {
        let all = known.map_or_else(|| address::resolve(endpoint), |known| Ok(known.addresses.clone()))?;
        let (addresses, mut notes) = address::reachable(all, &plan.client.sources, endpoint)?;
        if let Some(limit) = plan.target.wait_ready {
            Site { plan, endpoint, peer: peer.as_ref(), addresses: &addresses, interrupts }
                .wait_ready(limit)?;
        }
        let (addresses, silent) = address::answering(addresses);
        notes.extend(silent);
        Ok(Self { addresses, peer, probe: None, notes })
    }
}

impl Server {
    fn site<'a>(&'a self, plan: &'a Plan, endpoint: &'a Endpoint, interrupts: &'a Interrupts) -> Site<'a> {
        Site { plan, endpoint, peer: self.peer.as_ref(), addresses: &self.addresses, interrupts }
    }
}

impl Target {
    /// Looks at the servers of `plan`; requests of the run will be called `<run>-<index>`. `prompts` is the text of the
    /// plan's file of prompts, if it has one; `known` is said of the only server, where it is our own.
    pub fn look(
        plan: &Plan,
        prompts: Option<&str>,
        known: Option<&Known>,
        run: &str,
        interrupts: &Interrupts,
    ) -> Result<Self, RunError> {
        address::check_sources(&plan.client.sources)?;
        let endpoints = &plan.target.endpoints;
        let peers = peers(plan, known.and_then(|known| known.certificate.as_deref()))?;
        let find = |(endpoint, peer)| Server::find(plan, endpoint, peer, known, interrupts);
        let mut servers: Vec<Server> = endpoints.iter().zip(peers).map(find).collect::<Result<_, _>>()?;
        let model = model(plan, &servers, interrupts)?;
        let mut workload =
            plan.workload(&model, run, prompts).map_err(|error| RunError::Plan(error.to_string()))?;
        if plan.target.probe {
            for (endpoint, server) in endpoints.iter().zip(&mut servers) {
                let found = server.site(plan, endpoint, interrupts).probe(&workload);
                if interrupts.count() > 0 {
                    return Err(RunError::Interrupted);
                }
                server.probe = Some(found?);
            }
        }
        if let Some(fit) = fit(&servers) {
            workload = workload.calibrated(fit);
        }
        Ok(Self { servers, model, workload })
    }

    /// The same servers for the requests of another run, which are made from `plan`.
    pub fn for_run(&self, plan: &Plan, run: &str, prompts: Option<&str>) -> Result<Self, RunError> {
        let workload =
            plan.workload(&self.model, run, prompts).map_err(|error| RunError::Plan(error.to_string()))?;
        let workload = match fit(&self.servers) {
            Some(fit) => workload.calibrated(fit),
            None => workload,
        };
        Ok(Self { servers: self.servers.clone(), model: self.model.clone(), workload })
    }

    /// How long a request of the plan takes on an idle server, where the probe could tell: on the slowest of them.
    pub fn expected_e2e(&self, plan: &Plan) -> Option<Span> {
        self.servers.iter().filter_map(|server| server.probe.as_ref()?.expected_e2e(plan)).max()
    }

    /// Whether every server is the simulator of this program, by its own account.
    pub fn is_our_simulator(&self, plan: &Plan, interrupts: &Interrupts) -> bool {
        plan.sim.is_some() || self.sites(plan, interrupts).all(|site| site.is_our_simulator())
    }

    /// The longest round trip of those measured; nothing where no server is reached by TCP.
    pub fn round_trip(&self) -> Option<Span> {
        let by_tcp = |server: &&Server| server.addresses.iter().any(|address| address.tcp().is_some());
        let probed = |server: &Server| server.probe.as_ref().map_or(Span::ZERO, |found| found.round_trip);
        self.servers.iter().filter(by_tcp).map(probed).max()
    }

    /// Each server, and how to ask it.
    pub fn sites<'a>(&'a self, plan: &'a Plan, interrupts: &'a Interrupts) -> impl Iterator<Item = Site<'a>> {
        sites(plan, &self.servers, interrupts)
    }

    /// All addresses that are reached by TCP.
    pub fn tcp(&self) -> impl Iterator<Item = SocketAddr> {
        self.servers.iter().flat_map(|server| &server.addresses).filter_map(Address::tcp)
    }

    /// The first address of all that is reached by TCP.
    pub fn first_tcp(&self) -> Option<SocketAddr> {
        self.tcp().next()
    }

    /// The fastest TTFT without load, where the probe saw one.
    pub fn idle_ttft(&self) -> Option<Span> {
        self.servers.iter().filter_map(|server| server.probe.as_ref()?.idle_ttft).min()
    }

    /// The ways to each server.
    pub fn ways(&self, plan: &Plan) -> Vec<Ways> {
        let ways = |server: &Server| Ways::new(server.addresses.clone(), &plan.client.sources);
        self.servers.iter().map(ways).collect()
    }

    /// Whether a server counted the tokens of prompts, so that their lengths are more than estimates.
    pub fn is_calibrated(&self) -> bool {
        fit(&self.servers).is_some()
    }
}

/// Each server, and how to ask it.
fn sites<'a>(
    plan: &'a Plan,
    servers: &'a [Server],
    interrupts: &'a Interrupts,
) -> impl Iterator<Item = Site<'a>> {
    let each = plan.target.endpoints.iter().zip(servers);
    each.map(move |(endpoint, server)| server.site(plan, endpoint, interrupts))
}

/// What tells the tokens of words. One tokenizer serves one model: what the first server tells of it holds for all.
fn fit(servers: &[Server]) -> Option<TokenFit> {
    servers.iter().find_map(|server| server.probe.as_ref()?.fit)
}

/// The model to ask for: the plan's, or the first that the first server names and all others have.
fn model(plan: &Plan, servers: &[Server], interrupts: &Interrupts) -> Result<String, RunError> {
    if let Some(model) = &plan.target.model {
        return Ok(model.clone());
    }
    let named = sites(plan, servers, interrupts).map(|site| site.models());
    let named: Vec<Vec<String>> = named.collect::<Result<_, _>>()?;
    let common = named[0].iter().find(|model| named[1..].iter().all(|others| others.contains(model)));
    common.cloned().ok_or_else(|| {
        let each = plan.target.endpoints.iter().zip(&named);
        let each: Vec<String> =
            each.map(|(endpoint, models)| format!("{} has {}", endpoint.url(), models.join(", "))).collect();
        RunError::Target(format!(
            "the targets have no model in common ({}): give the one to ask for with --model",
            each.join("; ")
        ))
    })
}

impl Target {
    /// What the summary tells of them all.
    pub fn found(&self, plan: &Plan) -> report::Target {
        let mut all = self.found_of_each(plan);
        let mut first = all.remove(0);
        for other in all {
            let both = |mine: Option<bool>, theirs: Option<bool>| Some(mine? && theirs?);
            first.counts_tokens = both(first.counts_tokens, other.counts_tokens);
            first.honours_output_tokens = both(first.honours_output_tokens, other.honours_output_tokens);
        }
        first
    }

    /// What the summary tells of each.
    pub fn found_of_each(&self, plan: &Plan) -> Vec<report::Target> {
        let each = plan.target.endpoints.iter().zip(&self.servers);
        each.map(|(endpoint, server)| self.found_of(plan, endpoint, server)).collect()
    }

    fn found_of(&self, plan: &Plan, endpoint: &Endpoint, server: &Server) -> report::Target {
        let told = report::Target {
            url: endpoint.url(),
            addresses: server.addresses.iter().map(ToString::to_string).collect(),
            weight: endpoint.weight.into(),
            api: match plan.target.api {
                Api::Chat => "chat".into(),
                Api::Completions => "completions".into(),
            },
            model: self.model.clone(),
            notes: server.notes.clone(),
            ..report::Target::default()
        };
        let Some(found) = &server.probe else { return told };
        report::Target {
            probed: true,
            streams: Some(true),
            counts_tokens: Some(found.counts_tokens),
            honours_output_tokens: found.honours_output_tokens,
            round_trip_ns: Some(found.round_trip.as_ns()),
            idle_ttft_ns: found.idle_ttft.map(Span::as_ns),
            idle_tpot_ns: found.idle_tpot.map(Span::as_ns),
            notes: told.notes.iter().chain(&found.notes).cloned().collect(),
            ..told
        }
    }
}
