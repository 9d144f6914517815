//! The stages of a file, one after another; places nothing in time.

use super::load::{PAUSE, RATE, SLOTS, WINDOW, closed, only_for, open, process};
use super::raw::{Raw, StageOptions, Text};
use super::reading::{Bounds, Given, Place, Reading, option};
use crate::schedule::{Extent, Load, Process, Ramp, Stage};

#[derive(Copy, Clone, PartialEq)]
enum Shape {
    Linear,
    Geometric,
}

const SHAPES: [(&str, Shape); 2] = [("linear", Shape::Linear), ("geometric", Shape::Geometric)];

/// Reads every `[[stage]]`; the warm-up of section `[load]` is the first one's.
pub(super) fn read(r: &mut Reading, raw: &Raw) -> Vec<Stage> {
    for given in [
        option!(raw.load.rate),
        option!(raw.load.concurrency),
        option!(raw.load.duration),
        option!(raw.load.requests),
    ] {
        if given.value.is_some() {
            r.refuse(
                given,
                "a run without [[stage]]",
                "each stage says its own: leave this or the stages out",
            );
        }
    }
    let default = process(r, option!(raw.load.arrival));
    let mut stages: Vec<Stage> =
        raw.stage.iter().enumerate().map(|(i, stage)| one(r, raw, i + 1, stage, default)).collect();
    stages[0].warmup += r.span(option!(raw.load.warmup), PAUSE).unwrap_or_default();
    let loops = stages.iter().filter(|stage| matches!(stage.load, Load::Closed { .. })).count();
    if loops > 0 && loops < stages.len() {
        r.note(
            Place::Stage(stages.len(), "rate, concurrency"),
            Some(format!("{loops} of {} stages are closed loops", stages.len())),
            "stages that are all open loops or all closed loops",
            "make two runs of it",
        );
    }
    stages
}

fn one(r: &mut Reading, raw: &Raw, n: usize, stage: &StageOptions, default: Process) -> Stage {
    fn given<'a>(n: usize, name: &'static str, value: &'a Option<Text>) -> Given<'a> {
        Given { place: Place::Stage(n, name), value: value.as_ref() }
    }
    let rate = given(n, "rate", &stage.rate);
    let rate_end = given(n, "rate_end", &stage.rate_end);
    let slots = given(n, "concurrency", &stage.concurrency);
    let slots_end = given(n, "concurrency_end", &stage.concurrency_end);
    let arrival = given(n, "arrival", &stage.arrival);
    let duration = given(n, "duration", &stage.duration);
    if duration.value.is_none() {
        r.refuse(duration, "a span such as 30s", "every stage says how long it lasts");
    }
    let extent = Extent::Duration(r.span(duration, WINDOW).unwrap_or_default());
    let shape = shape(r, given(n, "shape", &stage.shape), &[rate_end, slots_end]);
    let load = match (rate.value, slots.value) {
        (Some(_), None) => {
            only_for(r, slots_end, "a stage with concurrency");
            let bounds = match shape {
                // A straight ramp may start or end at nothing.
                Some(Shape::Linear) => Bounds { least: 0.0, ..RATE },
                _ => RATE,
            };
            let from = r.number(rate, &bounds).unwrap_or(1.0);
            let to = r.number(rate_end, &bounds);
            if from == 0.0 && to == Some(0.0) {
                r.refuse(rate_end, "above 0 where rate is 0", "");
            }
            let process = if arrival.value.is_some() { process(r, arrival) } else { default };
            open(ramp(shape, from, to), process)
        }
        (None, Some(_)) => {
            for given in [rate_end, arrival] {
                only_for(r, given, "a stage with a rate");
            }
            let from = r.count(slots, SLOTS).unwrap_or(1);
            let to = r.count(slots_end, SLOTS);
            closed(r, raw, ramp(shape, from.into(), to.map(f64::from)))
        }
        (None, None) => {
            r.refuse(rate, "rate or concurrency", "say what the stage offers: rate = 10 or concurrency = 8");
            open(Ramp::Flat(1.0), default)
        }
        (Some(_), Some(_)) => {
            r.refuse(slots, "rate or concurrency", "they exclude each other: leave one out");
            open(Ramp::Flat(1.0), default)
        }
    };
    let warmup = r.span(given(n, "warmup", &stage.warmup), PAUSE).unwrap_or_default();
    Stage { load, extent, warmup }
}

/// The way from a stage's start to its end: linear unless said, none where nothing has an end of its own.
fn shape(r: &mut Reading, given: Given<'_>, ends: &[Given<'_>]) -> Option<Shape> {
    let asked = r.word(given, &SHAPES);
    if ends.iter().any(|end| end.value.is_some()) {
        return Some(asked.unwrap_or(Shape::Linear));
    }
    if given.value.is_some() {
        r.refuse(given, "beside rate-end or concurrency-end", "say where it goes: rate-end = 100");
    }
    None
}

fn ramp(shape: Option<Shape>, from: f64, to: Option<f64>) -> Ramp {
    match (shape, to) {
        (Some(Shape::Linear), Some(to)) => Ramp::Linear(from, to),
        (Some(Shape::Geometric), Some(to)) => Ramp::Geometric(from, to),
        _ => Ramp::Flat(from),
    }
}
