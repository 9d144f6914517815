//! Proofs that a schedule is what it is called: Poisson counts, gaps and correlations, ramps, and one truth for all shards.
//! Seeds are fixed; every bound is five standard deviations (about one false alarm in two million) or says otherwise.

use super::*;
use crate::time::{Instant, Phase, Span};
use proptest::prelude::*;

mod poisson;
mod shapes;

fn open(rate_per_s: Ramp, process: Process, duration: Span) -> Stage {
    Stage { load: Load::Open { rate_per_s, process }, extent: Extent::Duration(duration), warmup: Span::ZERO }
}

fn schedule(stages: &[Stage], seed: u64) -> Schedule {
    Schedule::new(stages.to_vec(), Span::ZERO, seed).unwrap()
}

/// Due instants of a run of one stage, in seconds.
fn dues(rate_per_s: Ramp, process: Process, duration_s: i64, seed: u64) -> Vec<f64> {
    let schedule = schedule(&[open(rate_per_s, process, Span::from_s(duration_s))], seed);
    schedule.arrivals(0, 1).map(|due| (due.due - Instant::ZERO).as_s_f64()).collect()
}

fn gaps(dues: &[f64]) -> Vec<f64> {
    dues.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap())
}

fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / count(sample.len())
}

fn variance(sample: &[f64]) -> f64 {
    let mean = mean(sample);
    sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (count(sample.len()) - 1.0)
}

/// Kolmogorov-Smirnov distance from a distribution function, times sqrt(n).
fn distance(mut sample: Vec<f64>, below: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = count(sample.len());
    let worst = sample.iter().enumerate().map(|(i, x)| {
        let p = below(*x);
        (p - count(i) / n).max(count(i + 1) / n - p)
    });
    worst.fold(0.0, f64::max) * n.sqrt()
}

/// P(sqrt(n) D > 2.3) = 2 exp(-2 2.3^2) = 5 in 100,000.
const DISTANCE_LIMIT: f64 = 2.3;

