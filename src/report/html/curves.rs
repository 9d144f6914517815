//! How latencies are distributed: for each metric, one chart of the share at or below a value, one of the tail.

use super::axis::{Axis, time_label};
use super::chart::{Colour, Drawn};
use super::figure::Figure;
use super::told::Told;
use crate::record::{Histogram, Metric};

/// The metrics shown, with their names as headings have them.
const METRICS: [(Metric, &str); 5] = [
    (Metric::Ttft, "TTFT"),
    (Metric::Itl, "ITL"),
    (Metric::Tpot, "TPOT"),
    (Metric::Ntpot, "NTPOT"),
    (Metric::E2e, "E2E"),
];

/// More points than this no screen shows.
const POINTS: usize = 400;

pub(super) fn figures(told: &[Told]) -> Vec<Figure> {
    METRICS
        .iter()
        .flat_map(|(metric, title)| [share(told, *metric, title), tail(told, *metric, title)])
        .flatten()
        .collect()
}

fn share(told: &[Told], metric: Metric, title: &str) -> Option<Figure> {
    let lines = lines(told, metric, |cumulated| {
        cumulated.iter().map(|(value, share)| (*value, *share * 100.0)).collect()
    });
    let values = values(&lines, |(value, _)| value)?;
    let x = Axis::logarithmic(title, values, time_label);
    let y = Axis::linear("share at or below, %", [0.0, 100.0], |n| format!("{n:.0}"));
    Some(Figure::new(
        &format!("{}-share", metric.name()),
        &format!("{title}: share at or below"),
        "",
        &x,
        &y,
        &lines,
    ))
}

fn tail(told: &[Told], metric: Metric, title: &str) -> Option<Figure> {
    let lines = lines(told, metric, |cumulated| {
        // The value at a quantile is the least with that share at or below it: steps, drawn by their beginnings.
        let begins = std::iter::once(0.0).chain(cumulated.iter().map(|(_, share)| *share));
        begins.zip(cumulated).map(|(share, (value, _))| (share, *value)).collect()
    });
    let values = values(&lines, |(_, value)| value)?;
    let most = told.iter().filter_map(|run| run.curve(metric)).map(Histogram::count).max()?;
    let y = Axis::logarithmic(title, values, time_label);
    let note = "Each step to the right is ten times rarer. The last part stands on few requests.";
    Some(Figure::new(
        &format!("{}-tail", metric.name()),
        &format!("{title}: the tail"),
        note,
        &Axis::tail(most),
        &y,
        &lines,
    ))
}

fn lines(told: &[Told], metric: Metric, points: impl Fn(&[(f64, f64)]) -> Vec<(f64, f64)>) -> Vec<Drawn> {
    let curves = told.iter().enumerate().filter_map(|(nth, run)| Some((nth, run, run.curve(metric)?)));
    let drawn = curves.map(|(nth, run, values)| Drawn::Line {
        // One run needs no name.
        name: if told.len() > 1 { run.name.clone() } else { String::new() },
        colour: Colour::Series(nth),
        dashed: false,
        points: points(&cumulated(values)),
    });
    drawn.collect()
}

fn values(lines: &[Drawn], of: impl Fn((f64, f64)) -> f64) -> Option<Vec<f64>> {
    let points = lines.iter().flat_map(|line| match line {
        Drawn::Line { points, .. } => points.as_slice(),
        _ => &[],
    });
    let values: Vec<f64> = points.map(|point| of(*point)).filter(|value| *value > 0.0).collect();
    (!values.is_empty()).then_some(values)
}

/// Values with the share at or below them, thinned out evenly in share, the whole tail kept.
#[expect(clippy::cast_precision_loss, reason = "shares for the eye")]
fn cumulated(values: &Histogram) -> Vec<(f64, f64)> {
    let whole = values.count() as f64;
    let (mut seen, mut points): (u64, Vec<(f64, f64)>) = (0, Vec::new());
    for bucket in values.buckets() {
        seen += bucket.count;
        points.push((bucket.high as f64, seen as f64 / whole));
    }
    let step = points.len() / POINTS + 1;
    let last = points.len().saturating_sub(1);
    let kept = points
        .iter()
        .enumerate()
        .filter(|(nth, (_, share))| nth % step == 0 || *share > 0.99 || *nth == last);
    kept.map(|(_, point)| *point).collect()
}
