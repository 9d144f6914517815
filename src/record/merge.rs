//! The traffic of several shards as one stream in order of time.
//!
//! It must not wait for a shard that says nothing: what comes later than [`PATIENCE`] allows comes out of order, and is counted.

use super::traffic::{Sighting, Traffic};
use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// How far the others may be ahead of a silent shard. Its traffic is out of order then, and the memory for theirs stays small.
const PATIENCE: Span = Span::from_s(1);

/// What one shard has given and nobody has taken.
#[derive(Debug, Default)]
struct Given {
    /// Sightings with their place in time: their own instant, but never before an earlier one of the same shard.
    waiting: VecDeque<(Instant, Sighting)>,
    latest: Instant,
    until: Instant,
}

/// Merges the shards' traffic.
#[derive(Debug)]
pub struct Merge {
    shards: Vec<Given>,
    ready: Vec<(Instant, usize, Sighting)>,
    /// So far others were handed out without waiting for the slowest shard.
    unwaited_until: Instant,
    late: u64,
}

impl Merge {
    /// For so many shards, at least 1.
    #[must_use]
    pub fn new(shards: usize) -> Self {
        Self {
            shards: (0..shards).map(|_| Given::default()).collect(),
            ready: Vec::new(),
            unwaited_until: Instant::ZERO,
            late: 0,
        }
    }

    /// Sightings that nobody had waited for: later ones of other shards had been handed out when they were given.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.late
    }

    /// Some more of one shard's traffic.
    pub fn give(&mut self, shard: usize, traffic: &Traffic) {
        let given = &mut self.shards[shard];
        for sighting in traffic.sightings() {
            given.latest = given.latest.max(sighting.at);
            self.late += u64::from(given.latest < self.unwaited_until);
            given.waiting.push_back((given.latest, *sighting));
        }
        given.until = given.until.max(traffic.until());
    }

    /// Hands out, in order, what no shard will add anything before.
    pub fn take(&mut self, each: impl FnMut(usize, &Sighting)) {
        let until = || self.shards.iter().map(|given| given.until);
        let (slowest, fastest) = (until().min(), until().filter(|until| *until < Instant::NEVER).max());
        let impatient = fastest.filter(|at| *at > Instant::ZERO + PATIENCE).map(|at| at - PATIENCE);
        if impatient > slowest {
            self.unwaited_until = self.unwaited_until.max(impatient.unwrap_or(Instant::ZERO));
        }
        self.take_before(slowest.max(impatient).unwrap_or(Instant::ZERO), each);
    }

    /// Hands out, in order, all that is left.
    pub fn finish(&mut self, each: impl FnMut(usize, &Sighting)) {
        self.take_before(Instant::NEVER, each);
    }

    fn take_before(&mut self, until: Instant, mut each: impl FnMut(usize, &Sighting)) {
        for (shard, given) in self.shards.iter_mut().enumerate() {
            let ready = given.waiting.partition_point(|(at, _)| *at < until);
            self.ready.extend(given.waiting.drain(..ready).map(|(at, sighting)| (at, shard, sighting)));
        }
        // Stable, and made of one sorted run for each shard: those are merged, not sorted.
        self.ready.sort_by_key(|(at, ..)| *at);
        self.ready.drain(..).for_each(|(_, shard, sighting)| each(shard, &sighting));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Seen, Turn};
    use proptest::prelude::*;

    fn traffic(stamps: &[u64], until: u64) -> Traffic {
        let mut traffic = Traffic::default();
        for at in stamps {
            traffic.see(Instant::from_ns(*at), 0, Seen::Events { count: 1, wait: Span::ZERO });
        }
        let at = Instant::from_ns(until);
        let (entered, planned_wake, harvested, ended) = (at, at, at, at);
        let (kernel, cpu) = (Span::ZERO, Span::ZERO);
        traffic.turn(&Turn {
            entered,
            planned_wake,
            latest_wake: planned_wake,
            harvested,
            ended,
            kernel,
            cpu,
            interrupted: None,
            polled: false,
        });
        traffic
    }

    fn taken(merge: &mut Merge) -> Vec<(u64, usize)> {
        let mut taken = Vec::new();
        merge.take(|shard, sighting| taken.push((sighting.at.as_ns(), shard)));
        taken
    }

    #[test]
    fn nothing_is_handed_out_before_every_shard_is_past_it() {
        let mut merge = Merge::new(2);
        merge.give(0, &traffic(&[10, 30, 50], 60));
        assert_eq!(taken(&mut merge), []);
        merge.give(1, &traffic(&[20], 40));
        assert_eq!(taken(&mut merge), [(10, 0), (20, 1), (30, 0)]);
        merge.give(1, &traffic(&[], 100));
        assert_eq!(taken(&mut merge), [(50, 0)]);
    }

    #[test]
    fn a_shard_that_falls_silent_holds_the_others_back_for_a_second_only() {
        let second = 1_000_000_000;
        let mut merge = Merge::new(2);
        merge.give(0, &traffic(&[second, second + 1], 3 * second));
        assert_eq!(taken(&mut merge), [(second, 0), (second + 1, 0)]);
        assert_eq!(merge.late(), 0);
        merge.give(1, &traffic(&[7], 8));
        assert_eq!((taken(&mut merge), merge.late()), (vec![(7, 1)], 1));
    }

    #[test]
    fn a_read_that_was_stamped_before_the_turn_ahead_of_it_ended_is_not_late() {
        let mut merge = Merge::new(1);
        merge.give(0, &traffic(&[5], 10));
        assert_eq!(taken(&mut merge), [(5, 0)]);
        merge.give(0, &traffic(&[9], 20));
        assert_eq!((taken(&mut merge), merge.late()), (vec![(9, 0)], 0));
    }

    #[test]
    fn a_shard_that_is_over_holds_nobody_back() {
        let mut merge = Merge::new(2);
        let mut last = traffic(&[5], 6);
        last.close();
        merge.give(1, &last);
        merge.give(0, &traffic(&[7], 8));
        assert_eq!(taken(&mut merge), [(5, 1), (7, 0)]);
    }

    proptest! {
        #[test]
        fn all_is_handed_out_once_and_in_order(parts in prop::collection::vec((0..3_usize, prop::collection::vec(0..500_u64, 0..20)), 0..30)) {
            let mut merge = Merge::new(3);
            let (mut base, mut all, mut got) = ([0; 3], Vec::new(), Vec::new());
            for (shard, mut stamps) in parts {
                stamps.sort_unstable();
                let stamps: Vec<u64> = stamps.into_iter().map(|at| base[shard] + at).collect();
                all.extend(stamps.iter().map(|at| (*at, shard)));
                base[shard] += 500;
                merge.give(shard, &traffic(&stamps, base[shard]));
                merge.take(|shard, sighting| got.push((sighting.at.as_ns(), shard)));
            }
            merge.finish(|shard, sighting| got.push((sighting.at.as_ns(), shard)));
            prop_assert!(got.is_sorted_by_key(|(at, _)| *at));
            prop_assert_eq!(merge.late(), 0);
            all.sort_unstable();
            got.sort_unstable();
            prop_assert_eq!(got, all);
        }
    }
}
