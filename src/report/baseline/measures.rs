//! The measures of a baseline: each once, with its key, its label, and how it is made of a run or of two.
//!
//! It must not take a median: that is over the runs of a side.

use super::BaselineRun;

/// In what a measure is told.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum MeasureUnit {
    /// Requests.
    Count,
    /// Per second.
    PerS,
    /// Nanoseconds.
    Ns,
    /// CPU seconds.
    CpuS,
    /// Bytes.
    Bytes,
}

/// One row of the table.
#[derive(Copy, Clone, Debug)]
pub struct Measure {
    /// Its key in the JSON.
    pub key: &'static str,
    /// Its label; quantities under the names of `docs/METHOD.md`.
    pub label: &'static str,
    /// Its unit.
    pub unit: MeasureUnit,
    /// Whether both sides' values are the same quantity, so that a ratio means something.
    pub has_ratio: bool,
    /// Its value in a run.
    pub of: fn(&BaselineRun) -> Option<f64>,
}

impl Measure {
    /// Whether its cell is the most of all rounds rather than their median, which would hide what went wrong in a few.
    #[must_use]
    pub fn tells_the_most(&self) -> bool {
        matches!(self.key, "unsent" | "failed")
    }
}

const fn row(
    key: &'static str,
    label: &'static str,
    unit: MeasureUnit,
    has_ratio: bool,
    of: fn(&BaselineRun) -> Option<f64>,
) -> Measure {
    Measure { key, label, unit, has_ratio, of }
}

/// Every measure of a run, in the order of the table.
pub const MEASURES: [Measure; 34] = {
    use MeasureUnit::{Bytes, Count, CpuS, Ns, PerS};
    [
        row("due", "requests due", Count, false, |run| run.due.map(float)),
        row("sent", "sent", Count, false, |run| run.sent.map(float)),
        row("unsent", "unsent, the most", Count, false, |run| {
            Some(float(run.due?.saturating_sub(run.sent?)))
        }),
        row("failed", "failed, the most", Count, false, |run| run.failed.map(float)),
        row("wire_rate", "rate on the wire", PerS, true, |run| run.wire_rate),
        row("start_jitter_p50", "start jitter p50", Ns, true, |run| run.start_jitter_ns.p50.map(ns)),
        row("start_jitter_p99", "start jitter p99", Ns, true, |run| run.start_jitter_ns.p99.map(ns)),
        row("start_jitter_max", "start jitter max", Ns, false, |run| run.start_jitter_ns.max.map(ns)),
        row("lateness_p99", "lateness p99", Ns, false, |run| run.lateness_ns.p99.map(ns)),
        row("head_p50", "head p50", Ns, false, |run| run.head_ns.p50.map(ns)),
        row("head_p99", "head p99", Ns, false, |run| run.head_ns.p99.map(ns)),
        row("true_head_p50", "  true p50", Ns, false, |run| run.true_head_ns.p50.map(ns)),
        row("true_head_p99", "  true p99", Ns, false, |run| run.true_head_ns.p99.map(ns)),
        row("e2e_end_mean", "e2e_end mean", Ns, false, |run| run.e2e_end_ns.mean.map(ns)),
        row("e2e_end_p50", "e2e_end p50", Ns, false, |run| run.e2e_end_ns.p50.map(ns)),
        row("e2e_end_p99", "e2e_end p99", Ns, false, |run| run.e2e_end_ns.p99.map(ns)),
        row("true_e2e_end_mean", "  true mean", Ns, false, |run| run.true_e2e_end_ns.mean.map(ns)),
        row("true_e2e_end_p50", "  true p50", Ns, false, |run| run.true_e2e_end_ns.p50.map(ns)),
        row("true_e2e_end_p99", "  true p99", Ns, false, |run| run.true_e2e_end_ns.p99.map(ns)),
        row("e2e_end_over_mean", "e2e_end less true, mean", Ns, true, |run| {
            over(run.e2e_end_ns.mean, run.true_e2e_end_ns.mean)
        }),
        row("e2e_end_over_p50", "e2e_end less true, p50", Ns, true, |run| {
            over(run.e2e_end_ns.p50, run.true_e2e_end_ns.p50)
        }),
        row("e2e_end_over_p99", "e2e_end less true, p99", Ns, true, |run| {
            over(run.e2e_end_ns.p99, run.true_e2e_end_ns.p99)
        }),
        row("e2e_due_p50", "e2e_due p50", Ns, false, |run| run.e2e_due_ns.p50.map(ns)),
        row("e2e_due_p99", "e2e_due p99", Ns, false, |run| run.e2e_due_ns.p99.map(ns)),
        row("true_e2e_due_p50", "  by the server p50", Ns, false, |run| run.true_e2e_due_ns.p50.map(ns)),
        row("true_e2e_due_p99", "  by the server p99", Ns, true, |run| run.true_e2e_due_ns.p99.map(ns)),
        row("cpu_s", "CPU s, whole process", CpuS, false, |run| run.cpu_s),
        row("cpu_s_per_1k_requests", "CPU s/1k requests", CpuS, true, |run| per_1k(run.cpu_s, run.sent)),
        row("cpu_s_per_1k_events", "CPU s/1k events", CpuS, true, |run| per_1k(run.cpu_s, run.events)),
        row("client_busy_s_per_1k_requests", "client's CPUs busy, s/1k", CpuS, true, |run| {
            per_1k(run.client_busy_s, run.sent)
        }),
        row("server_cpu_s_per_1k_requests", "server's CPU s/1k", CpuS, true, |run| {
            per_1k(run.server_cpu_s, run.sent)
        }),
        row("server_busy_s_per_1k_requests", "server's CPUs busy, s/1k", CpuS, true, |run| {
            per_1k(run.server_busy_s, run.sent)
        }),
        row("both_busy_s_per_1k_requests", "all these CPUs busy, s/1k", CpuS, true, |run| {
            per_1k(run.both_busy_s, run.sent)
        }),
        row("rss_bytes", "most memory resident", Bytes, true, |run| run.rss_bytes.map(float)),
    ]
};

