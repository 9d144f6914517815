//! A record as one line of `records.jsonl`: its keys, their order, and the way back.
//!
//! Keys are those of `docs/RESULTS.md`; instants are nanoseconds from the run's start, null if never. It opens no file.

use super::Record;
use crate::time::{Instant, Phase, Span, StampClass};
use crate::wire::{Counters, ErrorClass, FinishReason, TokenSource, Usage};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Adds a record's line to `text`, line feed included, for a run that started at `start`.
///
/// # Panics
/// When an instant lies more than 292 years from the start: our own defect.
pub fn write_line(record: &Record, start: Instant, text: &mut Vec<u8>) {
    serde_json::to_writer(&mut *text, &Row::of(record, start)).expect("every key of a row is a string");
    text.push(b'\n');
}

/// Reads a line back, with or without its line feed; instants become those of a run that started at `start`.
///
/// # Errors
/// When the line is not a row, in words.
pub fn read_line(line: &[u8], start: Instant) -> Result<Record, String> {
    let row: Row = serde_json::from_slice(line).map_err(|error| format!("not a row: {error}"))?;
    row.record(start)
}

/// A record as it is written. The optional keys at the end appear only where they have something to say.
#[derive(Serialize, Deserialize)]
struct Row<'a> {
    index: u64,
    shard: u16,
    stage: u16,
    phase: Cow<'a, str>,
    due_ns: i64,
    begun_ns: Option<i64>,
    connected_ns: Option<i64>,
    sent_ns: Option<i64>,
    head_ns: Option<i64>,
    event_ns: Option<i64>,
    first_ns: Option<i64>,
    answer_ns: Option<i64>,
    last_ns: Option<i64>,
    done_ns: Option<i64>,
    end_ns: Option<i64>,
    reused: bool,
    status: Option<u16>,
    ok: bool,
    error: Option<Cow<'a, str>>,
    detail: Option<Cow<'a, str>>,
    finish_reason: Option<Cow<'a, str>>,
    input_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    output_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    asked_output_tokens: Option<u32>,
    token_source: Cow<'a, str>,
    events: u32,
    n_first: u32,
    bytes: u64,
    coalesced: u32,
    uncertainty_ns: i64,
    stall_ns: Option<i64>,
    retries: u8,
    stamp: Cow<'a, str>,
    sent_uncertainty_ns: i64,
    /// The server's number, of all but the first.
    #[serde(default, skip_serializing_if = "is_first")]
    target: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pool_wait_ns: Option<i64>,
    /// TLS alone, where there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handshake_ns: Option<i64>,
    /// When we were done with it, where that is not `end_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over_ns: Option<i64>,
    /// The failure is of our own making.
    #[serde(default, skip_serializing_if = "is_false")]
    ours: bool,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    choices: u16,
    /// Tokens that the events prove, where that is not `output_tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    streamed_tokens: Option<u64>,
    /// The server's own count, where it is not `output_tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage_output_tokens: Option<u64>,
    /// What a refusal's `Retry-After` said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u32>,
    #[serde(default, skip_serializing_if = "Oddities::none")]
    oddities: Oddities,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gaps_ns: Option<Cow<'a, [i64]>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uncertainties_ns: Option<Cow<'a, [i64]>>,
}

