//! Counts of values in buckets of constant relative width: the layout of HDR histograms, in pages that exist only where values fell.
//!
//! It must not know what its values mean. Everything in it is a whole number, so that merging is exact in any order.
//! The crate `hdrhistogram` keeps the same buckets in one dense array, some 200 KB for a run's range of latencies; a shard
//! keeps hundreds of them (metrics, stages, blocks of time), most nearly empty, so ours are sparse.

use std::collections::BTreeMap;

/// Counts in a page. One page is a quarter of a KiB.
const PAGE: usize = 64;

/// Bits of a count in a page. What is beyond them is carried elsewhere: small counts keep many buckets in one line of a cache.
const COUNT_BITS: u32 = u32::BITS;

/// Bits of resolution for published values: 1/1024, three significant digits (the layout of HDR with 3 digits).
pub const PUBLISHED_BITS: u32 = 10;
/// Bits of resolution for blocks of time: 1/128.
pub const COARSE_BITS: u32 = 7;

/// A histogram of non-negative whole values (nanoseconds). Its sums hold 2^40 values of five hours each. Memory grows with the range of values, never with their number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    bits: u32,
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    /// By bucket, how often its count ran over.
    carried: BTreeMap<usize, u64>,
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    squares: u128,
}

/// One bucket that holds something.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// The least value it stands for.
    pub low: u64,
    /// The greatest value it stands for.
    pub high: u64,
    /// Values in it.
    pub count: u64,
}