fn any_stage() -> impl Strategy<Value = Stage> {
    let ramp = prop_oneof![
        (1.0..2000.0_f64).prop_map(Ramp::Flat),
        (0.0..500.0_f64, 1.0..2000.0_f64).prop_map(|(a, b)| Ramp::Linear(a.max(0.001), b)),
        (1.0..2000.0_f64).prop_map(|b| Ramp::Linear(0.0, b)),
        (1.0..2000.0_f64).prop_map(|a| Ramp::Linear(a, 0.0)),
        (1.0..500.0_f64, 1.0..2000.0_f64).prop_map(|(a, b)| Ramp::Geometric(a, b)),
    ];
    let process = prop_oneof![
        Just(Process::Poisson),
        Just(Process::Constant),
        (0.05..20.0_f64).prop_map(Process::Gamma)
    ];
    (ramp, process, 1..2_000_i64, 0..500_i64).prop_map(|(ramp, process, duration_ms, warmup_ms)| Stage {
        warmup: Span::from_ms(warmup_ms),
        ..open(ramp, process, Span::from_ms(duration_ms))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_union_over_the_shards_is_the_same_for_any_number_of_them(
        stages in prop::collection::vec(any_stage(), 1..4), seed: u64, shards in 1..17_u16,
    ) {
        let schedule = Schedule::new(stages, Span::from_ms(300), seed).unwrap();
        let alone: Vec<Due> = schedule.arrivals(0, 1).collect();
        let mut union: Vec<Due> = (0..shards).flat_map(|shard| schedule.arrivals(shard, shards)).collect();
        union.sort_by_key(|due| due.index);
        prop_assert_eq!(alone, union);
    }

    #[test]
    fn requests_are_numbered_in_order_and_lie_where_the_timetable_says(
        stages in prop::collection::vec(any_stage(), 1..4), seed: u64,
    ) {
        let schedule = Schedule::new(stages, Span::from_ms(300), seed).unwrap().starting_at(Instant::from_ns(77));
        let mut last = Instant::ZERO;
        for (due, index) in schedule.arrivals(0, 1).zip(0..) {
            prop_assert_eq!(due.index, index);
            prop_assert!(due.due >= last);
            prop_assert_eq!(schedule.timetable().place(due.due), Some((due.stage, due.phase)));
            last = due.due;
        }
    }

    #[test]
    fn what_comes_later_changes_nothing_before(
        stages in prop::collection::vec(any_stage(), 1..4), added in any_stage(), seed: u64,
    ) {
        let short = Schedule::new(stages.clone(), Span::ZERO, seed).unwrap();
        let long = Schedule::new(stages.clone(), Span::from_s(1), seed).unwrap();
        let before: Vec<Due> = short.arrivals(0, 1).collect();
        prop_assert_eq!(&before, &long.arrivals(0, 1).take(before.len()).collect::<Vec<_>>());
        let longer = Schedule::new([stages, vec![added]].concat(), Span::ZERO, seed).unwrap();
        prop_assert_eq!(&before, &longer.arrivals(0, 1).take(before.len()).collect::<Vec<_>>());
    }

    #[test]
    fn so_many_requests_as_asked_follow_the_warm_up(
        rate in 1.0..5000.0_f64, n in 1..3000_u64, warmup_ms in 0..300_i64, seed: u64, shape in 0.1..5.0_f64,
    ) {
        for process in [Process::Poisson, Process::Constant, Process::Gamma(shape)] {
            let load = Load::Open { rate_per_s: Ramp::Flat(rate), process };
            let stage = Stage { load, extent: Extent::Requests(n), warmup: Span::from_ms(warmup_ms) };
            let schedule = Schedule::new(vec![stage], Span::from_s(30), seed).unwrap();
            prop_assert_eq!(schedule.counts(Instant::NEVER), vec![n]);
            prop_assert!(schedule.arrivals(0, 1).all(|due| due.phase != Phase::Cooldown));
            let window = schedule.timetable().windows()[0];
            prop_assert!(schedule.arrivals(0, 1).all(|due| due.due < window.measured_until));
            prop_assert_eq!(schedule.timetable().load_until(), window.measured_until);
        }
    }
}

#[test]
fn a_window_holds_its_last_request_though_the_next_is_due_in_the_same_nanosecond() {
    let load = Load::Open { rate_per_s: Ramp::Flat(1_000.0), process: Process::Gamma(0.01) };
    let stage = Stage { load, extent: Extent::Requests(10), warmup: Span::ZERO };
    let mut shared = 0;
    for seed in 0..200 {
        let schedule = Schedule::new(vec![stage], Span::ZERO, seed).unwrap();
        let last = schedule.arrivals(0, 1).last().unwrap();
        let until = schedule.timetable().windows()[0].measured_until;
        assert!(last.due < until, "seed {seed}");
        shared += u32::from(until - last.due == Span::from_ns(1));
    }
    assert!(shared > 10, "bursts this short are what the test is about: {shared}");
}

#[test]
fn the_measured_requests_do_not_depend_on_the_warm_up() {
    let stage = open(Ramp::Flat(500.0), Process::Poisson, Span::from_s(5));
    let measured = |warmup_s: i64| -> Vec<Span> {
        let schedule = schedule(&[Stage { warmup: Span::from_s(warmup_s), ..stage }], 3);
        let from = schedule.timetable().windows()[0].measured_from;
        let measured = schedule.arrivals(0, 1).filter(|due| due.phase == Phase::Measured);
        measured.map(|due| due.due - from).collect()
    };
    assert_eq!(measured(0), measured(2));
    assert!(measured(0).len() > 2_000);
}

#[test]
fn counting_by_walking_agrees_with_the_plan() {
    let stages = [
        Stage { warmup: Span::from_s(1), ..open(Ramp::Flat(100.0), Process::Constant, Span::from_s(2)) },
        open(Ramp::Linear(100.0, 300.0), Process::Constant, Span::from_s(1)),
    ];
    let schedule = Schedule::new(stages.to_vec(), Span::from_s(2), 0).unwrap();
    assert_eq!(schedule.counts(Instant::NEVER), [200, 200]);
    // Cut after a second of the first window, and a quarter of a second into the second, which has 31.25 by then.
    let cut = |ms| schedule.counts(schedule.start() + Span::from_ms(ms));
    assert_eq!((cut(500), cut(2_000), cut(3_250)), (vec![0, 0], vec![100, 0], vec![200, 32]));
    assert_eq!(schedule.arrivals(0, 1).count(), 100 + 400 + 600);
    let expected =
        [Phase::Warmup, Phase::Measured, Phase::Cooldown].map(|phase| schedule.expected_requests(phase));
    assert_eq!(expected, [Some(100.0), Some(400.0), Some(600.0)]);
}

#[test]
fn what_cannot_be_scheduled_is_refused_in_words() {
    let stage = |rate| open(rate, Process::Poisson, Span::from_s(1));
    let closed = |slots| Stage {
        load: Load::Closed { slots, ramp: Span::ZERO, think: crate::random::Delays::ZERO },
        ..stage(Ramp::Flat(1.0))
    };
    let requests = Stage { extent: Extent::Requests(5), ..stage(Ramp::Flat(1.0)) };
    for (stages, words) in [
        (vec![], "a run has 1 to"),
        (vec![stage(Ramp::Flat(0.0))], "rate 0: must lie in 0.0001 to 10000000"),
        (vec![stage(Ramp::Flat(f64::NAN))], "rate NaN"),
        (vec![stage(Ramp::Flat(1.0)), stage(Ramp::Flat(-1.0))], "stage 2: rate -1"),
        (vec![stage(Ramp::Linear(0.0, 0.0))], "rate 0"),
        (vec![stage(Ramp::Geometric(0.0, 5.0))], "rate 0"),
        (vec![open(Ramp::Flat(1.0), Process::Gamma(0.0), Span::from_s(1))], "shape must lie in"),
        (vec![open(Ramp::Flat(1.0), Process::Poisson, Span::ZERO)], "duration 0s: must be more than 0s"),
        (vec![Stage { warmup: Span::from_ns(-1), ..stage(Ramp::Flat(1.0)) }], "warmup -1ns"),
        (vec![stage(Ramp::Flat(1.0)), closed(Ramp::Flat(1.0))], "do not mix"),
        (vec![closed(Ramp::Flat(0.0))], "concurrency 0: must lie in 1 to 1000000"),
        (vec![closed(Ramp::Linear(1.0, 2.5))], "concurrency 2.5: must be a whole number"),
        (vec![requests, requests], "only for a run of one stage"),
        (vec![Stage { extent: Extent::Requests(0), ..requests }], "requests 0"),
    ] {
        let error = Schedule::new(stages, Span::ZERO, 0).expect_err(words).to_string();
        assert!(error.contains(words), "{error:?} does not say {words:?}");
    }
    let year = vec![open(Ramp::Flat(1.0), Process::Constant, Span::from_s(366 * 86_400)); 400];
    assert!(Schedule::new(year, Span::ZERO, 0).unwrap_err().to_string().contains("longer than a year"));
}
