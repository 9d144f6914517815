//! What one stage, or all measured stages together, have to tell: load, latency, throughput, tokens, errors.
//!
//! Keys and their order are those of `docs/RESULTS.md`; nothing here computes.

use super::{Distribution, Ntpot, Server, Slo, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One stage of the load.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// The stage's name, or its number from 0.
    pub name: String,
    /// The arrival process, as the plan writes it (`poisson`, `gamma:0.5`, ...); null in a closed loop.
    pub arrival: Option<String>,
    /// The window's start, from the run's start.
    pub start_ns: i64,
    /// The window's length.
    pub window_ns: i64,
    /// The stage's numbers.
    #[serde(flatten)]
    pub section: Section,
    /// The server's state over this stage.
    pub server: Server,
}

/// One server of the run.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TargetSection {
    /// Which one, and what the probe found.
    #[serde(flatten)]
    pub target: Target,
    /// Its numbers.
    #[serde(flatten)]
    pub section: Section,
    /// Its state.
    pub server: Server,
}

/// The numbers of one stage, or of all measured stages together.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Section {
    /// Load asked, scheduled, sent, achieved.
    pub load: Load,
    /// Latencies of the requests due in the window.
    pub latency: Latency,
    /// What NTPOT is made of.
    #[serde(default)]
    pub ntpot: Ntpot,
    /// What was stamped inside the window, whoever's it is.
    pub throughput: Throughput,
    /// Tokens asked and delivered.
    pub tokens: Tokens,
    /// The service levels; null where none were asked for.
    pub slo: Option<Slo>,
    /// Failed requests by class of error.
    pub errors: BTreeMap<String, u64>,
    /// Successes by what was tolerated of them (`docs/WIRE.md`).
    #[serde(default)]
    pub tolerated: BTreeMap<String, u64>,
}

/// Load of the window. Rates are requests per second.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// The rate asked for; null in a closed loop, and over stages of several rates.
    pub requested_rate: Option<f64>,
    /// Due in the window / window.
    pub scheduled_rate: Option<f64>,
    /// Begun in the window / window.
    pub sent_rate: Option<f64>,
    /// Successes completed in the window / window.
    pub achieved_rate: Option<f64>,
    /// The concurrency asked for; null in an open loop without a limit, and over stages of several.
    pub requested_concurrency: Option<u64>,
    /// Requests due.
    pub due: u64,
    /// Requests begun = completed + failed + cancelled.
    pub begun: u64,
    /// Successes.
    pub completed: u64,
    /// Failures.
    pub failed: u64,
    /// Failures of our own making among them (files, ports, pool): never counted against the target.
    pub failed_by_us: u64,
    /// Requests that we gave up.
    pub cancelled: u64,
    /// Requests sent more than once: after a connection that was dead, or a refusal under `--retry`.
    #[serde(default)]
    pub retried: u64,
    /// Begun - due.
    pub lateness_ns: Distribution,
}

/// Latencies, each defined in `docs/METHOD.md`, "Metrics of one request".
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// First token-bearing event - sent.
    pub ttft_ns: Distribution,
    /// First token-bearing event - due.
    pub ttft_due_ns: Distribution,
    /// First choice-bearing event - sent.
    pub ttfe_ns: Distribution,
    /// First event of the answer (not reasoning) - sent.
    pub ttfo_ns: Distribution,
    /// Gaps between consecutive token-bearing events.
    pub itl_ns: Distribution,
    /// A request's longest gap.
    pub stall_ns: Distribution,
    /// (last - first) / (tokens - tokens of the first event).
    pub tpot_ns: Distribution,
    /// (last - due) / tokens.
    pub ntpot_ns: Distribution,
    /// (last - sent) / tokens.
    pub ntpot_sent_ns: Distribution,
    /// (first - due) / tokens: the waiting in NTPOT.
    #[serde(default)]
    pub ntpot_waiting_ns: Distribution,
    /// (last - first) / tokens: the decoding in NTPOT.
    #[serde(default)]
    pub ntpot_decoding_ns: Distribution,
    /// Last token-bearing event - sent.
    pub e2e_ns: Distribution,
    /// Last token-bearing event - due.
    pub e2e_due_ns: Distribution,
    /// Terminal event - sent.
    pub e2e_done_ns: Distribution,
    /// Body's end - sent.
    pub e2e_end_ns: Distribution,
    /// Response head - sent.
    pub head_ns: Distribution,
    /// Connected - begun, of requests on a new connection.
    pub connect_ns: Distribution,
    /// TLS up - TCP up, of requests on a new connection: a part of `connect_ns`.
    #[serde(default)]
    pub handshake_ns: Distribution,
    /// Time spent waiting for a connection under the pool's limit.
    pub pool_wait_ns: Distribution,
}

/// Rates of what was stamped inside the window.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Successes.
    pub requests_per_s: Option<f64>,
    /// Output tokens.
    pub output_tokens_per_s: Option<f64>,
    /// Input tokens of successes, each request's at its first token.
    pub input_tokens_per_s: Option<f64>,
    /// Token-bearing events.
    pub events_per_s: Option<f64>,
    /// Bytes received.
    pub bytes_per_s: Option<f64>,
}

/// Tokens of successes, but for what says otherwise.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Input tokens, by the server's count; null where it gave none.
    pub input: Option<u64>,
    /// Input tokens that the server found in its cache.
    pub cached_input: Option<u64>,
    /// Output tokens.
    pub output: u64,
    /// Output tokens of reasoning.
    pub reasoning: Option<u64>,
    /// Output tokens of failed requests.
    pub partial_output: u64,
    /// Output tokens asked for; null where none were.
    pub asked_output: Option<u64>,
    /// Output tokens delivered / asked, over requests that asked.
    pub delivered_share: Option<f64>,
    /// Token-bearing events.
    pub events: u64,
    /// Output tokens / token-bearing events.
    pub per_event: Option<f64>,
    /// Sum of E2E / sum of output tokens.
    pub weighted_ntpot_ns: Option<i64>,
    /// Requests by where their count of output tokens comes from.
    pub sources: TokenSources,
}

/// Requests by the source of their count of output tokens, best first.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the words of `TokenSource`")]
pub struct TokenSources {
    pub usage: u64,
    pub token_ids: u64,
    pub logprobs: u64,
    /// An estimate: one token for each token-bearing event.
    pub events: u64,
}

/// One kind of failure of measured requests.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Its class.
    pub class: String,
    /// The HTTP status, where one came.
    pub status: Option<u16>,
    /// The server's or the parser's own words, where there are some.
    pub detail: Option<String>,
    /// Requests that failed so.
    pub count: u64,
}

/// One of the slowest requests, split: due -> begun -> sent -> first -> last.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Slow {
    /// The request's index.
    pub index: u64,
    /// The shard that sent it.
    pub shard: u64,
    /// Its stage's number.
    pub stage: u64,
    /// When it was due, from the run's start.
    pub due_ns: i64,
    /// Last - due.
    pub e2e_due_ns: i64,
    /// Sent - due: lateness, waiting for a connection, connecting.
    pub before_sent_ns: i64,
    /// First - sent: the network, the server's queue, prefill; null without a visible token.
    pub ttft_ns: Option<i64>,
    /// Last - first: decoding; null without a visible token.
    pub decode_ns: Option<i64>,
    /// Output tokens, where known.
    pub output_tokens: Option<u64>,
    /// The longest gap between token-bearing events.
    pub stall_ns: Option<i64>,
}
