//! What `vllm bench serve` and SGLang's `bench_serving` write in the same words: both come from one script.
//!
//! It must not say what a latency means: each tool's own clock does.

use super::field::Field;
use super::quantity::{Quantity, Statistic};
use super::reading::Reading;
use super::{ForeignError, MS};

/// How their rates differ from ours.
pub(super) const RATE: &str = "from the first dispatch to the last answer: the drain is inside";

/// A latency: its word in the file, the row it does not stand in, its figures.
pub(super) type Latency = (&'static str, Quantity, Vec<(Statistic, f64)>);

/// The rates, asked and reached.
pub(super) fn rates(root: &Field<'_>, reading: &mut Reading) -> Result<(), ForeignError> {
    // One without a limit is written as the text "inf".
    if let Some(rate) = root.get("request_rate").filter(Field::is_number) {
        reading.single(Quantity::RequestedRate, Some(rate.amount()?));
    }
    reading.nearly(Quantity::RequestsPerS, root.maybe_amount("request_throughput")?, RATE);
    reading.nearly(Quantity::OutputTokensPerS, root.maybe_amount("output_throughput")?, RATE);
    Ok(())
}

/// `mean_ttft_ms`, `p99.9_ttft_ms`, ...: the metric is in the middle of the key.
pub(super) fn statistics(root: &Field<'_>, metric: &str) -> Result<Vec<(Statistic, f64)>, ForeignError> {
    let keys = [
        ("mean", Statistic::Mean),
        ("std", Statistic::Sd),
        ("median", Statistic::P50),
        ("p50", Statistic::P50),
        ("p90", Statistic::P90),
        ("p95", Statistic::P95),
        ("p99", Statistic::P99),
        ("p99.9", Statistic::P99_9),
    ]
    .map(|(word, statistic)| (format!("{word}_{metric}_ms"), statistic));
    let keys: Vec<(&str, Statistic)> = keys.iter().map(|(key, one)| (key.as_str(), *one)).collect();
    root.statistics(&keys, MS)
}

/// Keeps every latency apart, for one reason.
pub(super) fn keep_apart(reading: &mut Reading, latencies: [Latency; 4], why: &'static str) {
    for (theirs, not, figures) in latencies {
        reading.keep_apart(theirs, not, figures, why);
    }
}
