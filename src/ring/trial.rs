//! A ring made for a moment, to see whether this machine lets us have one, and what it can do.
//!
//! It must not be used: it is dropped again.

use super::edge::Edge;
use super::{Payload, Ring, RingConfig, RingError};
use std::io::IoSlice;

/// What a ring of this machine can do beyond what every run needs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct RingFeatures {
    /// One enter can gather arrivals and wait for the first (`IORING_FEAT_MIN_TIMEOUT`, Linux 6.12); without, it takes two.
    pub min_wait: bool,
}

/// Nothing to send.
struct Nothing;

impl Payload for Nothing {
    fn slices<'a>(&'a self, _into: &mut Vec<IoSlice<'a>>) {}
}

impl RingFeatures {
    /// Makes the ring that a shard would make, on this thread.
    ///
    /// # Errors
    /// Why a shard would have none.
    pub fn try_out() -> Result<Self, RingError> {
        let ring = Ring::<Nothing>::new(&RingConfig::default())?;
        Ok(Self { min_wait: matches!(&ring.edge, Edge::Uring(uring) if uring.queue.min_wait()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_can_be_had_where_the_other_tests_have_theirs() {
        assert!(RingFeatures::try_out().is_ok());
    }
}
