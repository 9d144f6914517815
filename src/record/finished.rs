//! A finished request: its record, and its token-bearing events one by one while someone still asks.
//!
//! It must not aggregate over requests: that is the recorder's part.

use super::Record;
use super::by_choice::ByChoice;
use super::event_log::{Replay, Replayed};
use super::metric::per_token;
use crate::time::{Instant, Span};

/// One choice of one token-bearing event.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TokenEvent {
    /// When it arrived, at the latest.
    pub at: Instant,
    /// How much earlier it can have arrived.
    pub uncertainty: Span,
    /// The choice's index.
    pub choice: u16,
    /// False for the second and later bearing choices of one event.
    pub opens_event: bool,
    /// Whether it belongs to the answer, not to reasoning.
    pub answer: bool,
    /// Its tokens, where the event itself proves them; 0 = unknown.
    pub tokens: u32,
    /// The coalesced read it came in, counted from 1; 0 = it was the last event of its read.
    pub coalesced_read: u32,
}

/// A gap between consecutive token-bearing events of one choice (ITL), with its bounds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Between the two stamps.
    pub span: Span,
    /// The shortest that it can have been.
    pub shortest: Span,
    /// The longest that it can have been.
    pub longest: Span,
}

/// A request that is over.
#[derive(Debug)]
pub struct Finished {
    record: Record,
    log: Vec<u8>,
    undecided_count: bool,
    first_uncertainty: Span,
    last_uncertainty: Span,
}

impl Finished {
    /// Completes `record` from the log of its deltas.
    pub(super) fn new(record: Record, log: Vec<u8>, undecided_count: bool) -> Self {
        let mut finished = Self {
            record,
            log,
            undecided_count,
            first_uncertainty: Span::ZERO,
            last_uncertainty: Span::ZERO,
        };
        finished.summarise();
        finished
    }

    fn summarise(&mut self) {
        let mut events = 0_u32;
        let mut n_first = 0_u32;
        let mut streamed_tokens = 0_u64;
        let mut coalesced = 0_u32;
        let mut latest_coalesced_read = 0;
        let mut uncertainty = Span::ZERO;
        let (mut first_uncertainty, mut last_uncertainty) = (Span::ZERO, Span::ZERO);
        let (mut first, mut answer, mut last) = (None, None, None);
        let mut stall = None;
        let mut previous: ByChoice<Instant> = ByChoice::new();
        for event in self.token_events() {
            if let Some(before) = previous.replace(event.choice, event.at) {
                stall = stall.max(Some(event.at - before));
            }
            events += u32::from(event.opens_event);
            streamed_tokens += u64::from(event.tokens.max(1));
            if events == 1 {
                n_first = n_first.saturating_add(event.tokens);
            }
            if first.is_none() {
                first = Some(event.at);
                first_uncertainty = event.uncertainty;
            }
            if event.answer {
                answer.get_or_insert(event.at);
            }
            last = Some(event.at);
            last_uncertainty = event.uncertainty;
            uncertainty = uncertainty.max(event.uncertainty);
            if event.coalesced_read > latest_coalesced_read {
                latest_coalesced_read = event.coalesced_read;
                coalesced += 1;
            }
        }
        let record = &mut self.record;
        record.events = events;
        record.n_first = n_first.max(1);
        record.streamed_tokens = streamed_tokens;
        record.coalesced = coalesced;
        record.uncertainty = uncertainty;
        record.stall = stall;
        record.first = first;
        record.answer = answer;
        // No visible token though it succeeded, or a unary reply: E2E and NTPOT stand (docs/METHOD.md).
        let whole = if record.error.is_none() { record.done.or(record.end) } else { None };
        record.last = last.or(whole);
        self.first_uncertainty = first_uncertainty;
        self.last_uncertainty = last_uncertainty;
    }

    /// Its record.
    #[must_use]
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// Its record, and the memory of its log for [`super::Timeline::new`] to use again.
    #[must_use]
    pub fn into_parts(self) -> (Record, Vec<u8>) {
        (self.record, self.log)
    }

    /// Fills in [`Record::gaps`] and [`Record::uncertainties`] (`--record-gaps`).
    pub fn keep_gaps(&mut self) {
        let gaps = self.gaps().map(|gap| gap.span).collect();
        let uncertainties = self.token_events().map(|event| event.uncertainty).collect();
        self.record.gaps = Some(gaps);
        self.record.uncertainties = Some(uncertainties);
    }

    /// How much earlier than `first` its first token-bearing event can have arrived.
    #[must_use]
    pub const fn first_uncertainty(&self) -> Span {
        self.first_uncertainty
    }

    /// How much earlier than `last` its last token-bearing event can have arrived.
    #[must_use]
    pub const fn last_uncertainty(&self) -> Span {
        self.last_uncertainty
    }

    /// Its token-bearing events in order, a further one for each further choice that bore a token in the same event.
    pub fn token_events(&self) -> impl Iterator<Item = TokenEvent> + '_ {
        let mut owed_opening = false;
        Replay::new(&self.log, self.record.due).filter_map(
            move |Replayed { entry, uncertainty, coalesced_read }| {
                owed_opening |= entry.opens_event;
                if entry.undecided && !self.undecided_count {
                    return None;
                }
                Some(TokenEvent {
                    at: entry.at,
                    uncertainty,
                    choice: entry.choice,
                    opens_event: std::mem::take(&mut owed_opening),
                    answer: entry.answer,
                    tokens: entry.tokens,
                    coalesced_read,
                })
            },
        )
    }

    /// Its gaps between consecutive token-bearing events of the same choice, in order.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> + '_ {
        let mut previous: ByChoice<TokenEvent> = ByChoice::new();
        self.token_events().filter_map(move |event| {
            let before = previous.replace(event.choice, event)?;
            let span = event.at - before.at;
            // Events of one stream arrive in order: a gap in one coalesced read is at least nothing.
            let shortest = (span - event.uncertainty).max(Span::ZERO.min(span));
            Some(Gap { span, shortest, longest: span + before.uncertainty })
        })
    }

    /// TPOT of each choice of a request for several, where all counts are known from the events themselves; else nothing.
    pub fn tpot_by_choice(&self) -> impl Iterator<Item = Span> + '_ {
        let mut choices: ByChoice<ChoiceTokens> = ByChoice::new();
        if self.record.choices > 1 && self.token_events().all(|event| event.tokens > 0) {
            for event in self.token_events() {
                let so_far = choices.get_or_insert(
                    event.choice,
                    ChoiceTokens { first: event.at, last: event.at, after_first: 0, heard: false },
                );
                so_far.last = event.at;
                so_far.after_first += if so_far.heard { u64::from(event.tokens) } else { 0 };
                so_far.heard = true;
            }
        }
        choices.into_values().filter_map(|c| per_token(c.last - c.first, c.after_first))
    }
}

#[derive(Copy, Clone)]
struct ChoiceTokens {
    first: Instant,
    last: Instant,
    after_first: u64,
    heard: bool,
}
