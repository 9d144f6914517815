//! What splits NTPOT: sums for a straight line of first - due over uncached input tokens, and NTPOT by class of output length.
//!
//! It must not divide but by a request's own tokens; lines are fitted by the analysis. Whole numbers, so merging is exact.

use super::window::BLOCKS;
use super::{Metric, Metrics, Record, Tally};

/// The last output length of each class but the last, which has no end: each four times as long as the one before.
const LAST_OF_CLASS: [u64; 6] = [4, 16, 64, 256, 1_024, 4_096];

/// Fractions of a nanosecond that a sum of shares of tokens keeps: 2^20 to one.
const FRACTION_BITS: u32 = 20;

/// Sums over the requests of one block of which the first token's instant and the uncached input tokens are known. With x the
/// uncached input tokens, y = first - due in nanoseconds and N the output tokens.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[expect(missing_docs, reason = "each name is its own formula")]
pub struct LineSums {
    pub count: u64,
    pub x: u128,
    pub y: i128,
    pub xx: u128,
    pub xy: i128,
    /// Sum of x / N, in 2^-20.
    pub x_per_token: u128,
    /// Sum of y / N, in 2^-20 ns.
    pub y_per_token: i128,
}

impl LineSums {
    /// What one of the fractions counts.
    pub const FRACTION: f64 = 1.0 / (1_u64 << FRACTION_BITS) as f64;

    /// Adds other requests.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.count += other.count;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.xy += other.xy;
        self.x_per_token += other.x_per_token;
        self.y_per_token += other.y_per_token;
        self
    }

    fn see(&mut self, uncached: u64, first_from_due_ns: i64, tokens: u64) {
        let (x, y) = (u128::from(uncached), i128::from(first_from_due_ns));
        self.count += 1;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += i128::from(uncached) * y;
        self.x_per_token += (x << FRACTION_BITS) / u128::from(tokens);
        self.y_per_token += (y << FRACTION_BITS) / i128::from(tokens);
    }
}

/// What one shard saw of the split of NTPOT in one stage, over successes due in the window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    lines: [LineSums; BLOCKS],
    classes: [Tally; LAST_OF_CLASS.len() + 1],
}

impl Default for Split {
    fn default() -> Self {
        Self { lines: [LineSums::default(); BLOCKS], classes: std::array::from_fn(|_| Tally::default()) }
    }
}

impl Split {
    /// The sums of each block.
    #[must_use]
    pub const fn lines(&self) -> &[LineSums; BLOCKS] {
        &self.lines
    }

    /// NTPOT by class of output length: the least and the greatest length (`None` = no end), and the values.
    pub fn classes(&self) -> impl Iterator<Item = (u64, Option<u64>, &Tally)> {
        self.classes.iter().enumerate().map(|(n, tally)| {
            let least = n.checked_sub(1).map_or(1, |before| LAST_OF_CLASS[before] + 1);
            (least, LAST_OF_CLASS.get(n).copied(), tally)
        })
    }

    /// Adds what `other` saw.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.lines.iter_mut().zip(&other.lines) {
            *mine = mine.and(theirs);
        }
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            mine.merge(theirs);
        }
    }

    /// Looks at one success.
    pub(super) fn see(&mut self, record: &Record, metrics: &Metrics, block: usize) {
        let Some(tokens) = record.output_tokens.filter(|tokens| *tokens > 0) else { return };
        if let Some(ntpot) = metrics.get(Metric::Ntpot) {
            let class = &mut self.classes[LAST_OF_CLASS.partition_point(|last| *last < tokens)];
            class.record(ntpot, block);
            class.contributed();
        }
        if let (Some(first), Some(input)) = (record.first, record.usage.prompt_tokens) {
            let uncached = input.saturating_sub(record.usage.cached_of_prompt().unwrap_or(0));
            self.lines[block].see(uncached, (first - record.due).as_ns(), tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_falls_into_the_class_that_says_so() {
        let split = Split::default();
        let classes: Vec<_> = split.classes().map(|(least, most, _)| (least, most)).collect();
        for tokens in [1, 4, 5, 16, 17, 64, 65, 256, 257, 1_024, 1_025, 4_096, 4_097, 1 << 40] {
            let (least, most) = classes[LAST_OF_CLASS.partition_point(|last| *last < tokens)];
            assert!(
                least <= tokens && most.is_none_or(|most| tokens <= most),
                "{tokens} in {least}-{most:?}"
            );
        }
    }
}
