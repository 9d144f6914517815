//! The binomial distribution's tails, exact: how likely so few, or so many, of n trials miss.
//!
//! It must not know what a miss is. n need not be whole: an effective number of independent trials is not. The tail is the
//! regularised incomplete beta function (Abramowitz and Stegun, 26.5.24), by its continued fraction (26.5.8, modified Lentz).

/// The probability of at most `k` misses in `n` trials, each with probability `p`.
///
/// # Panics
/// When `p` is outside (0, 1) or `k` is negative: there is no such probability.
#[must_use]
pub fn at_most(k: f64, n: f64, p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0 && k >= 0.0, "at most {k} of {n} at {p}");
    if k >= n { 1.0 } else { beta(1.0 - p, n - k, k + 1.0) }
}

/// The probability of at least `k` misses in `n` trials, each with probability `p`.
///
/// # Panics
/// When `p` is outside (0, 1) or `k` is negative: there is no such probability.
#[must_use]
pub fn at_least(k: f64, n: f64, p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0 && k >= 0.0, "at least {k} of {n} at {p}");
    if k == 0.0 {
        1.0
    } else if k > n {
        0.0
    } else {
        beta(p, k, n - k + 1.0)
    }
}

/// The regularised incomplete beta function I_x(a, b).
fn beta(x: f64, a: f64, b: f64) -> f64 {
    let front = libm::exp(
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x),
    );
    // The fraction converges fast below the mean of the distribution; above it, its mirror image does.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    /// Stands for zero where it would divide.
    const TINY: f64 = 1e-300;
    /// The fraction needs some sqrt(max(a, b)) steps: this is enough for 10^8 trials.
    const STEPS: u32 = 20_000;
    let off_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / off_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut sum = d;
    for step in 1..STEPS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / off_zero(1.0 + even * d);
        c = off_zero(1.0 + even / c);
        sum *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / off_zero(1.0 + odd * d);
        c = off_zero(1.0 + odd / c);
        sum *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By summing the terms themselves.
    fn summed(k: u32, n: u32, p: f64) -> f64 {
        let mut term = libm::pow(1.0 - p, f64::from(n));
        let mut sum = term;
        for i in 0..k {
            term *= f64::from(n - i) / f64::from(i + 1) * p / (1.0 - p);
            sum += term;
        }
        sum
    }

    #[test]
    fn tails_are_the_sums_of_their_terms() {
        for (n, p) in [(1, 0.3), (10, 0.01), (50, 0.5), (459, 0.01), (1_000, 0.05)] {
            for k in [0, 1, 2, 5, 9, 20].into_iter().filter(|k| *k <= n) {
                let (below, exact) = (at_most(k.into(), n.into(), p), summed(k, n, p));
                assert!((below - exact).abs() < 1e-10, "{k} of {n} at {p}: {below}, not {exact}");
                let above = at_least(f64::from(k) + 1.0, n.into(), p);
                assert!((below + above - 1.0).abs() < 1e-10, "{k} of {n} at {p}");
            }
        }
    }

    #[test]
    fn early_stopping_needs_as_many_queries_as_mlperf_says() {
        // The least n for which so many misses prove a share below 1 % with 99 % confidence.
        for (misses, queries) in [(0, 459), (1, 662)] {
            assert!(at_most(misses.into(), queries.into(), 0.01) <= 0.01);
            assert!(at_most(misses.into(), f64::from(queries) - 1.0, 0.01) > 0.01);
        }
    }

    #[test]
    fn large_numbers_stay_exact_enough() {
        // A normal distribution of deviation 99.5: one deviation below the mean, with its continuity.
        let below = at_most(9_900.0, 1e6, 0.01);
        assert!((below - 0.158).abs() < 0.003, "{below}");
        assert_eq!(
            (at_most(5.0, 5.0, 0.1), at_least(0.0, 5.0, 0.1), at_least(6.0, 5.0, 0.1)),
            (1.0, 1.0, 0.0)
        );
    }
}
