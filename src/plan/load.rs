//! The options of the load to the stages of a schedule: what excludes what; places nothing in time.

use super::raw::Raw;
use super::reading::{Bounds, Given, Place, Reading, option};
use super::stages;
use crate::random::Delays;
use crate::schedule::{self, Extent, Process, Ramp, Schedule, Stage};
use crate::time::Span;
use std::ops::RangeInclusive;

/// The load of one run, as [`Schedule`] wants it.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// The stages, never empty; all open loop or all closed loop.
    pub stages: Vec<Stage>,
    /// The longest that load goes on, unmeasured, until the measured requests are finished; zero = not at all.
    pub cooldown: Span,
    /// The seed of everything random in the run.
    pub seed: u64,
    /// The most requests in flight of an open loop; `None` = as many as there are connections.
    pub max_concurrency: Option<u32>,
    /// How many times the whole run is made, each from a fresh start.
    pub repeat: u32,
}

/// A request in three hours, and far beyond what one host can send.
pub(super) const RATE: Bounds = Bounds { least: 0.0001, most: 1e7, unit: "requests/s" };

/// More streams than one host has source ports for.
pub(super) const SLOTS: RangeInclusive<u32> = 1..=1_000_000;

/// A window needs some length to have a rate; a week is longer than any run so far.
pub(super) const WINDOW: RangeInclusive<Span> = Span::from_ms(10)..=Span::from_s(7 * 86_400);

/// What may be left out is zero.
pub(super) const PAUSE: RangeInclusive<Span> = Span::ZERO..=Span::from_s(86_400);

impl Load {
    /// The schedule of one run, from instant zero. `Err` never comes from the load of a [`super::Plan`]: it was made
    /// once to check it.
    pub(super) fn schedule(&self) -> Result<Schedule, schedule::ScheduleError> {
        Schedule::new(self.stages.clone(), self.cooldown, self.seed)
    }
}

/// Reads section `[load]` and the stages.
pub(super) fn read(r: &mut Reading, raw: &Raw) -> Load {
    let stages = if raw.stage.is_empty() { vec![single(r, raw)] } else { stages::read(r, raw) };
    let closed = stages.iter().any(|stage| matches!(stage.load, schedule::Load::Closed { .. }));
    let load = Load {
        stages,
        cooldown: r.span(option!(raw.load.cooldown), PAUSE).unwrap_or_default(),
        seed: r.count(option!(raw.load.seed), 0..=u64::MAX).unwrap_or_default(),
        max_concurrency: r.count(option!(raw.load.max_concurrency), SLOTS),
        repeat: r.count(option!(raw.load.repeat), 1..=1000).unwrap_or(1),
    };
    if closed {
        for given in [option!(raw.load.arrival), option!(raw.load.max_concurrency)] {
            only_for(r, given, "an open loop (--rate)");
        }
    } else {
        for given in [option!(raw.load.ramp), option!(raw.load.think_time)] {
            only_for(r, given, "a closed loop (--concurrency)");
        }
    }
    if r.is_clean()
        && let Err(why) = load.schedule()
    {
        // Single bounds are checked; what is left are mixtures, which the schedule words best itself.
        r.note(Place::Whole("the load"), Some(why.to_string()), "", "");
    }
    load
}

pub(super) fn only_for(r: &mut Reading, given: Given<'_>, which: &str) {
    if given.value.is_some() {
        r.refuse(given, format!("for {which} only"), "leave it out");
    }
}

/// The stage that `--rate` or `--concurrency` describes.
fn single(r: &mut Reading, raw: &Raw) -> Stage {
    let (rate, slots) = (option!(raw.load.rate), option!(raw.load.concurrency));
    let (duration, requests) = (option!(raw.load.duration), option!(raw.load.requests));
    if duration.value.is_some() && requests.value.is_some() {
        r.refuse(requests, "--duration or --requests", "they exclude each other: leave one out");
    }
    let extent = match r.count(requests, 1..=1_000_000_000) {
        Some(requests) => Extent::Requests(requests),
        None => Extent::Duration(r.span(duration, WINDOW).unwrap_or_default()),
    };
    let load = match (rate.value, slots.value) {
        (Some(_), None) => {
            let per_s = r.number(rate, &RATE).unwrap_or_default();
            open(Ramp::Flat(per_s), process(r, option!(raw.load.arrival)))
        }
        (None, Some(_)) => {
            let slots = r.count(slots, SLOTS).unwrap_or(1);
            closed(r, raw, Ramp::Flat(slots.into()))
        }
        (Some(_), Some(_)) => {
            let remedy = "they exclude each other; an open loop with a cap is --rate R --max-concurrency C";
            r.refuse(slots, "--rate or --concurrency", remedy);
            closed(r, raw, Ramp::Flat(1.0))
        }
        (None, None) => {
            let remedy =
                "say how much load: --rate 10 (open loop, requests/s) or --concurrency 8 (closed loop)";
            r.refuse(rate, "--rate or --concurrency", remedy);
            open(Ramp::Flat(1.0), Process::Poisson)
        }
    };
    Stage { load, extent, warmup: r.span(option!(raw.load.warmup), PAUSE).unwrap_or_default() }
}

pub(super) fn open(rate_per_s: Ramp, process: Process) -> schedule::Load {
    schedule::Load::Open { rate_per_s, process }
}

/// A closed loop with the ramp and the think time of section `[load]`.
pub(super) fn closed(r: &mut Reading, raw: &Raw, slots: Ramp) -> schedule::Load {
    let ramp = r.span(option!(raw.load.ramp), PAUSE).unwrap_or_default();
    let think = r.parsed(option!(raw.load.think_time), "", str::parse::<Delays>).unwrap_or(Delays::ZERO);
    schedule::Load::Closed { slots, ramp, think }
}

pub(super) fn process(r: &mut Reading, given: Given<'_>) -> Process {
    r.parsed(given, "", str::parse::<Process>).unwrap_or_default()
}
