//! The profile: what each stage found against the load it was offered.

use super::axis::{Axis, number_label, time_label};
use super::chart::{Colour, Drawn, Point};
use super::figure::Figure;
use super::told::Told;
use crate::report::{Distribution, Latency, Stage};

/// The quantiles drawn, and how they are found.
type Quantile = (&'static str, fn(&Distribution) -> Option<i64>);
const QUANTILES: [Quantile; 2] = [("p50", |d| d.p50), ("p99", |d| d.p99)];

/// A metric and where a stage keeps it.
type Metric = (&'static str, &'static str, fn(&Latency) -> &Distribution);
const METRICS: [Metric; 4] = [
    ("TTFT", "ttft-profile", |latency| &latency.ttft_ns),
    ("TPOT", "tpot-profile", |latency| &latency.tpot_ns),
    ("NTPOT", "ntpot-profile", |latency| &latency.ntpot_ns),
    ("E2E", "e2e-profile", |latency| &latency.e2e_ns),
];

pub(super) fn figures(told: &Told) -> Vec<Figure> {
    let stages: Vec<(f64, &Stage)> =
        told.summary.stages.iter().filter_map(|stage| Some((offered(stage)?, stage))).collect();
    if stages.len() < 2 {
        return Vec::new();
    }
    let closed = stages
        .iter()
        .any(|(_, stage)| stage.section.load.scheduled_rate.is_none() || stage.arrival.is_none());
    let unit = if closed { "concurrency" } else { "offered requests/s" };
    let x = Axis::linear(unit, stages.iter().map(|(at, _)| *at), number_label);
    let mut found = vec![throughput(&stages, &x)];
    found.extend(METRICS.iter().map(|(title, name, of)| latency(&stages, &x, title, name, *of)));
    found
}

/// What a stage was offered: its rate, or its concurrency.
#[expect(clippy::cast_precision_loss, reason = "a concurrency for the eye")]
fn offered(stage: &Stage) -> Option<f64> {
    let load = &stage.section.load;
    match &stage.arrival {
        Some(_) => load.scheduled_rate,
        None => load.requested_concurrency.map(|slots| slots as f64),
    }
}

fn throughput(stages: &[(f64, &Stage)], x: &Axis) -> Figure {
    let achieved = |stage: &Stage| stage.section.load.achieved_rate;
    let points: Vec<Point> = stages
        .iter()
        .filter_map(|(at, stage)| Some(Point { x: *at, y: achieved(stage)?, interval: None }))
        .collect();
    let y = Axis::linear("requests/s done", points.iter().map(|point| point.y), number_label);
    let drawn =
        [joined("", 1, &points), Drawn::Points { name: String::new(), colour: Colour::Series(1), points }];
    Figure::new("throughput-profile", "Throughput against load", "", x, &y, &drawn)
}

fn latency(
    stages: &[(f64, &Stage)],
    x: &Axis,
    title: &str,
    name: &str,
    of: fn(&Latency) -> &Distribution,
) -> Figure {
    let mut drawn = Vec::new();
    let mut values = Vec::new();
    for (colour, (quantile, pick)) in QUANTILES.iter().enumerate() {
        let points: Vec<Point> = stages
            .iter()
            .filter_map(|(at, stage)| {
                let found = of(&stage.section.latency);
                let interval =
                    found.p99_ci.filter(|_| *quantile == "p99").map(|[low, high]| (float(low), float(high)));
                Some(Point { x: *at, y: float(pick(found)?), interval })
            })
            .collect();
        values.extend(
            points
                .iter()
                .flat_map(|point| [Some(point.y), point.interval.map(|i| i.0), point.interval.map(|i| i.1)])
                .flatten(),
        );
        drawn.push(joined(quantile, colour * 2, &points));
        drawn.push(Drawn::Points { name: String::new(), colour: Colour::Series(colour * 2), points });
    }
    let y = Axis::logarithmic(title, values, time_label);
    let note = "Whiskers: the 95 % interval of p99.";
    Figure::new(name, &format!("{title} against load"), note, x, &y, &drawn)
}

fn joined(name: &str, colour: usize, points: &[Point]) -> Drawn {
    Drawn::Line {
        name: name.into(),
        colour: Colour::Series(colour),
        dashed: false,
        points: points.iter().map(|point| (point.x, point.y)).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds for the eye")]
fn float(ns: i64) -> f64 {
    ns as f64
}
