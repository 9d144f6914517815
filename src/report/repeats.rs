//! Several runs of one plan side by side: `repeats.json`.
//!
//! Of each figure it tells the lowest, the middle and the highest, as the runs came out. A run that was broken off is no
//! repetition: it is listed, and in no figure.

use super::{Distribution, Ended, Latency, SCHEMA_VERSION, Summary, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the runs of `--repeat` have in common.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct Repeats {
    /// The version of the format, that of `summary.json`.
    pub schema_version: u32,
    /// The runs, in order.
    pub runs: Vec<Repeat>,
    /// Successes per second.
    pub achieved_rate: Option<Spread<f64>>,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<Spread<f64>>,
    /// Each latency of `summary.json`, and of each its mean and quantiles, where any run has them.
    pub latency: BTreeMap<&'static str, BTreeMap<&'static str, Spread<i64>>>,
    /// Each run's `summary.json`: with `--json` only, since the file's neighbours are these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Summary>,
}

/// One of the runs.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Repeat {
    /// Its name.
    pub id: String,
    /// Its seed.
    pub seed: u64,
    /// Its directory.
    pub dir: String,
    /// How it ended; one that was interrupted, or of which a shard failed, is in no figure above.
    pub ended: Ended,
    /// The verdict on the client.
    pub verdict: Verdict,
}

/// One figure over the runs that have it.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Spread<T> {
    /// How many have it.
    pub runs: u64,
    /// The lowest.
    pub min: T,
    /// The middle one; of an even number the mean of the two.
    pub median: T,
    /// The highest.
    pub max: T,
}

/// What has a middle between two of it.
pub trait Middle: PartialOrd + Copy {
    /// The mean of the two, the lower one first.
    fn between(low: Self, high: Self) -> Self;
}

impl Middle for f64 {
    fn between(low: Self, high: Self) -> Self {
        low + (high - low) / 2.0
    }
}

impl Middle for i64 {
    fn between(low: Self, high: Self) -> Self {
        low.midpoint(high)
    }
}

impl<T: Middle> Spread<T> {
    /// Of figures that can be put in order; `None` when there are none.
    pub fn of(values: impl Iterator<Item = T>) -> Option<Self> {
        let mut values: Vec<T> = values.collect();
        values.sort_by(|a, b| a.partial_cmp(b).expect("a figure of a summary is a number"));
        let runs = values.len() as u64;
        let (lower, upper) = ((values.len().max(1) - 1) / 2, values.len() / 2);
        let (min, max) = (*values.first()?, *values.last()?);
        let median = if lower == upper { values[upper] } else { T::between(values[lower], values[upper]) };
        Some(Self { runs, min, median, max })
    }
}

/// The runs that went to their end with all of their shards: the others measured something else.
pub fn whole(runs: &[(String, Summary)]) -> impl Iterator<Item = &Summary> {
    let has_all = |run: &Summary| run.client.shards.iter().all(|shard| shard.failed.is_none());
    runs.iter().map(|(_, run)| run).filter(move |run| run.run.ended != Ended::Interrupted && has_all(run))
}

impl Repeats {
    /// Of runs with their directories, in order.
    #[must_use]
    pub fn of(runs: &[(String, Summary)]) -> Self {
        let whole = || whole(runs);
        let rate = |of: fn(&Summary) -> Option<f64>| Spread::of(whole().filter_map(of));
        let latency = LATENCIES.into_iter().map(|(name, of)| {
            let figures = FIGURES.into_iter().filter_map(|(figure, value)| {
                let values = whole().filter_map(|run| value(of(&run.total.latency)));
                Some((figure, Spread::of(values)?))
            });
            (name, figures.collect())
        });
        Self {
            schema_version: SCHEMA_VERSION,
            runs: runs
                .iter()
                .map(|(dir, run)| Repeat {
                    id: run.run.id.clone(),
                    seed: run.run.seed,
                    dir: dir.clone(),
                    ended: run.run.ended,
                    verdict: run.client.verdict,
                })
                .collect(),
            achieved_rate: rate(|run| run.total.load.achieved_rate),
            output_tokens_per_s: rate(|run| run.total.throughput.output_tokens_per_s),
            latency: latency.filter(|(_, figures): &(_, BTreeMap<_, _>)| !figures.is_empty()).collect(),
            summaries: Vec::new(),
        }
    }

