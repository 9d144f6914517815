//! What a search will cost in time, told before it begins; and what tolerance a budget can reach.
//!
//! It must not know how long anything took: it plans with the lengths that trials are to have.

use super::bracket::BEGIN;
use super::settings::{Lengths, Settings};
use crate::time::Span;

/// The expected trials of a search.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Closed loops of half the length.
    pub rungs: u32,
    /// The overloaded trial.
    pub overloads: u32,
    /// Rates of service levels tried until the bounds are near enough.
    pub bisections: u32,
    /// Trials that confirm them.
    pub confirmations: u32,
    /// Points of the profile.
    pub profile: u32,
}

/// Rungs of a ladder that ends at 128 slots: what is expected where nothing is known.
const RUNGS: u32 = 8;

/// The low bound twice more and the high one once more than the bisection tried them.
const CONFIRMATIONS: u32 = 3;

/// About so long between two trials: connections close, the server drains.
const BETWEEN: Span = Span::from_ms(500);

/// Tolerances worth naming to someone whose budget is short.
const WIDER: [f64; 5] = [0.05, 0.10, 0.20, 0.30, 0.43];

impl Cost {
    /// What `settings` are expected to take when no trial is undecided.
    #[must_use]
    pub fn expected(settings: &Settings) -> Self {
        let levels = !settings.slo.is_empty();
        Self {
            rungs: RUNGS,
            overloads: 1,
            bisections: if levels { bisections(settings.tolerance) } else { 0 },
            confirmations: if levels { CONFIRMATIONS } else { 0 },
            profile: u32::try_from(settings.profile.len()).unwrap_or(u32::MAX),
        }
    }

    /// The time that these take.
    #[must_use]
    pub fn time(&self, lengths: Lengths) -> Span {
        let whole = i64::from(self.overloads + self.bisections + self.confirmations + self.profile);
        let one = lengths.warmup + lengths.window;
        (one + BETWEEN) * whole + (one / 2 + BETWEEN) * i64::from(self.rungs)
    }
}

/// Halvings, by ratio, of the interval that the bisection begins with.
fn bisections(tolerance: f64) -> u32 {
    let (mut wide, mut halvings) = (-libm::log(BEGIN), 0);
    while wide > libm::log1p(tolerance) {
        wide /= 2.0;
        halvings += 1;
    }
    halvings
}

/// The finest tolerance, from that of `settings` up, that `budget` is expected to reach; `None` where it reaches none.
#[must_use]
pub fn reachable(settings: &Settings, budget: Span) -> Option<f64> {
    let wider = WIDER.into_iter().filter(|wider| *wider > settings.tolerance);
    std::iter::once(settings.tolerance).chain(wider).find(|tolerance| {
        let settings = Settings { tolerance: *tolerance, ..settings.clone() };
        Cost::expected(&settings).time(settings.lengths) <= budget
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(tolerance: f64) -> Settings {
        Settings { slo: "ttft_p99<1s".parse().unwrap(), tolerance, ..Settings::default() }
    }

    #[test]
    fn five_percent_take_three_halvings() {
        let cost = Cost::expected(&settings(0.05));
        assert_eq!((cost.bisections, cost.confirmations, cost.profile), (3, 3, 7));
        assert_eq!(Cost::expected(&Settings::default()).bisections, 0);
        assert_eq!(Cost::expected(&settings(0.2)).bisections, 1);
    }

    #[test]
    fn a_short_budget_reaches_a_wider_tolerance_or_none() {
        let needed = Cost::expected(&settings(0.05)).time(settings(0.05).lengths);
        assert_eq!(reachable(&settings(0.05), needed), Some(0.05));
        assert_eq!(reachable(&settings(0.05), needed - Span::from_s(1)), Some(0.10));
        assert_eq!(reachable(&settings(0.05), Span::from_s(60)), None);
    }
}
