//! The counters and sums of a stage: fates of requests, throughput, tokens.
//!
//! It must not divide. All is whole numbers, so merging is exact.

use super::{Metric, Metrics, Record};
use crate::wire::{Counters, ErrorClass, TokenSource};
use std::collections::BTreeMap;

/// The requests that were due in the window, by their fate: begun = completed + failed + cancelled.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Population {
    /// Due in the window.
    pub due: u64,
    /// Of these, begun at all.
    pub begun: u64,
    /// Begun, and successes.
    pub completed: u64,
    /// Begun, and failures.
    pub failed: u64,
    /// Begun, and cancelled by us.
    pub cancelled: u64,
    /// Failures of our own making among `failed`: never counted against the target.
    pub ours: u64,
    /// Failures by class, of begun requests and of those that could not even begin; cancelled ones included.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Requests sent again: after a stale connection, or a refusal under `--retry`.
    pub retried: u64,
    /// Successes by what was tolerated of them, by name.
    pub tolerated: BTreeMap<&'static str, u64>,
    /// Refusals that said when to ask again (`Retry-After`).
    pub told_to_wait: u64,
    /// The longest wait that one asked for, in seconds.
    pub longest_wait_s: u32,
}

/// What was stamped inside the window, whoever's it is.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Flow {
    /// Requests begun.
    pub begun: u64,
    /// Successes completed.
    pub completed: u64,
    /// Output tokens, each at its event's stamp.
    pub output_tokens: u64,
    /// Token-bearing events.
    pub events: u64,
    /// Input tokens as the server counted them, at the first token.
    pub input_tokens: u64,
    /// Bytes received.
    pub bytes: u64,
}

/// Sums over the successes due in the window, but for what says otherwise.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct TokenSums {
    /// Output tokens asked for, where a length was asked for and delivery is known.
    pub asked: u64,
    /// Output tokens delivered by those same requests.
    pub delivered: u64,
    /// Output tokens of all.
    pub output: u64,
    /// Input tokens, as the server counted them.
    pub input: u64,
    /// Input tokens from the server's cache.
    pub cached: u64,
    /// Output tokens that were reasoning.
    pub reasoning: u64,
    /// Output tokens of requests that failed or were cancelled.
    pub partial_output: u64,
    /// Requests by the source of their count, in the order of [`TokenSource`]; the last is an estimate.
    pub sources: [u64; 4],
    /// Requests whose input the server counted.
    pub input_known: u64,
    /// Token-bearing events.
    pub events: u64,
    /// Reads in which a token-bearing event met something later.
    pub coalesced_reads: u64,
    /// Sum of E2E of those with tokens, in nanoseconds: over `weighted`, the token-weighted NTPOT.
    pub e2e_ns: i128,
    /// Sum of their tokens.
    pub weighted: u64,
}

impl Population {
    pub(super) fn count(&mut self, record: &Record) {
        let begun = u64::from(record.begun.is_some());
        self.due += 1;
        self.begun += begun;
        self.retried += u64::from(record.retries > 0);
        self.told_to_wait += u64::from(record.retry_after_s.is_some());
        self.longest_wait_s = self.longest_wait_s.max(record.retry_after_s.unwrap_or(0));
        match record.error {
            None => {
                self.completed += begun;
                if record.counters != Counters::default() {
                    self.tolerate(&record.counters);
                }
            }
            Some(class) => {
                *self.errors.entry(class).or_insert(0) += 1;
                if class == ErrorClass::Cancelled {
                    self.cancelled += begun;
                } else {
                    self.failed += begun;
                    self.ours += if record.ours { begun } else { 0 };
                }
            }
        }
    }

    #[cold]
    fn tolerate(&mut self, counters: &Counters) {
        for (name, _) in counters.each().into_iter().filter(|(_, there)| *there) {
            *self.tolerated.entry(name).or_insert(0) += 1;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.begun += other.begun;
        self.completed += other.completed;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.ours += other.ours;
        self.retried += other.retried;
        self.told_to_wait += other.told_to_wait;
        self.longest_wait_s = self.longest_wait_s.max(other.longest_wait_s);
        for (class, count) in &other.errors {
            *self.errors.entry(*class).or_insert(0) += count;
        }
        for (name, count) in &other.tolerated {
            *self.tolerated.entry(name).or_insert(0) += count;
        }
    }
}

impl Flow {
    pub(super) fn merge(&mut self, other: &Self) {
        self.begun += other.begun;
        self.completed += other.completed;
        self.output_tokens += other.output_tokens;
        self.events += other.events;
        self.input_tokens += other.input_tokens;
        self.bytes += other.bytes;
    }
}

impl TokenSums {
    pub(super) fn count(&mut self, record: &Record, metrics: &Metrics) {
        let output = record.output_tokens.unwrap_or(0);
        if let (Some(asked), Some(_)) = (record.asked_output_tokens, record.output_tokens) {
            self.asked += u64::from(asked) * u64::from(record.choices);
            self.delivered += output;
        }
        self.output += output;
        self.input += record.usage.prompt_tokens.unwrap_or(0);
        self.cached += record.usage.cached_of_prompt().unwrap_or(0);
        self.reasoning += record.usage.reasoning_tokens.unwrap_or(0);
        self.input_known += u64::from(record.usage.prompt_tokens.is_some());
        let source = match record.token_source {
            TokenSource::Usage => 0,
            TokenSource::TokenIds => 1,
            TokenSource::Logprobs => 2,
            TokenSource::Events => 3,
        };
        self.sources[source] += 1;
        self.events += u64::from(record.events);
        self.coalesced_reads += u64::from(record.coalesced);
        if let (Some(e2e), true) = (metrics.get(Metric::E2e), output > 0) {
            self.e2e_ns += i128::from(e2e.as_ns());
            self.weighted += output;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.asked += other.asked;
        self.delivered += other.delivered;
        self.output += other.output;
        self.input += other.input;
        self.cached += other.cached;
        self.reasoning += other.reasoning;
        self.partial_output += other.partial_output;
        for (mine, theirs) in self.sources.iter_mut().zip(other.sources) {
            *mine += theirs;
        }
        self.input_known += other.input_known;
        self.events += other.events;
        self.coalesced_reads += other.coalesced_reads;
        self.e2e_ns += other.e2e_ns;
        self.weighted += other.weighted;
    }
}
