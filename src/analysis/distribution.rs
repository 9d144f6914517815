//! One metric's distribution as it is published: moments, quantiles with intervals, and again with every failure as infinite.
//!
//! It must not fill in what is undefined.

use super::Level;
use super::quantile::{Block, Quantile, effective, enough};
use crate::record::{BLOCKS, Histogram, Tally, quantile_rank};
use crate::time::Span;

/// A quantile over successes and failures.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Tail {
    /// Too few values tell it.
    Undefined,
    /// So many failed that it has no value.
    Infinite,
    /// Its value.
    Finite(Span),
}

/// The distribution of one metric over the successes due in the window.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    /// Values.
    pub count: u64,
    /// The arithmetic mean, exact.
    pub mean: Option<Span>,
    /// The standard deviation of the sample, exact.
    pub sd: Option<Span>,
    /// The least value, exact.
    pub min: Option<Span>,
    /// The greatest value, exact.
    pub max: Option<Span>,
    /// The quantiles, in the order of [`Level::ALL`], to three significant digits.
    pub quantiles: [Option<Quantile>; Level::ALL.len()],
    /// The same with every failure as +infinity.
    pub with_failures: [Tail; Level::ALL.len()],
    /// Requests cancelled by us before this metric of theirs was complete.
    pub censored: u64,
    /// The least age at which one was cancelled.
    pub censored_from: Option<Span>,
    /// Negative spans: our own defect, in no other number.
    pub negative: u64,
}

impl Distribution {
    /// The distribution of `tally`, beside `failures` by block: requests that have no value because the target failed them.
    #[must_use]
    pub fn of(tally: &Tally, failures: &[u64; BLOCKS]) -> Self {
        let values = tally.values();
        let (mean, sd) = moments(values);
        let mut quantiles =
            Level::ALL.map(|level| Quantile::of(values, tally.blocks(), tally.requests(), level.q()));
        // Each has its own n_eff, and a lower one's can be the smaller: what lies above an undefined one rests on no more.
        let defined = quantiles.iter().take_while(|quantile| quantile.is_some()).count();
        quantiles[defined..].fill(None);
        let mut with_failures = Level::ALL.map(|level| tail(tally, failures, level));
        let told = with_failures.iter().take_while(|tail| **tail != Tail::Undefined).count();
        let finite = |tail: &&mut Tail| matches!(tail, Tail::Finite(_));
        with_failures[told..].iter_mut().filter(finite).for_each(|tail| *tail = Tail::Undefined);
        Self {
            count: values.count(),
            mean,
            sd,
            min: values.min().map(span),
            max: values.max().map(span),
            quantiles,
            with_failures,
            censored: tally.censored(),
            censored_from: tally.censored_from(),
            negative: tally.backwards().count,
        }
    }

    /// A quantile over successes.
    #[must_use]
    pub const fn quantile(&self, level: Level) -> Option<&Quantile> {
        self.quantiles[level.index()].as_ref()
    }

    /// Whether a value of this metric is only a lower bound, because a request cancelled by us was younger.
    #[must_use]
    pub fn is_at_least(&self, value: Span) -> bool {
        self.censored_from.is_some_and(|from| value > from)
    }
}

/// The quantile when each of `failures` requests has an infinite value; a gap is infinite once for each failed request.
fn tail(tally: &Tally, failures: &[u64; BLOCKS], level: Level) -> Tail {
    let (values, q) = (tally.values(), level.q());
    let failed: u64 = failures.iter().sum();
    let all = values.count() + failed;
    if all == 0 {
        return Tail::Undefined;
    }
    let requests = tally.requests() + failed;
    let rank = quantile_rank(q, all);
    if rank > values.count() {
        // However bunched the failures were, so many of these very requests had no end: a gate must not miss that.
        #[expect(clippy::cast_precision_loss, reason = "a number of requests")]
        return if enough(requests as f64, q) { Tail::Infinite } else { Tail::Undefined };
    }
    let value = values.at_rank(rank);
    let empty = Histogram::coarse();
    let blocks: Vec<Block> = failures
        .iter()
        .enumerate()
        .map(|(n, failed)| Block::of(tally.blocks().get(n).unwrap_or(&empty), value).and_infinite(*failed))
        .collect();
    match effective(&blocks, q, requests) {
        Some((n_eff, _)) if enough(n_eff, q) => Tail::Finite(span(value)),
        _ => Tail::Undefined,
    }
}

fn span(ns: u64) -> Span {
    Span::from_ns(i64::try_from(ns).expect("recorded from a span"))
}

