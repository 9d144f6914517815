//! Real responses of a vLLM 0.32 server come out as vLLM meant them.

use crate::replay::{Seen, play};
use lowrho::wire::{
    Api, Closed, ErrorClass, Expect, FinishReason, Progress, Response, TokenSource, model_ids,
};

fn seen(capture: &[u8], api: Api, choices: u16) -> Seen {
    let expect = Expect { api, choices, reused: false };
    let seen = play(expect, [capture], Closed::Fin);
    let bytes = play(expect, capture.chunks(1), Closed::Fin);
    assert_eq!(seen, bytes, "byte by byte it comes out otherwise");
    assert!(!seen.open, "the capture is whole, yet more was wanted");
    assert!(seen.reply.reusable);
    seen
}

fn unary(capture: &[u8]) -> Response {
    let mut response = Response::unary(Expect { api: Api::Chat, choices: 1, reused: false });
    let progress = capture.chunks(100).map(|read| response.read(read, &mut |_| {})).last();
    assert_eq!(progress, Some(Progress::Over));
    response
}

#[test]
fn chat_counts_its_empty_texts_as_the_tokens_they_are() {
    let seen = seen(include_bytes!("captures/vllm-0.32-chat.http"), Api::Chat, 1);
    assert_eq!((seen.reply.error, seen.reply.output_tokens), (None, Some(6)));
    assert_eq!((seen.first_token_event, seen.token_events), (Some(1), 6));
    assert!(seen.reply.undecided_count);
    assert_eq!(seen.reply.finish_reason, Some(FinishReason::Length));
}

#[test]
fn completions_do_too() {
    let seen = seen(include_bytes!("captures/vllm-0.32-completions.http"), Api::Completions, 1);
    assert_eq!((seen.reply.error, seen.reply.output_tokens), (None, Some(6)));
    assert_eq!((seen.first_token_event, seen.token_events), (Some(0), 6));
}

#[test]
fn two_choices_are_counted_apart_and_summed() {
    let seen = seen(include_bytes!("captures/vllm-0.32-chat-n2-logprobs.http"), Api::Chat, 2);
    assert_eq!((seen.reply.error, seen.reply.output_tokens), (None, Some(6)));
    assert_eq!(seen.reply.token_source, TokenSource::Usage);
    assert_eq!((seen.first_token_event, seen.token_events), (Some(2), 6));
}

#[test]
fn two_choices_that_are_cut_off_sum_what_each_had() {
    let capture = include_bytes!("captures/vllm-0.32-chat-n2-logprobs.http");
    let whole_usage =
        capture.windows(12).position(|at| at == b"\"choices\":[]").expect("usage ends the capture");
    let expect = Expect { api: Api::Chat, choices: 2, reused: false };
    let last_event = capture[..whole_usage].windows(6).rposition(|at| at == b"data: ").expect("an event");
    // Without its last choice-bearing event's end, choice 1 has not finished.
    let cut = capture[..last_event].windows(6).rposition(|at| at == b"data: ").expect("an event");
    let seen = play(expect, [&capture[..cut + 100]], Closed::Fin);
    assert_eq!(seen.reply.error, Some(ErrorClass::TruncatedBody));
    assert_eq!(seen.reply.output_tokens, Some(5));
}

#[test]
fn a_unary_reply_gives_its_body_usage_and_finish() {
    let response = unary(include_bytes!("captures/vllm-0.32-chat-unary.http"));
    let reply = response.reply();
    assert_eq!((reply.status, reply.error, reply.output_tokens), (Some(200), None, Some(3)));
    assert_eq!((reply.usage.prompt_tokens, reply.finish_reason), (Some(15), Some(FinishReason::Length)));
    assert!(reply.reusable && response.body().starts_with(b"{\"id\":") && response.body().ends_with(b"}"));
}

#[test]
fn the_models_are_named() {
    let response = unary(include_bytes!("captures/vllm-0.32-models.http"));
    assert_eq!(response.reply().error, None);
    assert_eq!(model_ids(response.body()), ["tiny"]);
}

#[test]
fn refusals_come_with_the_servers_own_words() {
    for (capture, status, words) in [
        (
            &include_bytes!("captures/vllm-0.32-model-not-found.http")[..],
            404,
            "The model `nope` does not exist.",
        ),
        (&include_bytes!("captures/vllm-0.32-too-long.http")[..], 400, "max_tokens=300000 cannot be greater"),
    ] {
        for reply in [unary(capture).reply(), seen(capture, Api::Chat, 1).reply] {
            assert_eq!((reply.status, reply.error), (Some(status), Some(ErrorClass::Http4xx)));
            assert!(
                reply.detail.as_deref().is_some_and(|detail| detail.starts_with(words)),
                "{:?}",
                reply.detail
            );
            assert!(reply.reusable && reply.output_tokens.is_none());
        }
    }
}
