//! Several runs of one plan side by side: the lowest, middle and highest of each figure.
//!
//! It averages nothing: it shows the runs as they came out.

use super::Summary;
use super::table::Table;
use crate::report::Distribution;
use crate::report::figures::time;

/// The figures of every run in rows, as one text.
#[must_use]
pub fn spread(runs: &[Summary]) -> String {
    let mut table = Table::new(&[("", 0), ("lowest", 0), ("median", 0), ("highest", 0)]);
    let rates: Vec<f64> = runs.iter().filter_map(|run| run.total.load.achieved_rate).collect();
    row(&mut table, "achieved requests/s", rates, |rate| format!("{rate:.1}"));
    type Metric = fn(&Summary) -> &Distribution;
    let metrics: [(&str, Metric); 5] = [
        ("TTFT", |run| &run.total.latency.ttft_ns),
        ("ITL", |run| &run.total.latency.itl_ns),
        ("TPOT", |run| &run.total.latency.tpot_ns),
        ("NTPOT", |run| &run.total.latency.ntpot_ns),
        ("E2E", |run| &run.total.latency.e2e_ns),
    ];
    type Level = fn(&Distribution) -> Option<i64>;
    let levels: [(&str, Level); 2] = [("p50", |of| of.p50), ("p99", |of| of.p99)];
    for (metric, of) in metrics {
        for (level, quantile) in levels {
            let values: Vec<i64> = runs.iter().filter_map(|run| quantile(of(run))).collect();
            row(&mut table, &format!("{metric} {level}"), values, |ns| time(*ns));
        }
    }
    let verdicts: Vec<&str> = runs.iter().map(|run| run.client.verdict.name()).collect();
    let mut lines = vec![format!("Spread over {} runs, verdicts: {}", runs.len(), verdicts.join(", "))];
    lines.extend(table.lines(100));
    lines.join("\n") + "\n"
}

/// A figure that no run has is left out.
fn row<T: PartialOrd>(table: &mut Table, label: &str, mut values: Vec<T>, text: impl Fn(&T) -> String) {
    values.sort_by(|a, b| a.partial_cmp(b).expect("a figure of a summary is a number"));
    if let (Some(low), Some(middle), Some(high)) =
        (values.first(), values.get(values.len() / 2), values.last())
    {
        table.row(vec![label.into(), text(low), text(middle), text(high)]);
    }
}
