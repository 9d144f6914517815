//! What a search is told beforehand: service levels, lengths, tolerance, patience.
//!
//! It must not hold what is found.

use crate::analysis::Slo;
use crate::time::Span;

/// The settings of one search.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The service levels; empty = only the stability limit and a profile are looked for.
    pub slo: Slo,
    /// How long trials are.
    pub lengths: Lengths,
    /// The bounds of the capacity end at most this far apart: high / low - 1.
    pub tolerance: f64,
    /// The chance that a trial passes, or fails, wrongly; split over its looks.
    pub alpha: f64,
    /// The longest window that an undecided trial is doubled to.
    pub max_trial: Span,
    /// The most slots of the closed loops.
    pub max_slots: u32,
    /// The profile, in shares of the capacity, ascending; empty = none.
    pub profile: Vec<f64>,
    /// Trials of service levels after which the search gives up as undecided.
    pub max_trials: usize,
}

/// How long trials are.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// Warm-up is at least this, and twice the E2E p95.
    pub warmup: Span,
    /// A window is at least this, and three times the E2E p95.
    pub window: Span,
}

/// The grid of a profile, in shares of the capacity.
pub const GRID: [f64; 7] = [0.10, 0.25, 0.50, 0.75, 0.90, 1.00, 1.10];

/// 459 clean requests from an empty queue prove nothing: the queue must have had the time to fill. These are lengths for servers
/// whose requests take seconds.
const FULL: Lengths = Lengths { warmup: Span::from_s(30), window: Span::from_s(120) };

/// A request that takes less than this lets trials shrink in proportion: so many services fit the full lengths.
const FULL_FROM: Span = Span::from_ms(50);

/// A simulator has nothing to warm but its queue, and its services are all alike: so many of them are a warm-up and a window.
const OF_SIMULATOR: (i64, i64) = (20, 80);

/// Below these even the quickest server is only seen through our own host's hiccups.
const LEAST: Lengths = Lengths { warmup: Span::from_ms(500), window: Span::from_s(4) };

impl Default for Lengths {
    fn default() -> Self {
        FULL
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slo: Slo::default(),
            lengths: FULL,
            tolerance: 0.05,
            alpha: 0.05,
            max_trial: Span::from_s(600),
            max_slots: 4_096,
            profile: GRID.to_vec(),
            max_trials: 60,
        }
    }
}

impl Lengths {
    /// The usual lengths for a server whose lone request takes `e2e`.
    #[must_use]
    pub fn for_service(e2e: Span) -> Self {
        let share = (e2e.as_s_f64() / FULL_FROM.as_s_f64()).clamp(0.0, 1.0);
        let scaled = |full: Span, least: Span| told(Span::from_s_f64(full.as_s_f64() * share)).max(least);
        Self { warmup: scaled(FULL.warmup, LEAST.warmup), window: scaled(FULL.window, LEAST.window) }
    }

    /// The usual lengths for our own simulator, whose lone request takes `e2e`: never more than for a server that is none.
    #[must_use]
    pub fn for_simulator(e2e: Span) -> Self {
        let (warmup, window) = OF_SIMULATOR;
        Self {
            warmup: told(e2e * warmup).max(LEAST.warmup).min(FULL.warmup),
            window: told(e2e * window).max(LEAST.window).min(FULL.window),
        }
    }

    /// These, where requests take up to `e2e_p95`.
    #[must_use]
    pub fn stretched(self, e2e_p95: Option<Span>) -> Self {
        let e2e = e2e_p95.unwrap_or(Span::ZERO);
        Self { warmup: self.warmup.max(e2e * 2), window: self.window.max(e2e * 3) }
    }
}

/// To a tenth of a second: so long is said and written down, and no measurement of a lone request is finer.
fn told(span: Span) -> Span {
    let tenth = Span::from_ms(100);
    tenth * ((span.as_ns() + tenth.as_ns() / 2) / tenth.as_ns())
}

impl Settings {
    /// How often a trial is looked at, at most: its window doubles each time, up to `max_trial`.
    #[must_use]
    pub fn looks(&self, first: Span) -> u32 {
        let mut looks = 1;
        let mut window = first * 2;
        while window <= self.max_trial && looks < 8 {
            looks += 1;
            window = window * 2;
        }
        looks
    }
}
