//! What a request and an event cost a shard, and the utilization that follows; measures nothing.

use super::Engine;
use super::expected::EVENT_COST;
use crate::time::{Span, format_span};
use std::fmt;

/// CPU time of a shard, kernel included: rho per shard = (requests/s x `request` + events/s x `event`) / shards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Of a request beside its events: preparing, sending, head, end, bookkeeping.
    pub request: Span,
    /// Of a streamed event.
    pub event: Span,
    /// Where these come from.
    pub source: CostSource,
    /// The engine that they were measured with.
    pub engine: Engine,
}

/// Where a cost comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum CostSource {
    /// Nothing was measured on this host.
    #[default]
    Guess,
    /// Nothing was measured that may be used: why the capacity card that is there is not.
    Refused(String),
    /// The capacity card of this file.
    Card(String),
}

impl Default for Cost {
    fn default() -> Self {
        Self { request: Span::ZERO, event: EVENT_COST, source: CostSource::Guess, engine: Engine::default() }
    }
}

/// A load as far as its cost goes.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(super) struct Demand {
    pub(super) requests_per_s: f64,
    pub(super) events_per_s: f64,
}

impl Cost {
    /// The guess, with the reason why the card that is there is not used.
    #[must_use]
    pub fn refused(why: String) -> Self {
        Self { source: CostSource::Refused(why), ..Self::default() }
    }

    /// The same for a run with `engine`: measured with another, they are no better than the guess.
    pub(super) fn of(self, engine: Engine) -> Self {
        match &self.source {
            CostSource::Card(file) if self.engine != engine => {
                Self::refused(format!("{file}: measured with --engine {}", self.engine.name()))
            }
            _ => self,
        }
    }

    /// The utilization that `demand` means, all shards together.
    pub(super) fn rho(&self, demand: Demand) -> f64 {
        demand.requests_per_s * self.request.as_s_f64() + demand.events_per_s * self.event.as_s_f64()
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = |span: Span| match span.as_ns() {
            whole if whole % 1_000 == 0 => format_span(span),
            _ => format!("{:.1}us", span.as_s_f64() * 1e6),
        };
        if self.request > Span::ZERO {
            write!(f, "{} a request and ", rounded(self.request))?;
        }
        write!(f, "{} an event", rounded(self.event))
    }
}
