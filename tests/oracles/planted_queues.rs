//! Intervals and trends on queues whose truth is known: how often does what we print hold?
//!
//! Fixed seeds and generous bounds: the figures of docs/METHOD.md come from longer simulations.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "virtual instants of a few minutes, all positive"
)]

use crate::made::stream;
use lowrho::analysis::{Distribution, Level, Trend};
use lowrho::record::{BLOCKS, Tally, Window};
use lowrho::time::{Instant, Span};

const RUNS: u64 = 200;
const REQUESTS: usize = 30_000;
const MEAN_SERVICE_S: f64 = 0.01;

/// The sojourn times of an M/M/1 queue that has been running for long, with the arrivals' instants.
fn sojourns(load: f64, run: u64, requests: usize) -> Vec<(f64, f64)> {
    let mut stream = stream("m/m/1", run);
    let (mut at, mut wait) = (0.0, 0.0);
    // The stationary wait itself (Wq is 0 with probability 1 - rho, else exponential): no warm-up is needed.
    if stream.uniform() < load {
        wait = stream.exponential() * MEAN_SERVICE_S / (1.0 - load);
    }
    (0..requests)
        .map(|_| {
            let service = stream.exponential() * MEAN_SERVICE_S;
            let arrived = (at, wait + service);
            let gap = stream.exponential() * MEAN_SERVICE_S / load;
            at += gap;
            wait = (wait + service - gap).max(0.0);
            arrived
        })
        .collect()
}

/// How often the interval of the p99 holds the true one: by blocks of time, and by taking requests as independent.
fn coverage(load: f64) -> (f64, f64) {
    let truth_s = 100.0_f64.ln() * MEAN_SERVICE_S / (1.0 - load);
    let (mut by_blocks, mut told, mut independent) = (0.0, 0.0, 0.0);
    for run in 0..RUNS {
        let sojourns = sojourns(load, run, REQUESTS);
        let end = sojourns.last().unwrap().0 * (1.0 + 1e-9);
        let mut tally = Tally::default();
        for (at, sojourn) in &sojourns {
            let block = (at / end * BLOCKS as f64) as usize;
            tally.record(Span::from_s_f64(*sojourn), block);
            tally.contributed();
        }
        let holds =
            |interval: [Span; 2]| interval[0].as_s_f64() <= truth_s && truth_s <= interval[1].as_s_f64();
        if let Some(p99) = Distribution::of(&tally, &[0; BLOCKS]).quantile(Level::P99) {
            told += 1.0;
            by_blocks += f64::from(u8::from(holds(p99.interval)));
        }
        let margin = 1.96 * (0.99_f64 * 0.01 / REQUESTS as f64).sqrt();
        let at = |q: f64| Span::from_ns(tally.values().quantile(q).unwrap() as i64);
        independent += f64::from(u8::from(holds([at(0.99 - margin), at(0.99 + margin)])));
    }
    (by_blocks / told, independent / RUNS as f64)
}

#[test]
fn intervals_by_blocks_hold_the_truth_where_those_of_independent_requests_do_not() {
    for (load, least, most_independent) in [(0.6, 0.88, 0.80), (0.8, 0.82, 0.60), (0.9, 0.60, 0.45)] {
        let (by_blocks, independent) = coverage(load);
        assert!(by_blocks >= least, "load {load}: blocks cover {by_blocks}");
        assert!(independent <= most_independent, "load {load}: independent requests cover {independent}");
    }
}

#[test]
fn intervals_of_independent_values_cover_what_they_claim() {
    let (mut held, mut told) = (0.0, 0.0);
    for run in 0..RUNS {
        let mut stream = stream("independent", run);
        let mut tally = Tally::default();
        for n in 0..4_000 {
            tally.record(Span::from_s_f64(stream.exponential()), n / 200);
            tally.contributed();
        }
        let Some(p95) = Distribution::of(&tally, &[0; BLOCKS]).quantile(Level::P95).copied() else {
            continue;
        };
        let truth_s = 20.0_f64.ln();
        told += 1.0;
        held += f64::from(u8::from(
            p95.interval[0].as_s_f64() <= truth_s && truth_s <= p95.interval[1].as_s_f64(),
        ));
    }
    assert!(told >= 0.99 * RUNS as f64);
    assert!((0.90..=0.995).contains(&(held / told)), "{}", held / told);
}

/// The trend of requests in flight in a window of an M/M/1 queue.
fn trend(load: f64, run: u64) -> Trend {
    let window_s = 60.0;
    let window = Window::of_time(Instant::ZERO + Span::from_s(1_000), Instant::ZERO + Span::from_s(1_060));
    let mut in_flight_ns = [0; BLOCKS];
    let at_most = (window_s / MEAN_SERVICE_S * load * 1.2) as usize;
    // A queue that is overloaded has no stationary wait: it begins empty.
    let sojourns = if load < 1.0 { sojourns(load, run, at_most) } else { overloaded(load, run, at_most) };
    for (at, sojourn) in sojourns {
        let (begun_s, over_s) = (at.min(window_s), (at + sojourn).min(window_s));
        for (block, ns) in in_flight_ns.iter_mut().enumerate() {
            let (from, until) = (block as f64 * 3.0, block as f64 * 3.0 + 3.0);
            let inside_s = over_s.min(until) - begun_s.max(from);
            *ns += (inside_s.max(0.0) * 1e9) as u128;
        }
    }
    Trend::of(&in_flight_ns, &window.part_lengths().unwrap())
}

fn overloaded(load: f64, run: u64, requests: usize) -> Vec<(f64, f64)> {
    let mut stream = stream("overload", run);
    let (mut at, mut free_at) = (0.0_f64, 0.0_f64);
    (0..requests)
        .map(|_| {
            at += stream.exponential() * MEAN_SERVICE_S / load;
            free_at = free_at.max(at) + stream.exponential() * MEAN_SERVICE_S;
            (at, free_at - at)
        })
        .collect()
}

#[test]
fn an_overloaded_server_is_told_and_a_busy_one_is_not_blamed() {
    let grew = |load| (0..100).filter(|run| trend(load, *run).grew).count();
    let (busy, overloaded) = (grew(0.8), grew(1.3));
    assert!(busy <= 5, "{busy} of 100 windows at 80 % load");
    assert!(overloaded >= 90, "{overloaded} of 100 windows at 130 % load");
    let slope = (0..100).map(|run| trend(1.3, run).slope_per_s).sum::<f64>() / 100.0;
    assert!((slope - 30.0).abs() < 3.0, "30 requests/s too many, a slope of {slope}");
}
