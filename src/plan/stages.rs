//! The options of the load to the load: what excludes what, and the stages; draws no arrival.

use super::raw::{Raw, StageOptions, Text};
use super::reading::{Bounds, Given, Place, Reading, option};
use super::{Extent, Load, Offered, Shape, Stage};
use crate::time::Span;
use std::ops::RangeInclusive;

/// A request a second, and far beyond what one host can send.
const RATE: Bounds = Bounds { above: 0.0, at_most: 1e7, unit: "requests/s" };

/// More streams than a process can have files.
const SLOTS: RangeInclusive<usize> = 1..=10_000_000;

/// A window needs some length to have a rate; a week is longer than any run so far.
const WINDOW: RangeInclusive<Span> = Span::from_ms(10)..=Span::from_s(7 * 86_400);

/// What may be left out is zero.
const PAUSE: RangeInclusive<Span> = Span::ZERO..=Span::from_s(86_400);

const SHAPES: [(&str, Shape); 2] = [("linear", Shape::Linear), ("geometric", Shape::Geometric)];

/// Reads section `[load]` and the stages.
pub(super) fn read(r: &mut Reading, raw: &Raw) -> Load {
    let stages = if raw.stage.is_empty() { vec![single(r, raw)] } else { several(r, raw) };
    let closed = stages.iter().any(|stage| matches!(stage.offered, Offered::Concurrency(_)));
    let load = Load {
        stages,
        warmup: r.span(option!(raw.load.warmup), PAUSE).unwrap_or_default(),
        cooldown: r.span(option!(raw.load.cooldown), PAUSE).unwrap_or_default(),
        seed: r.count(option!(raw.load.seed), 0..=u64::MAX).unwrap_or_default(),
        max_concurrency: r.count(option!(raw.load.max_concurrency), SLOTS),
        ramp: r.span(option!(raw.load.ramp), PAUSE).unwrap_or_default(),
        think_time: r.span(option!(raw.load.think_time), PAUSE).unwrap_or_default(),
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
    load
}

fn only_for(r: &mut Reading, given: Given<'_>, which: &str) {
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
    let offered = match (rate.value, slots.value) {
        (Some(_), Some(_)) => {
            r.refuse(
                slots,
                "--rate or --concurrency",
                "they exclude each other; an open loop with a cap is --rate R --max-concurrency C",
            );
            Offered::Concurrency(1)
        }
        (None, Some(_)) => Offered::Concurrency(r.count(slots, SLOTS).unwrap_or(1)),
        (Some(_), None) => {
            let per_s = r.number(rate, &RATE).unwrap_or_default();
            let arrival = arrival(r, option!(raw.load.arrival));
            Offered::Rate { from_per_s: per_s, to_per_s: per_s, shape: Shape::Flat, arrival }
        }
        (None, None) => {
            r.refuse(
                rate,
                "--rate or --concurrency",
                "say how much load: --rate 10 (open loop, requests/s) or --concurrency 8 (closed loop)",
            );
            Offered::Concurrency(1)
        }
    };
    Stage { offered, extent }
}

fn several(r: &mut Reading, raw: &Raw) -> Vec<Stage> {
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
    let default = arrival(r, option!(raw.load.arrival));
    let stages: Vec<Stage> =
        raw.stage.iter().enumerate().map(|(i, stage)| one(r, i + 1, stage, &default)).collect();
    let closed = stages.iter().filter(|stage| matches!(stage.offered, Offered::Concurrency(_))).count();
    if closed > 0 && closed < stages.len() {
        r.note(
            Place::Stage(stages.len(), "rate, concurrency"),
            Some(format!("{closed} of {} stages are closed loops", stages.len())),
            "stages that are all open loops or all closed loops",
            "make two runs of it",
        );
    }
    stages
}

fn one(r: &mut Reading, n: usize, stage: &StageOptions, default_arrival: &str) -> Stage {
    fn given<'a>(n: usize, name: &'static str, value: &'a Option<Text>) -> Given<'a> {
        Given { place: Place::Stage(n, name), value: value.as_ref() }
    }
    let rate = given(n, "rate", &stage.rate);
    let end = given(n, "rate_end", &stage.rate_end);
    let shape = given(n, "shape", &stage.shape);
    let slots = given(n, "concurrency", &stage.concurrency);
    let duration = given(n, "duration", &stage.duration);
    let own_arrival = given(n, "arrival", &stage.arrival);
    if duration.value.is_none() {
        r.refuse(duration, "a span such as 30s", "every stage says how long it lasts");
    }
    let extent = Extent::Duration(r.span(duration, WINDOW).unwrap_or_default());
    let offered = match (rate.value, slots.value) {
        (Some(_), None) => {
            let from_per_s = r.number(rate, &RATE).unwrap_or_default();
            let to_per_s = r.number(end, &RATE).unwrap_or(from_per_s);
            let asked = r.word(shape, &SHAPES);
            if shape.value.is_some() && end.value.is_none() {
                r.refuse(shape, "beside rate-end", "say where the rate goes: rate-end = 100");
            }
            let shape = if end.value.is_some() { asked.unwrap_or(Shape::Linear) } else { Shape::Flat };
            let arrival = if own_arrival.value.is_some() {
                arrival(r, own_arrival)
            } else {
                default_arrival.to_owned()
            };
            Offered::Rate { from_per_s, to_per_s, shape, arrival }
        }
        (None, Some(_)) => {
            for given in [end, shape, own_arrival] {
                only_for(r, given, "a stage with a rate");
            }
            Offered::Concurrency(r.count(slots, SLOTS).unwrap_or(1))
        }
        (None, None) => {
            r.refuse(rate, "rate or concurrency", "say what the stage offers: rate = 10 or concurrency = 8");
            Offered::Concurrency(1)
        }
        (Some(_), Some(_)) => {
            r.refuse(slots, "rate or concurrency", "they exclude each other: leave one out");
            Offered::Concurrency(1)
        }
    };
    Stage { offered, extent }
}

fn arrival(r: &mut Reading, given: Given<'_>) -> String {
    r.text(given, "poisson, constant, gamma:SHAPE").unwrap_or_default()
}
