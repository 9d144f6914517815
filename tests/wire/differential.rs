//! The fast decoder says what the slow one says: on generated events, on their mutations, on every case's events.

use crate::agreement::disagreement;
use crate::case::streams;
use crate::slow::{Meaning, meaning};
use lowrho::wire::unescape;
use proptest::prelude::*;

fn agree(payload: &[u8]) -> Result<(), TestCaseError> {
    match disagreement(payload) {
        None => Ok(()),
        Some(difference) => Err(TestCaseError::fail(difference)),
    }
}

/// JSON text, with white space, escapes, repeated keys and NaN as servers and fuzzers write them.
fn json(keys: &'static [&'static str], inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let key =
        (prop::sample::select(keys), any::<prop::sample::Index>(), 0..8_u8).prop_map(|(key, at, escaped)| {
            if escaped > 0 || key.is_empty() {
                return key.to_owned();
            }
            let at = at.index(key.len());
            format!("{}\\u{:04x}{}", &key[..at], key.as_bytes()[at], &key[at + 1..])
        });
    let space = prop::sample::select(&["", "", "", "", " ", "\t "][..]);
    prop::collection::vec((key, inner, space), 0..6)
        .prop_map(|members| {
            let members = members
                .iter()
                .map(|(key, value, space)| format!("{space}\"{key}\"{space}:{space}{value}{space}"));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        })
        .boxed()
}

fn list(of: BoxedStrategy<String>, most: usize) -> BoxedStrategy<String> {
    prop::collection::vec(of, 0..=most).prop_map(|all| format!("[{}]", all.join(","))).boxed()
}

fn scalar() -> BoxedStrategy<String> {
    let fixed = [
        "null",
        "null",
        "true",
        "false",
        "0",
        "1",
        "2",
        "3.0",
        "-1",
        "1e2",
        "NaN",
        "-Infinity",
        "70000",
        "99999999999999999999",
        "\"\"",
        "\"\"",
        "\"A\"",
        "\"stop\"",
        "\"error\"",
        "\"assistant\"",
        "\"thinking\"",
        "\"text\"",
        "\"refusal\"",
        "\"4\"",
        "\"\\\"}]{[,:\"",
        "\"\\\\\"",
        "\"\\ud83d\"",
        "\"a longer text, past one word or two\"",
    ];
    prop::sample::select(fixed.map(str::to_owned).to_vec()).boxed()
}

fn event() -> BoxedStrategy<String> {
    let junk =
        prop_oneof![4 => scalar(), 1 => list(scalar(), 3), 1 => json(&["a", "error", "choices"], scalar())]
            .boxed();
    let function = json(&["name", "arguments", "input", "x"], junk.clone());
    let call = json(&["function", "custom", "index"], prop_oneof![function.clone(), junk.clone()].boxed());
    let block = json(&["type", "text", "thinking", "refusal", "reasoning"], scalar());
    let thought =
        json(&["type", "thinking", "text"], prop_oneof![2 => scalar(), 1 => list(block.clone(), 2)].boxed());
    let blocks = list(prop_oneof![block, thought, junk.clone()].boxed(), 3);
    let delta = json(
        &["content", "role", "reasoning", "reasoning_content", "refusal", "tool_calls", "function_call", "x"],
        prop_oneof![6 => scalar(), 2 => blocks, 1 => list(call, 2), 1 => function].boxed(),
    );
    let logprobs = json(&["content", "refusal", "tokens", "x"], list(junk.clone(), 3));
    let usage = json(
        &["completion_tokens", "output_tokens", "prompt_tokens", "completion_tokens_details"],
        prop_oneof![3 => scalar(), 1 => junk.clone()].boxed(),
    );
    let choice = json(
        &["index", "delta", "delta", "text", "finish_reason", "token_ids", "logprobs", "usage", "x"],
        prop_oneof![4 => delta, 2 => scalar(), 1 => list(scalar(), 3), 1 => logprobs, 1 => usage.clone()]
            .boxed(),
    );
    let choices = list(prop_oneof![6 => choice, 1 => junk.clone()].boxed(), 3);
    json(
        &["choices", "choices", "choices", "usage", "error", "detail", "object", "type", "id"],
        prop_oneof![4 => choices, 1 => usage, 1 => junk].boxed(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_generated_events(event in event()) {
        let understood = meaning(event.as_bytes()) != Meaning::NotJson;
        prop_assert!(understood, "the generator wrote what is no JSON: {event}");
        agree(event.as_bytes())?;
    }

    #[test]
    fn on_their_mutations(
        event in event(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..4),
    ) {
        let mut bytes = event.into_bytes();
        for (at, byte, kind) in changes {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
            bytes.retain(|byte| !b"\r\n".contains(byte));
            if bytes.is_empty() {
                return Ok(());
            }
        }
        if bytes.starts_with(b"{") {
            agree(&bytes)?;
        }
    }

    #[test]
    fn valid_escapes_resolve_as_serde_json_does(text in any::<String>()) {
        let written = serde_json::to_string(&text).expect("a string is JSON");
        prop_assert_eq!(unescape(&written.as_bytes()[1..written.len() - 1]), text);
    }
}

#[test]
fn on_the_events_of_every_case() {
    let mut events = 0;
    for case in streams() {
        for line in case.wire().split(|b| *b == b'\n' || *b == b'\r') {
            if let Some(payload) = line.strip_prefix(b"data:")
                && payload.trim_ascii().starts_with(b"{")
            {
                events += 1;
                agree(payload.trim_ascii()).expect("the two agree");
            }
        }
    }
    assert!(events > 500, "only {events} events were found in the cases");
}
