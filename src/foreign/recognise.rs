//! A text to readings: which tool wrote it is told by its content, never by its name.
//!
//! It must not guess: what is not known is refused with what is.

use super::reading::Reading;
use super::{
    aiperf, aiperf_rows, guidellm, inference_perf, inference_perf_rows, k6, lowrho, oha, sglang, vllm, wrk,
};
use crate::report::Summary;
use serde_json::Value;
use std::fmt;

/// A kind of file that can be read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The tool and the versions whose files it was tested on.
    pub tool: &'static str,
    /// The file.
    pub file: &'static str,
}

/// Every kind of file that can be read.
pub const KNOWN: [Known; 14] = [
    Known { tool: "lowrho", file: "a results directory, or its summary.json" },
    Known { tool: "k6 1.1, 1.8, 2.2", file: "--summary-export FILE" },
    Known { tool: "k6 1.1", file: "the data of handleSummary as JSON" },
    Known { tool: "k6 1.8", file: "--new-machine-readable-summary, exported or by handleSummary" },
    Known {
        tool: "vLLM 0.33",
        file: "vllm bench serve --save-result, with or without --save-detailed, Python and Rust client",
    },
    Known { tool: "SGLang 0.5.23", file: "bench_serving --output-file (JSON lines), Python and Rust client" },
    Known { tool: "AIPerf 0.13", file: "profile_export_aiperf.json" },
    Known { tool: "AIPerf 0.13", file: "profile_export.jsonl" },
    Known {
        tool: "inference-perf 0.7",
        file: "summary_lifecycle_metrics.json, stage_N_lifecycle_metrics.json",
    },
    Known { tool: "inference-perf 0.7", file: "per_request_lifecycle_metrics.json" },
    Known { tool: "GuideLLM 0.8", file: "its JSON report" },
    Known { tool: "oha 1.16", file: "--output-format json" },
    Known { tool: "oha 1.16", file: "its text" },
    Known { tool: "wrk 4.1", file: "its text" },
];

/// Why a text cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForeignError {
    /// Nothing is in it.
    Empty,
    /// It begins like JSON, and is none.
    NotJson(String),
    /// No known tool wrote it, or one whose files of this kind are not read.
    Unknown(Option<&'static str>),
    /// A known tool wrote it, and something in it is not as that tool writes it.
    Wrong {
        /// Where.
        place: String,
        /// What is wrong there.
        why: String,
    },
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::NotJson(why) => write!(f, "it begins like JSON, but: {why}"),
            Self::Wrong { place, why } => write!(f, "{place} {why}"),
            Self::Unknown(what) => {
                match what {
                    Some(what) => write!(f, "{what}; read are:")?,
                    None => f.write_str("no tool is known that writes this; read are:")?,
                }
                KNOWN.iter().try_for_each(|known| write!(f, "\n  {}: {}", known.tool, known.file))
            }
        }
    }
}

impl std::error::Error for ForeignError {}

/// How a kind of file is told, and what it is.
type Sight = (fn(&Value) -> bool, &'static str);

/// What is known of by sight, and not read.
const NOT_READ: [Sight; 4] = [
    (is_genai_perf, "it looks like GenAI-Perf, whose results are not read: no real one was at hand"),
    (is_llm_perf, "it looks like llm-perf, whose results are not read"),
    (is_benchmarker, "it looks like inference-benchmarker, whose results are not read"),
    (is_sweep, "it is lowrho's sweep.json: name the directory of one of its trials"),
];

/// What a text says; `name` is what its columns are called. Several readings where the file holds several runs.
///
/// # Errors
/// A text that no known tool writes, or not so; what is wrong and where.
pub fn read(text: &str, name: &str) -> Result<Vec<Reading>, ForeignError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(ForeignError::Empty);
    }
    if !text.starts_with(['{', '[']) {
        return match text {
            _ if wrk::is(text) => wrk::read(text, name).map(|one| vec![one]),
            _ if oha::is_text(text) => oha::read_text(text, name).map(|one| vec![one]),
            _ => Err(ForeignError::Unknown(None)),
        };
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => document(&value, text, name),
        Err(error) => lines(text, name).unwrap_or_else(|| Err(ForeignError::NotJson(words(&error, text)))),
    }
}

