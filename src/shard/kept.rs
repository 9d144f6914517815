//! How much memory the responses of a shard keep between reads, all together, and who must go when that is too much.
//!
//! It must not know what is kept. One response has bounds of its own (an event of 8 MiB); ten thousand hostile ones would take
//! 80 GiB all the same, and one that never ends has a log of events that never ends.

/// What all responses of a shard may keep, in bytes.
const MOST: usize = 256 << 20;

/// The bytes kept by a shard's responses.
#[derive(Debug, Default)]
pub struct Kept {
    bytes: usize,
}

impl Kept {
    /// One of `responses` keeps `now` bytes where it kept `before`. The answer is whether it must be given up: all keep too
    /// much, and it keeps more than its even share. So an honest stream never pays for hostile ones, and all together keep at
    /// most twice the bound.
    #[must_use]
    pub fn changed(&mut self, before: usize, now: usize, responses: usize) -> bool {
        self.bytes = self.bytes + now - before;
        self.bytes > MOST && now > before && now > MOST / responses.max(1)
    }

    /// A response that kept so many is over.
    pub fn freed(&mut self, bytes: usize) {
        self.bytes -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_hostile_streams_share_one_bound_and_an_honest_one_is_left_alone() {
        let mut kept = Kept::default();
        let mut each = vec![0; 10_000];
        let mut given_up = 0;
        // Each grows by 64 KiB at a time to 8 MiB, round by round; the first never keeps more than 1 KiB.
        for _ in 0..128 {
            for (nth, bytes) in each.iter_mut().enumerate() {
                let now = if nth == 0 { 1 << 10 } else { *bytes + (64 << 10) };
                let must_go = kept.changed(*bytes, now, 10_000);
                *bytes = now;
                if must_go {
                    assert_ne!(nth, 0);
                    kept.freed(*bytes);
                    *bytes = 0;
                    given_up += 1;
                }
                assert!(kept.bytes <= 2 * MOST, "{} bytes", kept.bytes);
            }
        }
        assert!(given_up > 10_000);
        each.iter().for_each(|bytes| kept.freed(*bytes));
        assert_eq!(kept.bytes, 0);
    }

    #[test]
    fn a_few_large_events_are_no_crowd() {
        let mut kept = Kept::default();
        assert!((0..31).all(|_| !kept.changed(0, 8 << 20, 32)));
        assert!(!kept.changed(0, 8 << 20, 32), "256 MiB are allowed");
        assert!(kept.changed(0, 16 << 20, 33));
    }
}
