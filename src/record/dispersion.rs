//! How bunched the arrivals of a shard are: burst sizes, and the variance of counts in equal bins.
//!
//! It must not keep arrivals. They come nearly in order (sorted within a harvest); one that belongs to an earlier bin or burst
//! is counted in the present one.

use crate::time::{Instant, Span};

/// Counts of arrivals in consecutive bins of one length.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Dispersion {
    bin_ns: u64,
    current: Option<u64>,
    /// Where the current bin ends: before that, there is nothing to divide.
    ends_ns: u64,
    in_current: u64,
    bins: u64,
    sum: u64,
    squares: u128,
}

impl Dispersion {
    /// Bins of this length.
    ///
    /// # Panics
    /// When it is not positive.
    #[must_use]
    pub fn of_bins(length: Span) -> Self {
        let bin_ns = u64::try_from(length.as_ns()).ok().filter(|ns| *ns > 0).expect("bins have a length");
        Self { bin_ns, current: None, ends_ns: 0, in_current: 0, bins: 0, sum: 0, squares: 0 }
    }

    /// The bins' length.
    #[must_use]
    pub fn bin(&self) -> Span {
        Span::from_ns(i64::try_from(self.bin_ns).expect("made from a span"))
    }

    pub(super) fn arrival(&mut self, at: Instant) {
        if at.as_ns() < self.ends_ns {
            self.in_current += 1;
            return;
        }
        let bin = at.as_ns() / self.bin_ns;
        self.ends_ns = (bin + 1).saturating_mul(self.bin_ns);
        let current = *self.current.get_or_insert(bin);
        if bin > current {
            self.close(bin - current);
            self.current = Some(bin);
        }
        self.in_current += 1;
    }

    fn close(&mut self, bins: u64) {
        self.bins += bins;
        self.sum += self.in_current;
        self.squares += u128::from(self.in_current) * u128::from(self.in_current);
        self.in_current = 0;
    }

    /// Adds the complete bins of another window.
    pub(super) fn merge(&mut self, other: &Self) {
        self.bins += other.bins;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Complete bins from the first arrival on, the sum of their counts, and the sum of the squares of their counts.
    #[must_use]
    pub const fn sums(&self) -> (u64, u64, u128) {
        (self.bins, self.sum, self.squares)
    }
}

/// Bursts: arrivals within a mean service of their first.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Bursts {
    first: Option<Instant>,
    in_current: u64,
    bursts: u64,
    jobs: u64,
    squares: u128,
    largest: u64,
}

impl Bursts {
    pub(super) fn arrival(&mut self, at: Instant, mean_service: Span) {
        match self.first {
            Some(first) if at - first <= mean_service => self.in_current += 1,
            _ => {
                self.close();
                self.first = Some(at);
                self.in_current = 1;
            }
        }
    }

    fn close(&mut self) {
        if self.in_current > 0 {
            self.bursts += 1;
            self.jobs += self.in_current;
            self.squares += u128::from(self.in_current) * u128::from(self.in_current);
            self.largest = self.largest.max(self.in_current);
            self.in_current = 0;
        }
    }

    /// Adds the complete bursts of another window.
    pub(super) fn merge(&mut self, other: &Self) {
        self.bursts += other.bursts;
        self.jobs += other.jobs;
        self.squares += other.squares;
        self.largest = self.largest.max(other.largest);
    }

    /// Complete bursts, their arrivals, the sum of the squares of their sizes, and the largest.
    #[must_use]
    pub const fn sums(&self) -> (u64, u64, u128, u64) {
        (self.bursts, self.jobs, self.squares, self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_bins_between_arrivals_are_counted() {
        let mut dispersion = Dispersion::of_bins(Span::from_ns(10));
        for at in [100, 101, 105, 131, 140] {
            dispersion.arrival(Instant::from_ns(at));
        }
        // Bins of 3, 0, 0, 1 arrivals are complete; the one at 140 is not.
        assert_eq!(dispersion.sums(), (4, 4, 10));
    }

    #[test]
    fn a_burst_ends_a_mean_service_after_its_first_arrival() {
        let mut bursts = Bursts::default();
        for at in [0, 5, 10, 11, 12, 40] {
            bursts.arrival(Instant::from_ns(at), Span::from_ns(10));
        }
        assert_eq!(bursts.sums(), (2, 5, 13, 3));
    }
}
