//! The parts of NTPOT: waiting and decoding exactly, queue and prefill by a straight line where there is one
//! (docs/METHOD.md, "Metrics of one request").
//!
//! It must not tell parts apart on less than evidence: then it tells why not.

use super::quantile::{CONFIDENCE, Quantile};
use super::student::two_sided;
use super::words::{say_number, say_span};
use super::{Distribution, Level};
use crate::record::{BLOCKS, LineSums, Split, Tally};
use crate::time::Span;

/// Fewer requests than this, or fewer blocks with requests, fit no line.
const LEAST_REQUESTS: u64 = 20;
const LEAST_BLOCKS: usize = 3;

/// A part of the mean NTPOT, with the 95 % interval: low, high.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Part {
    /// Nanoseconds.
    pub mean_ns: f64,
    /// Nanoseconds.
    pub interval_ns: [f64; 2],
}

/// Waiting, split.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Waiting {
    /// Queue + network + fixed cost.
    pub queue: Part,
    /// Prefill: what grows with the uncached input.
    pub prefill: Part,
    /// Prefill of one uncached input token.
    pub prefill_per_input_token: Part,
    /// Requests behind it.
    pub count: u64,
}

/// NTPOT of the answers of one class of output length.
#[derive(Clone, PartialEq, Debug)]
pub struct LengthClass {
    /// The least output length, in tokens.
    pub least: u64,
    /// The greatest; `None` = there is none.
    pub most: Option<u64>,
    /// Answers.
    pub count: u64,
    /// The mean.
    pub mean: Option<Span>,
    /// In the order of [`Level::ALL`].
    pub quantiles: [Option<Quantile>; Level::ALL.len()],
}

/// The parts of NTPOT beyond waiting and decoding, which are metrics of their own.
#[derive(Clone, PartialEq, Debug)]
pub struct NtpotSplit {
    /// Waiting, split; or why it cannot be.
    pub waiting: Result<Waiting, String>,
    /// By class of output length, shortest first; those without an answer are left out.
    pub classes: Vec<LengthClass>,
}

impl NtpotSplit {
    /// From a stage's sums.
    #[must_use]
    pub fn of(split: &Split) -> Self {
        let classes = split.classes().filter(|(.., tally)| tally.values().count() > 0);
        Self {
            waiting: waiting(split.lines()),
            classes: classes.map(|(least, most, tally)| class(least, most, tally)).collect(),
        }
    }
}

fn class(least: u64, most: Option<u64>, tally: &Tally) -> LengthClass {
    let Distribution { count, mean, quantiles, .. } = Distribution::of(tally, &[0; BLOCKS]);
    LengthClass { least, most, count, mean, quantiles }
}