impl Histogram {
    /// An empty histogram whose buckets are no wider than 1/2^`bits` of their values; it allocates nothing yet.
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        assert!(bits >= 6 && bits <= 14, "a histogram has 6 to 14 bits of resolution");
        Self {
            bits,
            pages: Vec::new(),
            carried: BTreeMap::new(),
            count: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
            squares: 0,
        }
    }

    /// An empty histogram of three significant digits, for values that are published.
    #[must_use]
    pub const fn published() -> Self {
        Self::new(PUBLISHED_BITS)
    }

    /// An empty histogram of two significant digits.
    #[must_use]
    pub const fn coarse() -> Self {
        Self::new(COARSE_BITS)
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let (page, slot) = self.place(value);
        // Several for each event: the usual case is a look-up and sums.
        match self.pages.get_mut(page) {
            Some(Some(counts)) if counts[slot] < u32::MAX => counts[slot] += 1,
            _ => self.add(page, slot, 1),
        }
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
    }

    /// Counts one value `n` times.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let (page, slot) = self.place(value);
        self.add(page, slot, n);
        self.count += n;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value) * u128::from(n);
        self.squares += u128::from(value) * u128::from(value) * u128::from(n);
    }

    /// How often the bucket of `value` was met: nothing but a look.
    #[inline]
    #[must_use]
    pub fn glance(&self, value: u64) -> u32 {
        let (page, slot) = self.place(value);
        self.pages.get(page).and_then(Option::as_ref).map_or(0, |counts| counts[slot])
    }

    /// Counts in the bucket where that takes more than a look-up: values never seen before, several at once, counts that run over.
    #[cold]
    #[inline(never)]
    fn add(&mut self, page: usize, slot: usize, n: u64) {
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        let count = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]));
        let sum = u64::from(count[slot]) + n;
        count[slot] = low(sum);
        if sum >> COUNT_BITS > 0 {
            *self.carried.entry(page * PAGE + slot).or_default() += sum >> COUNT_BITS;
        }
    }

    /// Adds what `other` counted.
    ///
    /// # Panics
    /// When the resolutions differ: two histograms of one metric are made alike.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.bits, other.bits, "merged histograms have one resolution");
        for (index, count) in other.counts_from(0) {
            self.add(index / PAGE, index % PAGE, count);
        }
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The values that are left when those of `part`, which are all among them, are taken away. Its least and greatest value
    /// are known to their buckets only.
    ///
    /// # Panics
    /// When some value of `part` is not among them.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        assert_eq!(self.bits, part.bits, "histograms of one metric have one resolution");
        let mut left = self.clone();
        for (index, count) in part.counts_from(0) {
            left.take(index, count);
        }
        left.count -= part.count;
        left.sum -= part.sum;
        left.squares -= part.squares;
        let bounds =
            left.buckets().fold((u64::MAX, 0), |(least, _), bucket| (least.min(bucket.low), bucket.high));
        left.min = bounds.0.max(self.min);
        left.max = bounds.1.min(self.max);
        left
    }

    fn take(&mut self, index: usize, n: u64) {
        let count =
            self.pages.get_mut(index / PAGE).and_then(Option::as_mut).map(|page| &mut page[index % PAGE]);
        let count = count.expect("what is taken away was there");
        let carried = self.carried.remove(&index).unwrap_or(0);
        let left = ((carried << COUNT_BITS) + u64::from(*count))
            .checked_sub(n)
            .expect("what is taken away was there");
        *count = low(left);
        if left >> COUNT_BITS > 0 {
            self.carried.insert(index, left >> COUNT_BITS);
        }
    }

    /// Values counted.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The least value, exactly.
    #[must_use]
    pub const fn min(&self) -> Option<u64> {
        if self.count == 0 { None } else { Some(self.min) }
    }

    /// The greatest value, exactly.
    #[must_use]
    pub const fn max(&self) -> Option<u64> {
        if self.count == 0 { None } else { Some(self.max) }
    }

    /// The sum of all values, exactly.
    #[must_use]
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The sum of the squares of all values, exactly.
    #[must_use]
    pub const fn squares(&self) -> u128 {
        self.squares
    }

    /// The value at `rank` in ascending order, counted from 1: the greatest value of its bucket, inside [min, max].
    ///
    /// # Panics
    /// When `rank` is 0 or greater than the count.
    #[must_use]
    pub fn at_rank(&self, rank: u64) -> u64 {
        assert!(rank >= 1 && rank <= self.count, "rank {rank} of {} values", self.count);
        let mut seen = 0;
        for (n, page) in self.pages.iter().enumerate() {
            let Some(page) = page else { continue };
            // Page by page: nearly all are passed over by their sum.
            let carried = self.carried.range(n * PAGE..(n + 1) * PAGE).map(|(_, over)| over << COUNT_BITS);
            let whole = page.iter().map(|count| u64::from(*count)).sum::<u64>() + carried.sum::<u64>();
            if seen + whole < rank {
                seen += whole;
                continue;
            }
            for (index, count) in self.counts_from(n * PAGE) {
                seen += count;
                if seen >= rank {
                    return self.bounds(index).1.clamp(self.min, self.max);
                }
            }
        }
        unreachable!("the buckets hold every value that was counted")
    }

    /// The quantile `q` in (0, 1]: the value at [`quantile_rank`]; `None` when empty.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        (self.count > 0).then(|| self.at_rank(quantile_rank(q, self.count)))
    }

    /// How many values are greater than `value`; values of its own bucket are taken as spread evenly.
    #[must_use]
    pub fn above(&self, value: u64) -> f64 {
        let mut above = 0.0;
        let (page, slot) = self.place(value);
        let own = page * PAGE + slot;
        for (index, count) in self.counts_from(own) {
            if index > own {
                above += float(count);
                continue;
            }
            let (low, high) = self.bounds(index);
            above += float(count) * (float(high - value) / (float(high - low) + 1.0));
        }
        above
    }

    /// The buckets that hold something, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts_from(0).map(|(index, count)| {
            let (low, high) = self.bounds(index);
            Bucket { low, high, count }
        })
    }

    /// How far apart two values can be that share the bucket of `value`, and one more.
    #[must_use]
    pub fn width_at(&self, value: u64) -> u64 {
        let (page, slot) = self.place(value);
        let (low, high) = self.bounds(page * PAGE + slot);
        high - low + 1
    }

    fn counts_from(&self, first: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let pages = self.pages.iter().enumerate().skip(first / PAGE);
        pages
            .filter_map(|(n, page)| page.as_ref().map(|page| (n, page)))
            .flat_map(|(n, page)| page.iter().enumerate().map(move |(slot, count)| (n * PAGE + slot, *count)))
            // Most are empty: they are passed over before anything else is asked.
            .filter(move |(index, count)| *index >= first && (*count > 0 || !self.carried.is_empty()))
            .map(|(index, count)| (index, u64::from(count) + self.carried(index)))
            .filter(|(_, count)| *count > 0)
    }

    /// What its bucket's count in the page leaves out.
    fn carried(&self, index: usize) -> u64 {
        if self.carried.is_empty() {
            0
        } else {
            self.carried.get(&index).map_or(0, |over| over << COUNT_BITS)
        }
    }

    /// Below 2^(bits + 1) each value has its own bucket; above, each octave has 2^bits of them.
    fn place(&self, value: u64) -> (usize, usize) {
        let shift = (u64::BITS - 1 - (value | 1).leading_zeros()).saturating_sub(self.bits);
        let index = (u64::from(shift) << self.bits) + (value >> shift);
        let index = usize::try_from(index).expect("64 octaves of 2^14 buckets fit an index");
        (index / PAGE, index % PAGE)
    }

    fn bounds(&self, index: usize) -> (u64, u64) {
        let index = index as u64;
        let octave = index >> self.bits;
        if octave < 2 {
            return (index, index);
        }
        let shift = octave - 1;
        let low = (index - (shift << self.bits)) << shift;
        (low, low + ((1 << shift) - 1))
    }
}

/// The bits of a count that its page keeps.
#[expect(clippy::cast_possible_truncation, reason = "what is cut off is carried")]
const fn low(count: u64) -> u32 {
    count as u32
}