/// Why a summary that came as a text has no rows.
const ALONE: &str = "the summary alone was at hand, and rows are in its directory";

/// One JSON document.
fn document(value: &Value, text: &str, name: &str) -> Result<Vec<Reading>, ForeignError> {
    let one = |read: Result<Reading, ForeignError>| read.map(|reading| vec![reading]);
    if value.get("schema_version").is_some_and(Value::is_u64) && value.get("latency").is_some() {
        let summary = Summary::from_json(text).map_err(|error| ForeignError::Wrong {
            place: "lowrho's summary:".into(),
            why: error.to_string(),
        })?;
        return Ok(vec![lowrho::ours(&summary, Err(ALONE), name)]);
    }
    for (is, what) in NOT_READ {
        if is(value) {
            return Err(ForeignError::Unknown(Some(what)));
        }
    }
    match value {
        _ if k6::is(value) => one(k6::read(value, name)),
        _ if vllm::is(value) => one(vllm::read(value, name)),
        _ if sglang::is(value) => one(sglang::read(value, name)),
        _ if aiperf_rows::is(value) => {
            let mut rows = aiperf_rows::Rows::default();
            rows.add(value, 1)?;
            Ok(vec![rows.finish(name)])
        }
        _ if aiperf::is(value) => one(aiperf::read(value, name)),
        _ if inference_perf_rows::is(value) => one(inference_perf_rows::read(value, name)),
        _ if inference_perf::is(value) => one(inference_perf::read(value, name)),
        _ if guidellm::is(value) => guidellm::read(value, name),
        _ if oha::is(value) => one(oha::read(value, name)),
        _ => Err(ForeignError::Unknown(None)),
    }
}

/// A JSON document on each line, as SGLang appends them and vLLM does under `--append-result`; none where already the first
/// line is no document.
fn lines(text: &str, name: &str) -> Option<Result<Vec<Reading>, ForeignError>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first: Value = serde_json::from_str(lines.first()?).ok()?;
    if lines.len() < 2 {
        return None;
    }
    for (is, what) in NOT_READ {
        if is(&first) {
            return Some(Err(ForeignError::Unknown(Some(what))));
        }
    }
    let mut readings = Vec::new();
    let mut rows = aiperf_rows::is(&first).then(aiperf_rows::Rows::default);
    for (line, n) in lines.iter().zip(1_usize..) {
        let read = match serde_json::from_str::<Value>(line) {
            Ok(value) => match &mut rows {
                Some(rows) => rows.add(&value, n).map(|()| Vec::new()),
                None => document(&value, line, &format!("{name}#{n}")),
            },
            Err(error) => Err(ForeignError::NotJson(format!("document {n}: {}", words(&error, line)))),
        };
        match read {
            Ok(more) => readings.extend(more),
            Err(error) => return Some(Err(error)),
        }
    }
    readings.extend(rows.map(|rows| rows.finish(name)));
    Some(Ok(readings))
}

/// What is wrong with a text, and the usual cause.
fn words(error: &serde_json::Error, text: &str) -> String {
    let cause = if error.is_eof() {
        "; the file is cut"
    } else if text.contains("NaN") || text.contains("Infinity") {
        "; Python writes NaN and Infinity, which are no JSON, where it had nothing to compute from"
    } else {
        ""
    };
    format!("{error}{cause}")
}

fn is_genai_perf(value: &Value) -> bool {
    !aiperf::is(value) && value.pointer("/request_latency/unit").is_some()
}

fn is_llm_perf(value: &Value) -> bool {
    value.pointer("/configuration/load_pattern").is_some() && value.pointer("/latency/ttft_mean_ms").is_some()
}

fn is_benchmarker(value: &Value) -> bool {
    value.get("results").is_some_and(Value::is_array)
        && value.pointer("/results/0/time_to_first_token_ms").is_some()
}

fn is_sweep(value: &Value) -> bool {
    value.get("trials").is_some() && value.get("asked").is_some()
}
