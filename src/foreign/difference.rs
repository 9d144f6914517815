//! How much two runs differ in one figure, and how sure that is.
//!
//! It must not call a difference without an interval anything.

use super::quantity::Better;
use super::reading::Figure;

/// What may be said of a difference.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The interval lies on the better side.
    Better,
    /// The interval lies on the worse side.
    Worse,
    /// The interval lies on one side, and neither is better.
    Differs,
    /// The interval holds 0.
    NoneSeen,
}

impl Outcome {
    /// The word of a table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Differs => "differs",
            Self::NoneSeen => "no difference seen",
        }
    }
}

/// A relative difference: (new - base) / base.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Difference {
    /// As measured.
    pub relative: f64,
    /// Its 95 % interval, low and high; none where one of the two figures has none.
    pub interval: Option<[f64; 2]>,
    /// What may be said; none without an interval.
    pub outcome: Option<Outcome>,
}

impl Difference {
    /// Of `new` against `base`; none where the base is no positive number, or a figure is only a lower bound.
    ///
    /// The interval is made of the two runs' own 95 % intervals by the method of variance estimates recovery (MOVER: Zou and
    /// Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27, 2008), on logarithms, since
    /// the ratio of two latencies is a difference there: with d = ln(new) - ln(base),
    /// low = d - sqrt((ln new - ln new_low)^2 + (ln base_high - ln base)^2), and high in the same way. It keeps the skewness
    /// of both intervals and takes the two runs as independent. The runs' own intervals are those of `docs/METHOD.md`: order
    /// statistics on the effective number of independent values for a quantile, a ratio of sums over twenty blocks for a
    /// mean. What differs from run to run beyond what differs within one (another placement, a warmer cache) is in
    /// neither.
    #[must_use]
    pub fn of(base: &Figure, new: &Figure, better: Better) -> Option<Self> {
        if base.at_least || new.at_least || base.value <= 0.0 || new.value < 0.0 {
            return None;
        }
        let relative = new.value / base.value - 1.0;
        let interval = interval(base, new);
        let outcome = interval.map(|[low, high]| match better {
            _ if low <= 0.0 && high >= 0.0 => Outcome::NoneSeen,
            Better::Neither => Outcome::Differs,
            Better::Less => {
                if high < 0.0 {
                    Outcome::Better
                } else {
                    Outcome::Worse
                }
            }
            Better::More => {
                if low > 0.0 {
                    Outcome::Better
                } else {
                    Outcome::Worse
                }
            }
        });
        Some(Self { relative, interval, outcome })
    }
}

/// The 95 % interval of the relative difference.
fn interval(base: &Figure, new: &Figure) -> Option<[f64; 2]> {
    let ([base_low, base_high], [new_low, new_high]) = (base.interval?, new.interval?);
    if base_low <= 0.0 || new_low <= 0.0 || new.value <= 0.0 {
        return None;
    }
    let (base_ln, new_ln) = (libm::log(base.value), libm::log(new.value));
    let d = new_ln - base_ln;
    // A published value may lie a bucket's width outside the interval that rows tell: then that side is 0 wide.
    let down = |value: f64, low: f64| (value - libm::log(low)).max(0.0);
    let up = |value: f64, high: f64| (libm::log(high) - value).max(0.0);
    let low = d - libm::hypot(down(new_ln, new_low), up(base_ln, base_high));
    let high = d + libm::hypot(up(new_ln, new_high), down(base_ln, base_low));
    Some([libm::expm1(low), libm::expm1(high)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn figure(value: f64, low: f64, high: f64) -> Figure {
        Figure { value, interval: Some([low, high]), at_least: false }
    }

    #[test]
    fn a_clear_rise_of_a_latency_is_worse_and_of_a_rate_better() {
        let (base, new) = (figure(100.0, 99.0, 101.0), figure(120.0, 118.0, 123.0));
        let of = |better| Difference::of(&base, &new, better).unwrap();
        assert_eq!(of(Better::Less).outcome, Some(Outcome::Worse));
        assert_eq!(of(Better::More).outcome, Some(Outcome::Better));
        assert_eq!(of(Better::Neither).outcome, Some(Outcome::Differs));
        let [low, high] = of(Better::Less).interval.unwrap();
        assert!(low > 0.17 && low < 0.2 && high > 0.2 && high < 0.24, "{low} {high}");
    }

    #[test]
    fn intervals_that_meet_show_no_difference() {
        let (base, new) = (figure(100.0, 90.0, 115.0), figure(105.0, 95.0, 112.0));
        assert_eq!(Difference::of(&base, &new, Better::Less).unwrap().outcome, Some(Outcome::NoneSeen));
    }

    #[test]
    fn without_both_intervals_nothing_is_said() {
        let found = Difference::of(&figure(1.0, 0.9, 1.1), &Figure::plain(9.0), Better::Less).unwrap();
        assert_eq!((found.interval, found.outcome), (None, None));
        assert_eq!(Difference::of(&Figure::plain(0.0), &Figure::plain(9.0), Better::Less), None);
    }

    #[test]
    fn it_is_the_published_interval_of_a_log_ratio_for_symmetric_ones() {
        // With equal log half-widths h of both, MOVER is d +- h sqrt(2): exactly the normal theory of two independent logs.
        let h = libm::exp(0.1);
        let (base, new) = (figure(50.0, 50.0 / h, 50.0 * h), figure(80.0, 80.0 / h, 80.0 * h));
        let [low, high] = Difference::of(&base, &new, Better::Less).unwrap().interval.unwrap();
        let d = libm::log(80.0 / 50.0);
        assert!((libm::log1p(low) - (d - 0.1 * libm::sqrt(2.0))).abs() < 1e-12);
        assert!((libm::log1p(high) - (d + 0.1 * libm::sqrt(2.0))).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_difference_and_turns_around_with_the_runs(
            a in 1.0..1e12_f64, b in 1.0..1e12_f64, down in 0.01..0.99_f64, up in 1.0..3.0_f64,
        ) {
            let (base, new) = (figure(a, a * down, a * up), figure(b, b * down, b * up));
            let there = Difference::of(&base, &new, Better::Less).unwrap();
            let [low, high] = there.interval.unwrap();
            prop_assert!(low <= there.relative * (1.0 + 1e-9) + 1e-9 && there.relative <= high * (1.0 + 1e-9) + 1e-9);
            let [back_low, back_high] = Difference::of(&new, &base, Better::Less).unwrap().interval.unwrap();
            prop_assert!(((1.0 + low) * (1.0 + back_high) - 1.0).abs() < 1e-6);
            prop_assert!(((1.0 + high) * (1.0 + back_low) - 1.0).abs() < 1e-6);
        }
    }
}
