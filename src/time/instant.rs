//! A point on one clock, in nanoseconds; which clock is the caller's affair, and there is only one per run.

use super::Span;
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Nanoseconds on `CLOCK_MONOTONIC`, or on the virtual clock of a test.
///
/// Arithmetic panics on overflow: an instant outside 584 years is our own defect.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's own zero.
    pub const ZERO: Self = Self(0);
    /// Later than every instant a run can meet.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ns` nanoseconds after the clock's zero.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds after the clock's zero.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The span from `earlier` to here; negative when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Span {
        self - earlier
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.checked_add_signed(span.as_ns()).expect("an instant stays within the clock"))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        self + -span
    }
}

impl SubAssign<Span> for Instant {
    fn sub_assign(&mut self, span: Span) {
        *self = *self - span;
    }
}

impl Sub for Instant {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        let ns = i128::from(self.0) - i128::from(earlier.0);
        Span::from_ns(i64::try_from(ns).expect("two instants of one run lie within 292 years"))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_two_instants_keeps_its_sign() {
        let (early, late) = (Instant::from_ns(5), Instant::from_ns(12));
        assert_eq!((late - early).as_ns(), 7);
        assert_eq!((early - late).as_ns(), -7);
        assert_eq!(early + (late - early), late);
        assert_eq!(late - (late - early), early);
    }

    #[test]
    #[should_panic(expected = "within the clock")]
    fn an_instant_before_the_clocks_zero_is_a_defect() {
        let _ = Instant::from_ns(5) - Span::from_ns(6);
    }
}
