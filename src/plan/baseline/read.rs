//! The options of `lowrho baseline` to its plan; checks no run that it is made of.

use super::{BaselinePlan, BaselineSim, MOST_BASELINE_RATE, Offered, Peer};
use crate::plan::raw::{BaselineOptions, Text};
use crate::plan::reading::{Given, Place, Reading, option};
use crate::plan::{Limits, PlanError, cpus, waiting};
use crate::time::Span;

/// Fewer pairs than this have a range that says little.
const FEW_PAIRS: u32 = 5;

/// The options as the reader of options wants them: a section with fields.
struct Asked {
    baseline: BaselineOptions,
}

fn with_defaults(mut asked: BaselineOptions) -> BaselineOptions {
    for (flag, text) in BaselineOptions::default_flags() {
        let place = match flag.as_str() {
            "--windows" => &mut asked.windows,
            "--connections" => &mut asked.connections,
            "--rate" => &mut asked.rate,
            "--concurrency" => &mut asked.concurrency,
            "--duration" => &mut asked.duration,
            "--pairs" => &mut asked.pairs,
            "--output-tokens" => &mut asked.output_tokens,
            "--input-tokens" => &mut asked.input_tokens,
            "--ttft" => &mut asked.ttft,
            "--itl" => &mut asked.itl,
            _ => continue,
        };
        place.get_or_insert(Text(text));
    }
    asked
}

/// Reads every option, and notes every mistake.
pub(super) fn plan(given: &BaselineOptions, limits: &Limits) -> Result<BaselinePlan, PlanError> {
    let mut reading = Reading::without_a_file();
    let plan = read(&mut reading, &Asked { baseline: with_defaults(given.clone()) }, given, limits);
    reading.done(plan)
}

/// `given` are the options that were given, without defaults.
fn read(r: &mut Reading, asked: &Asked, given: &BaselineOptions, limits: &Limits) -> BaselinePlan {
    let peers = [Peer::K6, Peer::Oha, Peer::Wrk].map(|peer| (peer.name(), peer));
    let tool = Given { place: Place::Whole("TOOL"), value: asked.baseline.tool.as_ref() };
    let peer = r.word(tool, &peers).unwrap_or(Peer::K6);
    let (offered, second) = load(r, asked, given, peer);
    let duration = r.span(option!(asked.baseline.duration), Span::from_s(1)..=Span::from_s(600));
    let duration = duration.unwrap_or(Span::from_s(1));
    if peer == Peer::Wrk && duration.as_ns() % 1_000_000_000 != 0 {
        r.refuse(option!(asked.baseline.duration), "whole seconds, with wrk", "");
    }
    let pairs = r.count(option!(asked.baseline.pairs), 1..=1_000_u32).unwrap_or(1);
    let tokens = r.count(option!(asked.baseline.output_tokens), 1..=100_000_u32).unwrap_or(1);
    let input_tokens = r.count(option!(asked.baseline.input_tokens), 1..=100_000_u32).unwrap_or(1);
    let connections = option!(asked.baseline.connections);
    let connections = match connections.value {
        Some(text) if text.as_str() == "auto" => None,
        _ => r.count(connections, 1..=100_000_u32),
    };
    if peer.is_closed() && given.connections.is_some() {
        r.refuse(
            option!(asked.baseline.connections),
            "with a rate only",
            "wrk has one for each --concurrency",
        );
    }
    if peer.is_closed() && given.search == Some(true) {
        let why = "wrk drives a closed loop, which has no rate to search: leave --search out";
        r.note(option!(@place baseline.search), Some("true".into()), "with k6 and oha", why);
    }
    if given.url.is_some() && given.search == Some(true) {
        let why = "only the simulator's log tells the rate on the wire: without it a client that is late keeps every rate";
        r.note(option!(@place baseline.search), Some("true".into()), "without --url", why);
    }
    let windows = windows(r, asked);
    let (client_cpus, server_cpus, mut caveats) = cpu_sets(r, asked, limits);
    let (sim, url, model) = server(r, asked, given);
    if pairs < FEW_PAIRS {
        let runs = if pairs == 1 { "1 pair has" } else { "fewer than 5 pairs have" };
        caveats.push(format!("{runs} a range that says little: --pairs 5 or more"));
    }
    let asked = &asked.baseline;
    let owned = |text: &Option<Text>| text.as_ref().map(|text| text.0.clone());
    BaselinePlan {
        peer,
        binary: owned(&asked.binary),
        windows,
        offered,
        second,
        duration,
        pairs,
        search: asked.search == Some(true),
        tokens,
        input_tokens,
        limits: Limits { cpus: client_cpus.clone(), ..limits.clone() },
        client_cpus,
        server_cpus,
        sim,
        url,
        model,
        json: owned(&asked.json),
        out: owned(&asked.out),
        quiet: asked.quiet == Some(true),
        caveats,
        connections,
    }
}

