//! Whether requests in flight grew through the window: least squares on twenty block means, significant in both halves.
//!
//! It must not say whose fault that is.

use super::quantile::CONFIDENCE;
use super::student::two_sided;
use crate::record::BLOCKS;
use crate::time::Span;

/// Requests in flight through a window.
#[derive(Clone, PartialEq, Debug)]
pub struct Trend {
    /// Mean requests in flight in each block.
    pub means: [f64; BLOCKS],
    /// Requests per second by which they grew (negative: shrank).
    pub slope_per_s: f64,
    /// Whether they grew significantly in both halves.
    pub grew: bool,
    /// The least growth, in requests per second, that would have been significant in both halves.
    pub detectable_per_s: f64,
}

impl Trend {
    /// From the time in flight of all requests within each block, and the blocks' lengths.
    #[must_use]
    pub fn of(in_flight_ns: &[u128; BLOCKS], lengths: &[Span; BLOCKS]) -> Self {
        let means =
            std::array::from_fn(|block| float(in_flight_ns[block]) / (lengths[block].as_s_f64() * 1e9));
        let mut begins_s = 0.0;
        let at: [f64; BLOCKS] = std::array::from_fn(|block| {
            let middle_s = begins_s + lengths[block].as_s_f64() / 2.0;
            begins_s += lengths[block].as_s_f64();
            middle_s
        });
        let half = BLOCKS / 2;
        // The slope of a part, and the least that is significant there.
        let growth = |from: usize, to: usize| {
            let line = Line::through(&at[from..to], &means[from..to]);
            let degrees = u32::try_from(to - from - 2).expect("a half has ten blocks");
            (line.slope, two_sided(CONFIDENCE, degrees) * line.slope_error)
        };
        let halves = [growth(0, half), growth(half, BLOCKS)];
        Self {
            means,
            slope_per_s: Line::through(&at, &means).slope,
            grew: halves.iter().all(|(slope, least)| *slope > 0.0 && slope > least),
            detectable_per_s: f64::max(halves[0].1, halves[1].1),
        }
    }

    /// The mean over the window.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.means.iter().sum::<f64>() / 20.0
    }
}

struct Line {
    slope: f64,
    slope_error: f64,
}

impl Line {
    /// Ordinary least squares.
    fn through(x: &[f64], y: &[f64]) -> Self {
        let n = x.iter().map(|_| 1.0).sum::<f64>();
        let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
        let sxx: f64 = x.iter().map(|x| (x - mean_x) * (x - mean_x)).sum();
        let sxy: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = sxy / sxx;
        let residuals: f64 = x
            .iter()
            .zip(y)
            .map(|(x, y)| {
                let off = y - mean_y - slope * (x - mean_x);
                off * off
            })
            .sum();
        Self { slope, slope_error: libm::sqrt(residuals / (n - 2.0) / sxx) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean of requests in flight")]
fn float(ns: u128) -> f64 {
    ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u128 = 1_000_000_000;

    fn trend(in_flight: impl Fn(u128) -> u128) -> Trend {
        let blocks = std::array::from_fn(|block| in_flight(block as u128) * SECOND);
        Trend::of(&blocks, &[Span::from_s(1); BLOCKS])
    }

    #[test]
    fn steady_growth_is_seen_with_its_slope() {
        let trend = trend(|block| 100 + 31 * block + block % 3);
        assert!(trend.grew && (trend.slope_per_s - 31.0).abs() < 0.5, "{trend:?}");
    }

    #[test]
    fn a_level_that_wavers_has_not_grown() {
        assert!(!trend(|block| 100 + block * 7_919 % 13).grew);
        assert!(!trend(|_| 100).grew);
    }

    #[test]
    fn filling_up_at_first_is_not_falling_behind() {
        assert!(!trend(|block| 20 * block.min(10) + block * 7_919 % 5).grew);
    }
}
