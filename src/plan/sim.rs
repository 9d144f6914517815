//! The options of the embedded simulator to its plan; starts nothing.

use super::listen::{self, Listen};
use super::load::only_for;
use super::raw::{Raw, SimOptions};
use super::reading::{Reading, option};
use super::{Engine, Limits, PlanError, cpus, engine, format_cpus};
use crate::random::{Counts, Delays};
use crate::script::{BLOCK_TOKENS, EngineKind, FaultRule, Faults, Latencies, Script};
use crate::time::Span;
use core::net::SocketAddr;

/// The embedded simulator: of `run --sim`, or on its own.
#[derive(Clone, PartialEq, Debug)]
pub struct SimPlan {
    /// Where it listens, at least one place.
    pub listen: Vec<Listen>,
    /// The CPU of each of its shards.
    pub cpus: Vec<usize>,
    /// What it does: latencies, limits, faults.
    pub script: Script,
    /// How it speaks TLS; `None` = it speaks in the clear.
    pub tls: Option<SimTls>,
    /// By which system calls it drives its sockets; `None` = as the client does.
    pub engine: Option<Engine>,
    /// File for its own log of the truth.
    pub log: Option<String>,
    /// What it had to give up, alone in its process.
    pub caveat: Option<String>,
}

/// How the simulator speaks TLS. Files are named here and read when it starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimTls {
    /// Who it is.
    pub identity: SimIdentity,
    /// The authorities that vouch for its clients, PEM; `None` = it serves anyone.
    pub client_ca: Option<String>,
}

/// Who the simulator is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SimIdentity {
    /// Whoever it says: a certificate of its own making, which may be written to a file for clients to trust.
    SelfMade(Option<String>),
    /// Its certificate and key from files, PEM.
    Files {
        /// The certificate, and those that vouch for it.
        cert: String,
        /// Its key.
        key: String,
    },
}

/// Where `lowrho sim` listens unless told: the port that vLLM has made usual.
pub const SIM_LISTEN: &str = "127.0.0.1:8000";

impl SimPlan {
    /// The simulator that `asked` means, alone in its process.
    ///
    /// # Errors
    /// Every mistake found, by the flags of `lowrho sim`.
    pub fn new(mut asked: SimOptions, limits: &Limits) -> Result<Self, PlanError> {
        asked.listen.get_or_insert(SIM_LISTEN.into());
        let mut defaults = Raw::defaults().sim;
        yield_defaults(&mut defaults, &asked);
        let raw = Raw { sim: asked, ..Raw::default() };
        let raw = raw.over(Raw { sim: defaults, ..Raw::default() });
        let mut reading = Reading::of_the_simulator_alone();
        let mut sim = options(&mut reading, &raw, limits);
        let obstacles = engine::obstacles(limits, 0, sim.cpus.len());
        let (engine, caveat) = engine::choose(&mut reading, sim.engine, &obstacles, "--socket-engine");
        (sim.engine, sim.caveat) = (Some(engine), caveat);
        reading.done(sim)
    }

    /// The mean time from request to last token that it was asked to make, when it keeps up.
    #[must_use]
    pub fn expected_e2e(&self, input_tokens: f64, output_tokens: f64) -> Span {
        if let Some(alone) = self.script.engine.alone(input_tokens, output_tokens) {
            return alone;
        }
        let Latencies { ttft, itl, prefill_per_token_ns } = self.script.latencies;
        let events = output_tokens / self.script.tokens_per_event.mean(u32::MAX);
        let prefill_ns = input_tokens * Delays::constant(prefill_per_token_ns).mean_ns();
        Span::from_s_f64((ttft.mean_ns() + prefill_ns + (events - 1.0).max(0.0) * itl.mean_ns()) / 1e9)
    }

    /// The mean time between two events of one stream.
    pub(super) fn expected_itl(&self) -> Span {
        if let Some(two) = self.script.engine.alone(1.0, 2.0) {
            return two / 2;
        }
        Span::from_s_f64(self.script.latencies.itl.mean_ns() / 1e9)
    }
}

