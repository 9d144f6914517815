//! What a shard shows of itself while it runs: counters that any thread may read at any moment.
//!
//! Nothing of a report is computed from it; a reading is not one instant's truth, only close to it.

use crate::time::Span;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Each power of two has 2^5 buckets: a quantile is off by 1.6 % at most, enough for a progress line.
const SPLIT_BITS: u32 = 5;

/// Buckets of each power of two.
const SPLIT: u64 = 1 << SPLIT_BITS;

/// Spans below 2^10 ns (about 1 us) share the first buckets.
const FINEST_BITS: u32 = 10;

/// 28 octaves above that end at 2^37 ns, about 137 s.
const BUCKETS: usize = 28 << SPLIT_BITS;

/// One shard's live counters. The shard alone writes, without a lock or an atomic read-modify-write; others read.
#[derive(Debug)]
#[repr(align(128))] // a pair of cache lines: no other shard's writes may slow this one down
pub struct ShardGauge {
    due: AtomicU64,
    begun: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    missed: AtomicU64,
    tokens: AtomicU64,
    busy_ns: AtomicU64,
    wall_ns: AtomicU64,
    beats: AtomicU64,
    ttft: [AtomicU64; BUCKETS],
    ttft_min_ns: AtomicU64,
    ttft_max_ns: AtomicU64,
}

/// Adds without a locked instruction: right only because one thread alone writes.
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Default for ShardGauge {
    fn default() -> Self {
        Self::new()
    }
}

impl ShardGauge {
    /// All at zero.
    #[must_use]
    pub fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            due: zero(),
            begun: zero(),
            done: zero(),
            failed: zero(),
            cancelled: zero(),
            missed: zero(),
            tokens: zero(),
            busy_ns: zero(),
            wall_ns: zero(),
            beats: zero(),
            ttft: std::array::from_fn(|_| zero()),
            ttft_min_ns: AtomicU64::new(u64::MAX),
            ttft_max_ns: zero(),
        }
    }

    /// `n` more requests have become due.
    pub fn due(&self, n: u64) {
        add(&self.due, n);
    }

    /// A request was begun.
    pub fn begun(&self) {
        add(&self.begun, 1);
    }

    /// A request succeeded.
    pub fn done(&self) {
        add(&self.done, 1);
    }

    /// A request failed.
    pub fn failed(&self) {
        add(&self.failed, 1);
    }

    /// A request was given up by us.
    pub fn cancelled(&self) {
        add(&self.cancelled, 1);
    }

    /// A measured request missed a bound, or the target failed it.
    pub fn missed(&self) {
        add(&self.missed, 1);
    }

    /// `n` output tokens were heard.
    pub fn tokens(&self, n: u64) {
        add(&self.tokens, n);
    }

    /// A request's first token came `ttft` after it was sent.
    pub fn first(&self, ttft: Span) {
        let ns = ttft.as_ns().max(0).unsigned_abs();
        // The shard alone writes: what it reads is what it wrote.
        if ns < self.ttft_min_ns.load(Relaxed) {
            self.ttft_min_ns.store(ns, Relaxed);
        }
        if ns > self.ttft_max_ns.load(Relaxed) {
            self.ttft_max_ns.store(ns, Relaxed);
        }
        add(&self.ttft[bucket(ttft)], 1);
    }

    /// Of `wall` more time, `busy` was not spent waiting. Every call is a beat that tells the watchdog "alive".
    pub fn beat(&self, busy: Span, wall: Span) {
        add(&self.busy_ns, busy.as_ns().max(0).unsigned_abs());
        add(&self.wall_ns, wall.as_ns().max(0).unsigned_abs());
        add(&self.beats, 1);
    }

    /// Signs of life so far.
    #[must_use]
    pub fn beats(&self) -> u64 {
        self.beats.load(Relaxed)
    }

    /// What it shows now.
    #[must_use]
    pub fn read(&self) -> GaugeReading {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        // What ends is read before what begins, so that fewer than none in flight is never seen for long.
        let (done, failed, cancelled) = (get(&self.done), get(&self.failed), get(&self.cancelled));
        GaugeReading {
            due: get(&self.due),
            begun: get(&self.begun),
            done,
            failed,
            cancelled,
            missed: get(&self.missed),
            tokens: get(&self.tokens),
            busy_ns: get(&self.busy_ns),
            wall_ns: get(&self.wall_ns),
            beats: get(&self.beats),
            ttft: TtftCounts {
                buckets: self.ttft.iter().map(get).collect(),
                min_ns: get(&self.ttft_min_ns),
                max_ns: get(&self.ttft_max_ns),
            },
        }
    }
}

/// What a gauge showed at one moment.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GaugeReading {
    /// Requests that had become due.
    pub due: u64,
    /// Requests begun.
    pub begun: u64,
    /// Successes.
    pub done: u64,
    /// Failures.
    pub failed: u64,
    /// Requests given up by us.
    pub cancelled: u64,
    /// Measured requests that missed a bound, or that the target failed.
    pub missed: u64,
    /// Output tokens heard.
    pub tokens: u64,
    /// Time not spent waiting.
    pub busy_ns: u64,
    /// Time over which `busy_ns` was counted.
    pub wall_ns: u64,
    /// Signs of life.
    pub beats: u64,
    /// TTFT of the requests that got a token.
    pub ttft: TtftCounts,
}