fn over(told: Option<i64>, truth: Option<i64>) -> Option<f64> {
    Some(ns(told? - truth?))
}

fn per_1k(seconds: Option<f64>, count: Option<u64>) -> Option<f64> {
    let count = count.filter(|count| *count > 0)?;
    Some(seconds? * 1e3 / float(count))
}

#[expect(clippy::cast_precision_loss, reason = "a figure of a few digits")]
const fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days: finer than any latency")]
const fn ns(value: i64) -> f64 {
    value as f64
}

/// A measure that is made of two rates: CPU seconds of 1,000 more in the same time. What does not grow with the rate (start-up,
/// idle wakes) is cancelled.
#[derive(Copy, Clone, Debug)]
pub struct SlopeMeasure {
    /// Its key in the JSON.
    pub key: &'static str,
    /// The key of the measure that it stands below.
    pub below: &'static str,
    /// What is counted.
    count: fn(&BaselineRun) -> Option<u64>,
}

/// Both of them.
pub const SLOPES: [SlopeMeasure; 2] = [
    SlopeMeasure {
        key: "cpu_s_per_1k_requests_slope",
        below: "cpu_s_per_1k_requests",
        count: |run| run.sent,
    },
    SlopeMeasure { key: "cpu_s_per_1k_events_slope", below: "cpu_s_per_1k_events", count: |run| run.events },
];

impl SlopeMeasure {
    /// What it is of a run at the higher rate and one at the lower.
    pub(super) fn between(&self, high: &BaselineRun, low: &BaselineRun) -> Option<f64> {
        let more = (self.count)(high)?.checked_sub((self.count)(low)?)?;
        per_1k(Some(high.cpu_s? - low.cpu_s?), Some(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_has_a_key_of_its_own() {
        let mut keys: Vec<&str> =
            MEASURES.iter().map(|measure| measure.key).chain(SLOPES.map(|slope| slope.key)).collect();
        keys.sort_unstable();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
