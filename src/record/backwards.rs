//! Spans that ran backwards: our own defect, or a clock that was set. They are no values, and they are never clamped.

use crate::time::Span;

/// How many of one kind ran backwards, and how far.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Backwards {
    /// How many.
    pub count: u64,
    /// The most negative of them; zero for none.
    pub furthest: Span,
}

impl Backwards {
    /// Counts `span` if it is negative, and answers whether it is.
    pub fn see(&mut self, span: Span) -> bool {
        self.count += u64::from(span.is_negative());
        self.furthest = self.furthest.min(span);
        span.is_negative()
    }

    /// Adds what another saw.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.furthest = self.furthest.min(other.furthest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_ones_are_counted_and_the_furthest_is_kept() {
        let mut backwards = Backwards::default();
        let seen = [3, -2, 0, -7, -1].map(|ns| backwards.see(Span::from_ns(ns)));
        assert_eq!(seen, [false, true, false, true, true]);
        let mut all = Backwards { count: 1, furthest: Span::from_ns(-3) };
        all.merge(&backwards);
        assert_eq!(all, Backwards { count: 4, furthest: Span::from_ns(-7) });
    }
}
