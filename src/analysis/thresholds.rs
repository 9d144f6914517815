//! What the verdict holds the client to; every number is an option, and is printed with the verdict.
//!
//! It must not judge.

use crate::time::Span;

/// The thresholds of docs/METHOD.md, "Verdict".
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Thresholds {
    /// rho_busy of every shard: valid up to here.
    pub rho_valid: f64,
    /// rho_busy of every shard: invalid above.
    pub rho_invalid: f64,
    /// A request is on schedule up to this share of the median TTFT, ...
    pub lateness_share: f64,
    /// ... but always up to this lateness, ...
    pub lateness_least: Span,
    /// ... and never above this one.
    pub lateness_most: Span,
    /// Share of requests on schedule: valid from here.
    pub on_schedule_valid: f64,
    /// Share of requests on schedule: invalid below.
    pub on_schedule_invalid: f64,
    /// Requests begun / due: valid at 1, invalid below this.
    pub begun_invalid: f64,
    /// Bias bound of a p99: valid up to this share of it, ...
    pub bias_valid_share: f64,
    /// ... or up to this much.
    pub bias_valid: Span,
    /// Bias bound of a p99: invalid above this share of it ...
    pub bias_invalid_share: f64,
    /// ... that is also above this much.
    pub bias_invalid: Span,
    /// Share of stamps lost, rows dropped and the like: valid at 0, invalid above.
    pub lost_invalid: f64,
    /// Output tokens delivered / asked: valid from here; below it is suspect, never invalid.
    pub delivered_valid: f64,
    /// Output tokens delivered / asked: below, it was not the workload asked for.
    pub delivered_other_workload: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            rho_valid: 0.5,
            rho_invalid: 0.9,
            lateness_share: 0.02,
            lateness_least: Span::from_ms(1),
            lateness_most: Span::from_ms(20),
            on_schedule_valid: 0.99,
            on_schedule_invalid: 0.95,
            begun_invalid: 0.99,
            bias_valid_share: 0.02,
            bias_valid: Span::from_us(500),
            bias_invalid_share: 0.10,
            bias_invalid: Span::from_ms(2),
            lost_invalid: 0.001,
            delivered_valid: 0.99,
            delivered_other_workload: 0.90,
        }
    }
}

impl Thresholds {
    /// The lateness up to which a request is on schedule: min(20 ms, max(1 ms, 2 % of the median TTFT)).
    #[must_use]
    pub fn lateness(&self, median_ttft: Option<Span>) -> Span {
        let share =
            median_ttft.map_or(Span::ZERO, |ttft| Span::from_s_f64(ttft.as_s_f64() * self.lateness_share));
        share.max(self.lateness_least).min(self.lateness_most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_schedule_follows_the_median_ttft_between_its_two_ends() {
        let thresholds = Thresholds::default();
        assert_eq!(thresholds.lateness(None), Span::from_ms(1));
        assert_eq!(thresholds.lateness(Some(Span::from_ms(10))), Span::from_ms(1));
        assert_eq!(thresholds.lateness(Some(Span::from_ms(500))), Span::from_ms(10));
        assert_eq!(thresholds.lateness(Some(Span::from_s(100))), Span::from_ms(20));
    }
}