    /// The text of `repeats.json`, indented, with a newline at its end.
    ///
    /// # Panics
    /// Never: every key is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key is a string");
        text.push('\n');
        text
    }
}

type OfLatency = fn(&Latency) -> &Distribution;
type OfDistribution = fn(&Distribution) -> Option<i64>;

const LATENCIES: [(&str, OfLatency); 17] = [
    ("ttft_ns", |l| &l.ttft_ns),
    ("ttft_due_ns", |l| &l.ttft_due_ns),
    ("ttfe_ns", |l| &l.ttfe_ns),
    ("ttfo_ns", |l| &l.ttfo_ns),
    ("itl_ns", |l| &l.itl_ns),
    ("stall_ns", |l| &l.stall_ns),
    ("tpot_ns", |l| &l.tpot_ns),
    ("ntpot_ns", |l| &l.ntpot_ns),
    ("ntpot_sent_ns", |l| &l.ntpot_sent_ns),
    ("e2e_ns", |l| &l.e2e_ns),
    ("e2e_due_ns", |l| &l.e2e_due_ns),
    ("e2e_done_ns", |l| &l.e2e_done_ns),
    ("e2e_end_ns", |l| &l.e2e_end_ns),
    ("head_ns", |l| &l.head_ns),
    ("connect_ns", |l| &l.connect_ns),
    ("handshake_ns", |l| &l.handshake_ns),
    ("pool_wait_ns", |l| &l.pool_wait_ns),
];

const FIGURES: [(&str, OfDistribution); 6] = [
    ("mean", |d| d.mean),
    ("p50", |d| d.p50),
    ("p90", |d| d.p90),
    ("p95", |d| d.p95),
    ("p99", |d| d.p99),
    ("p99_9", |d| d.p99_9),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, ttft_p50: Option<i64>, rate: f64) -> (String, Summary) {
        let mut summary = Summary::default();
        summary.run.id = id.into();
        summary.total.latency.ttft_ns.p50 = ttft_p50;
        summary.total.load.achieved_rate = Some(rate);
        (format!("results/{id}"), summary)
    }

    #[test]
    fn the_middle_of_an_even_number_lies_between_the_two() {
        assert_eq!(Spread::of([4_i64, 1, 9, 2].into_iter()).unwrap().median, 3);
        assert_eq!(Spread::of([-3_i64, -2].into_iter()).unwrap().median, -2);
        assert_eq!(Spread::of([1.0, 2.0].into_iter()).unwrap().median, 1.5);
        assert_eq!(Spread::<i64>::of([].into_iter()), None);
    }

    #[test]
    fn a_run_that_was_broken_off_is_listed_and_in_no_figure() {
        let mut runs = [run("a", Some(10), 10.0), run("b", Some(1_000), 1.0)];
        runs[1].1.run.ended = Ended::Interrupted;
        let repeats = Repeats::of(&runs);
        assert_eq!(repeats.runs.len(), 2);
        assert_eq!(repeats.latency["ttft_ns"]["p50"], Spread { runs: 1, min: 10, median: 10, max: 10 });
        assert_eq!(repeats.achieved_rate.map(|rate| rate.runs), Some(1));
    }

    #[test]
    fn each_figure_has_its_lowest_middle_and_highest_over_the_runs_that_have_it() {
        let runs = [
            run("a", Some(30), 9.5),
            run("b", Some(10), 11.0),
            run("c", Some(20), 10.0),
            run("d", None, 8.0),
        ];
        let repeats = Repeats::of(&runs);
        assert_eq!(repeats.latency["ttft_ns"]["p50"], Spread { runs: 3, min: 10, median: 20, max: 30 });
        assert_eq!(repeats.achieved_rate, Some(Spread { runs: 4, min: 8.0, median: 9.75, max: 11.0 }));
        assert_eq!(repeats.output_tokens_per_s, None);
        assert!(!repeats.latency.contains_key("itl_ns"), "no run has any figure of it");
        let json: serde_json::Value = serde_json::from_str(&repeats.to_json()).unwrap();
        assert_eq!(
            (json["runs"][1]["id"].as_str(), json["runs"][1]["dir"].as_str()),
            (Some("b"), Some("results/b"))
        );
    }
}
