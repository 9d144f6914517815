//! Every case comes out right, and however its bytes are cut it comes out the same.

use crate::case::{Case, End, streams};
use crate::replay::{Seen, closing, expect, play};
use lowrho::wire::Closed;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Up to here every two-way split is tried, in bytes.
const ALL_SPLITS: usize = 16 << 10;
const RANDOM_SPLITS: usize = 1_000;
const RANDOM_SEGMENTATIONS: usize = 50;

fn random(case: &Case) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(case.id.bytes().fold(1, |seed, b| seed * 131 + u64::from(b)))
}

fn below(random: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    usize::try_from(random.next_u64() % (bound as u64 + 1)).expect("below a usize")
}

/// What is wrong with the outcome of a case.
fn faults(case: &Case, seen: &Seen) -> Vec<String> {
    let mut faults = Vec::new();
    let mut check = |what: &str, expected: String, found: String| {
        if expected != found {
            faults.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    let (expect, reply) = (&case.expect, &seen.reply);
    check("ok", format!("{}", expect.ok), format!("{}", reply.error.is_none()));
    let class = reply.error.map(|class| class.name().to_owned());
    check("error_class", format!("{:?}", expect.error_class), format!("{class:?}"));
    check("output_tokens", format!("{:?}", expect.output_tokens), format!("{:?}", reply.output_tokens));
    check(
        "first token event",
        format!("{:?}", expect.first_token_event),
        format!("{:?}", seen.first_token_event),
    );
    if let Some(first) = expect.first_output_event {
        check("first output event", format!("{first:?}"), format!("{:?}", seen.first_output_event));
    }
    if let Some(events) = expect.token_events {
        check("token events", events.to_string(), seen.token_events.to_string());
    }
    if let Some(source) = &expect.token_source {
        check("token source", source.clone(), reply.token_source.name().into());
    }
    if let Some(text) = &expect.text {
        check("text", text.clone(), seen.text.clone());
    }
    if let Some(reasoning) = &expect.reasoning {
        check("reasoning", reasoning.clone(), seen.reasoning.clone());
    }
    for (what, expected, found) in [
        ("prompt tokens", expect.prompt_tokens, reply.usage.prompt_tokens),
        ("cached tokens", expect.cached_tokens, reply.usage.cached_tokens),
        ("reasoning tokens", expect.reasoning_tokens, reply.usage.reasoning_tokens),
    ] {
        if let Some(expected) = expected {
            check(what, format!("{expected:?}"), format!("{found:?}"));
        }
    }
    if let Some(reusable) = expect.reusable {
        check("reusable", reusable.to_string(), reply.reusable.to_string());
    }
    if case.end == End::Open && seen.open {
        faults.push("the response still wanted to read".into());
    }
    faults
}

fn as_sent(case: &Case) -> Seen {
    play(expect(case), case.segments.iter().map(Vec::as_slice), closing(case))
}

#[test]
fn every_case_comes_out_right() {
    let mut wrong = Vec::new();
    for case in streams() {
        let seen = as_sent(&case);
        let faults = faults(&case, &seen);
        if !faults.is_empty() {
            wrong.push(format!(
                "{} {}\n    {}\n    {:?}",
                case.id,
                case.title,
                faults.join("\n    "),
                seen.reply
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_case_is_left_out() {
    assert!(streams().len() > 100, "the loader lost cases: {}", streams().len());
}

/// Plays the case's bytes cut at `cuts` (rising) and compares with how they were sent.
fn assert_same(case: &Case, wire: &[u8], cuts: &[usize], sent: &Seen) {
    let mut reads = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for &cut in cuts {
        reads.push(&wire[from..cut]);
        from = cut;
    }
    reads.push(&wire[from..]);
    let seen = play(expect(case), reads.into_iter().filter(|read| !read.is_empty()), closing(case));
    if seen != *sent {
        let cuts = if cuts.len() > 20 { "many places".to_owned() } else { format!("{cuts:?}") };
        panic!(
            "{} {}: cut at {cuts} it came out otherwise:\n{seen:#?}\nbut as sent:\n{sent:#?}",
            case.id, case.title
        );
    }
}

#[test]
fn every_two_way_split_gives_the_same() {
    for case in streams() {
        let (wire, sent) = (case.wire(), as_sent(&case));
        if wire.len() <= ALL_SPLITS {
            (0..=wire.len()).for_each(|cut| assert_same(&case, &wire, &[cut], &sent));
            continue;
        }
        let near = |at: usize| at.saturating_sub(2)..=(at + 2).min(wire.len());
        let line_ends = wire.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at);
        for at in case.boundaries().into_iter().chain(line_ends).flat_map(near) {
            assert_same(&case, &wire, &[at], &sent);
        }
        let mut random = random(&case);
        for _ in 0..RANDOM_SPLITS {
            assert_same(&case, &wire, &[below(&mut random, wire.len())], &sent);
        }
    }
}

#[test]
fn byte_by_byte_gives_the_same() {
    for case in streams() {
        let (wire, sent) = (case.wire(), as_sent(&case));
        let cuts: Vec<usize> = (1..wire.len()).collect();
        assert_same(&case, &wire, &cuts, &sent);
        assert_same(&case, &wire, &[], &sent);
    }
}

#[test]
fn random_segmentations_give_the_same() {
    for case in streams() {
        let (wire, sent) = (case.wire(), as_sent(&case));
        let mut random = random(&case);
        for _ in 0..RANDOM_SEGMENTATIONS {
            let mut cuts: Vec<usize> =
                (0..below(&mut random, 30)).map(|_| below(&mut random, wire.len())).collect();
            cuts.sort_unstable();
            assert_same(&case, &wire, &cuts, &sent);
        }
    }
}

#[test]
fn a_cut_response_is_never_a_success_before_its_terminal_marker() {
    let find = |wire: &[u8], what: &str| wire.windows(what.len()).position(|at| at == what.as_bytes());
    for case in streams() {
        let wire = case.wire();
        let stride = if wire.len() > ALL_SPLITS { 101 } else { 1 };
        // As plain bytes, whatever the decoder thinks of them; compressed ones show no marker.
        let marker = find(&wire, "[DONE]").into_iter().chain(find(&wire, "\"finish_reason\":\"")).min();
        for cut in (0..wire.len()).step_by(stride) {
            let seen = play(expect(&case), [&wire[..cut]], Closed::Fin);
            if seen.reply.error.is_none() {
                assert!(seen.done || seen.reply.finish_reason.is_some(), "{} cut at {cut}", case.id);
                assert!(marker.is_none_or(|marker| cut > marker), "{} cut at {cut}", case.id);
                let hidden = find(&wire, "Content-Encoding: gzip").is_some();
                assert!(marker.is_some() || hidden, "{} has no marker", case.id);
            }
        }
    }
}

#[test]
fn a_response_that_failed_in_its_framing_is_never_reused() {
    for case in streams() {
        let reply = as_sent(&case).reply;
        let unframed = reply.error.is_some_and(|class| {
            matches!(
                class.name(),
                "http_protocol" | "truncated_body" | "truncated_head" | "reset" | "timeout_idle"
            )
        });
        assert!(!(unframed && reply.reusable), "{}", case.id);
    }
}
