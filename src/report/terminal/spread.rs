//! Several runs of one plan side by side: the lowest, middle and highest of each figure.
//!
//! It shows the runs as they came out; one that was interrupted measured something else, and is left out.

use super::Summary;
use super::table::Table;
use crate::report::figures::time;
use crate::report::{Distribution, Middle, Spread, whole};

/// The figures of every run, each with its directory, in rows, as one text.
#[must_use]
pub fn spread(runs: &[(String, Summary)]) -> String {
    let mut table = Table::new(&[("", 0), ("lowest", 0), ("median", 0), ("highest", 0)]);
    let rates = whole(runs).filter_map(|run| run.total.load.achieved_rate);
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
            let values = whole(runs).filter_map(|run| quantile(of(run)));
            row(&mut table, &format!("{metric} {level}"), values, time);
        }
    }
    let verdicts: Vec<&str> = whole(runs).map(|run| run.client.verdict.name()).collect();
    let left_out = match runs.len() - verdicts.len() {
        0 => String::new(),
        1 => "; 1 more was interrupted and is left out".into(),
        n => format!("; {n} more were interrupted and are left out"),
    };
    let mut lines =
        vec![format!("Spread over {} runs, verdicts: {}{left_out}", verdicts.len(), verdicts.join(", "))];
    lines.extend(table.lines(100));
    lines.join("\n") + "\n"
}

/// A figure that no run has is left out.
fn row<T: Middle>(
    table: &mut Table,
    label: &str,
    values: impl Iterator<Item = T>,
    text: impl Fn(T) -> String,
) {
    if let Some(Spread { min, median, max, .. }) = Spread::of(values) {
        table.row(vec![label.into(), text(min), text(median), text(max)]);
    }
}
