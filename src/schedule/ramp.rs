//! A level over time (requests per second, or slots of a closed loop) and its integral with exact inverse.
//! It must not draw anything: arrivals at varying rate are unit-rate arrivals mapped through the inverse.

/// A level that goes from one value to another over a stage, by equal differences or by equal ratios.
///
/// An arrival process of rate r(t) is a unit-rate process seen through the inverse of its integrated rate
/// (Cinlar, "Introduction to Stochastic Processes", 1975, section 4.7): no thinning, no steps.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Ramp {
    /// It stays.
    Flat(f64),
    /// From, to: by equal differences.
    Linear(f64, f64),
    /// From, to: by equal ratios. Both are above zero.
    Geometric(f64, f64),
}

impl Ramp {
    /// The level at the start.
    #[must_use]
    pub const fn from(self) -> f64 {
        match self {
            Self::Flat(level) | Self::Linear(level, _) | Self::Geometric(level, _) => level,
        }
    }

    /// The level at the end.
    #[must_use]
    pub const fn to(self) -> f64 {
        match self {
            Self::Flat(level) | Self::Linear(_, level) | Self::Geometric(_, level) => level,
        }
    }

    /// The highest level.
    #[must_use]
    pub fn peak(self) -> f64 {
        self.from().max(self.to())
    }

    /// The integral from the start to `t`, of a ramp that takes `length` (both in seconds).
    #[must_use]
    pub fn integral(self, t: f64, length: f64) -> f64 {
        match self {
            Self::Flat(level) => level * t,
            Self::Linear(a, b) => a * t + (b - a) * t * t / (2.0 * length),
            Self::Geometric(a, b) => {
                let growth = libm::log(b / a) / length;
                if growth == 0.0 { a * t } else { a * libm::expm1(growth * t) / growth }
            }
        }
    }

    /// The time at which the integral has come to `area`; infinite or not a number when it never does.
    #[must_use]
    #[inline]
    pub fn inverse(self, area: f64, length: f64) -> f64 {
        match self {
            Self::Flat(level) => area / level,
            // The root of a t + (b - a) t^2 / 2L = area in the form that loses no digits when b is near a.
            Self::Linear(a, b) => {
                if area == 0.0 {
                    return 0.0;
                }
                2.0 * area / (a + libm::sqrt(a * a + 2.0 * (b - a) * area / length))
            }
            Self::Geometric(a, b) => {
                let growth = libm::log(b / a) / length;
                if growth == 0.0 { area / a } else { libm::log1p(area * growth / a) / growth }
            }
        }
    }

    /// The part of the ramp, 0 to 1, at which it passes `level`; not a number when it is flat.
    #[must_use]
    pub fn passes(self, level: f64) -> f64 {
        match self {
            Self::Flat(_) => f64::NAN,
            Self::Linear(a, b) => (level - a) / (b - a),
            Self::Geometric(a, b) => libm::log(level / a) / libm::log(b / a),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_integral_of_a_ramp_is_its_mean_times_its_length() {
        assert!((Ramp::Linear(10.0, 30.0).integral(8.0, 8.0) - 160.0).abs() < 1e-9);
        assert!((Ramp::Linear(30.0, 0.0).integral(8.0, 8.0) - 120.0).abs() < 1e-9);
        // (b - a) / ln(b / a) is the mean of a geometric ramp.
        let expected = 8.0 * 90.0 / 10.0_f64.ln();
        assert!((Ramp::Geometric(10.0, 100.0).integral(8.0, 8.0) - expected).abs() < 1e-9);
        assert!((Ramp::Geometric(10.0, 10.0).integral(8.0, 8.0) - 80.0).abs() < 1e-9);
    }

    #[test]
    fn a_ramp_from_nothing_begins_at_its_start() {
        assert_eq!(Ramp::Linear(0.0, 10.0).inverse(0.0, 5.0), 0.0);
        assert!((Ramp::Linear(0.0, 10.0).inverse(1.0, 5.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_end_of_a_ramp_to_nothing_is_reached_and_not_passed() {
        let ramp = Ramp::Linear(10.0, 0.0);
        assert!((ramp.inverse(25.0, 5.0) - 5.0).abs() < 1e-6);
        assert!(ramp.inverse(25.1, 5.0).is_nan());
    }

    proptest! {
        #[test]
        fn the_inverse_undoes_the_integral(
            a in 0.1..1e5_f64, b in 0.1..1e5_f64, length in 0.1..1e5_f64, part in 0.0..1.0_f64, geometric: bool,
        ) {
            let ramp = if geometric { Ramp::Geometric(a, b) } else { Ramp::Linear(a, b) };
            let t = part * length;
            let back = ramp.inverse(ramp.integral(t, length), length);
            // Towards a level near zero the inverse is steep: a relative 1e-15 of the area is worth that much time.
            let steep = ramp.peak() / a.min(b);
            prop_assert!((back - t).abs() <= 1e-12 * length * steep.max(1.0), "{} against {}", back, t);
        }
    }
}
