//! Every case of `tests/wire` over a real socket: a server replays the segments and the end, a whole shard is the client.
//!
//! Outcomes are asserted, never times. One test for each engine: its cases run one after another.

#![allow(clippy::disallowed_methods, reason = "a test has a clock of its own")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../wire/case.rs"]
mod case;
mod client;
mod server;

use case::{Case, End};
use lowrho::plan::Engine;
use lowrho::record::Record;
use lowrho::wire::ErrorClass;

#[test]
fn every_case_has_its_outcome_over_a_real_socket() {
    every_case(Engine::Uring);
}

#[test]
fn every_case_has_the_same_outcome_by_way_of_epoll() {
    every_case(Engine::Epoll);
}

fn every_case(engine: Engine) {
    let cases: Vec<Case> = case::all()
        .into_iter()
        .filter(|case| matches!(case.api.as_str(), "chat" | "completions"))
        .filter(|case| !case.id.starts_with('T') && case.end != End::TlsEof)
        .collect();
    assert!(cases.len() > 100, "the cases are there");
    let mut wrong = Vec::new();
    for case in cases {
        let address = server::start(case.clone());
        let records = client::drive(&case, address, engine);
        let wanted = 1 + usize::from(case.reused);
        match records.last() {
            Some(record) if records.len() == wanted => {
                wrong.extend(
                    differences(&case, record).map(|what| format!("{} ({}): {what}", case.id, case.title)),
                );
            }
            _ => wrong.push(format!("{}: {} records of {wanted}", case.id, records.len())),
        }
    }
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