/// The load that is compared, and the lower rate.
fn load(r: &mut Reading, asked: &Asked, given: &BaselineOptions, peer: Peer) -> (Offered, Option<u32>) {
    let rate = option!(asked.baseline.rate);
    let second = option!(asked.baseline.second_rate);
    let slots = option!(asked.baseline.concurrency);
    if peer.is_closed() {
        for (place, given) in [(rate, &given.rate), (second, &given.second_rate)] {
            if given.is_some() {
                r.refuse(place, "with k6 and oha", "wrk drives a closed loop: give --concurrency");
            }
        }
        return (Offered::Slots(r.count(slots, 1..=100_000_u32).unwrap_or(1)), None);
    }
    if given.concurrency.is_some() {
        r.refuse(slots, "with wrk", "this tool keeps a rate: give --rate");
    }
    let first = r.count(rate, 1..=MOST_BASELINE_RATE).unwrap_or(1);
    let second = match second.value {
        None => Some(first / 2),
        Some(_) => r.count(second, 0..=first.saturating_sub(1)),
    };
    (Offered::Rate(first), second.filter(|rate| *rate > 0))
}

fn windows(r: &mut Reading, asked: &Asked) -> Vec<String> {
    /// More sides than a table has room for.
    const MOST: usize = 4;
    let given = option!(asked.baseline.windows);
    let text = given.value.map_or("", Text::as_str);
    let windows: Vec<String> = text.split(',').map(|window| window.trim().to_owned()).collect();
    let twice = windows.iter().enumerate().any(|(at, window)| windows[..at].contains(window));
    if windows.len() > MOST || twice || windows.iter().any(String::is_empty) {
        r.refuse(given, format!("1 to {MOST} different windows"), "such as auto,0,1ms");
    } else {
        for window in &windows {
            let _ = waiting::window(r, given.place, window);
        }
    }
    windows
}

/// CPUs of the clients and of the server, and what is to be said of them.
fn cpu_sets(r: &mut Reading, asked: &Asked, limits: &Limits) -> (Vec<usize>, Vec<usize>, Vec<String>) {
    let (clients, servers) = (option!(asked.baseline.client_cpus), option!(asked.baseline.server_cpus));
    let is_ours = asked.baseline.url.is_none();
    let client_given = clients.value.map(|_| cpus::read(r, clients, &limits.cpus));
    let server = match servers.value {
        Some(_) => cpus::read(r, servers, &limits.cpus),
        None if is_ours => {
            let free = |cpu: &&usize| client_given.as_ref().is_none_or(|taken| !taken.contains(cpu));
            // Where the client has them all, it shares the last one.
            let last = limits.cpus.iter().rev().find(free).or(limits.cpus.last());
            last.copied().into_iter().collect()
        }
        None => Vec::new(),
    };
    let client = client_given.unwrap_or_else(|| {
        let apart: Vec<usize> = limits.cpus.iter().copied().filter(|cpu| !server.contains(cpu)).collect();
        if apart.is_empty() { limits.cpus.clone() } else { apart }
    });
    let shared = client.iter().find(|cpu| server.contains(cpu));
    let mut caveats = Vec::new();
    if let Some(cpu) = shared {
        if limits.cpus.len() > 1 {
            let why = format!("CPU {cpu} would be the server's too: what a client costs could not be told");
            r.refuse(clients, "CPUs apart from the server's", why);
        } else {
            caveats.push(format!(
                "this process may run on CPU {cpu} alone, which client and server share: latencies, jitter and busy time are of both"
            ));
        }
    }
    (client, server, caveats)
}

/// The simulator, or the URL and the model of another server.
fn server(r: &mut Reading, asked: &Asked, given: &BaselineOptions) -> (Option<BaselineSim>, String, String) {
    let text = |text: &Option<Text>| text.as_ref().map_or(String::new(), |text| text.0.clone());
    if given.url.is_none() {
        if given.model.is_some() {
            r.refuse(option!(asked.baseline.model), "with --url", "the simulator has a model of its own");
        }
        let options = &asked.baseline;
        let sim = BaselineSim { ttft: text(&options.ttft), itl: text(&options.itl), e2e: Span::ZERO };
        return (Some(sim), String::new(), String::new());
    }
    for (place, given) in
        [(option!(asked.baseline.ttft), &given.ttft), (option!(asked.baseline.itl), &given.itl)]
    {
        if given.is_some() {
            r.refuse(place, "without --url", "it is the simulator's");
        }
    }
    let url = option!(asked.baseline.url);
    let plain = url.value.is_some_and(|url| {
        url.as_str().get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"))
    });
    if !plain {
        r.refuse(
            url,
            "a URL that begins with http://",
            "the peers are given no certificate and no Unix socket",
        );
    }
    let model = option!(asked.baseline.model);
    if model.value.is_none() {
        r.refuse(model, "the model to ask for, with --url", "no server is asked before the runs");
    }
    (None, text(&asked.baseline.url), text(&asked.baseline.model))
}