/// Reads section `[sim]` of a run: nothing without `--sim`.
pub(super) fn read(r: &mut Reading, raw: &Raw, limits: &Limits) -> Option<SimPlan> {
    if raw.target.sim == Some(true) {
        let sim = options(r, raw, limits);
        if sim.engine == Some(Engine::Uring) {
            engine::choose(
                r,
                sim.engine,
                &engine::obstacles(limits, 0, sim.cpus.len()),
                "--sim-socket-engine",
            );
        }
        return Some(sim);
    }
    let asked = &raw.sim;
    for given in [
        option!(raw.sim.listen),
        option!(raw.sim.cpus),
        option!(raw.sim.model),
        option!(raw.sim.engine),
        option!(raw.sim.socket_engine),
        option!(raw.sim.ttft),
        option!(raw.sim.itl),
        option!(raw.sim.prefill_per_token),
        option!(raw.sim.tokens_per_event),
        option!(raw.sim.max_running),
        option!(raw.sim.prefix_cache),
        option!(raw.sim.seed),
        option!(raw.sim.log),
        option!(raw.sim.tls_cert_out),
        option!(raw.sim.tls_cert),
        option!(raw.sim.tls_key),
        option!(raw.sim.tls_client_ca),
    ] {
        if given.value.is_some() {
            r.refuse(given, "with --sim only", "add --sim, or leave it out");
        }
    }
    if asked.tls == Some(true) {
        let place = option!(@place sim.tls);
        r.note(place, Some("true".into()), "with --sim only", "add --sim, or leave it out");
    }
    if let Some(fault) = asked.fault.first() {
        r.note(
            option!(@place sim.fault),
            Some(fault.0.clone()),
            "with --sim only",
            "add --sim, or leave it out",
        );
    }
    None
}

fn options(r: &mut Reading, raw: &Raw, limits: &Limits) -> SimPlan {
    let given = option!(raw.sim.listen);
    let listen = r.parsed(given, listen::ACCEPTED, listen::read);
    let cpus = match option!(raw.sim.cpus) {
        given if given.value.is_some() => cpus::read(r, given, &limits.cpus),
        _ => vec![*limits.cpus.last().expect("a process may run somewhere")],
    };
    let listen = listen.unwrap_or_else(|| vec![Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))]);
    if cpus.len() > 1
        && let Some(local) = listen.iter().find(|place| matches!(place, Listen::Unix(_)))
    {
        // The kernel spreads the connections of a port over those who listen there, and those of a path over none.
        r.refuse(given, "a Unix socket with one CPU of the simulator", format!("{local} has one shard"));
    }
    let script = script(r, raw, cpus.len());
    if script.max_running.is_some_and(|places| usize::try_from(places).is_ok_and(|n| n < cpus.len())) {
        r.refuse(
            option!(raw.sim.max_running),
            format!("at least {}, one for each of the simulator's shards", cpus.len()),
            format!("it is split over its CPUs ({}): raise it, or take fewer CPUs", format_cpus(&cpus)),
        );
    }
    let tls = tls(r, raw);
    if tls.is_some()
        && let Some(local) = listen.iter().find(|place| matches!(place, Listen::Unix(_)))
    {
        r.refuse(given, "a port, with TLS", format!("{local} is spoken to in the clear"));
    }
    let engine = engine::wish(r, option!(raw.sim.socket_engine));
    let log = r.text(option!(raw.sim.log), "the name of a file");
    SimPlan { listen, cpus, script, tls, engine, log, caveat: None }
}

/// Whether the simulator is to speak TLS.
pub(super) fn is_secure(asked: &SimOptions) -> bool {
    asked.tls == Some(true) || asked.tls_cert.is_some()
}

