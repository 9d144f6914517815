//! rho_busy of one shard over time: for the eye, and to see when a shard was at its limit.
//!
//! It judges nothing: the verdict is on the windows of the stages.

use crate::record::BusyTime;
use crate::time::Span;

/// The share of time that a shard did not wait, by equal stretches from the run's start.
#[derive(Clone, PartialEq, Debug)]
pub struct BusyCourse {
    /// The length of a stretch.
    pub step: Span,
    /// One for each; of the last, the share of what was seen of it, if that was half of it at least. A little above 1 where
    /// the kernel's time was estimated.
    pub rho: Vec<f64>,
}

impl BusyCourse {
    /// Of what a shard booked.
    #[must_use]
    pub fn of(time: &BusyTime) -> Self {
        let step = time.step();
        // The last milliseconds before a shard ends are no stretch: one long pass would look like a peak.
        let seen = time.stretches().filter(|(_, whole)| *whole * 2 >= step);
        Self { step, rho: seen.map(|(busy, whole)| busy.as_s_f64() / whole.as_s_f64()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    #[test]
    fn a_stretch_is_divided_by_what_was_seen_of_it_unless_that_was_little() {
        let mut time = BusyTime::new(Instant::ZERO);
        assert_eq!(BusyCourse::of(&time).rho, Vec::<f64>::new());
        time.busy(Span::from_ms(50), Instant::from_ns(50_000_000));
        time.busy(Span::from_ms(30), Instant::from_ns(280_000_000));
        assert_eq!(BusyCourse::of(&time).rho, [0.2]);
        time.busy(Span::from_ms(20), Instant::from_ns(450_000_000));
        assert_eq!(BusyCourse::of(&time), BusyCourse { step: Span::from_ms(250), rho: vec![0.2, 0.25] });
    }
}
