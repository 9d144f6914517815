//! What happened when: rates, requests in flight, tokens, TTFT, lateness, and the map of latencies over time.

use super::axis::{Axis, number_label, time_label};
use super::busy;
use super::chart::{Colour, Drawn};
use super::figure::Figure;
use super::told::Told;
use crate::analysis::{Course, Moment};
use crate::record::Histogram;
use crate::report::figures::time;
use crate::time::Span;

/// Rows of a map of latencies.
const ROWS: u32 = 28;

pub(super) fn figures(told: &Told) -> Vec<Figure> {
    let course = told.course.as_ref().filter(|course| course.moments().len() > 1);
    // One axis for all, so that what happened together stands together.
    let Some(end) = course.map(end).into_iter().chain(busy::end(told)).reduce(f64::max) else {
        return Vec::new();
    };
    let x = Axis::linear("seconds from the run's start", [0.0, end], number_label);
    let mut found = Vec::new();
    if let Some(course) = course {
        found.extend([rates(course, &x), in_flight(course, &x), tokens(course, &x)]);
        found.extend(ttft(course, &x));
        found.push(lateness(course, &x));
    }
    found.extend(busy::figure(told, &x));
    if let Some(course) = course {
        found.extend(map(course, &x, "TTFT", "ttft-map", |moment| &moment.ttft));
        found.extend(map(course, &x, "E2E", "e2e-map", |moment| &moment.e2e));
    }
    found
}

fn rates(course: &Course, x: &Axis) -> Figure {
    let per_s = 1.0 / course.step().as_s_f64();
    let lines = [
        line(course, "due", 0, |moment| float(moment.due) * per_s),
        line(course, "done", 1, |moment| float(moment.done) * per_s),
        line(course, "failed", 3, |moment| float(moment.failed) * per_s),
    ];
    figure(x, "rates", "Requests per second", "requests/s", &lines)
}

fn in_flight(course: &Course, x: &Axis) -> Figure {
    let lines = [line(course, "", 0, |moment| moment.in_flight)];
    figure(x, "in-flight", "Requests in flight", "requests", &lines)
}

fn tokens(course: &Course, x: &Axis) -> Figure {
    let per_s = 1.0 / course.step().as_s_f64();
    let lines = [line(course, "", 1, |moment| moment.tokens * per_s)];
    figure(x, "tokens", "Output tokens per second", "tokens/s", &lines)
}

fn ttft(course: &Course, x: &Axis) -> Option<Figure> {
    let quantile = |q: f64| {
        let points =
            course.moments().iter().enumerate().filter_map(move |(nth, moment)| {
                Some((middle(course, nth), float(moment.ttft.quantile(q)?)))
            });
        points.collect::<Vec<_>>()
    };
    let (median, tail) = (quantile(0.5), quantile(0.99));
    let values: Vec<f64> = median.iter().chain(&tail).map(|(_, ns)| *ns).collect();
    if values.is_empty() {
        return None;
    }
    let y = Axis::logarithmic("TTFT", values, time_label);
    let lines = [named("p50", 0, median), named("p99", 2, tail)];
    let note = format!(
        "By when requests were due, in steps of {}; p99 of few is their worst.",
        time(course.step().as_ns())
    );
    Some(Figure::new("ttft-course", "TTFT over time", &note, x, &y, &lines))
}

fn lateness(course: &Course, x: &Axis) -> Figure {
    let ns = |span: Span| span.as_s_f64() * 1e9;
    let line = line(course, "", 3, |moment| moment.lateness_max.map_or(0.0, ns).max(0.0));
    let values: Vec<f64> = match &line {
        Drawn::Line { points, .. } => points.iter().map(|(_, ns)| *ns).collect(),
        _ => Vec::new(),
    };
    let y = Axis::linear("longest lateness", values, time_label);
    let note = "How late this client began requests: what the server cannot be blamed for.";
    Figure::new("lateness-course", "Lateness over time", note, x, &y, &[line])
}

/// How many requests had which latency when: the darker, the more.
fn map(
    course: &Course,
    x: &Axis,
    title: &str,
    name: &str,
    of: impl Fn(&Moment) -> &Histogram,
) -> Option<Figure> {
    let ends = |pick: fn(&Histogram) -> Option<u64>| {
        course.moments().iter().filter_map(|m| pick(of(m))).map(float).collect::<Vec<_>>()
    };
    let (least, most) = (ends(Histogram::min), ends(Histogram::max));
    let y = Axis::logarithmic(title, least.into_iter().chain(most).filter(|ns| *ns > 0.0), time_label);
    let height = (y.ends.1 - y.ends.0) / f64::from(ROWS);
    let edge = |row: u32| y.value(y.ends.0 + height * f64::from(row));
    let mut cells: Vec<(usize, u32, f64)> = Vec::new();
    for (nth, moment) in course.moments().iter().enumerate() {
        let mut rows = vec![0.0; usize::try_from(ROWS).expect("small")];
        for bucket in of(moment).buckets() {
            let place = y.place(float(bucket.high)).unwrap_or(y.ends.0);
            rows[row_of((place - y.ends.0) / height)] += float(bucket.count);
        }
        cells.extend((0..).zip(rows).filter(|(_, count)| *count > 0.0).map(|(row, count)| (nth, row, count)));
    }
    let most = cells.iter().map(|(_, _, count)| *count).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let step = course.step().as_s_f64();
    let drawn: Vec<Drawn> = cells
        .into_iter()
        .map(|(nth, row, count)| Drawn::Cell {
            x: (float(nth as u64) * step, (float(nth as u64) + 1.0) * step),
            y: (edge(row), edge(row + 1)),
            // A single request must be seen beside a thousand.
            strength: 0.15 + 0.85 * libm::log1p(count) / libm::log1p(most),
        })
        .collect();
    let title = format!("{title}: all requests over time");
    Some(Figure::new(
        name,
        &title,
        "Each cell counts requests by when they were due: the stronger, the more.",
        x,
        &y,
        &drawn,
    ))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the rows of a map")]
fn row_of(place: f64) -> usize {
    place.clamp(0.0, f64::from(ROWS - 1)) as usize
}

fn figure(x: &Axis, name: &str, title: &str, unit: &str, lines: &[Drawn]) -> Figure {
    let values = lines.iter().flat_map(|line| match line {
        Drawn::Line { points, .. } => points.iter().map(|(_, y)| *y).collect(),
        _ => Vec::new(),
    });
    let y = Axis::linear(unit, values, number_label);
    Figure::new(name, title, "", x, &y, lines)
}

fn line(course: &Course, name: &str, colour: usize, of: impl Fn(&Moment) -> f64) -> Drawn {
    let points = course.moments().iter().enumerate().map(|(nth, moment)| (middle(course, nth), of(moment)));
    named(name, colour, points.collect())
}

fn named(name: &str, colour: usize, points: Vec<(f64, f64)>) -> Drawn {
    Drawn::Line { name: name.into(), colour: Colour::Series(colour), dashed: false, points }
}

/// Where it ends, in seconds from the run's start.
fn end(course: &Course) -> f64 {
    float(course.moments().len() as u64) * course.step().as_s_f64()
}

fn middle(course: &Course, nth: usize) -> f64 {
    (float(nth as u64) + 0.5) * course.step().as_s_f64()
}

#[expect(clippy::cast_precision_loss, reason = "counts and nanoseconds for the eye")]
fn float(n: u64) -> f64 {
    n as f64
}
