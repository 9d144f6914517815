//! A run's summary in the formats of other tools, so that what reads their files reads ours.
//!
//! It must not invent: a value that the summary does not have is left out, or null where the format has it always.

mod aiperf;
mod inference_perf;
mod k6;
mod vllm;

use crate::report::{Distribution, Summary};
use serde_json::{Map, Value};

/// A format of another tool.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Format {
    /// `vllm bench serve --save-result`.
    Vllm,
    /// `profile_export_aiperf.json`.
    Aiperf,
    /// `profile_export_genai_perf.json`.
    GenaiPerf,
    /// `summary_lifecycle_metrics.json`.
    InferencePerf,
    /// k6's `--summary-export`.
    K6,
}

impl Format {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Vllm, Self::Aiperf, Self::GenaiPerf, Self::InferencePerf, Self::K6];

    /// The word of `--as`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Aiperf => "aiperf",
            Self::GenaiPerf => "genai-perf",
            Self::InferencePerf => "inference-perf",
            Self::K6 => "k6",
        }
    }
}

/// The text of a summary in a format, with a newline at its end.
#[must_use]
pub fn export(summary: &Summary, format: Format) -> String {
    let value = match format {
        Format::Vllm => vllm::value(summary),
        Format::Aiperf => aiperf::value(summary),
        Format::GenaiPerf => aiperf::genai_perf(summary),
        Format::InferencePerf => inference_perf::value(summary),
        Format::K6 => k6::value(summary),
    };
    format!("{value:#}\n")
}

/// Why counts and rates of one file need not divide into each other, in words for its reader.
const TWO_POPULATIONS: &str = "counts, totals and latencies are of the requests due in the window, whenever they ended; rates \
                               are of what ended in it: count / duration need not be the rate";

/// A statistic of a distribution, in nanoseconds.
type Statistic = fn(&Distribution) -> Option<i64>;

const MEAN: Statistic = |found| found.mean;
const SD: Statistic = |found| found.sd;
const MIN: Statistic = |found| found.min;
const MAX: Statistic = |found| found.max;
const P50: Statistic = |found| found.p50;
const P90: Statistic = |found| found.p90;
const P95: Statistic = |found| found.p95;
const P99: Statistic = |found| found.p99;
const P99_9: Statistic = |found| found.p99_9;

/// The statistics under these keys, in units of `unit_ns`; those that are undefined are left out.
fn told(found: &Distribution, keys: &[(&str, Statistic)], unit_ns: f64) -> Map<String, Value> {
    keys.iter()
        .filter_map(|(key, statistic)| Some(((*key).to_owned(), in_units(statistic(found)?, unit_ns))))
        .collect()
}

/// Nanoseconds in units of `unit_ns`.
#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days: finer than any latency")]
fn in_units(ns: i64, unit_ns: f64) -> Value {
    Value::from(ns as f64 / unit_ns)
}

/// The window in seconds; none where nothing was measured.
fn window_s(summary: &Summary) -> Option<f64> {
    let ns = summary.run.window_ns;
    (ns > 0).then(|| in_units(ns, super::S).as_f64()).flatten()
}

/// Failures of the target.
fn failed(summary: &Summary) -> u64 {
    let load = &summary.total.load;
    load.failed.saturating_sub(load.failed_by_us)
}

/// The instant so many nanoseconds after the run's start, in UTC, as `format` says.
fn instant(summary: &Summary, after_ns: i64, format: &str) -> Option<String> {
    let ns = i128::from(summary.run.start_unix_ns) + i128::from(after_ns);
    Some(jiff::Timestamp::from_nanosecond(ns).ok()?.strftime(format).to_string())
}