/// The rank, counted from 1, of the quantile `q` among `count` values in ascending order: the least whole number that is
/// not under q x count. Rows and histograms use this one definition.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1..=count")]
pub fn quantile_rank(q: f64, count: u64) -> u64 {
    let exact = q * float(count);
    let nearest = libm::round(exact);
    // 0.07 x 100 is 7.000000000000001 in binary: a hair above a whole number is that number.
    let rank = if (exact - nearest).abs() <= 1e-9 * nearest { nearest } else { libm::ceil(exact) };
    (rank as u64).clamp(1, count.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "counts and widths as weights: 53 bits are plenty")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(bits: u32, values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(bits);
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn the_rank_of_a_quantile_is_not_moved_by_binary_fractions() {
        assert_eq!(quantile_rank(0.07, 100), 7);
        assert_eq!(quantile_rank(0.99, 100), 99);
        assert_eq!(quantile_rank(0.99, 101), 100);
        assert_eq!(quantile_rank(0.5, 1), 1);
        assert_eq!(quantile_rank(0.999, 1_000), 999);
        assert_eq!(quantile_rank(1.0, 7), 7);
    }

    #[test]
    fn a_million_values_cost_no_more_memory_than_their_range() {
        let mut histogram = Histogram::published();
        for value in 0..1_000_000_u64 {
            histogram.record(20_000_000 + value % 20_000_000);
        }
        assert!(histogram.pages.iter().flatten().count() <= 2 * 1024 / PAGE);
    }

    #[test]
    fn a_count_that_runs_over_is_carried() {
        let most = u64::from(u32::MAX);
        let mut histogram = Histogram::published();
        histogram.record_n(700, most);
        histogram.record(700);
        histogram.record_n(9, 2);
        histogram.record_n(80_000, 3 << 40);
        let counts = |of: &Histogram| of.buckets().map(|bucket| bucket.count).collect::<Vec<_>>();
        assert_eq!(counts(&histogram), [2, most + 1, 3 << 40]);
        assert_eq!(histogram.at_rank(most + 3), 700);
        assert_eq!(histogram.at_rank(most + 4), 80_000);
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(counts(&twice), [4, 2 * most + 2, 3 << 41]);
        assert_eq!(counts(&twice.without(&histogram)), counts(&histogram));
        let none = twice.without(&twice);
        assert_eq!((none.min(), none.max(), none.buckets().count()), (None, None, 0));
    }

    proptest! {
        #[test]
        fn every_value_lies_in_a_bucket_no_wider_than_the_resolution(value: u64, bits in 6_u32..=14) {
            let bucket = of(bits, &[value]).buckets().next().expect("one value");
            prop_assert!(bucket.low <= value && value <= bucket.high);
            prop_assert!(u128::from(bucket.high - bucket.low) << bits <= u128::from(bucket.low));
        }

        #[test]
        fn a_quantile_is_the_raw_rows_one_within_the_resolution(
            mut values in proptest::collection::vec(0_u64..100_000_000_000, 1..300), q in 0.001_f64..1.0
        ) {
            let got = of(10, &values).quantile(q).expect("not empty");
            values.sort_unstable();
            let rank = usize::try_from(quantile_rank(q, values.len() as u64)).unwrap();
            let raw = values[rank - 1];
            prop_assert!(got >= raw && got - raw <= raw / 1024 + 1, "{got} for {raw}");
        }

        #[test]
        fn merging_equals_counting_all_in_one(
            a in proptest::collection::vec(0_u64..1 << 44, 0..50), b in proptest::collection::vec(0_u64..5_000, 0..50)
        ) {
            let all: Vec<u64> = a.iter().chain(&b).copied().collect();
            let mut left = of(10, &a);
            left.merge(&of(10, &b));
            let mut right = of(10, &b);
            right.merge(&of(10, &a));
            let all = of(10, &all);
            prop_assert!(left.buckets().eq(all.buckets()) && right.buckets().eq(all.buckets()));
            prop_assert_eq!((left.sum(), left.squares(), left.min(), left.max()), (all.sum(), all.squares(), all.min(), all.max()));
        }

        #[test]
        fn taking_a_part_away_leaves_the_rest(
            a in proptest::collection::vec(0_u64..1 << 44, 0..50), b in proptest::collection::vec(0_u64..5_000, 0..50)
        ) {
            let mut all = of(10, &a);
            all.merge(&of(10, &b));
            let left = all.without(&of(10, &b));
            let a = of(10, &a);
            prop_assert!(left.buckets().eq(a.buckets()));
            prop_assert_eq!((left.count(), left.sum(), left.squares()), (a.count(), a.sum(), a.squares()));
            prop_assert!(left.quantile(0.5).zip(a.quantile(0.5)).is_none_or(|(l, a)| l.abs_diff(a) <= a / 1024 + 1));
        }

        #[test]
        fn what_is_above_a_value_is_counted_within_one_bucket(
            values in proptest::collection::vec(0_u64..1_000_000, 1..200), at in 0_u64..1_000_000
        ) {
            let histogram = of(7, &values);
            let width = at / 128 + 1;
            let count = |limit: u64| values.iter().filter(|v| **v > limit).count() as f64;
            let above = histogram.above(at);
            prop_assert!(above <= count(at.saturating_sub(width)) + 1e-9 && above >= count(at + width) - 1e-9);
        }
    }
}