fn tls(r: &mut Reading, raw: &Raw) -> Option<SimTls> {
    let file = "the name of a file";
    let (cert, key) = (option!(raw.sim.tls_cert), option!(raw.sim.tls_key));
    let (out, client_ca) = (option!(raw.sim.tls_cert_out), option!(raw.sim.tls_client_ca));
    if key.value.is_some() && cert.value.is_none() {
        r.refuse(key, "with the certificate that it is for", "give that too");
    }
    if out.value.is_some() && (cert.value.is_some() || raw.sim.tls != Some(true)) {
        r.refuse(out, "with a certificate of its own making", "ask for TLS, and give no certificate");
    }
    if !is_secure(&raw.sim) {
        if client_ca.value.is_some() {
            r.refuse(client_ca, "with TLS", "ask for TLS, or leave it out");
        }
        return None;
    }
    let identity = match r.text(cert, file) {
        None => SimIdentity::SelfMade(r.text(out, file)),
        Some(cert) => SimIdentity::Files { key: r.text(key, file).unwrap_or_else(|| cert.clone()), cert },
    };
    Some(SimTls { identity, client_ca: r.text(client_ca, file) })
}

/// The defaults of latency laws are none where another engine is asked for.
pub(super) fn yield_defaults(defaults: &mut SimOptions, asked: &SimOptions) {
    if asked.engine.as_ref().is_some_and(|engine| engine.as_str() != "laws") {
        (defaults.ttft, defaults.itl, defaults.prefill_per_token) = (None, None, None);
        defaults.tokens_per_event = None;
    }
}

/// Reads the engine, and refuses what it has no use for.
fn engine(r: &mut Reading, raw: &Raw, shards: usize) -> EngineKind {
    let given = option!(raw.sim.engine);
    if let Some(text) = given.value.filter(|text| engine::is_wish(text.as_str())) {
        let remedy = format!("by which system calls it drives its sockets is --sim-socket-engine {text}");
        r.refuse(given, "laws, mdc:... or batch:...", remedy);
        return EngineKind::default();
    }
    let engine = r.parsed(given, "", str::parse::<EngineKind>).unwrap_or_default();
    if engine.is_one_queue() {
        for given in [option!(raw.sim.ttft), option!(raw.sim.itl), option!(raw.sim.prefill_per_token)] {
            only_for(r, given, "--sim-engine laws");
        }
        if shards > 1 {
            r.refuse(option!(raw.sim.cpus), "one CPU", "this engine is one queue, which shards would split");
        }
    }
    match engine {
        EngineKind::Mdc { .. } => {
            only_for(r, option!(raw.sim.max_running), "--sim-engine laws or batch");
            only_for(r, option!(raw.sim.prefix_cache), "--sim-engine laws or batch");
        }
        EngineKind::Batch(_) => only_for(r, option!(raw.sim.tokens_per_event), "--sim-engine laws or mdc"),
        EngineKind::Laws => {}
    }
    engine
}

fn script(r: &mut Reading, raw: &Raw, shards: usize) -> Script {
    let engine = engine(r, raw, shards);
    let delays = |r: &mut Reading, given| r.parsed(given, "", str::parse::<Delays>).unwrap_or(Delays::ZERO);
    let prefill = option!(raw.sim.prefill_per_token);
    let prefill = r.span(prefill, Span::ZERO..=Span::from_s(60)).unwrap_or_default();
    let latencies = Latencies {
        ttft: delays(r, option!(raw.sim.ttft)),
        itl: delays(r, option!(raw.sim.itl)),
        prefill_per_token_ns: prefill.as_ns().unsigned_abs(),
    };
    let mut faults = Vec::new();
    for fault in &raw.sim.fault {
        match fault.as_str().parse::<FaultRule>() {
            Ok(rule) => faults.push(rule),
            Err(why) => r.note(option!(@place sim.fault), Some(fault.0.clone()), "", why.to_string()),
        }
    }
    let tokens_per_event = option!(raw.sim.tokens_per_event);
    Script {
        model: r.text(option!(raw.sim.model), "the name of a model").unwrap_or_default(),
        engine,
        latencies,
        tokens_per_event: r.parsed(tokens_per_event, "", str::parse::<Counts>).unwrap_or(Counts::constant(1)),
        max_running: r.count(option!(raw.sim.max_running), 1..=10_000_000),
        prefix_cache: r.count(option!(raw.sim.prefix_cache), BLOCK_TOKENS..=u32::MAX),
        faults: Faults(faults),
        seed: r.count(option!(raw.sim.seed), 0..=u64::MAX).unwrap_or_default(),
        ..Script::default()
    }
}
