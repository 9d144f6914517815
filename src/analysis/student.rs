//! Student's t: the quantile that turns a standard error of few degrees of freedom into an interval.
//!
//! It must not know what is estimated. The distribution function is the finite sum for whole degrees of freedom
//! (Abramowitz and Stegun, 26.7.3 and 26.7.4), exact to rounding; its inverse is found by bisection.

use std::f64::consts::FRAC_2_PI;

/// The t for which |T| <= t has probability `confidence`, at `degrees` of freedom.
///
/// # Panics
/// When `degrees` is 0 or `confidence` is outside (0, 1): there is no such t.
#[must_use]
pub fn two_sided(confidence: f64, degrees: u32) -> f64 {
    assert!(degrees > 0, "an interval needs a degree of freedom");
    assert!(confidence > 0.0 && confidence < 1.0, "a confidence of {confidence}");
    let (mut low, mut high) = (0.0, 1.0);
    while inside(high, degrees) < confidence {
        high *= 2.0;
    }
    // 80 halvings: far below what f64 resolves.
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if inside(middle, degrees) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The probability of |T| <= t.
fn inside(t: f64, degrees: u32) -> f64 {
    let theta = libm::atan(t / libm::sqrt(f64::from(degrees)));
    let (sin, cos) = (libm::sin(theta), libm::cos(theta));
    let odd = degrees % 2 == 1;
    let mut term = if odd { cos } else { 1.0 };
    let mut sum = 0.0;
    for step in 0..degrees / 2 {
        sum += term;
        let k = f64::from(2 * step + if odd { 2 } else { 1 });
        term *= cos * cos * k / (k + 1.0);
    }
    if odd { FRAC_2_PI * (theta + sin * sum) } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_are_those_of_the_tables() {
        for (confidence, degrees, t) in [
            (0.95, 1, 12.706_204_7),
            (0.95, 2, 4.302_652_7),
            (0.95, 3, 3.182_446_3),
            (0.95, 8, 2.306_004_1),
            (0.95, 19, 2.093_024_1),
            (0.99, 5, 4.032_143_0),
            (0.90, 10, 1.812_461_1),
        ] {
            let got = two_sided(confidence, degrees);
            assert!((got - t).abs() < 1e-6, "{confidence} at {degrees}: {got}, not {t}");
        }
    }

    #[test]
    fn many_degrees_are_the_normal_distribution() {
        assert!((two_sided(0.95, 100_000) - 1.959_98).abs() < 1e-4);
    }
}
