//! AIPerf: `profile_export.jsonl`, a line for each request.
//!
//! Known from AIPerf 0.13.0. It must not tell a quantile that too few values tell, nor warm-up requests.

use super::aiperf::{CHUNK, ITL, START, WAITING, same_unit};
use super::field::Field;
use super::order::statistics;
use super::quantity::Quantity;
use super::reading::{Reading, float};
use super::{ForeignError, MS};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

const RATE: &str = "over successes, from the first start to the last end: the drain is inside";

const METRICS: [(&str, Quantity, &str); 5] = [
    ("time_to_first_token", Quantity::Ttft, START),
    ("time_to_first_output_token", Quantity::Ttfo, START),
    ("inter_chunk_latency", Quantity::Itl, CHUNK),
    ("inter_token_latency", Quantity::Tpot, ITL),
    ("request_latency", Quantity::E2e, START),
];

/// Whether a line is one of its rows.
pub(super) fn is(value: &Value) -> bool {
    value.pointer("/metadata/benchmark_phase").is_some() && value.get("metrics").is_some()
}

/// What was seen of the rows so far.
#[derive(Default)]
pub(super) struct Rows {
    values: BTreeMap<&'static str, Vec<f64>>,
    waiting: Vec<f64>,
    completed: u64,
    failed: u64,
    cancelled: u64,
    warmup: u64,
    tokens: u64,
    span_ns: Option<(f64, f64)>,
    /// Starts and ends, to the nanosecond: no two requests share both.
    seen: HashSet<(u64, u64)>,
}

impl Rows {
    /// Takes one row, the `n`th document of the file.
    pub(super) fn add(&mut self, value: &Value, n: usize) -> Result<(), ForeignError> {
        let row = Field::root(value, &format!("aiperf, line {n}"));
        let metadata = row.need("metadata")?;
        if metadata.need("benchmark_phase")?.text()? != "profiling" {
            self.warmup += 1;
            return Ok(());
        }
        if value.pointer("/metadata/was_cancelled") == Some(&Value::Bool(true)) {
            self.cancelled += 1;
            return Ok(());
        }
        if row.get("error").is_some() {
            self.failed += 1;
            return Ok(());
        }
        self.completed += 1;
        let (start, end) =
            (metadata.need("request_start_ns")?.number()?, metadata.need("request_end_ns")?.number()?);
        if !self.seen.insert((start.to_bits(), end.to_bits())) {
            return Err(
                row.wrong("this request stands in the file twice: give each run its own file".to_owned())
            );
        }
        let (from, until) = self.span_ns.unwrap_or((start, end));
        self.span_ns = Some((from.min(start), until.max(end)));
        let metrics = row.need("metrics")?;
        for (tag, _, _) in METRICS {
            if let Some(metric) = metrics.get(tag) {
                values(&metric, self.values.entry(tag).or_default())?;
            }
        }
        if let Some(metric) = metrics.get("http_req_waiting") {
            values(&metric, &mut self.waiting)?;
        }
        if let Some(metric) = metrics.get("output_sequence_length") {
            self.tokens = self.tokens.saturating_add(metric.need("value")?.count()?);
        }
        Ok(())
    }

    /// What they say together.
    pub(super) fn finish(mut self, name: &str) -> Reading {
        let mut reading = Reading::of(name, "aiperf profile_export.jsonl");
        reading.counts(Some(self.completed), Some(self.failed));
        let seconds = self.span_ns.map(|(from, until)| (until - from) / super::S).filter(|s| *s > 0.0);
        let per_s = |count: u64| seconds.map(|s| float(count) / s);
        reading.nearly(Quantity::RequestsPerS, per_s(self.completed), RATE);
        reading.nearly(Quantity::OutputTokensPerS, per_s(self.tokens).filter(|_| self.tokens > 0), RATE);
        for (tag, quantity, how) in METRICS {
            if let Some(found) = self.values.get_mut(tag) {
                reading.distribution(quantity, statistics(found), how);
            }
        }
        reading.keep_apart("http_req_waiting", Quantity::Head, statistics(&mut self.waiting), WAITING);
        if self.cancelled > 0 {
            reading.notes.push(format!("{} requests were cancelled", self.cancelled));
        }
        if self.warmup > 0 {
            reading.notes.push(format!("{} rows of the warm-up are left out", self.warmup));
        }
        reading
    }
}

/// The value of a metric, or its values, in nanoseconds.
fn values(metric: &Field<'_>, into: &mut Vec<f64>) -> Result<(), ForeignError> {
    same_unit(metric, "ms")?;
    let value = metric.need("value")?;
    if value.is_number() {
        into.push(value.duration(MS)?);
        return Ok(());
    }
    for one in value.list()? {
        into.push(one.duration(MS)?);
    }
    Ok(())
}
