//! wrk: its text, with or without `--latency`.
//!
//! Known from wrk 4.1.0. It must not line up wrk's latencies: before it prints them wrk adds values of its own for each
//! response that took longer than twice the mean interval between two responses of a connection.

use super::quantity::{Quantity, Statistic};
use super::reading::{Reading, float};
use super::whole::{Part, one_run};
use super::{ForeignError, MS, S};

const CORRECTED: &str = "wrk adds values of its own for long responses before it prints (stats_correct): these are not what was \
                         measured";
const RATE: &str = "over the whole test; wrk drives a closed loop";

/// What wrk always prints, in its order.
const PARTS: [Part; 4] = [
    ("line \"Running T test @ URL\"", is_start),
    ("line \"Latency\" of its thread statistics", |line| {
        matches!(line.split_whitespace().collect::<Vec<_>>().as_slice(), ["Latency", _, _, _, _])
    }),
    ("line \"N requests in T\"", |line| {
        matches!(line.split_whitespace().collect::<Vec<_>>().as_slice(), [_, "requests", "in", _, ..])
    }),
    ("line \"Transfer/sec: N\"", |line| {
        matches!(line.split_whitespace().collect::<Vec<_>>().as_slice(), ["Transfer/sec:", _])
    }),
];

fn is_start(line: &str) -> bool {
    line.starts_with("Running ") && line.contains(" test @ ")
}

/// Whether a text is one of its results.
pub(super) fn is(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_start)
}

/// Reads one.
pub(super) fn read(text: &str, name: &str) -> Result<Reading, ForeignError> {
    one_run("wrk", text, &PARTS)?;
    let mut reading = Reading::of(name, "wrk");
    let (mut all, mut bad, mut socket, mut seconds) = (0_u64, 0_u64, 0_u64, None);
    let mut figures: Vec<(Statistic, f64)> = Vec::new();
    for (line, number) in text.lines().zip(1_usize..) {
        let wrong = |why: &str| ForeignError::Wrong { place: format!("wrk, line {number}"), why: why.into() };
        let words: Vec<&str> = line.split_whitespace().collect();
        let ns = |word: &str| time(word).ok_or_else(|| wrong("is no time"));
        match words.as_slice() {
            ["Latency", mean, sd, max, _] => {
                figures.extend([
                    (Statistic::Mean, ns(mean)?),
                    (Statistic::Sd, ns(sd)?),
                    (Statistic::Max, ns(max)?),
                ]);
            }
            ["50%", value] => figures.push((Statistic::P50, ns(value)?)),
            ["90%", value] => figures.push((Statistic::P90, ns(value)?)),
            ["99%", value] => figures.push((Statistic::P99, ns(value)?)),
            [count, "requests", "in", length, ..] => {
                all = count.parse().map_err(|_| wrong("is no count"))?;
                seconds = Some(ns(length.trim_end_matches(','))? / S);
            }
            ["Non-2xx", "or", "3xx", "responses:", count] => {
                bad = count.parse().map_err(|_| wrong("is no count"))?;
            }
            ["Socket", "errors:", rest @ ..] => {
                for count in rest.iter().skip(1).step_by(2) {
                    let count: u64 = count.trim_end_matches(',').parse().map_err(|_| wrong("is no count"))?;
                    socket = socket.saturating_add(count);
                }
            }
            _ => {}
        }
    }
    let well = all.saturating_sub(bad);
    reading.counts(Some(well), bad.checked_add(socket));
    let per_s = seconds.filter(|s| *s > 0.0).map(|s: f64| float(well) / s);
    reading.nearly(Quantity::RequestsPerS, per_s, RATE);
    reading.keep_apart("Latency", Quantity::E2eEnd, figures, CORRECTED);
    Ok(reading)
}

/// `1.40ms` in nanoseconds.
fn time(word: &str) -> Option<f64> {
    let at = word.find(|c: char| c.is_ascii_alphabetic())?;
    let unit_ns = match &word[at..] {
        "us" => 1e3,
        "ms" => MS,
        "s" => S,
        "m" => 60.0 * S,
        "h" => 3_600.0 * S,
        _ => return None,
    };
    super::bounded(word[..at].parse::<f64>().ok()? * unit_ns)
}
