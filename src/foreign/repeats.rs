//! Runs of one plan (`--repeat`) told as one: what they say in the middle, and how far they lie apart.
//!
//! It must not take an interval of a run's own: what differs from run to run is in none of these.

use super::quantity::{Quantity, Statistic, Unit};
use super::reading::{Figure, Reading};
use crate::analysis::two_sided;
use std::collections::BTreeMap;

/// Below this many runs their spread says next to nothing: t is 12.7 for two.
const FEW: usize = 3;

/// What `runs` say together; none of none.
///
/// A time or a rate is the geometric mean of the runs' own, and its 95 % interval Student's t on their logarithms with one
/// degree of freedom less than there are runs. It holds what differs between runs and what differs within one, since each
/// run's figure has both. A count is the sum, a share the mean; neither has an interval. A figure that a run lacks is
/// left out.
#[must_use]
pub fn together(runs: &[Reading], name: &str) -> Option<Reading> {
    let first = runs.first()?;
    let many = if runs.len() == 1 { "run" } else { "runs" };
    let mut all = Reading::of(name, format!("{}, {} {many}", first.tool, runs.len()));
    all.is_ours = first.is_ours;
    all.figures = figures(runs, |run| &run.figures);
    if runs.iter().any(failed) {
        // Where no request of a run failed, its quantiles are the same with failures; where some did and no row tells which,
        // nothing is known.
        all.with_failures = figures(runs, |run| if failed(run) { &run.with_failures } else { &run.figures });
    }
    let unsure = all.figures.iter().filter(|(_, figure)| figure.interval.is_none());
    all.unsure = unsure.map(|(key, _)| (*key, why_unsure(runs.len(), key.0.unit()).to_owned())).collect();
    all.settings.clone_from(&first.settings);
    all.notes.push(format!(
        "means of {} {many} (of counts the sums), and intervals of the spread between them (Student's t on logarithms)",
        runs.len()
    ));
    if runs.len() < FEW {
        all.notes.push("fewer than three runs: their spread is hardly known; --repeat 5 tells more".into());
    }
    for run in runs {
        // That a run has few intervals of its own is nothing here.
        let telling = run.notes.iter().filter(|note| note.contains("verdict"));
        all.notes.extend(telling.map(|note| format!("{}: {note}", run.name)));
    }
    Some(all)
}

/// Whether requests of a run failed.
fn failed(run: &Reading) -> bool {
    run.figure(Quantity::Failed, Statistic::Value).is_some_and(|failed| failed.value > 0.0)
}

/// Why a figure of so many runs has no interval.
const fn why_unsure(runs: usize, unit: Unit) -> &'static str {
    match unit {
        _ if runs < 2 => "one run has no spread",
        Unit::Count | Unit::Share => "of a count or a share the runs make none",
        _ => "a run has 0 there, or it is an extreme",
    }
}

type Figures = BTreeMap<(Quantity, Statistic), Figure>;

fn figures<T>(runs: &[T], of: impl Fn(&T) -> &Figures) -> Figures {
    let Some(first) = runs.first() else { return Figures::new() };
    let keys = of(first).keys();
    let told = keys.filter_map(|key| {
        let each: Option<Vec<Figure>> = runs.iter().map(|run| of(run).get(key).copied()).collect();
        Some((*key, one(&each?, key.0.unit(), key.1)))
    });
    told.collect()
}

/// One figure of each run, as one.
fn one(each: &[Figure], unit: Unit, statistic: Statistic) -> Figure {
    let values = || each.iter().map(|figure| figure.value);
    let n = number(each.len());
    let at_least = each.iter().any(|figure| figure.at_least);
    let lowest = values().fold(f64::INFINITY, f64::min);
    let (value, interval) = match (unit, statistic) {
        (Unit::Count, _) => (values().sum(), None),
        (_, Statistic::Min) => (lowest, None),
        (_, Statistic::Max) => (values().fold(f64::NEG_INFINITY, f64::max), None),
        // So many requests of a run failed that the quantile is one of them: sure is only the lowest run.
        _ if values().any(f64::is_infinite) => (f64::INFINITY, Some([lowest, f64::INFINITY])),
        (Unit::Share, _) => (values().sum::<f64>() / n, None),
        _ if lowest <= 0.0 => (values().sum::<f64>() / n, None),
        _ => {
            let logs: Vec<f64> = values().map(libm::log).collect();
            let mean = logs.iter().sum::<f64>() / n;
            let half = half_width(&logs, mean);
            (libm::exp(mean), half.map(|half| [libm::exp(mean - half), libm::exp(mean + half)]))
        }
    };
    Figure { value, interval, at_least }
}

