//! Whoever reads `records.jsonl` and applies the definitions gets what the histograms say, within their resolution.

use crate::made::{START, crowd, stream};
use lowrho::analysis::{Distribution, Level, Remeasured, Tail};
use lowrho::foreign::{Better, Difference, Figure, Outcome};
use lowrho::record::{
    BLOCKS, Metric, Metrics, Record, Recorder, Tally, Window, quantile_rank, read_line, write_line,
};
use lowrho::time::Span;

#[test]
fn rows_and_histograms_agree_within_the_resolution() {
    let requests = crowd(20_000, 60);
    let mut recorder = Recorder::new(&[Window::of_time(START, START + Span::from_s(60))]);
    let mut rows: Vec<Record> = Vec::new();
    let mut line = Vec::new();
    for mut finished in requests {
        recorder.finish(&finished);
        finished.keep_gaps();
        line.clear();
        write_line(finished.record(), START, &mut line);
        rows.push(read_line(&line, START).unwrap());
    }
    let stage = &recorder.stages()[0];
    for metric in Metric::ALL {
        let of_row = |row: &Record| match metric {
            Metric::Itl => row.gaps.iter().flatten().copied().collect(),
            _ => Metrics::of(row).get(metric).into_iter().collect::<Vec<Span>>(),
        };
        let counts = |row: &&Record| row.error.is_none() || metric == Metric::Lateness;
        let mut values: Vec<Span> = rows.iter().filter(counts).flat_map(of_row).collect();
        values.sort_unstable();
        let told = Distribution::of(stage.tally(metric), &stage.failed_by_block);
        assert_eq!(told.count, values.len() as u64, "{metric:?}");
        assert_eq!(told.max, values.last().copied(), "{metric:?}");
        let mut sum = 0_i128;
        values.iter().for_each(|v| sum += i128::from(v.as_ns()));
        if let Some(mean) = told.mean {
            assert!((i128::from(mean.as_ns()) * values.len() as i128 - sum).abs() <= values.len() as i128);
        }
        for level in Level::ALL {
            let Some(quantile) = told.quantile(level) else { continue };
            let rank = usize::try_from(quantile_rank(level.q(), told.count)).unwrap();
            let raw = values[rank - 1];
            let off = quantile.value - raw;
            assert!(!off.is_negative() && off.as_ns() <= raw.as_ns() / 1024 + 1, "{metric:?} {level:?}");
            assert!(quantile.interval[0] <= quantile.value && quantile.value <= quantile.interval[1]);
        }
    }
    assert!(
        Distribution::of(stage.tally(Metric::Itl), &stage.failed_by_block).count > 100_000,
        "the crowd streams"
    );
}

#[test]
fn intervals_of_rows_are_those_of_the_run() {
    let length = Span::from_s(60);
    let mut recorder = Recorder::new(&[Window::of_time(START, START + length)]);
    let mut rows = Remeasured::new(vec![(START, length)]);
    let mut line = Vec::new();
    let (mut sum, mut count) = (0.0, 0.0);
    for mut finished in crowd(20_000, 60) {
        recorder.finish(&finished);
        finished.keep_gaps();
        line.clear();
        write_line(finished.record(), START, &mut line);
        let row = read_line(&line, START).unwrap();
        if let Some(ttft) = Metrics::of(&row).get(Metric::Ttft).filter(|_| row.error.is_none()) {
            sum += ttft.as_s_f64() * 1e9;
            count += 1.0;
        }
        rows.add(&row);
    }
    assert_eq!(rows.rows(), 20_000);
    let stage = &recorder.stages()[0];
    let (mut compared, mut infinite) = (0, 0);
    for metric in Metric::ALL {
        let told = Distribution::of(stage.tally(metric), &stage.failed_by_block);
        for level in Level::ALL {
            let run = told.quantile(level).map(|quantile| quantile.interval.map(|end| end.as_s_f64() * 1e9));
            assert_eq!(rows.quantile(metric.name(), level), run, "{metric:?} {level:?}");
            compared += usize::from(run.is_some());
            if metric != Metric::Lateness {
                let found = rows.quantile_with_failures(metric.name(), level);
                let told = told.with_failures[level.index()];
                let same = match (told, found) {
                    (Tail::Finite(span), Some((ns, [low, high]))) => {
                        (ns - span.as_s_f64() * 1e9).abs() < 1.0 && low <= ns && ns <= high
                    }
                    (Tail::Infinite, Some((ns, [_, high]))) => {
                        infinite += 1;
                        ns.is_infinite() && high.is_infinite()
                    }
                    // It may be told of more than has an interval: every request counts there, however bunched.
                    (_, None) => true,
                    (Tail::Undefined, Some(_)) => false,
                };
                assert!(same, "{metric:?} {level:?}: {told:?}, {found:?}");
            }
        }
    }
    assert!(compared > 30, "{compared}");
    let failed: u64 = stage.failed_by_block.iter().sum();
    assert!(failed > 0 && infinite > 0, "{failed} failed, and {infinite} quantiles are infinite");
    let [low, high] = rows.mean("ttft").unwrap();
    assert!(low < sum / count && sum / count < high);
    let [low, high] = rows.requests_per_s().unwrap();
    assert!(low < high && low > 100.0 && high < 500.0, "{low} to {high}");
}

/// Two runs of one law differ by chance alone: their interval of the difference holds 0 in about 95 of 100 pairs, and in few
/// when one is 10 % slower.
#[test]
fn the_interval_of_a_difference_covers_what_it_says() {
    const PAIRS: u64 = 400;
    const REQUESTS: u64 = 2_000;
    let run = |seed: u64, slower: f64| {
        let mut values = stream("difference", seed);
        let mut tally = Tally::default();
        for n in 0..REQUESTS {
            let exponential = values.exponential();
            let ns = slower * (20e6 + 5e6 * exponential);
            tally.record(Span::from_s_f64(ns / 1e9), usize::try_from(n * 20 / REQUESTS).unwrap());
            tally.contributed();
        }
        let found = Distribution::of(&tally, &[0; BLOCKS]);
        let p90 = found.quantile(Level::P90).unwrap();
        let ns = |span: Span| span.as_s_f64() * 1e9;
        Figure { value: ns(p90.value), interval: Some(p90.interval.map(ns)), at_least: false }
    };
    let outcomes = |slower: f64| {
        let pairs =
            (0..PAIRS).map(|n| Difference::of(&run(2 * n, 1.0), &run(2 * n + 1, slower), Better::Less));
        pairs.filter(|found| found.unwrap().outcome == Some(Outcome::NoneSeen)).count()
    };
    let alike = outcomes(1.0);
    assert!((370..=396).contains(&alike), "{alike} of {PAIRS} pairs that are alike show no difference");
    let apart = outcomes(1.1);
    assert!(apart <= 4, "{apart} of {PAIRS} pairs 10 % apart show no difference");
}
