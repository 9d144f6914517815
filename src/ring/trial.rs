//! A core made for a moment, to see whether this machine lets us have its rings, and what they can do.
//!
//! It must not be used: it is dropped again.

use super::edge::Edge;
use super::{Core, CoreError, Payload, PumpConfig, RingConfig};
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
    /// Makes the rings that a shard would make, on a thread of their own.
    ///
    /// # Errors
    /// Why a shard would have none.
    pub fn try_out() -> Result<Self, CoreError> {
        let tried = std::thread::Builder::new().name("trial".into()).spawn(Self::here);
        let tried = tried.map_err(|error| CoreError::Executor(error.to_string()))?.join();
        tried.unwrap_or_else(|_| Err(CoreError::Executor("it panicked".into())))
    }

    fn here() -> Result<Self, CoreError> {
        let mut core = Core::<Nothing>::new(None, &RingConfig::default(), PumpConfig::default())?;
        let ring = core.pump().ring();
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