/// Least squares of first - due on uncached input tokens. Requests in one run are not independent, so the interval of the
/// slope is that of the jackknife which leaves one block of time out in turn (Shao and Tu, The Jackknife and Bootstrap, 2.3.2).
fn waiting(blocks: &[LineSums; BLOCKS]) -> Result<Waiting, String> {
    let all = blocks.iter().fold(LineSums::default(), LineSums::and);
    if all.count == 0 {
        return Err("the server does not count input tokens, or no token was visible".into());
    }
    let used: Vec<usize> = (0..BLOCKS).filter(|block| blocks[*block].count > 0).collect();
    if all.count < LEAST_REQUESTS || used.len() < LEAST_BLOCKS {
        return Err(format!("{} requests with a count of their input tokens are too few", all.count));
    }
    let slope = slope(&all).ok_or_else(|| {
        let mean = say_number(unsigned(all.x) / unsigned(all.count.into()));
        format!("every prompt had {mean} uncached input tokens: only different lengths can tell")
    })?;
    let without = |left_out: &usize| {
        let others = used.iter().filter(|block| *block != left_out);
        self::slope(&others.fold(LineSums::default(), |sums, block| sums.and(&blocks[*block])))
    };
    let slopes: Option<Vec<f64>> = used.iter().map(without).collect();
    let slopes = slopes.ok_or("prompts of different lengths came in one block of time only")?;
    let n = float(slopes.len());
    let mean = slopes.iter().sum::<f64>() / n;
    let squares: f64 = slopes.iter().map(|slope| (slope - mean) * (slope - mean)).sum();
    let degrees = u32::try_from(slopes.len() - 1).expect("at most twenty blocks");
    let margin = two_sided(CONFIDENCE, degrees) * libm::sqrt(squares * (n - 1.0) / n);
    if slope - margin <= 0.0 {
        return Err(format!(
            "first - due does not grow with the input beyond chance: {} to {} a token",
            say_ns(slope - margin),
            say_ns(slope + margin)
        ));
    }
    let count = unsigned(all.count.into());
    let per_token = unsigned(all.x_per_token) * LineSums::FRACTION / count;
    let whole = signed(all.y_per_token) * LineSums::FRACTION / count;
    let part = |slope: f64| slope * per_token;
    let (low, high) = (slope - margin, slope + margin);
    // An estimate of nearly nothing may well be a little below nothing; all of its interval may not.
    if part(low) > whole {
        return Err("first - due grows faster with the input than a straight line from zero".into());
    }
    Ok(Waiting {
        queue: Part { mean_ns: whole - part(slope), interval_ns: [whole - part(high), whole - part(low)] },
        prefill: Part { mean_ns: part(slope), interval_ns: [part(low), part(high)] },
        prefill_per_input_token: Part { mean_ns: slope, interval_ns: [low, high] },
        count: all.count,
    })
}

/// Nanoseconds a token; `None` where all have the same number of tokens.
fn slope(sums: &LineSums) -> Option<f64> {
    let n = i128::from(sums.count);
    let [x, xx] = [sums.x, sums.xx].map(|sum| i128::try_from(sum).expect("sums of 30-bit counts"));
    let xx = around_means(n, xx, x, x);
    (xx > 0.0).then(|| around_means(n, sums.xy, x, sums.y) / xx)
}

/// n times the sum of the products of two variables around their means, exactly where it fits.
fn around_means(n: i128, products: i128, a: i128, b: i128) -> f64 {
    match (n.checked_mul(products), a.checked_mul(b)) {
        (Some(products), Some(of_means)) => signed(products - of_means),
        // Absurd counts: the cancellation costs digits of a figure that means nothing.
        _ => signed(n) * signed(products) - signed(a) * signed(b),
    }
}

fn say_ns(ns: f64) -> String {
    say_span(Span::from_s_f64(ns / 1e9))
}

