//! The walk along a whole open-loop schedule, as one shard sees it.
//! It must not depend on the number of shards in anything but which arrivals it keeps.

use super::segment::{Segment, Walk};
use crate::time::{Instant, Phase, Span};
use std::sync::Arc;

/// One request to come.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Due {
    /// Its place in the whole run's sequence, from 0: decides its shard and its bytes.
    pub index: u64,
    /// When the schedule wants it begun.
    pub due: Instant,
    /// Its stage, from 0.
    pub stage: u16,
    /// Whether its latencies count.
    pub phase: Phase,
}

/// The requests of one shard, in order of `due`: those of the run's sequence with `index % shards == shard`.
#[derive(Clone, Debug)]
pub struct Arrivals {
    segments: Arc<[Segment]>,
    seed: u64,
    origin: Instant,
    shard: u64,
    shards: u64,
    /// The segment being walked, and the walk; `None` past the last.
    current: Option<(usize, Walk)>,
    index: u64,
}

impl Arrivals {
    pub(super) fn new(segments: Arc<[Segment]>, seed: u64, origin: Instant, shard: u64, shards: u64) -> Self {
        assert!(shard < shards, "shard {shard} of {shards} does not exist");
        let current = segments.first().map(|segment| (0, segment.walk(seed)));
        Self { segments, seed, origin, shard, shards, current, index: 0 }
    }
}

impl Iterator for Arrivals {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        loop {
            let (at, walk) = self.current.as_mut()?;
            let Some(ns) = walk.next() else {
                let next = *at + 1;
                self.current = self.segments.get(next).map(|segment| (next, segment.walk(self.seed)));
                continue;
            };
            let index = self.index;
            self.index += 1;
            if index % self.shards == self.shard {
                let segment = &self.segments[*at];
                let due = self.origin + span(segment.start_ns) + span(ns);
                return Some(Due { index, due, stage: segment.stage, phase: segment.phase });
            }
        }
    }
}

pub(super) fn span(ns: u64) -> Span {
    Span::from_ns(i64::try_from(ns).expect("a schedule is checked to be far shorter than the clock"))
}