/// Mean and standard deviation, from exact sums.
fn moments(values: &Histogram) -> (Option<Span>, Option<Span>) {
    let n = u128::from(values.count());
    if n == 0 {
        return (None, None);
    }
    let sum = values.sum();
    let mean = u64::try_from((sum + n / 2) / n).expect("a mean lies between its values");
    let sd = (n > 1).then(|| {
        let variance = match (n.checked_mul(values.squares()), sum.checked_mul(sum)) {
            (Some(squares), Some(square)) => float(squares - square) / float(n) / float(n - 1),
            // Beyond 2^128 the cancellation costs digits that nobody reads.
            _ => (float(values.squares()) / float(n) - (float(sum) / float(n)) * (float(sum) / float(n)))
                .max(0.0),
        };
        Span::from_s_f64(libm::sqrt(variance) / 1e9)
    });
    (Some(span(mean)), sd)
}

#[expect(clippy::cast_precision_loss, reason = "the rounding of a published figure")]
fn float(value: u128) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [u64; BLOCKS] = [0; BLOCKS];

    fn tally(values: impl IntoIterator<Item = i64>) -> Tally {
        let mut tally = Tally::default();
        for (n, value) in values.into_iter().enumerate() {
            tally.record(Span::from_ns(value), n % 20);
            tally.contributed();
        }
        tally
    }

    #[test]
    fn nothing_seen_is_nothing_told() {
        let distribution = Distribution::of(&Tally::default(), &NONE);
        assert_eq!((distribution.count, distribution.mean, distribution.sd), (0, None, None));
        assert!(distribution.quantiles.iter().all(Option::is_none));
        assert_eq!(distribution.with_failures, [Tail::Undefined; 5]);
    }

    #[test]
    fn nothing_finite_is_told_above_a_quantile_that_is_undefined() {
        // 3 in 100 values of some blocks are slow and none of others': so few such blocks cannot tell p99, and a rank in a flat
        // tail above could.
        let mut bunched = Tally::default();
        for n in 0..100_000_i64 {
            let block = usize::try_from(n / 5_000).unwrap();
            let slow = block == 7 && n % 4 == 0;
            let slower = n % 1_000 == 0;
            let value = match (slower, slow) {
                (true, _) => 20_000,
                (_, true) => 3_000 + n % 5_000,
                _ => 1_000,
            };
            bunched.record(Span::from_ns(value), block);
            bunched.contributed();
        }
        let distribution = Distribution::of(&bunched, &NONE);
        let defined = distribution.quantiles.map(|quantile| quantile.is_some());
        assert!(defined.is_sorted_by(|a, b| a >= b), "{defined:?}");
        assert!(defined[0] && !defined[4], "{defined:?}: the case must have both");
        let finite = distribution.with_failures.map(|tail| matches!(tail, Tail::Finite(_)));
        assert!(finite.is_sorted_by(|a, b| a >= b), "{finite:?}");
    }

    #[test]
    fn moments_are_exact_where_the_spread_is_a_billionth_of_the_mean() {
        let distribution =
            Distribution::of(&tally([1_000_000_000_000, 1_000_000_000_002, 1_000_000_000_004]), &NONE);
        assert_eq!(distribution.mean, Some(Span::from_ns(1_000_000_000_002)));
        assert_eq!(distribution.sd, Some(Span::from_ns(2)));
        assert_eq!(distribution.max, Some(Span::from_ns(1_000_000_000_004)));
    }

    #[test]
    fn failures_push_quantiles_up_and_then_out() {
        let successes = tally((0..1_000).map(|n| n * 7 % 1_000));
        let alone = Distribution::of(&successes, &NONE);
        let Some(p50) = alone.quantile(Level::P50) else { panic!("{alone:?}") };
        assert_eq!(p50.value, Span::from_ns(499));
        let beside = Distribution::of(&successes, &[10; BLOCKS]);
        assert_eq!(beside.quantile(Level::P50).map(|q| q.value), Some(Span::from_ns(499)));
        assert_eq!(beside.with_failures[Level::P50.index()], Tail::Finite(Span::from_ns(599)));
        assert_eq!(beside.with_failures[Level::P90.index()], Tail::Infinite);
        let all_failed = Distribution::of(&Tally::default(), &[10; BLOCKS]);
        assert_eq!(all_failed.with_failures[Level::P50.index()], Tail::Infinite);
    }

    #[test]
    fn a_value_above_the_youngest_cancelled_request_is_a_lower_bound() {
        let mut tally = tally((0..1_000).map(|n| n * 7 % 1_000));
        tally.censor(Span::from_ns(700));
        tally.censor(Span::from_ns(900));
        let distribution = Distribution::of(&tally, &NONE);
        assert_eq!(distribution.censored, 2);
        assert!(
            !distribution.is_at_least(Span::from_ns(700)) && distribution.is_at_least(Span::from_ns(701))
        );
    }

    #[test]
    fn a_negative_span_is_counted_and_in_no_other_number() {
        let distribution = Distribution::of(&tally([5, -1, 7]), &NONE);
        assert_eq!(
            (distribution.negative, distribution.count, distribution.min),
            (1, 2, Some(Span::from_ns(5)))
        );
    }
}
