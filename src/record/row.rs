//! The record of one request: one line of `records.jsonl`.

use crate::time::{Instant, Phase, Span, StampClass};
use crate::wire::{Counters, ErrorClass, FinishReason, TokenSource, Usage};

/// Everything that is kept of one request. Instants are on the run's clock; `None` = it never came.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "docs/METHOD.md and docs/RESULTS.md define each field under the same name")]
pub struct Record {
    pub index: u64,
    pub shard: u16,
    pub stage: u16,
    /// The server it went to, from 0.
    pub target: u16,
    pub phase: Phase,
    pub due: Instant,
    /// How long it waited for a free connection or a free slot of the pool, within begun - due; `None` = it did not.
    pub pool_wait: Option<Span>,
    pub begun: Option<Instant>,
    pub connected: Option<Instant>,
    /// How long TLS took to come up on a TCP that was up; within connected - begun.
    pub handshake: Option<Span>,
    pub sent: Option<Instant>,
    /// How much later than `sent` the first byte can have left: until that enter returned.
    pub sent_uncertainty: Span,
    pub head: Option<Instant>,
    pub event: Option<Instant>,
    pub first: Option<Instant>,
    pub answer: Option<Instant>,
    pub last: Option<Instant>,
    pub done: Option<Instant>,
    pub end: Option<Instant>,
    /// When we were done with it: `end`, or the instant of the failure or of our cancelling. Its age is counted to here.
    pub over: Instant,
    pub reused: bool,
    pub status: Option<u16>,
    pub error: Option<ErrorClass>,
    /// A failure of our own making (files, ports, pool): never counted against the target.
    pub ours: bool,
    pub detail: Option<Box<str>>,
    pub finish_reason: Option<FinishReason>,
    pub usage: Usage,
    pub output_tokens: Option<u64>,
    pub asked_output_tokens: Option<u32>,
    pub token_source: TokenSource,
    /// Token-bearing events.
    pub events: u32,
    /// Tokens of the first token-bearing event, 1 if unknown.
    pub n_first: u32,
    /// Tokens that its token-bearing events prove: their own counts where known, else one for each.
    pub streamed_tokens: u64,
    /// Choices asked for.
    pub choices: u16,
    pub bytes: u64,
    /// Coalesced reads.
    pub coalesced: u32,
    /// The widest uncertainty of any of its token-bearing events.
    pub uncertainty: Span,
    /// The longest gap between consecutive token-bearing events of one choice.
    pub stall: Option<Span>,
    pub retries: u8,
    /// Seconds after which the server that refused it wanted to be asked again.
    pub retry_after_s: Option<u32>,
    pub stamp: StampClass,
    pub counters: Counters,
    /// Gaps between token-bearing events, kept only under `--record-gaps`.
    pub gaps: Option<Box<[Span]>>,
    /// How much earlier than its stamp each token-bearing event can have arrived, one for each choice of it; kept with the gaps.
    pub uncertainties: Option<Box<[Span]>>,
}

impl Record {
    /// Whether it failed: it is no success, and we did not give it up.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.error.is_some_and(|class| class != ErrorClass::Cancelled)
    }

    /// Whether its connection was refused, or lost before a byte of an answer: nobody was there to say anything.
    #[must_use]
    pub fn was_turned_away(&self) -> bool {
        use ErrorClass::{Connect, EofBeforeHead, Reset, StaleConnection, TimeoutConnect, Tls};
        let lost = [Connect, Tls, TimeoutConnect, StaleConnection, EofBeforeHead, Reset];
        self.bytes == 0 && self.error.is_some_and(|class| lost.contains(&class))
    }
}

impl Record {
    /// Whether we gave it up: neither a success nor a failure.
    #[must_use]
    pub fn was_cancelled(&self) -> bool {
        self.error == Some(ErrorClass::Cancelled)
    }
}