#[expect(clippy::cast_precision_loss, reason = "figures of a few digits")]
fn signed(value: i128) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "figures of a few digits")]
fn unsigned(value: u128) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "a number of blocks")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten requests in each of twenty blocks; `first_from_due_ns` of the input length and the request's number.
    fn lines(input: impl Fn(u64) -> u64, first_from_due_ns: impl Fn(u64, u64) -> i64) -> [LineSums; BLOCKS] {
        std::array::from_fn(|block| {
            let numbers = 10 * block as u64..10 * (block as u64 + 1);
            numbers.fold(LineSums::default(), |sums, n| {
                let (x, y) = (input(n), first_from_due_ns(input(n), n));
                let (wide_x, wide_y) = (u128::from(x), i128::from(y));
                sums.and(&LineSums {
                    count: 1,
                    x: wide_x,
                    y: wide_y,
                    xx: wide_x * wide_x,
                    xy: i128::from(x) * wide_y,
                    x_per_token: wide_x << 18,
                    y_per_token: wide_y << 18,
                })
            })
        })
    }

    #[test]
    fn a_straight_line_gives_its_slope_and_what_is_left() {
        // 3 ms and 20 us a token, answers of four tokens: x on average 150, so 750 ns x ... of each output token.
        let found = waiting(&lines(|n| 100 + n % 101, |x, _| 3_000_000 + 20_000 * i64::try_from(x).unwrap()));
        let found = found.unwrap();
        let mean_x =
            (0..200).map(|n: u64| 100.0 + float(usize::try_from(n % 101).unwrap())).sum::<f64>() / 200.0;
        assert!((found.prefill_per_input_token.mean_ns - 20_000.0).abs() < 1e-6, "{found:?}");
        assert!((found.prefill.mean_ns - 20_000.0 * mean_x / 4.0).abs() < 1e-3, "{found:?}");
        assert!((found.queue.mean_ns - 750_000.0).abs() < 1e-3, "{found:?}");
        assert_eq!(found.count, 200);
    }

    #[test]
    fn the_interval_widens_with_the_noise_of_blocks_and_holds_the_truth() {
        let noise = |n: u64| i64::try_from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43).unwrap();
        let y = |x: u64, n: u64| 20_000 * i64::try_from(x).unwrap() + noise(n);
        let found = waiting(&lines(|n| 100 + n * 37 % 101, y)).unwrap();
        let Part { mean_ns, interval_ns: [low, high] } = found.prefill_per_input_token;
        assert!(low < 20_000.0 && 20_000.0 < high && high - low > 1_000.0, "{found:?}");
        assert!(((mean_ns - low) - (high - mean_ns)).abs() < 1e-6);
        assert!(
            (found.queue.mean_ns + found.prefill.mean_ns - {
                let sums = lines(|n| 100 + n * 37 % 101, y).iter().fold(LineSums::default(), LineSums::and);
                signed(sums.y) / 4.0 / 200.0
            })
            .abs()
                < 1.0,
            "the parts are the whole: {found:?}"
        );
    }

    #[test]
    fn a_queue_of_nothing_is_told_with_an_interval_around_nothing() {
        // Prefill alone, 20 us a token, and noise that is -93 us on average: its interval holds 0.
        let noise = |n: u64| match n / 10 % 2 {
            0 => -400_000 * i64::from(n.is_multiple_of(3)),
            _ => -200_000 * i64::from(n.is_multiple_of(4)),
        };
        let y = |x: u64, n: u64| 20_000 * i64::try_from(x).unwrap() + noise(n);
        let found = waiting(&lines(|n| 100 + n * 37 % 101, y)).unwrap();
        let [low, high] = found.queue.interval_ns;
        assert!(low < found.queue.mean_ns && found.queue.mean_ns < 0.0 && high > 0.0, "{found:?}");
    }

    #[test]
    fn where_nothing_tells_them_apart_the_reason_is_said() {
        let why = |found: Result<Waiting, String>| found.unwrap_err();
        assert!(why(waiting(&[LineSums::default(); BLOCKS])).contains("does not count input tokens"));
        assert!(why(waiting(&lines(|_| 128, |_, _| 5))).contains("every prompt had 128 uncached"));
        let mut few = [LineSums::default(); BLOCKS];
        few[..2].copy_from_slice(&lines(|n| n, |_, _| 5)[..2]);
        assert!(why(waiting(&few)).contains("20 requests with a count of their input tokens are too few"));
        let flat = lines(|n| 100 + n % 101, |_, n| i64::try_from(n * 7_919 % 1_000).unwrap());
        assert!(why(waiting(&flat)).contains("does not grow with the input beyond chance"));
        let steep = lines(|n| 100 + n % 101, |x, _| 30_000 * i64::try_from(x).unwrap() - 2_000_000);
        assert!(why(waiting(&steep)).contains("faster with the input than a straight line"));
        let alone = lines(|n| if n < 10 { 100 + n } else { 128 }, |x, _| i64::try_from(x).unwrap());
        assert!(why(waiting(&alone)).contains("in one block of time only"));
    }
}
