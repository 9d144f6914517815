//! A signed length of time in nanoseconds; it never clamps, because a negative span is a finding.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A length of time in nanoseconds, at most 292 years either way. Arithmetic panics on overflow.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `ns` nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    #[must_use]
    pub const fn from_us(us: i64) -> Self {
        Self(us * 1_000)
    }

    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms * 1_000_000)
    }

    /// `s` seconds.
    #[must_use]
    pub const fn from_s(s: i64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// The nearest whole nanosecond to `s` seconds.
    ///
    /// # Panics
    /// When `s` is not a number or lies outside +-292 years: such a figure comes from a defect of ours.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "checked to be inside the range of i64")]
    pub fn from_s_f64(s: f64) -> Self {
        let ns = libm::round(s * 1e9);
        assert!(ns.abs() < 9.2e18, "{s} seconds do not fit a span");
        Self(ns as i64)
    }

    /// Whole nanoseconds.
    #[must_use]
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// Seconds, to the precision of `f64`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days: finer than any run")]
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether this span runs backwards: always our own defect, to be counted and never clamped.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).expect("a span stays within 292 years"))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("a span stays within 292 years"))
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Mul<i64> for Span {
    type Output = Self;
    fn mul(self, times: i64) -> Self {
        Self(self.0.checked_mul(times).expect("a span stays within 292 years"))
    }
}

impl Div<i64> for Span {
    type Output = Self;
    fn div(self, parts: i64) -> Self {
        Self(self.0 / parts)
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::format_span(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_the_nearest_nanosecond_both_ways() {
        assert_eq!(Span::from_s_f64(0.25).as_ns(), 250_000_000);
        assert_eq!(Span::from_s_f64(-1e-9).as_ns(), -1);
        assert_eq!(Span::from_ms(1500).as_s_f64(), 1.5);
    }

    #[test]
    #[should_panic(expected = "do not fit")]
    fn seconds_that_are_not_a_number_are_a_defect() {
        let _ = Span::from_s_f64(f64::NAN);
    }
}
