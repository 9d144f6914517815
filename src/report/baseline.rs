//! What `lowrho baseline` measured: its JSON, and what its tables are printed from.
//!
//! It must not line up what is not the same quantity; times are integer nanoseconds, null = n/a or not measured.

mod measures;

pub use measures::{MEASURES, Measure, MeasureUnit, SLOPES, SlopeMeasure};

use super::Host;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the baseline's JSON.
pub const BASELINE_VERSION: u32 = 1;

/// lowrho and a peer, side by side.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// Of this format: [`BASELINE_VERSION`].
    pub baseline_version: u32,
    /// The lowrho that was measured.
    pub lowrho: String,
    /// The peer's name.
    pub peer: String,
    /// What the peer says of its version.
    pub peer_version: String,
    /// Its program.
    pub peer_binary: String,
    /// When it began, since 1970.
    pub start_unix_ns: u64,
    /// The machine.
    pub host: Host,
    /// CPUs of the clients.
    pub client_cpus: String,
    /// CPUs of the server; empty where they are not known.
    pub server_cpus: String,
    /// What was driven, in words.
    pub target: String,
    /// The load, in words.
    pub load: String,
    /// Requests per second that are compared; of a closed loop, its slots.
    pub offered: f64,
    /// The lower rate, for the slope.
    pub second: Option<f64>,
    /// Rounds that were asked for.
    pub pairs: u32,
    /// The sides: lowrho once for each window, then the peer.
    pub sides: Vec<BaselineSide>,
    /// Each of lowrho's sides over the peer.
    pub ratios: Vec<BaselineRatio>,
    /// What is to be known beside the numbers.
    pub notes: Vec<String>,
    /// What of our own ended it before its last round.
    pub failure: Option<String>,
}

/// One side.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct BaselineSide {
    /// `lowrho WINDOW`, or the peer's name.
    pub name: String,
    /// Whether it is lowrho.
    pub is_ours: bool,
    /// Its runs, in the order in which they were made.
    pub runs: Vec<BaselineRun>,
    /// By the key of a measure, over the runs at the compared load.
    pub figures: BTreeMap<String, Ranged>,
    /// The highest rate that it sent in full, where it was searched.
    pub highest: Option<HighestRate>,
}

/// Quantiles of a time; nanoseconds.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the statistics themselves")]
pub struct Told {
    pub mean: Option<i64>,
    pub p50: Option<i64>,
    pub p99: Option<i64>,
    pub max: Option<i64>,
}

/// One run of one side.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct BaselineRun {
    /// Its round, from 0.
    pub round: u32,
    /// Its place in the order of all runs, from 0.
    pub order: u32,
    /// Requests per second; of a closed loop, its slots.
    pub offered: f64,
    /// Requests due; null in a closed loop.
    pub due: Option<u64>,
    /// Requests that reached the server, by its log; without a log, those that the client counts.
    pub sent: Option<u64>,
    /// Those that failed, as the client counts.
    pub failed: Option<u64>,
    /// Token-bearing events that the server sent.
    pub events: Option<u64>,
    /// Requests per second from the first arrival at the server to the last.
    pub wire_rate: Option<f64>,
    /// Arrival at the server less the constant schedule, the earliest counted as 0.
    pub start_jitter_ns: Told,
    /// Begun - due, as lowrho tells it.
    pub lateness_ns: Told,
    /// Response head - sent, as the client tells it.
    pub head_ns: Told,
    /// Body's end - sent, as the client tells it.
    pub e2e_end_ns: Told,
    /// Last token-bearing event - due, as lowrho tells it.
    pub e2e_due_ns: Told,
    /// Head's send - arrival, by the server's log.
    pub true_head_ns: Told,
    /// Last send - arrival, by the server's log.
    pub true_e2e_end_ns: Told,
    /// Last send - the constant schedule, by the server's log.
    pub true_e2e_due_ns: Told,
    /// CPU seconds of the client's process, kernel included, from start to exit.
    pub cpu_s: Option<f64>,
    /// The most memory that it had resident.
    pub rss_bytes: Option<u64>,
    /// CPU seconds of the simulator's process.
    pub server_cpu_s: Option<f64>,
    /// Seconds that the client's CPUs were busy, whoever kept them so.
    pub client_busy_s: Option<f64>,
    /// The same of the server's CPUs.
    pub server_busy_s: Option<f64>,
    /// The same of all these CPUs; one that both share is counted once.
    pub both_busy_s: Option<f64>,
    /// lowrho's verdict on itself.
    pub verdict: Option<String>,
    /// What keeps that verdict from being valid, worst first.
    #[serde(default)]
    pub verdict_reasons: Vec<String>,
    /// Whether the simulator says that it was the limit.
    pub server_was_the_limit: bool,
    /// What went wrong; such a run is in no figure.
    pub problem: Option<String>,
}

/// A median and its range.
#[derive(Copy, Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the statistics themselves")]
pub struct Ranged {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    /// Values that it is made of.
    pub n: u32,
}

