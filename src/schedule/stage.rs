//! One stage of a run as it is asked for: its load, its extent, its own warm-up.
//! It must not place anything in time: [`super::Schedule`] does.

use super::{Process, Ramp, ScheduleError};
use crate::random::Delays;
use crate::time::{Span, format_span};
use std::ops::RangeInclusive;

/// One stage.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Stage {
    /// What it offers.
    pub load: Load,
    /// How long its window is.
    pub extent: Extent,
    /// Load at the level it starts with, before its window and on top of it.
    pub warmup: Span,
}

/// What a stage offers.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Load {
    /// Requests are due whatever the server does.
    Open {
        /// Requests per second; kept to nine decimals.
        rate_per_s: Ramp,
        /// How the gaps are drawn.
        process: Process,
    },
    /// So many slots, each with one request at a time.
    Closed {
        /// Slots: whole numbers.
        slots: Ramp,
        /// The starts of the slots that the stage adds are spread over this, from its start on.
        ramp: Span,
        /// A slot's pause between an answer and the next request.
        think: Delays,
    },
}

/// How long a stage's window is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Extent {
    /// So much time.
    Duration(Span),
    /// So many requests; only where the run has one stage and its load stays.
    Requests(u64),
}

/// A slower rate makes one request in three hours; a faster one is beyond what sockets of one host can do.
const RATES_PER_S: RangeInclusive<f64> = 0.0001..=10_000_000.0;
/// More streams than one host has source ports for over many addresses.
const SLOTS: RangeInclusive<f64> = 1.0..=1_000_000.0;
/// A run of more requests would take over a day at any rate one host can send.
const REQUESTS: RangeInclusive<u64> = 1..=1_000_000_000;
/// A year: far from the ends of the clock.
pub(super) const LONGEST: Span = Span::from_s(366 * 86_400);

impl Stage {
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.load, Load::Open { .. })
    }

    /// Seconds of its window, as far as they are asked for.
    pub(super) fn duration_s(&self) -> f64 {
        match self.extent {
            Extent::Duration(span) => span.as_s_f64(),
            Extent::Requests(_) => 0.0,
        }
    }

    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        check_span("warmup", self.warmup, Span::ZERO)?;
        match self.extent {
            Extent::Duration(span) => check_span("duration", span, Span::from_ns(1))?,
            Extent::Requests(n) if !REQUESTS.contains(&n) => {
                return Err(ScheduleError::new(format!(
                    "requests {n}: must lie in {} to {}",
                    REQUESTS.start(),
                    REQUESTS.end()
                )));
            }
            Extent::Requests(_) => {}
        }
        match self.load {
            Load::Open { rate_per_s, process } => {
                check_levels("rate", rate_per_s, &RATES_PER_S, "requests per second")?;
                process.check()
            }
            Load::Closed { slots, ramp, .. } => {
                check_levels("concurrency", slots, &SLOTS, "slots")?;
                for level in [slots.from(), slots.to()] {
                    if level != libm::floor(level) {
                        return Err(ScheduleError::new(format!(
                            "concurrency {level}: must be a whole number"
                        )));
                    }
                }
                check_span("ramp", ramp, Span::ZERO)
            }
        }
    }
}

fn check_levels(
    what: &str,
    ramp: Ramp,
    range: &RangeInclusive<f64>,
    unit: &str,
) -> Result<(), ScheduleError> {
    for level in [ramp.from(), ramp.to()] {
        // A linear ramp may start or end at nothing, as long as its other end is something.
        let from_nothing = matches!(ramp, Ramp::Linear(..)) && level == 0.0 && ramp.peak() > 0.0;
        if !range.contains(&level) && !from_nothing {
            let (low, high) = (range.start(), range.end());
            return Err(ScheduleError::new(format!("{what} {level}: must lie in {low} to {high} {unit}")));
        }
    }
    Ok(())
}

fn check_span(what: &str, span: Span, least: Span) -> Result<(), ScheduleError> {
    if span < least || span > LONGEST {
        let least = if least == Span::ZERO { "0s or more" } else { "more than 0s" };
        return Err(ScheduleError::new(format!(
            "{what} {}: must be {least}, and at most a year",
            format_span(span)
        )));
    }
    Ok(())
}
