//! Every case of `tests/wire` over a real socket: a server replays the segments and the end, a whole shard is the client.
//!
//! Outcomes are asserted, never times. The cases run one after another, on one shard's CPU, once for each engine.

#![allow(clippy::disallowed_methods, reason = "a test has a clock of its own")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../wire/case.rs"]
mod case;
mod client;
mod refusals;
mod secure;
mod server;

use case::{Case, End};
use lowrho::plan::Engine;
use lowrho::record::Record;
use lowrho::tls::Peer;
use lowrho::wire::ErrorClass;
use secure::Secure;
use server::Manner;
use std::sync::Mutex;

/// Held by each test while it plays cases.
static ALONE: Mutex<()> = Mutex::new(());

fn cases() -> impl Iterator<Item = Case> {
    case::all().into_iter().filter(|case| matches!(case.api.as_str(), "chat" | "completions"))
}

fn is_of_tls(case: &Case) -> bool {
    case.id.starts_with('T') || case.end == End::TlsEof
}

fn one(id: &str) -> Case {
    cases().find(|case| case.id == id).unwrap()
}

/// What is wrong with the outcome of `case`.
fn faults(case: &Case, manner: Manner, peer: Option<Peer>, engine: Engine) -> Vec<String> {
    let address = server::start(case.clone(), manner);
    let records = client::drive(case, address, peer, engine);
    let wanted = 1 + usize::from(case.reused);
    match records.last() {
        Some(record) if records.len() == wanted => {
            differences(case, record).map(|what| format!("{} ({}): {what}", case.id, case.title)).collect()
        }
        _ => vec![format!("{}: {} records of {wanted}", case.id, records.len())],
    }
}

#[test]
fn every_case_has_its_outcome_over_a_real_socket() {
    every_case(Engine::Uring);
}

#[test]
fn every_case_has_the_same_outcome_by_way_of_epoll() {
    every_case(Engine::Epoll);
}

fn every_case(engine: Engine) {
    let _alone = ALONE.lock();
    let cases: Vec<Case> = cases().filter(|case| !is_of_tls(case)).collect();
    assert!(cases.len() > 100, "the cases are there");
    let wrong: Vec<String> =
        cases.iter().flat_map(|case| faults(case, Manner::Clear, None, engine)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_case_has_the_same_outcome_over_tls() {
    let _alone = ALONE.lock();
    let secure = Secure::new();
    let cases: Vec<Case> = cases().collect();
    assert!(cases.iter().filter(|case| is_of_tls(case)).count() >= 3, "the cases of TLS are there");
    let manner = |case: &Case| {
        let at_once = case.id == "T03";
        if at_once { Manner::SealedAtOnce(secure.server()) } else { Manner::Sealed(secure.server()) }
    };
    let wrong: Vec<String> = cases
        .iter()
        .flat_map(|case| faults(case, manner(case), Some(secure.peer()), Engine::Uring))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn records_may_be_cut_anywhere_near_their_heads() {
    let _alone = ALONE.lock();
    let secure = Secure::new();
    let case = one("T03");
    // A record is five bytes of head, the segment, a byte for its kind and sixteen of proof (RFC 8446, 5.2).
    let ends: Vec<usize> =
        case.boundaries().into_iter().zip(1..).map(|(end, nth): (usize, usize)| end + 22 * nth).collect();
    let starts = std::iter::once(0).chain(ends);
    let cuts: Vec<usize> = starts.flat_map(|start| (start.saturating_sub(2)..start + 8).step_by(1)).collect();
    assert!(cuts.len() >= 30, "{cuts:?}");
    let manner = |cut| Manner::SealedAndCut(secure.server(), cut);
    let wrong: Vec<String> = cuts
        .into_iter()
        .flat_map(|cut| {
            faults(&case, manner(cut), Some(secure.peer()), Engine::Uring)
                .into_iter()
                .map(move |what| format!("cut at {cut}: {what}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What is not as the case has it.
fn differences<'a>(case: &'a Case, record: &'a Record) -> impl Iterator<Item = String> + 'a {
    let expect = &case.expect;
    let differs = |what: &str, found: String, expected: String| {
        (found != expected).then(|| format!("{what} is {found}, expected {expected} ({:?})", record.detail))
    };
    let mut found = vec![
        differs(
            "error",
            format!("{:?}", record.error.map(ErrorClass::name)),
            format!("{:?}", expect.error_class.as_deref()),
        ),
        differs(
            "retries",
            record.retries.to_string(),
            // One that dies unanswered on a reused connection goes out once more, and there the same happens to it.
            u8::from(expect.error_class.as_deref() == Some("stale_connection")).to_string(),
        ),
        differs(
            "output_tokens",
            format!("{:?}", record.output_tokens),
            format!("{:?}", expect.output_tokens),
        ),
    ];
    if let Some(source) = &expect.token_source {
        found.push(differs("token_source", record.token_source.name().into(), source.clone()));
    }
    if let Some(prompt) = expect.prompt_tokens {
        found.push(differs(
            "prompt_tokens",
            format!("{:?}", record.usage.prompt_tokens),
            format!("{prompt:?}"),
        ));
    }
    if let Some(events) = expect.token_events {
        found.push(differs("token_events", u64::from(record.events).to_string(), events.to_string()));
    }
    if record.error.is_none() && expect.first_token_event.is_some() {
        let ordered =
            record.sent <= record.head && record.head <= record.first && record.first <= record.last;
        found.push((!ordered).then(|| format!("instants are out of order: {record:?}")));
    }
    found.into_iter().flatten()
}
