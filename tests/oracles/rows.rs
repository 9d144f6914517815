//! Whoever reads `records.jsonl` and applies the definitions gets what the histograms say, within their resolution.

use crate::made::{START, crowd};
use lowrho::analysis::{Distribution, Level};
use lowrho::record::{Metric, Metrics, Record, Recorder, Window, quantile_rank, read_line, write_line};
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
