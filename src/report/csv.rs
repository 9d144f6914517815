//! Every stage's distributions as a table for spreadsheets and scripts: one line a metric; nothing here computes.

use super::{Distribution, Section, Summary};
use csv::Writer;

/// The first line.
const HEAD: [&str; 15] = [
    "run",
    "stage",
    "offered_rate",
    "achieved_rate",
    "metric",
    "count",
    "mean_ns",
    "sd_ns",
    "min_ns",
    "p50_ns",
    "p90_ns",
    "p95_ns",
    "p99_ns",
    "p99_9_ns",
    "max_ns",
];

/// The table of several runs, each with its name. An empty field is undefined; stage `all` is all of them together.
///
/// # Panics
/// Never: a buffer takes everything.
pub fn table<'a>(runs: impl Iterator<Item = (&'a str, &'a Summary)>) -> String {
    let mut out = Writer::from_writer(Vec::new());
    let mut line = |cells: &[String]| out.write_record(cells).expect("a buffer takes every line");
    line(&HEAD.map(String::from));
    for (name, summary) in runs {
        for stage in &summary.stages {
            lines(name, &stage.name, &stage.section).iter().for_each(|cells| line(cells));
        }
        lines(name, "all", &summary.total).iter().for_each(|cells| line(cells));
    }
    String::from_utf8(out.into_inner().expect("a buffer takes everything")).expect("names are text")
}

fn lines(run: &str, stage: &str, section: &Section) -> Vec<[String; 15]> {
    let latency = &section.latency;
    let metrics: [(&str, &Distribution); 18] = [
        ("lateness", &section.load.lateness_ns),
        ("ttft", &latency.ttft_ns),
        ("ttft_due", &latency.ttft_due_ns),
        ("ttfe", &latency.ttfe_ns),
        ("ttfo", &latency.ttfo_ns),
        ("itl", &latency.itl_ns),
        ("stall", &latency.stall_ns),
        ("tpot", &latency.tpot_ns),
        ("ntpot", &latency.ntpot_ns),
        ("ntpot_sent", &latency.ntpot_sent_ns),
        ("e2e", &latency.e2e_ns),
        ("e2e_due", &latency.e2e_due_ns),
        ("e2e_done", &latency.e2e_done_ns),
        ("e2e_end", &latency.e2e_end_ns),
        ("head", &latency.head_ns),
        ("connect", &latency.connect_ns),
        ("handshake", &latency.handshake_ns),
        ("pool_wait", &latency.pool_wait_ns),
    ];
    let rate = |rate: Option<f64>| rate.map(|per_s| per_s.to_string()).unwrap_or_default();
    let ns = |ns: Option<i64>| ns.map(|ns| ns.to_string()).unwrap_or_default();
    let row = |(metric, found): (&str, &Distribution)| {
        let Distribution { count, mean, sd, min, max, p50, p90, p95, p99, p99_9, .. } = found;
        [
            run.into(),
            stage.into(),
            rate(section.load.scheduled_rate),
            rate(section.load.achieved_rate),
            metric.into(),
            count.to_string(),
            ns(*mean),
            ns(*sd),
            ns(*min),
            ns(*p50),
            ns(*p90),
            ns(*p95),
            ns(*p99),
            ns(*p99_9),
            ns(*max),
        ]
    };
    metrics.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Stage;

    #[test]
    fn every_stage_and_the_whole_has_a_line_for_each_metric_and_undefined_is_empty() {
        let mut summary =
            Summary { stages: vec![Stage { name: "0".into(), ..Stage::default() }], ..Summary::default() };
        summary.total.latency.ttft_ns.p50 = Some(1_500);
        let text = table([("a, \"run\"", &summary)].into_iter());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * 18);
        assert!(lines[0].starts_with("run,stage,offered_rate"));
        assert_eq!(lines[2], "\"a, \"\"run\"\"\",0,,,ttft,0,,,,,,,,,");
        assert_eq!(lines[20], "\"a, \"\"run\"\"\",all,,,ttft,0,,,,1500,,,,,");
    }
}
