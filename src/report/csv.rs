//! Every stage's distributions as a table for spreadsheets and scripts: one line a metric; nothing here computes.

use super::terminal::clean;
use super::{Distribution, Section, Summary, Sweep, SweepTrial, per_user};
use crate::search::{Offer, Shown};
use csv::Writer;
use serde_json::Value;

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
    let mut line = |cells: &[String]| put(&mut out, cells);
    line(&HEAD.map(String::from));
    for (name, summary) in runs {
        for stage in &summary.stages {
            lines(name, &stage.name, &stage.section).iter().for_each(|cells| line(cells));
        }
        lines(name, "all", &summary.total).iter().for_each(|cells| line(cells));
    }
    String::from_utf8(out.into_inner().expect("a buffer takes everything")).expect("names are text")
}

/// The first line of a table of trials, but for the latencies.
const OF_TRIALS: [&str; 21] = [
    "sweep",
    "trial",
    "purpose",
    "look",
    "offered_rate",
    "concurrency",
    "window_ns",
    "client",
    "ended",
    "judgement",
    "fell_behind",
    "completed_per_s",
    "completed_per_s_low",
    "completed_per_s_high",
    "goodput_per_s",
    "succeeded",
    "failed",
    "in_flight_mean",
    "output_tokens_per_s",
    "output_tokens_per_s_per_user",
    "output_tokens_per_s_per_gpu",
];

/// The latencies of a table of trials, in nanoseconds, failures as infinite; the mean over successes.
const LATENCIES: [&str; 8] =
    ["ttft", "ttft_due", "itl", "tpot", "ntpot", "ntpot_waiting", "ntpot_decoding", "e2e"];

/// What is told of each latency.
type OfShown = (&'static str, fn(&Shown) -> Option<i64>);
const FIGURES: [OfShown; 8] = [
    ("mean_ns", |shown| shown.mean_ns),
    ("p50_ns", |shown| shown.p50_ns),
    ("p50_low_ns", |shown| Some(shown.p50_ci?[0])),
    ("p50_high_ns", |shown| Some(shown.p50_ci?[1])),
    ("p95_ns", |shown| shown.p95_ns),
    ("p99_ns", |shown| shown.p99_ns),
    ("p99_low_ns", |shown| Some(shown.p99_ci?[0])),
    ("p99_high_ns", |shown| Some(shown.p99_ci?[1])),
];

/// The trials of several sweeps, each with its name, a line a trial. An empty field is undefined.
///
/// # Panics
/// Never: a buffer takes everything.
pub fn trials<'a>(sweeps: impl Iterator<Item = (&'a str, &'a Sweep)>) -> String {
    let mut out = Writer::from_writer(Vec::new());
    let mut head: Vec<String> = OF_TRIALS.map(String::from).into();
    head.push("price_per_million_output_tokens".into());
    head.extend(LATENCIES.iter().flat_map(|metric| FIGURES.map(|(figure, _)| format!("{metric}_{figure}"))));
    put(&mut out, &head);
    for (name, sweep) in sweeps {
        for trial in &sweep.trials {
            put(&mut out, &cells(name, sweep, trial));
        }
    }
    String::from_utf8(out.into_inner().expect("a buffer takes everything")).expect("names are text")
}

/// Adds a line. Names come from files and directories, and the table is printed: nothing in them is to move a cursor.
fn put(out: &mut Writer<Vec<u8>>, cells: &[String]) {
    out.write_record(cells.iter().map(|cell| clean(cell))).expect("a buffer takes every line");
}

fn cells(name: &str, sweep: &Sweep, trial: &SweepTrial) -> Vec<String> {
    let (ask, outcome) = (&trial.trial.ask, &trial.trial.outcome);
    let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let tpot = outcome.shown("tpot").and_then(|shown| shown.p50_ns);
    let each = sweep.gpus.map(|gpus| gpus.figures(outcome.output_tokens_per_s, tpot));
    let (low, high) = outcome.completed_interval();
    let mut cells = vec![
        name.into(),
        trial.dir.clone(),
        word(&ask.purpose),
        ask.look.to_string(),
        number(ask.offer.rate()),
        match ask.offer {
            Offer::Slots(slots) => slots.to_string(),
            Offer::Rate(_) => String::new(),
        },
        outcome.window.as_ns().to_string(),
        word(&outcome.client),
        word(&outcome.ended),
        trial.judgement.clone().unwrap_or_default(),
        outcome.grew.to_string(),
        number(Some(outcome.completed_per_s())),
        number(Some(low)),
        number(Some(high)),
        number(outcome.goodput_per_s),
        outcome.succeeded.to_string(),
        outcome.failed.to_string(),
        number(outcome.mean_in_flight()),
        number(outcome.output_tokens_per_s),
        number(per_user(tpot)),
        number(each.and_then(|each| each.output_tokens_per_s_per_gpu)),
        number(each.and_then(|each| each.price_per_million_output_tokens)),
    ];
    for metric in LATENCIES {
        let shown = outcome.shown(metric);
        let ns = |of: fn(&Shown) -> Option<i64>| shown.and_then(of).map(|ns| ns.to_string());
        cells.extend(FIGURES.map(|(_, of)| ns(of).unwrap_or_default()));
    }
    cells
}

/// The word that `sweep.json` has for it.
fn word(of: &impl serde::Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(Value::String(word)) => word,
        other => unreachable!("one word, not {other:?}"),
    }
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
        let text = table([("a, \"run\"\u{1b}[2J\n", &summary)].into_iter());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * 18);
        assert!(lines[0].starts_with("run,stage,offered_rate"));
        assert_eq!(lines[2], "\"a, \"\"run\"\" [2J \",0,,,ttft,0,,,,,,,,,");
        assert_eq!(lines[20], "\"a, \"\"run\"\" [2J \",all,,,ttft,0,,,,1500,,,,,");
    }
}
