//! Any record at all, for property tests; and a plain one.

use lowrho::record::Record;
use lowrho::time::{Instant, Phase, Span, StampClass};
use lowrho::wire::{Counters, ErrorClass, FinishReason, TokenSource, Usage};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

/// When the runs of these records started.
pub const START: Instant = Instant::from_ns(1_000_000_000_000);

/// A success of a measured request.
pub fn plain(index: u64) -> Record {
    let at = |ms| Some(START + Span::from_ms(ms));
    Record {
        index,
        shard: 0,
        stage: 0,
        target: 0,
        phase: Phase::Measured,
        due: START + Span::from_ms(1),
        pool_wait: None,
        begun: at(2),
        connected: None,
        handshake: None,
        sent: at(2),
        sent_uncertainty: Span::from_us(9),
        head: at(20),
        event: at(21),
        first: at(22),
        answer: at(22),
        last: at(60),
        done: at(60),
        end: at(61),
        over: START + Span::from_ms(61),
        reused: true,
        status: Some(200),
        error: None,
        ours: false,
        detail: None,
        finish_reason: Some(FinishReason::Length),
        usage: Usage { prompt_tokens: Some(128), completion_tokens: Some(8), ..Usage::default() },
        output_tokens: Some(8),
        asked_output_tokens: Some(8),
        token_source: TokenSource::Usage,
        events: 8,
        n_first: 1,
        streamed_tokens: 8,
        choices: 1,
        bytes: 2_000,
        coalesced: 1,
        uncertainty: Span::from_us(30),
        stall: Some(Span::from_ms(7)),
        retries: 0,
        retry_after_s: None,
        stamp: StampClass::Software,
        counters: Counters::default(),
        gaps: None,
        uncertainties: None,
    }
}

fn instant() -> impl Strategy<Value = Instant> {
    // From a little before the start, as a connection opened in advance would be.
    (0..10_000_000_000_000_u64).prop_map(Instant::from_ns)
}

fn span() -> impl Strategy<Value = Span> {
    any::<i64>().prop_map(Span::from_ns)
}

fn words() -> impl Strategy<Value = Box<str>> {
    ".{0,40}".prop_map(String::into_boxed_str)
}

fn counters() -> impl Strategy<Value = Counters> {
    (vec(any::<bool>(), 8), any::<u32>()).prop_map(|(is, stray_comments)| Counters {
        no_done: is[0],
        no_finish_reason: is[1],
        unclean_end: is[2],
        data_after_done: is[3],
        wrong_content_type: is[4],
        compressed: is[5],
        usage_distrusted: is[6],
        empty_output: is[7],
        stray_comments,
    })
}

/// Any record at all.
pub fn any_record() -> impl Strategy<Value = Record> {
    let identity = (
        any::<u64>(),
        any::<u16>(),
        (any::<u16>(), any::<u16>()),
        select(vec![Phase::Warmup, Phase::Measured, Phase::Cooldown]),
        instant(),
        vec(of(instant()), 10),
        (of(span()), span(), any::<bool>(), instant(), any::<bool>()),
    );
    let outcome = (
        any::<bool>(),
        of(any::<u16>()),
        of(select(ErrorClass::ALL.to_vec())),
        of(words()),
        of("[a-z_]{0,40}".prop_map(|word| FinishReason::from_name(&word))),
        prop_oneof![Just(Counters::default()), counters()],
    );
    let tokens = (
        vec(of(any::<u64>()), 5),
        of(any::<u32>()),
        select(vec![TokenSource::Usage, TokenSource::TokenIds, TokenSource::Logprobs, TokenSource::Events]),
        any::<u32>(),
        any::<u32>(),
        any::<u16>(),
        (any::<bool>(), any::<u64>()),
    );
    let reads = (
        any::<u64>(),
        any::<u32>(),
        span(),
        of(span()),
        (any::<u8>(), of(any::<u32>())),
        select(vec![StampClass::Hardware, StampClass::Software, StampClass::User]),
        vec(of(vec(span(), 0..5).prop_map(Vec::into_boxed_slice)), 2),
    );
    (identity, outcome, tokens, reads).prop_map(
        |(
            (index, shard, (stage, target), phase, due, at, (pool_wait, sent_uncertainty, ended, over, ours)),
            (reused, status, error, detail, finish_reason, counters),
            (counts, asked_output_tokens, token_source, events, n_first, choices, (by_events, streamed)),
            (bytes, coalesced, uncertainty, stall, (retries, retry_after_s), stamp, mut by_event),
        )| {
            let usage = Usage {
                prompt_tokens: counts[0],
                cached_tokens: counts[1],
                completion_tokens: counts[2],
                reasoning_tokens: counts[3],
            };
            // Nothing is both counted by usage and without a count: then usage would say so.
            let by_usage = token_source == TokenSource::Usage;
            let output_tokens = if by_usage && usage.completion_tokens.is_none() { None } else { counts[4] };
            Record {
                index,
                shard,
                stage,
                target,
                phase,
                due,
                pool_wait,
                sent_uncertainty,
                over: at[9].filter(|_| ended).unwrap_or(over),
                ours,
                streamed_tokens: output_tokens.filter(|_| by_events).unwrap_or(streamed),
                begun: at[0],
                connected: at[1],
                handshake: at[1].and_then(|up| Some(up - at[0]?)).filter(|_| ours),
                sent: at[2],
                head: at[3],
                event: at[4],
                first: at[5],
                answer: at[6],
                last: at[7],
                done: at[8],
                end: at[9],
                reused,
                status,
                error,
                detail,
                finish_reason,
                usage,
                output_tokens,
                asked_output_tokens,
                token_source,
                events,
                n_first,
                choices,
                bytes,
                coalesced,
                uncertainty,
                stall,
                retries,
                retry_after_s,
                stamp,
                counters,
                gaps: by_event.swap_remove(0),
                uncertainties: by_event.swap_remove(0),
            }
        },
    )
}