impl GaugeReading {
    /// Requests begun and not ended.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.begun.saturating_sub(self.done + self.failed + self.cancelled)
    }

    /// Share of the time not spent waiting since `earlier`; `None` when no time was counted.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share for a progress line")]
    pub fn rho_since(&self, earlier: Option<&Self>) -> Option<f64> {
        let (busy_ns, wall_ns) = earlier.map_or((0, 0), |e| (e.busy_ns, e.wall_ns));
        let wall_ns = self.wall_ns.saturating_sub(wall_ns);
        (wall_ns > 0).then(|| self.busy_ns.saturating_sub(busy_ns) as f64 / wall_ns as f64)
    }
}

/// Counts of TTFT by bucket; they add up over shards, and a quantile is read from the sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TtftCounts {
    buckets: Box<[u64]>,
    /// The shortest and the longest of the run: no quantile of any part of it lies outside.
    min_ns: u64,
    max_ns: u64,
}

impl Default for TtftCounts {
    fn default() -> Self {
        Self { buckets: Box::default(), min_ns: u64::MAX, max_ns: 0 }
    }
}

impl TtftCounts {
    /// Adds another shard's counts.
    pub fn add(&mut self, other: &Self) {
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        if self.buckets.is_empty() {
            self.buckets = other.buckets.clone();
            return;
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }

    /// Takes the counts of an earlier reading away.
    pub fn since(&mut self, earlier: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&earlier.buckets) {
            *mine = mine.saturating_sub(*theirs);
        }
    }

    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The middle of the bucket that holds the quantile `q` (0 to 1), but nothing below the shortest or above the longest
    /// TTFT of the run; `None` when nothing was counted.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank between 1 and the count, for a progress line"
    )]
    pub fn quantile(&self, q: f64) -> Option<Span> {
        let count = self.count();
        let rank = (libm::ceil(count as f64 * q.clamp(0.0, 1.0)) as u64).max(1);
        let mut below = 0;
        for (n, in_bucket) in self.buckets.iter().enumerate() {
            below += in_bucket;
            if below >= rank {
                let ns = middle_ns(n).min(self.max_ns).max(self.min_ns);
                return Some(Span::from_ns(i64::try_from(ns).unwrap_or(i64::MAX)));
            }
        }
        None
    }
}

/// The bucket of a span: its octave, and the bits below its highest.
fn bucket(span: Span) -> usize {
    let ns = span.as_ns().max(0).unsigned_abs();
    let units = ns >> (FINEST_BITS - SPLIT_BITS);
    if units < SPLIT {
        return usize::try_from(units).expect("below 32");
    }
    let octave = u64::from(units.ilog2() - SPLIT_BITS);
    let within = (units >> octave) - SPLIT;
    usize::try_from((octave + 1) * SPLIT + within).map_or(BUCKETS - 1, |n| n.min(BUCKETS - 1))
}

/// The middle of a bucket.
fn middle_ns(bucket: usize) -> u64 {
    let n = u64::try_from(bucket).expect("a bucket's number is small");
    let (octave, within) = (n / SPLIT, n % SPLIT);
    let shift = FINEST_BITS - SPLIT_BITS;
    let (low, width) =
        if octave == 0 { (within, 1) } else { ((SPLIT + within) << (octave - 1), 1 << (octave - 1)) };
    (low << shift) + ((width << shift) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_span_is_told_to_within_two_percent(ns in 1_100_u64..137_000_000_000) {
            let told = middle_ns(bucket(Span::from_ns(i64::try_from(ns).unwrap())));
            prop_assert!(told.abs_diff(ns) * 64 <= ns + 64, "{ns} told as {told}");
        }

        #[test]
        fn no_quantile_lies_outside_of_what_was_counted(ns in prop::collection::vec(1_i64..1_000_000_000_000, 1..20), q in 0.0..=1.0) {
            let gauge = ShardGauge::new();
            ns.iter().for_each(|ns| gauge.first(Span::from_ns(*ns)));
            let told = gauge.read().ttft.quantile(q).unwrap().as_ns();
            prop_assert!(ns.iter().min().unwrap() <= &told && &told <= ns.iter().max().unwrap(), "{told}");
        }

        #[test]
        fn a_longer_span_never_lies_in_a_lower_bucket(a: i64, b: i64) {
            let (short, long) = (a.min(b), a.max(b));
            prop_assert!(bucket(Span::from_ns(short)) <= bucket(Span::from_ns(long)));
        }
    }

    #[test]
    fn the_quantile_is_that_of_all_shards_together() {
        let (slow, fast) = (ShardGauge::new(), ShardGauge::new());
        for _ in 0..98 {
            fast.first(Span::from_ms(10));
        }
        slow.first(Span::from_ms(100));
        slow.first(Span::from_ms(100));
        let mut both = fast.read().ttft;
        both.add(&slow.read().ttft);
        assert_eq!(both.count(), 100);
        let ms = |q| both.quantile(q).unwrap().as_ns() / 1_000_000;
        assert!((9..=11).contains(&ms(0.5)), "{}", ms(0.5));
        assert!((94..=106).contains(&ms(0.99)), "{}", ms(0.99));
        both.since(&fast.read().ttft);
        assert_eq!(both.count(), 2);
    }

    #[test]
    fn nothing_counted_has_no_quantile_and_no_rho() {
        let reading = ShardGauge::new().read();
        assert_eq!(reading.ttft.quantile(0.5), None);
        assert_eq!(reading.rho_since(None), None);
    }

    #[test]
    fn what_has_ended_is_no_longer_in_flight() {
        let gauge = ShardGauge::new();
        for _ in 0..5 {
            gauge.begun();
        }
        gauge.done();
        gauge.failed();
        gauge.cancelled();
        assert_eq!(gauge.read().in_flight(), 2);
    }
}