/// Of the 95 % interval of a mean; none of one value.
fn half_width(values: &[f64], mean: f64) -> Option<f64> {
    let degrees = u32::try_from(values.len()).ok()?.checked_sub(1).filter(|degrees| *degrees > 0)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = libm::sqrt(squares / f64::from(degrees));
    Some(two_sided(0.95, degrees) * deviation / libm::sqrt(number(values.len())))
}

#[expect(clippy::cast_precision_loss, reason = "a number of runs")]
const fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const P99: (Quantity, Statistic) = (Quantity::Ttft, Statistic::P99);

    fn run(ttft_p99: f64, completed: u64) -> Reading {
        let mut reading = Reading::of("r", "lowrho 1");
        reading.is_ours = true;
        reading.counts(Some(completed), Some(0));
        reading.figures.insert(P99, Figure { value: ttft_p99, interval: Some([1.0, 2.0]), at_least: false });
        reading
    }

    #[test]
    fn a_latency_is_the_geometric_mean_and_its_interval_the_spread_between_runs() {
        // ln: 0, 1 and 2: mean 1, deviation 1, t of two degrees 4.3027.
        let e = libm::exp(1.0);
        let all = together(&[run(1.0, 10), run(e, 10), run(e * e, 10)], "dir").unwrap();
        let figure = all.figures[&P99];
        assert!((figure.value - e).abs() < 1e-12);
        let half = 4.302_652_7 / libm::sqrt(3.0);
        let [low, high] = figure.interval.unwrap();
        assert!(
            (libm::log(low) - (1.0 - half)).abs() < 1e-6 && (libm::log(high) - (1.0 + half)).abs() < 1e-6
        );
        assert_eq!(all.tool, "lowrho 1, 3 runs");
    }

    #[test]
    fn counts_are_summed_and_shares_have_no_interval() {
        let all = together(&[run(1.0, 10), run(2.0, 30)], "dir").unwrap();
        let value = |quantity| all.figures[&(quantity, Statistic::Value)];
        assert_eq!(value(Quantity::Completed), Figure::plain(40.0));
        assert_eq!(value(Quantity::ErrorRate), Figure::plain(0.0));
        assert!(all.notes.iter().any(|note| note.contains("fewer than three runs")), "{:?}", all.notes);
    }

    #[test]
    fn what_a_run_lacks_is_not_told_and_one_run_has_no_spread() {
        let mut without = run(1.0, 10);
        without.figures.remove(&P99);
        assert!(!together(&[run(1.0, 10), without], "dir").unwrap().figures.contains_key(&P99));
        let one = together(&[run(5.0, 10)], "dir").unwrap();
        assert_eq!(one.figures[&P99].interval, None);
        assert_eq!(one.why_unsure(P99.0, P99.1), "one run has no spread");
        assert!(together(&[], "dir").is_none());
    }

    #[test]
    fn a_run_whose_quantile_is_a_failure_leaves_only_a_lower_end() {
        let mut failing = run(3.0, 10);
        failing.counts(Some(10), Some(1));
        assert!(
            !together(&[run(2.0, 10), failing.clone()], "dir").unwrap().with_failures.contains_key(&P99),
            "no rows"
        );
        failing.with_failures.insert(P99, Figure::plain(f64::INFINITY));
        let all = together(&[run(2.0, 10), failing, run(4.0, 10)], "dir").unwrap();
        let figure = all.with_failures[&P99];
        assert_eq!((figure.value, figure.interval), (f64::INFINITY, Some([2.0, f64::INFINITY])));
        assert!(all.figures[&P99].value.is_finite());
    }

    #[test]
    fn a_verdict_that_is_not_valid_is_told_with_its_run() {
        let mut suspect = Reading { name: "dir/2".into(), ..run(1.0, 10) };
        suspect.notes.push("the client's verdict is suspect: x".into());
        let all = together(&[run(1.0, 10), suspect], "dir").unwrap();
        assert!(
            all.notes.iter().any(|note| note.starts_with("dir/2: the client's verdict")),
            "{:?}",
            all.notes
        );
    }
}