const fn one() -> u16 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_one(n: &u16) -> bool {
    *n == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_first(n: &u16) -> bool {
    *n == 0
}

/// The counters of [`Counters`] that are not zero, by name.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Oddities {
    #[serde(skip_serializing_if = "is_false")]
    no_done: bool,
    #[serde(skip_serializing_if = "is_false")]
    no_finish_reason: bool,
    #[serde(skip_serializing_if = "is_false")]
    unclean_end: bool,
    #[serde(skip_serializing_if = "is_false")]
    data_after_done: bool,
    #[serde(skip_serializing_if = "is_false")]
    wrong_content_type: bool,
    #[serde(skip_serializing_if = "is_false")]
    compressed: bool,
    #[serde(skip_serializing_if = "is_false")]
    usage_distrusted: bool,
    #[serde(skip_serializing_if = "is_false")]
    empty_output: bool,
    #[serde(skip_serializing_if = "is_zero")]
    stray_comments: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_false(b: &bool) -> bool {
    !*b
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Oddities {
    fn of(counters: &Counters) -> Self {
        // Taken apart by name, so that a new counter cannot be forgotten here.
        let Counters {
            no_done,
            no_finish_reason,
            unclean_end,
            data_after_done,
            wrong_content_type,
            compressed,
            usage_distrusted,
            empty_output,
            stray_comments,
        } = *counters;
        Self {
            no_done,
            no_finish_reason,
            unclean_end,
            data_after_done,
            wrong_content_type,
            compressed,
            usage_distrusted,
            empty_output,
            stray_comments,
        }
    }

    fn counters(&self) -> Counters {
        Counters {
            no_done: self.no_done,
            no_finish_reason: self.no_finish_reason,
            unclean_end: self.unclean_end,
            data_after_done: self.data_after_done,
            wrong_content_type: self.wrong_content_type,
            compressed: self.compressed,
            usage_distrusted: self.usage_distrusted,
            empty_output: self.empty_output,
            stray_comments: self.stray_comments,
        }
    }

    fn none(&self) -> bool {
        self.counters() == Counters::default()
    }
}

impl<'a> Row<'a> {
    /// The row of a record in a run that started at `start`.
    fn of(record: &'a Record, start: Instant) -> Self {
        let ns = |instant: Option<Instant>| instant.map(|i| (i - start).as_ns());
        let Usage { prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } = record.usage;
        Self {
            index: record.index,
            shard: record.shard,
            stage: record.stage,
            phase: record.phase.name().into(),
            due_ns: (record.due - start).as_ns(),
            begun_ns: ns(record.begun),
            connected_ns: ns(record.connected),
            sent_ns: ns(record.sent),
            head_ns: ns(record.head),
            event_ns: ns(record.event),
            first_ns: ns(record.first),
            answer_ns: ns(record.answer),
            last_ns: ns(record.last),
            done_ns: ns(record.done),
            end_ns: ns(record.end),
            reused: record.reused,
            status: record.status,
            ok: record.error.is_none(),
            error: record.error.map(|class| class.name().into()),
            detail: record.detail.as_deref().map(Cow::from),
            finish_reason: record.finish_reason.as_ref().map(|reason| reason.name().into()),
            input_tokens: prompt_tokens,
            cached_tokens,
            output_tokens: record.output_tokens,
            reasoning_tokens,
            asked_output_tokens: record.asked_output_tokens,
            token_source: record.token_source.name().into(),
            events: record.events,
            n_first: record.n_first,
            bytes: record.bytes,
            coalesced: record.coalesced,
            uncertainty_ns: record.uncertainty.as_ns(),
            stall_ns: record.stall.map(Span::as_ns),
            retries: record.retries,
            stamp: record.stamp.name().into(),
            sent_uncertainty_ns: record.sent_uncertainty.as_ns(),
            target: record.target,
            pool_wait_ns: record.pool_wait.map(Span::as_ns),
            handshake_ns: record.handshake.map(Span::as_ns),
            over_ns: ns(Some(record.over).filter(|over| record.end != Some(*over))),
            ours: record.ours,
            choices: record.choices,
            streamed_tokens: Some(record.streamed_tokens).filter(|n| record.output_tokens != Some(*n)),
            usage_output_tokens: completion_tokens.filter(|_| usage_says_more(record)),
            retry_after_s: record.retry_after_s,
            oddities: Oddities::of(&record.counters),
            gaps_ns: record.gaps.as_deref().map(all_ns),
            uncertainties_ns: record.uncertainties.as_deref().map(all_ns),
        }
    }

    /// The record of a row; an error when a word is none that rows use, or an instant lies outside the clock or any run.
    fn record(self, start: Instant) -> Result<Record, String> {
        /// 115 days: sums of squares of true latencies never overflow.
        const LONGEST_RUN_NS: u64 = 10_000_000_000_000_000;
        let at = |ns: i64| {
            Some(ns)
                .filter(|ns| ns.unsigned_abs() <= LONGEST_RUN_NS)
                .and_then(|ns| start.as_ns().checked_add_signed(ns))
                .map(Instant::from_ns)
                .ok_or(format!("{ns} ns is no instant of this run"))
        };
        let maybe = |ns: Option<i64>| ns.map(at).transpose();
        if self.ok != self.error.is_none() {
            return Err("ok and error contradict each other".into());
        }
        let token_source = named(
            "token_source",
            &self.token_source,
            [TokenSource::Usage, TokenSource::TokenIds, TokenSource::Logprobs, TokenSource::Events],
            TokenSource::name,
        )?;
        let by_usage = (token_source == TokenSource::Usage).then_some(self.output_tokens).flatten();
        Ok(Record {
            index: self.index,
            shard: self.shard,
            stage: self.stage,
            target: self.target,
            phase: named(
                "phase",
                &self.phase,
                [Phase::Warmup, Phase::Measured, Phase::Cooldown],
                Phase::name,
            )?,
            due: at(self.due_ns)?,
            pool_wait: self.pool_wait_ns.map(Span::from_ns),
            begun: maybe(self.begun_ns)?,
            connected: maybe(self.connected_ns)?,
            handshake: self.handshake_ns.map(Span::from_ns),
            sent: maybe(self.sent_ns)?,
            sent_uncertainty: Span::from_ns(self.sent_uncertainty_ns),
            head: maybe(self.head_ns)?,
            event: maybe(self.event_ns)?,
            first: maybe(self.first_ns)?,
            answer: maybe(self.answer_ns)?,
            last: maybe(self.last_ns)?,
            done: maybe(self.done_ns)?,
            end: maybe(self.end_ns)?,
            over: maybe(self.over_ns.or(self.end_ns))?.ok_or("neither end_ns nor over_ns is given")?,
            reused: self.reused,
            status: self.status,
            error: self
                .error
                .map(|word| named("error", &word, ErrorClass::ALL, ErrorClass::name))
                .transpose()?,
            ours: self.ours,
            detail: self.detail.map(|words| words.into_owned().into_boxed_str()),
            finish_reason: self.finish_reason.as_deref().map(FinishReason::from_name),
            usage: Usage {
                prompt_tokens: self.input_tokens,
                cached_tokens: self.cached_tokens,
                completion_tokens: self.usage_output_tokens.or(by_usage),
                reasoning_tokens: self.reasoning_tokens,
            },
            output_tokens: self.output_tokens,
            asked_output_tokens: self.asked_output_tokens,
            token_source,
            events: self.events,
            n_first: self.n_first,
            streamed_tokens: self
                .streamed_tokens
                .or(self.output_tokens)
                .ok_or("neither output_tokens nor streamed_tokens is given")?,
            choices: self.choices,
            bytes: self.bytes,
            coalesced: self.coalesced,
            uncertainty: Span::from_ns(self.uncertainty_ns),
            stall: self.stall_ns.map(Span::from_ns),
            retries: self.retries,
            retry_after_s: self.retry_after_s,
            stamp: named(
                "stamp",
                &self.stamp,
                [StampClass::Hardware, StampClass::Software, StampClass::User],
                StampClass::name,
            )?,
            counters: self.oddities.counters(),
            gaps: self.gaps_ns.as_deref().map(all_spans),
            uncertainties: self.uncertainties_ns.as_deref().map(all_spans),
        })
    }
}

/// Whether the server's count is not what `output_tokens` and its source already tell.
fn usage_says_more(record: &Record) -> bool {
    record.token_source != TokenSource::Usage || record.usage.completion_tokens != record.output_tokens
}

fn all_ns(spans: &[Span]) -> Cow<'static, [i64]> {
    spans.iter().map(|span| span.as_ns()).collect()
}

fn all_spans(ns: &[i64]) -> Box<[Span]> {
    ns.iter().copied().map(Span::from_ns).collect()
}

/// The value whose name is `word`.
fn named<T: Copy, const N: usize>(
    key: &str,
    word: &str,
    all: [T; N],
    name: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    all.into_iter()
        .find(|value| name(*value) == word)
        .ok_or_else(|| format!("{key} is {word:?}, which no row says"))
}
