//! Poisson *is* Poisson: counts are free and their variance is their mean, gaps are exponential and know nothing of each other.

use super::*;

/// Counts of arrivals in consecutive bins of `bin_s`, over all of these seeds; each run lasts 20 s.
fn counts(rate: f64, bin_s: f64, seeds: std::ops::Range<u64>) -> Vec<f64> {
    let mut counts = Vec::new();
    for seed in seeds {
        let dues = dues(Ramp::Flat(rate), Process::Poisson, 20, seed);
        let mut bin = 1.0;
        let mut held = 0.0;
        for due in dues.into_iter().chain([20.0]) {
            while due >= bin * bin_s {
                counts.push(held);
                held = 0.0;
                bin += 1.0;
            }
            held += 1.0;
        }
    }
    counts
}

#[test]
fn counts_vary_as_much_as_their_mean_at_every_scale() {
    for (bin_s, bins) in [(0.01, 60_000), (0.1, 6_000), (1.0, 600)] {
        let counts = counts(500.0, bin_s, 0..30);
        assert!(counts.len().abs_diff(bins) <= 30, "{} bins", counts.len());
        let n = count(counts.len());
        let dispersion = variance(&counts) / mean(&counts);
        // (n - 1) D is chi-squared with n - 1 degrees of freedom: deviation of D is sqrt(2 / (n - 1)).
        assert!((dispersion - 1.0).abs() < 5.0 * (2.0 / (n - 1.0)).sqrt(), "bins of {bin_s} s: {dispersion}");
        // And the mean is the rate: variance of the mean is mean / n.
        let expected = 500.0 * bin_s;
        assert!((mean(&counts) - expected).abs() < 5.0 * (expected / n).sqrt(), "{}", mean(&counts));
    }
}

#[test]
fn counts_follow_the_poisson_law() {
    // Mean 2 a bin: P(0..6), and the rest.
    let counts = counts(200.0, 0.01, 100..120);
    let n = count(counts.len());
    let mut chi2 = 0.0;
    let (mut p, mut rest, mut k) = ((-2.0_f64).exp(), 1.0, 0.0);
    while k < 7.0 {
        let seen = count(counts.iter().filter(|c| **c == k).count());
        chi2 += (seen - n * p).powi(2) / (n * p);
        rest -= p;
        k += 1.0;
        p *= 2.0 / k;
    }
    let seen = count(counts.iter().filter(|c| **c >= 7.0).count());
    chi2 += (seen - n * rest).powi(2) / (n * rest);
    // 7 degrees of freedom: P(chi2 > 33) = 2.6 in 100,000.
    assert!(chi2 < 33.0, "{chi2}");
}

#[test]
fn the_number_of_requests_is_not_fixed_but_varies_from_seed_to_seed_as_it_should() {
    // What rescaling to a count (vLLM's benchmark does it) would make 0.
    let totals: Vec<f64> =
        (0..1_000).map(|seed| count(dues(Ramp::Flat(100.0), Process::Poisson, 10, seed).len())).collect();
    let dispersion = variance(&totals) / mean(&totals);
    assert!((dispersion - 1.0).abs() < 5.0 * (2.0_f64 / 999.0).sqrt(), "{dispersion}");
    assert!((mean(&totals) - 1_000.0).abs() < 5.0, "deviation of the mean is 1: {}", mean(&totals));
}

#[test]
fn gaps_are_exponential() {
    for seed in 0..10 {
        let gaps = gaps(&dues(Ramp::Flat(1_000.0), Process::Poisson, 30, seed));
        let worst = distance(gaps, |gap| -libm::expm1(-gap * 1_000.0));
        assert!(worst < DISTANCE_LIMIT, "seed {seed}: {worst}");
    }
}

#[test]
fn gaps_know_nothing_of_each_other() {
    for seed in 0..10 {
        let gaps = gaps(&dues(Ramp::Flat(1_000.0), Process::Poisson, 100, seed));
        let (mean, variance, n) = (mean(&gaps), variance(&gaps), count(gaps.len()));
        for lag in [1, 2, 3, 4, 5, 8, 16, 64] {
            let products = gaps.iter().zip(&gaps[lag..]).map(|(a, b)| (a - mean) * (b - mean));
            let correlation = products.sum::<f64>() / (n * variance);
            // Of independent gaps its deviation is 1 / sqrt(n).
            assert!(correlation.abs() < 5.0 / n.sqrt(), "seed {seed}, lag {lag}: {correlation}");
        }
    }
}

#[test]
fn counts_of_neighbouring_seeds_and_stages_know_nothing_of_each_other() {
    let two = |seed| {
        let stage = open(Ramp::Flat(1_000.0), Process::Poisson, Span::from_s(100));
        let mut bins = [vec![0.0; 10_000], vec![0.0; 10_000]];
        for due in schedule(&[stage, stage], seed).arrivals(0, 1) {
            let bin = (due.due - Instant::ZERO).as_ns() / 10_000_000 % 10_000;
            bins[usize::from(due.stage)][usize::try_from(bin).unwrap()] += 1.0;
        }
        bins
    };
    let ([a, b], [c, d]) = (two(0), two(1));
    for (x, y) in [(&a, &b), (&a, &c), (&b, &d), (&b, &c)] {
        let (mean_x, mean_y) = (mean(x), mean(y));
        let product: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let correlation = product / (1e4 * (variance(x) * variance(y)).sqrt());
        assert!(correlation.abs() < 5.0 / 100.0, "{correlation}");
    }
}

/// Every k-th arrival of a Poisson process: gaps are sums of k exponentials.
#[test]
fn what_one_shard_of_several_sees_is_erlang() {
    let schedule = schedule(&[open(Ramp::Flat(1_000.0), Process::Poisson, Span::from_s(120))], 5);
    for shard in 0..3 {
        let dues: Vec<f64> =
            schedule.arrivals(shard, 3).map(|due| (due.due - Instant::ZERO).as_s_f64()).collect();
        let worst = distance(gaps(&dues), |gap| {
            let x = gap * 1_000.0;
            1.0 - libm::exp(-x) * (1.0 + x + x * x / 2.0)
        });
        assert!(worst < DISTANCE_LIMIT, "shard {shard}: {worst}");
    }
}

/// From a separate implementation: the schedule of seed 0 at 1,000 requests/s, in nanoseconds.
#[test]
fn the_first_due_instants_never_change() {
    let schedule = schedule(&[open(Ramp::Flat(1_000.0), Process::Poisson, Span::from_s(1))], 0);
    let first: Vec<u64> = schedule.arrivals(0, 1).take(4).map(|due| due.due.as_ns()).collect();
    assert_eq!(first, [753_891, 833_046, 1_054_734, 1_099_688]);
}