/// One of lowrho's sides over the peer.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct BaselineRatio {
    /// The side of lowrho.
    pub ours: String,
    /// The key of the measure.
    pub measure: String,
    /// Ratios of pairs: values of the same round.
    pub ratio: Ranged,
}

/// The end of a search for the highest rate.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct HighestRate {
    /// The highest rate that was sent in full, in the rounds or the search; null = none was.
    pub kept: Option<u32>,
    /// The lowest that was not, twice, or cannot be asked for on this machine; null = the search ended before one was found.
    pub lost: Option<u32>,
    /// What was wrong there.
    pub why: String,
    /// Runs that it took, beside those of the rounds.
    pub trials: u32,
    /// Whether the simulator says that it was the limit there.
    #[serde(default)]
    pub server_was_the_limit: bool,
}

impl Ranged {
    /// The median (of an even number, the mean of the middle two) and the ends; none of no value.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let upper = *values.get(middle)?;
        let median = match middle.checked_sub(1).and_then(|below| values.get(below)) {
            Some(lower) if values.len().is_multiple_of(2) => f64::midpoint(*lower, upper),
            _ => upper,
        };
        let n = u32::try_from(values.len()).unwrap_or(u32::MAX);
        Some(Self { median, low: *values.first()?, high: *values.last()?, n })
    }
}

impl BaselineSide {
    /// The run of a round at a load, unless it went wrong.
    fn run(&self, round: u32, offered: f64) -> Option<&BaselineRun> {
        self.runs.iter().find(|run| run.round == round && run.offered == offered && run.problem.is_none())
    }
}

