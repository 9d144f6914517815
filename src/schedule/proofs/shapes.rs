//! Constant arrivals to the nanosecond, gamma's burstiness, and ramps by their integral.

use super::*;

#[test]
fn the_hundred_millionth_constant_arrival_is_exact() {
    // floor(i 1e9 / rate), in whole numbers, where a summed gap of 0.333... s would be long off.
    for (rate, i, ns) in [
        (3.0, 100_000_000_u64, 33_333_333_333_333_333_u64),
        (1_000.0, 100_000_000, 100_000_000_000_000),
        (33.3, 33_300_000, 1_000_000_000_000_000),
        (0.1, 3_000, 30_000_000_000_000),
        (7_777.777_777_777, 7_777_777, 999999900000),
    ] {
        let schedule = schedule(&[open(Ramp::Flat(rate), Process::Constant, Span::from_s(366 * 86_400))], 0);
        assert_eq!(schedule.nth_ns(i), Some(ns), "{rate} requests/s, request {i}");
    }
}

#[test]
fn constant_arrivals_begin_with_the_window_and_fill_it() {
    for (rate, duration_ms, n) in
        [(10.0, 1_000, 10), (10.0, 1_001, 11), (3.0, 1_000, 3), (0.5, 2_000, 1), (33.3, 10_000, 333)]
    {
        let schedule = schedule(&[open(Ramp::Flat(rate), Process::Constant, Span::from_ms(duration_ms))], 0);
        let dues: Vec<u64> = schedule.arrivals(0, 1).map(|due| due.due.as_ns()).collect();
        assert_eq!((dues[0], dues.len()), (0, n), "{rate} requests/s for {duration_ms} ms");
    }
}

#[test]
fn a_million_walked_constant_arrivals_lie_where_the_formula_says() {
    let schedule = schedule(&[open(Ramp::Flat(7.0), Process::Constant, Span::from_s(142_858))], 0);
    for due in schedule.arrivals(0, 1) {
        assert_eq!(due.due.as_ns(), due.index * 1_000_000_000 / 7);
    }
    assert_eq!(schedule.counts(Instant::NEVER), [1_000_006]);
}

#[test]
fn gammas_gaps_have_the_asked_variation_and_keep_the_mean() {
    for shape in [0.25, 0.5, 1.0, 4.0] {
        let gaps: Vec<f64> = gaps(&dues(Ramp::Flat(100.0), Process::Gamma(shape), 5_000, 2));
        let n = count(gaps.len());
        let mean = mean(&gaps) * 100.0;
        let cv2 = variance(&gaps) * 1e4;
        // Unit-mean gamma: variance 1/k; fourth central moment 3/k^2 + 6/k^3, so that Var(cv2) = (2/k^2 + 6/k^3) / n.
        let k: f64 = shape;
        assert!((mean - 1.0).abs() < 5.0 * (1.0 / (k * n)).sqrt(), "shape {k}: mean {mean}");
        let deviation = ((2.0 / (k * k) + 6.0 / (k * k * k)) / n).sqrt();
        assert!((cv2 - 1.0 / k).abs() < 5.0 * deviation, "shape {k}: {cv2}");
    }
}

#[test]
fn a_bursty_schedule_has_its_rate_from_the_first_instant_on() {
    // Begun with a full gap, a process of shape 0.1 would have (cv^2 - 1) / 2 = 4.5 requests too many.
    let totals: Vec<f64> =
        (0..4_000).map(|seed| count(dues(Ramp::Flat(20.0), Process::Gamma(0.1), 5, seed).len())).collect();
    let bound = 5.0 * (variance(&totals) / 4_000.0).sqrt();
    assert!(bound < 3.0, "the test can tell");
    assert!((mean(&totals) - 100.0).abs() < bound, "{} +- {bound}", mean(&totals));
}

#[test]
fn gamma_of_shape_one_is_poisson() {
    let gaps = gaps(&dues(Ramp::Flat(1_000.0), Process::Gamma(1.0), 60, 0));
    let worst = distance(gaps, |gap| -libm::expm1(-gap * 1_000.0));
    assert!(worst < DISTANCE_LIMIT, "{worst}");
}

const RAMPS: [Ramp; 5] = [
    Ramp::Linear(0.0, 400.0),
    Ramp::Linear(400.0, 0.0),
    Ramp::Linear(100.0, 300.0),
    Ramp::Geometric(20.0, 1_000.0),
    Ramp::Geometric(1_000.0, 20.0),
];

/// The time rescaling theorem: seen through the integrated rate, arrivals are Poisson of rate 1.
#[test]
fn a_ramps_arrivals_are_poisson_of_rate_one_once_time_is_measured_in_expected_requests() {
    for ramp in RAMPS {
        let mut rescaled = Vec::new();
        for seed in 0..10 {
            let areas: Vec<f64> =
                dues(ramp, Process::Poisson, 20, seed).iter().map(|t| ramp.integral(*t, 20.0)).collect();
            rescaled.extend(gaps(&areas));
        }
        let worst = distance(rescaled, |gap| -libm::expm1(-gap));
        assert!(worst < DISTANCE_LIMIT, "{ramp:?}: {worst}");
    }
}

#[test]
fn each_tenth_of_a_ramp_has_the_requests_of_its_integral() {
    for ramp in RAMPS {
        let mut tenths = [0.0; 10];
        for seed in 0..50 {
            for due in dues(ramp, Process::Poisson, 20, seed) {
                let tenth = (0..10_u32).rfind(|k| due >= f64::from(*k) * 2.0).unwrap();
                tenths[usize::try_from(tenth).unwrap()] += 1.0;
            }
        }
        for (tenth, n) in (0..10_u32).zip(tenths) {
            let until = |k: u32| ramp.integral(f64::from(k) * 2.0, 20.0);
            let expected: f64 = 50.0 * (until(tenth + 1) - until(tenth));
            assert!(
                (n - expected).abs() < 5.0 * expected.sqrt(),
                "{ramp:?}, tenth {tenth}: {n}, not {expected}"
            );
        }
    }
}

#[test]
fn a_constant_ramp_has_one_request_for_each_whole_unit_of_its_integral() {
    for ramp in RAMPS {
        let areas: Vec<f64> =
            dues(ramp, Process::Constant, 20, 0).iter().map(|t| ramp.integral(*t, 20.0)).collect();
        // A nanosecond of time is at most 1e-6 of a request at 1,000 requests/s.
        assert!(areas.iter().enumerate().all(|(i, area)| (area - count(i)).abs() < 2e-6), "{ramp:?}");
        let total = ramp.integral(20.0, 20.0);
        assert!((count(areas.len()) - total.ceil()).abs() < 0.5, "{ramp:?}: {} of {total}", areas.len());
    }
}

#[test]
fn a_warm_up_runs_at_the_starting_and_a_cool_down_at_the_closing_rate() {
    let stage = Stage {
        warmup: Span::from_s(10),
        ..open(Ramp::Linear(100.0, 200.0), Process::Constant, Span::from_s(10))
    };
    let schedule = Schedule::new(vec![stage], Span::from_s(10), 0).unwrap();
    let mut phases = [0; 3];
    schedule.arrivals(0, 1).for_each(|due| {
        phases[match due.phase {
            Phase::Warmup => 0,
            Phase::Measured => 1,
            Phase::Cooldown => 2,
        }] += 1;
    });
    assert_eq!(phases, [1_000, 1_500, 2_000]);
}
