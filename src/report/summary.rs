//! The summary of a run: `summary.json`, and what the terminal report is printed from.
//!
//! It reads and writes text; where that text is kept is the store's affair.

use super::{Blame, Client, Failure, PerGpu, SCHEMA_VERSION, Section, Server, Slow, Stage, TargetSection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A run's summary. Times are integer nanoseconds, keys end in their unit, null = undefined.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The version of this format; it changes when a key changes its meaning or goes.
    pub schema_version: u32,
    /// Which run this was.
    pub run: Run,
    /// The effective configuration, secrets as `***`.
    pub config: serde_json::Value,
    /// The machine that ran it.
    pub host: Host,
    /// The server, as far as the probe could tell; of several, what holds for all, and the first one's times.
    pub target: Target,
    /// Each server with its own numbers over all measured stages.
    #[serde(default)]
    pub targets: Vec<TargetSection>,
    /// Each stage of the load.
    pub stages: Vec<Stage>,
    /// All measured stages together.
    #[serde(flatten)]
    pub total: Section,
    /// What the throughput means for each GPU; null without `--gpus`.
    #[serde(default)]
    pub gpus: Option<PerGpu>,
    /// The most frequent failures in the server's own words, at most ten; words that never repeat may be missing.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// The slowest successes, slowest first.
    pub slowest: Vec<Slow>,
    /// Whose the tail of TTFT is; null where the tail is undefined.
    pub blame: Option<Blame>,
    /// Our own state.
    pub client: Client,
    /// The server's state.
    pub server: Server,
}

/// Which run this was.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The run's name, the prefix of its request ids.
    pub id: String,
    /// The first due instant at the earliest, since 1970.
    pub start_unix_ns: u64,
    /// The same on CLOCK_MONOTONIC.
    pub start_mono_ns: u64,
    /// From the start to the last request's end, or to the last window's where that is later.
    pub duration_ns: i64,
    /// The measured windows' length together.
    pub window_ns: i64,
    /// The version of lowrho.
    pub version: String,
    /// The seed of the schedule and the prompts.
    pub seed: u64,
    /// How the run ended.
    pub ended: Ended,
    /// The user's own tags.
    pub tags: BTreeMap<String, String>,
}

/// How a run ended.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// As planned.
    #[default]
    Complete,
    /// By a signal: what was measured until then is told.
    Interrupted,
    /// By a failure of our own: what was measured until then is told.
    Failed,
}

/// The machine that ran the load.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// CPUs that this process may use.
    pub cpus: u64,
    /// Which ones, as in `0,2-5`.
    pub cpu_list: String,
    /// The processor's own name.
    pub cpu_model: Option<String>,
    /// The kernel's release.
    pub kernel: String,
    /// Memory of the machine.
    pub memory_bytes: Option<u64>,
    /// CPUs of the shards.
    pub shard_cpus: Vec<u64>,
}

/// What is known of the server; the probe's findings are null without a probe.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The URL that requests went to, user info as `***`; of several, the first.
    pub url: String,
    /// The addresses that connections went to, in turn.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Its share of the requests among several, as a weight.
    #[serde(default)]
    pub weight: u64,
    /// `chat` or `completions`.
    pub api: String,
    /// The model asked for.
    pub model: String,
    /// Whether the probe ran.
    pub probed: bool,
    /// Whether answers stream.
    pub streams: Option<bool>,
    /// Whether the server counts tokens (`usage`).
    pub counts_tokens: Option<bool>,
    /// Whether the asked output length is honoured.
    pub honours_output_tokens: Option<bool>,
    /// Round trip to the server.
    pub round_trip_ns: Option<i64>,
    /// TTFT without load.
    pub idle_ttft_ns: Option<i64>,
    /// TPOT without load.
    pub idle_tpot_ns: Option<i64>,
    /// What else the probe found, in words.
    pub notes: Vec<String>,
}

/// Why a text is not a summary that this version can read.
#[derive(Debug)]
pub enum SummaryError {
    /// It is not JSON, or lacks what every summary has.
    Malformed(serde_json::Error),
    /// A newer lowrho wrote it.
    TooNew(u64),
}

impl fmt::Display for SummaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "not a summary: {error}"),
            Self::TooNew(version) => write!(
                f,
                "a summary of format {version}, and this lowrho reads up to {SCHEMA_VERSION}: use the lowrho that wrote it, or a newer one"
            ),
        }
    }
}

impl std::error::Error for SummaryError {}

impl Summary {
    /// The text of `summary.json`, indented, with a newline at its end.
    ///
    /// # Panics
    /// Never: every key of a summary is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key of a summary is a string");
        text.push('\n');
        text
    }

    /// Reads the text of a `summary.json`.
    ///
    /// # Errors
    /// When it is not a summary, or one that a newer lowrho wrote.
    pub fn from_json(text: &str) -> Result<Self, SummaryError> {
        #[derive(Deserialize)]
        struct Version {
            schema_version: u64,
        }
        let version: Version = serde_json::from_str(text).map_err(SummaryError::Malformed)?;
        if version.schema_version > u64::from(SCHEMA_VERSION) {
            return Err(SummaryError::TooNew(version.schema_version));
        }
        serde_json::from_str(text).map_err(SummaryError::Malformed)
    }
}
