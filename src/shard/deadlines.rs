//! Which connection must be looked at next, and when: at most one live entry a connection, however many requests it carries.
//!
//! It does not know what a deadline is for; the connection tells when it is looked at.

use crate::time::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Deadlines by connection slot. A deadline that moves later costs nothing: its old entry, when it comes up, is
/// asked for the new one and put back.
#[derive(Debug, Default)]
pub struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The entry of each slot that counts; entries of the heap at another instant are left over and are dropped.
    armed: Vec<Instant>,
}

impl Deadlines {
    /// Makes sure that `slot` comes up at `at` or before.
    pub fn arm(&mut self, slot: usize, at: Instant) {
        if self.armed.len() <= slot {
            self.armed.resize(slot + 1, Instant::NEVER);
        }
        if at < self.armed[slot] {
            self.armed[slot] = at;
            self.heap.push(Reverse((at, slot)));
        }
    }

    /// When the next slot comes up. It may come up for nothing.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes a slot whose entry is at `now` or before, with the instant it was armed for. It is no longer armed.
    pub fn pop(&mut self, now: Instant) -> Option<(usize, Instant)> {
        while let Some(&Reverse((at, slot))) = self.heap.peek() {
            if at > now {
                return None;
            }
            self.heap.pop();
            if self.armed[slot] == at {
                self.armed[slot] = Instant::NEVER;
                return Some((slot, at));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_slot_comes_up_once_at_its_earliest_deadline() {
        let mut deadlines = Deadlines::default();
        deadlines.arm(3, at(50));
        deadlines.arm(3, at(20));
        deadlines.arm(3, at(90));
        assert_eq!(deadlines.pop(at(19)), None);
        assert_eq!(deadlines.pop(at(100)), Some((3, at(20))));
        assert_eq!(deadlines.pop(at(100)), None, "the entry at 50 was replaced");
    }

    #[test]
    fn a_connection_that_carries_a_million_requests_keeps_one_entry() {
        let mut deadlines = Deadlines::default();
        for request in 0..1_000_000_u64 {
            deadlines.arm(0, at(600_000_000_000 + request));
        }
        assert_eq!(deadlines.heap.len(), 1);
    }

    proptest! {
        #[test]
        fn no_slot_comes_up_late_or_twice(arms in prop::collection::vec((0_usize..8, 0_u64..1000), 1..60)) {
            let mut deadlines = Deadlines::default();
            let mut earliest = [u64::MAX; 8];
            for &(slot, ns) in &arms {
                deadlines.arm(slot, at(ns));
                earliest[slot] = earliest[slot].min(ns);
            }
            let mut seen = [u64::MAX; 8];
            for now in 0..1000 {
                while let Some((slot, _)) = deadlines.pop(at(now)) {
                    prop_assert_eq!(seen[slot], u64::MAX);
                    seen[slot] = now;
                }
            }
            prop_assert_eq!(seen, earliest);
        }
    }
}