impl Baseline {
    /// The text of the JSON, indented, with a newline at its end.
    ///
    /// # Panics
    /// Never: every key of a baseline is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key of a baseline is a string");
        text.push('\n');
        text
    }

    /// Rounds in which every side was measured at the compared load.
    #[must_use]
    pub fn measured_pairs(&self) -> u32 {
        let all = |round: &u32| self.sides.iter().all(|side| side.run(*round, self.offered).is_some());
        u32::try_from((0..self.pairs).filter(all).count()).unwrap_or(u32::MAX)
    }

    /// Takes from the runs each side's figures and the ratios of pairs, and notes what has no ratio.
    pub fn conclude(&mut self) {
        let keys = || MEASURES.iter().map(|one| one.key).chain(SLOPES.iter().map(|one| one.key));
        let figures: Vec<BTreeMap<String, Ranged>> = self
            .sides
            .iter()
            .map(|side| {
                let of = |key| {
                    let values = (0..self.pairs).filter_map(|round| self.value(side, key, round)).collect();
                    Some((key.to_owned(), Ranged::of(values)?))
                };
                keys().filter_map(of).collect()
            })
            .collect();
        let (ratios, without) = self.pairs_ratios();
        self.ratios = ratios;
        if !without.is_empty() {
            let without = without.join(", ");
            self.notes.push(format!("no ratio, since a value of a pair is not above 0: {without}"));
        }
        for (side, figures) in self.sides.iter_mut().zip(figures) {
            side.figures = figures;
        }
    }

    /// A measure of a side in a round, where its runs went well.
    fn value(&self, side: &BaselineSide, key: &str, round: u32) -> Option<f64> {
        let run = side.run(round, self.offered)?;
        match SLOPES.iter().find(|slope| slope.key == key) {
            Some(slope) => slope.between(run, side.run(round, self.second?)?),
            None => MEASURES.iter().find(|measure| measure.key == key).and_then(|measure| (measure.of)(run)),
        }
    }

    /// The ratios, and what has none though both sides were measured: where a value is not above 0, a ratio says nothing, and to
    /// leave that pair out would choose among the pairs.
    fn pairs_ratios(&self) -> (Vec<BaselineRatio>, Vec<String>) {
        let Some(peer) = self.sides.iter().find(|side| !side.is_ours) else { return Default::default() };
        let measures = MEASURES.iter().filter(|measure| measure.has_ratio).map(|measure| measure.key);
        let keys: Vec<&str> = measures.chain(SLOPES.iter().map(|slope| slope.key)).collect();
        let (mut ratios, mut without) = (Vec::new(), Vec::new());
        for ours in self.sides.iter().filter(|side| side.is_ours) {
            for key in &keys {
                let pair = |round| Some((self.value(ours, key, round)?, self.value(peer, key, round)?));
                let pairs: Vec<(f64, f64)> = (0..self.pairs).filter_map(pair).collect();
                if pairs.iter().any(|(ours, theirs)| *ours <= 0.0 || *theirs <= 0.0) {
                    without.push(format!("{key} of {}", ours.name));
                } else if let Some(ratio) =
                    Ranged::of(pairs.into_iter().map(|(ours, theirs)| ours / theirs).collect())
                {
                    ratios.push(BaselineRatio { ours: ours.name.clone(), measure: (*key).to_owned(), ratio });
                }
            }
        }
        (ratios, without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOPE: &str = SLOPES[0].key;

    fn run(round: u32, offered: f64, cpu_s: f64) -> BaselineRun {
        let sent = if offered == 1_000.0 { 8_000 } else { 4_000 };
        BaselineRun {
            round,
            offered,
            due: Some(sent),
            sent: Some(sent),
            cpu_s: Some(cpu_s),
            ..BaselineRun::default()
        }
    }

    fn side(name: &str, is_ours: bool, runs: Vec<BaselineRun>) -> BaselineSide {
        BaselineSide { name: name.into(), is_ours, runs, ..BaselineSide::default() }
    }

    fn concluded(ours: Vec<BaselineRun>, theirs: Vec<BaselineRun>) -> Baseline {
        let mut baseline = Baseline {
            offered: 1_000.0,
            second: Some(500.0),
            pairs: 3,
            sides: vec![side("lowrho auto", true, ours), side("k6", false, theirs)],
            ..Baseline::default()
        };
        baseline.conclude();
        baseline
    }

    fn ratio(baseline: &Baseline, measure: &str) -> Option<Ranged> {
        baseline.ratios.iter().find(|ratio| ratio.measure == measure).map(|ratio| ratio.ratio)
    }

    #[test]
    fn a_median_has_its_range_and_nothing_has_none() {
        assert_eq!(Ranged::of(vec![]), None);
        assert_eq!(Ranged::of(vec![f64::NAN]), None);
        assert_eq!(Ranged::of(vec![3.0, 1.0, 2.0]), Some(Ranged { median: 2.0, low: 1.0, high: 3.0, n: 3 }));
        assert_eq!(Ranged::of(vec![4.0, 1.0]), Some(Ranged { median: 2.5, low: 1.0, high: 4.0, n: 2 }));
    }

    #[test]
    fn ratios_are_of_pairs_of_one_round_and_not_of_medians() {
        // A machine that slows from round to round by half, for both alike.
        let ours = vec![run(0, 1_000.0, 1.0), run(1, 1_000.0, 2.0), run(2, 1_000.0, 4.0)];
        let theirs = vec![run(2, 1_000.0, 16.0), run(1, 1_000.0, 4.0), run(0, 1_000.0, 2.0)];
        let found = concluded(ours, theirs);
        let cpu = ratio(&found, "cpu_s_per_1k_requests").unwrap();
        assert_eq!(cpu, Ranged { median: 0.5, low: 0.25, high: 0.5, n: 3 });
        assert_eq!(found.measured_pairs(), 3);
        assert_eq!(found.sides[0].figures["cpu_s_per_1k_requests"].median, 0.25);
        assert_eq!(ratio(&found, SLOPE), None, "no run was made at the lower rate");
    }

    #[test]
    fn a_slope_cancels_what_does_not_grow_with_the_rate() {
        // 0.1 s for 1,000 requests and 1 s of start-up; of the peer 0.4 s and 7 s.
        let ours: Vec<_> = (0..3).flat_map(|n| [run(n, 1_000.0, 1.8), run(n, 500.0, 1.4)]).collect();
        let theirs: Vec<_> = (0..3).flat_map(|n| [run(n, 500.0, 8.6), run(n, 1_000.0, 10.2)]).collect();
        let found = concluded(ours, theirs);
        let slope = |side: usize| found.sides[side].figures[SLOPE].median;
        assert!((slope(0) - 0.1).abs() < 1e-9 && (slope(1) - 0.4).abs() < 1e-9);
        assert!(ratio(&found, SLOPE).is_some_and(|ratio| (ratio.median - 0.25).abs() < 1e-9 && ratio.n == 3));
    }

    #[test]
    fn a_value_that_is_not_above_0_leaves_no_ratio_of_the_other_pairs_and_is_noted() {
        for (ours, theirs) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 2.0)] {
            let of = |cpu_s| vec![run(0, 1_000.0, 3.0), run(1, 1_000.0, cpu_s), run(2, 1_000.0, 3.0)];
            let found = concluded(of(ours), of(theirs));
            assert_eq!(ratio(&found, "cpu_s_per_1k_requests"), None);
            assert!(
                found.notes[0].ends_with("not above 0: cpu_s_per_1k_requests of lowrho auto"),
                "{found:?}"
            );
            assert_eq!(found.sides[0].figures["cpu_s"].n, 3, "figures are of all runs");
        }
    }

    #[test]
    fn a_run_that_went_wrong_is_in_no_figure_and_its_pair_is_none() {
        let broken = BaselineRun { problem: Some("status 1".into()), ..run(1, 1_000.0, 99.0) };
        let ours = vec![run(0, 1_000.0, 1.0), run(1, 1_000.0, 1.0), run(2, 1_000.0, 1.0)];
        let theirs = vec![run(0, 1_000.0, 2.0), broken, run(2, 1_000.0, 2.0)];
        let found = concluded(ours, theirs);
        assert_eq!((found.measured_pairs(), ratio(&found, "cpu_s_per_1k_requests").unwrap().n), (2, 2));
        assert_eq!(found.sides[1].figures["cpu_s"].high, 2.0);
        assert_eq!(found.sides[0].figures["unsent"].high, 0.0);
        assert!(!found.sides[0].figures.contains_key("e2e_end_p50"), "what nobody told is n/a");
    }
}
