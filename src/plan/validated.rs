//! The plan itself: what a run is made from; checks nothing, since only the checks of this room make one.

use super::{Load, Target};

/// A run, every bound of which has been checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Who is driven.
    pub target: Target,
    /// How much and when.
    pub load: Load,
    /// What is sent.
    pub payload: Payload,
    /// Our own side.
    pub client: Client,
    /// What is written and where.
    pub output: Output,
    /// The embedded simulator to start and drive, if `--sim`.
    pub sim: Option<SimPlan>,
    /// The worst verdict that still exits with 0.
    pub require: Require,
    /// The share of failed requests above which the target has failed (exit 4), 0 to 1.
    pub max_error_share: f64,
    /// What the plan had to give up, in words for the report (one CPU shared with the simulator, ...).
    pub caveats: Vec<String>,
}

/// What is sent.
#[derive(Clone, PartialEq, Debug)]
pub struct Payload {
    /// Lengths of synthetic prompts, in tokens, in text form.
    pub input_tokens: String,
    /// Lengths asked of the answers, in tokens, in text form.
    pub output_tokens: String,
    /// A file of prompts, one JSON object a line, instead of synthetic ones.
    pub prompts: Option<String>,
    /// How a prompt is written.
    pub prompt_as: PromptAs,
    /// Answers asked per request (`n`).
    pub choices: u32,
    /// Whether `ignore_eos` is sent.
    pub ignore_eos: bool,
    /// Whether `stream_options.include_usage` is sent.
    pub include_usage: bool,
    /// Whether every request carries `x-request-id: <run>-<index>`.
    pub request_id: bool,
}

/// How a prompt is written in the body.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum PromptAs {
    /// As text.
    Text,
    /// As an array of token ids (completions only).
    Ids,
}

/// Our own side: shards and connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// The CPU of each shard; its length is the number of shards.
    pub cpus: Vec<usize>,
    /// The most connections open at once, over all shards.
    pub connections: usize,
    /// Whether connections for the expected concurrency are opened before the first due instant.
    pub preconnect: bool,
}

/// What is written and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The results directory; `None` = `results/<time>-<model>`.
    pub dir: Option<String>,
    /// Which requests get a row in `records.jsonl`.
    pub records: Records,
    /// Whether rows hold every gap between events.
    pub record_gaps: bool,
    /// Kept with the results, in the order given.
    pub tags: Vec<(String, String)>,
    /// Whether stdout gets `summary.json` instead of the terminal report.
    pub json: bool,
    /// No progress on stderr.
    pub quiet: bool,
    /// More words on stderr.
    pub verbose: bool,
}

/// Which requests get a row in `records.jsonl`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Records {
    /// None.
    None,
    /// Those that failed.
    Failed,
    /// All.
    All,
}

/// The worst verdict that still exits with 0.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Require {
    /// Only a valid one.
    Valid,
    /// Suspect will do.
    Suspect,
    /// Any will do.
    Any,
}

/// The embedded simulator of `run --sim`.
#[derive(Clone, PartialEq, Debug)]
pub struct SimPlan {
    /// The CPU of each of its shards.
    pub cpus: Vec<usize>,
    /// Time to the first token, in text form.
    pub ttft: String,
    /// Time between tokens, in text form.
    pub itl: String,
    /// File for the simulator's own log of the truth.
    pub log: Option<String>,
}
