//! oha: its JSON (`--output-format json`) and its text.
//!
//! Known from oha 1.16.0. It must not take the first byte of a body for a token.

use super::field::Field;
use super::quantity::{Quantity, Statistic};
use super::reading::{Reading, float};
use super::whole::{Part, cut, one_run};
use super::{ForeignError, MS, S};
use serde_json::Value;

const KEYS: [(&str, Statistic); 5] = [
    ("p50", Statistic::P50),
    ("p90", Statistic::P90),
    ("p95", Statistic::P95),
    ("p99", Statistic::P99),
    ("p99.9", Statistic::P99_9),
];

const LATENCY: &str = "clock starts before the connection; of a run with --latency-correction when its pacer woke for the \
                       request, which the file does not tell";
const FIRST_BYTE: &str =
    "the first byte of the body: of a stream a comment or an event without a token may be the first";
const RATE: &str = "responses with a status of 2xx over the whole test";
const MIXED: &str = "responses with a status other than 2xx are among its values";
/// What a request is called that oha gave up at the end of the test.
const GIVEN_UP: &str = "aborted due to deadline";

/// Whether a document is one of its results.
pub(super) fn is(value: &Value) -> bool {
    value.get("latencyPercentiles").is_some() && value.get("statusCodeDistribution").is_some()
}

/// What oha always prints, in its order; errors stand behind it where there were any.
const PARTS: [Part; 6] = [
    ("\"Summary:\"", |line| line == "Summary:"),
    ("line \"Success rate\"", is_rate_of_successes),
    ("line \"Total\"", |line| line.trim_start().starts_with("Total:")),
    ("line \"Requests/sec\"", |line| line.trim_start().starts_with("Requests/sec:")),
    ("\"Response time distribution:\"", |line| line == "Response time distribution:"),
    ("\"Status code distribution:\"", |line| line == "Status code distribution:"),
];

fn is_rate_of_successes(line: &str) -> bool {
    line.trim_start().starts_with("Success rate:")
}

/// Whether a text is one of its results, whole or not.
pub(super) fn is_text(text: &str) -> bool {
    text.starts_with("Summary:") && text.lines().any(is_rate_of_successes)
        || text.contains("Response time distribution:") && text.contains("Status code distribution:")
}

/// What was counted of responses.
#[derive(Default)]
struct Counts {
    well: u64,
    other: u64,
    errors: u64,
    given_up: u64,
}

impl Counts {
    fn status(&mut self, status: &str, count: u64) {
        let place = if status.starts_with('2') { &mut self.well } else { &mut self.other };
        *place = place.saturating_add(count);
    }

    fn error(&mut self, words: &str, count: u64) {
        let place = if words == GIVEN_UP { &mut self.given_up } else { &mut self.errors };
        *place = place.saturating_add(count);
    }

    fn tell(&self, seconds: Option<f64>, reading: &mut Reading) {
        reading.counts(Some(self.well), self.other.checked_add(self.errors));
        let per_s = seconds.filter(|s| *s > 0.0).map(|s| float(self.well) / s);
        reading.nearly(Quantity::RequestsPerS, per_s, RATE);
        if self.given_up > 0 {
            reading.notes.push(format!("{} requests were given up at the end of the test", self.given_up));
        }
    }

    /// Requests/sec over the total time are all requests, those with errors among them: a text whose counts do not come to
    /// that is cut inside or before its errors, which have no end of their own.
    fn check(&self, total: &Rounded, per_s: &Rounded) -> Result<(), ForeignError> {
        let all = total.value * per_s.value;
        let told = [self.well, self.other, self.errors, self.given_up].into_iter().map(float).sum::<f64>();
        if (all - told).abs() <= 0.5 + 1.1 * all * (total.off + per_s.off) {
            return Ok(());
        }
        Err(cut(
            "oha",
            &format!("its rate and its time make {all:.0} requests, and its counts come to {told}"),
        ))
    }

    fn latencies(&self, figures: Vec<(Statistic, f64)>, reading: &mut Reading) {
        if self.other == 0 {
            reading.distribution(Quantity::E2eEnd, figures, LATENCY);
        } else {
            reading.keep_apart("response time", Quantity::E2eEnd, figures, MIXED);
        }
    }
}

/// Reads its JSON.
pub(super) fn read(value: &Value, name: &str) -> Result<Reading, ForeignError> {
    let root = Field::root(value, "oha");
    let mut reading = Reading::of(name, "oha --output-format json");
    let mut counts = Counts::default();
    for (key, place) in [("statusCodeDistribution", true), ("errorDistribution", false)] {
        let Some(found) = value.get(key).filter(|found| !found.is_null()) else { continue };
        let Some(entries) = found.as_object() else {
            return Err(root.need(key)?.wrong("is not an object".to_owned()));
        };
        let field = root.need(key)?;
        for word in entries.keys() {
            let count = field.need(word)?.count()?;
            if place { counts.status(word, count) } else { counts.error(word, count) }
        }
    }
    let summary = root.need("summary")?;
    counts.tell(summary.maybe_amount("total")?, &mut reading);
    let mut figures = root.need("latencyPercentiles")?.statistics(&KEYS, S)?;
    let moments = [("average", Statistic::Mean), ("fastest", Statistic::Min), ("slowest", Statistic::Max)];
    figures.extend(summary.statistics(&moments, S)?);
    counts.latencies(figures, &mut reading);
    if let Some(first) = root.get("firstBytePercentiles") {
        reading.keep_apart("firstBytePercentiles", Quantity::Ttft, first.statistics(&KEYS, S)?, FIRST_BYTE);
    }
    Ok(reading)
}

/// Reads its text.
pub(super) fn read_text(text: &str, name: &str) -> Result<Reading, ForeignError> {
    one_run("oha", text, &PARTS)?;
    let mut reading = Reading::of(name, "oha");
    let mut counts = Counts::default();
    let mut figures = Vec::new();
    let (mut total, mut per_s) = (None, None);
    let mut section = "";
    for (line, number) in text.lines().zip(1_usize..) {
        let wrong = |why: &str| ForeignError::Wrong { place: format!("oha, line {number}"), why: why.into() };
        let words: Vec<&str> = line.split_whitespace().collect();
        if !line.starts_with(' ') && line.ends_with(':') {
            section = line;
            continue;
        }
        match (section, words.as_slice()) {
            ("Summary:", [key, value, unit]) => {
                let ns = || time(value, unit).ok_or_else(|| wrong("is no time"));
                match *key {
                    "Total:" => {
                        total = Some(Rounded::of(value, ns()? / S).ok_or_else(|| wrong("is no time"))?)
                    }
                    "Slowest:" => figures.push((Statistic::Max, ns()?)),
                    "Fastest:" => figures.push((Statistic::Min, ns()?)),
                    "Average:" => figures.push((Statistic::Mean, ns()?)),
                    _ => {}
                }
            }
            ("Summary:", ["Requests/sec:", value]) => {
                let rate =
                    value.parse().ok().filter(|rate| *rate >= 0.0).and_then(|rate| Rounded::of(value, rate));
                per_s = Some(rate.ok_or_else(|| wrong("is no rate"))?);
            }
            ("Response time distribution:", [share, "in", value, unit]) => {
                let ns = time(value, unit).ok_or_else(|| wrong("is no time"))?;
                let statistic = match *share {
                    "50.00%" => Statistic::P50,
                    "90.00%" => Statistic::P90,
                    "95.00%" => Statistic::P95,
                    "99.00%" => Statistic::P99,
                    "99.90%" => Statistic::P99_9,
                    _ => continue,
                };
                figures.push((statistic, ns));
            }
            ("Status code distribution:", [status, count, ..]) => {
                let count = count.parse().map_err(|_| wrong("is no count"))?;
                counts.status(status.trim_matches(['[', ']']), count);
            }
            ("Error distribution:", [count, ..]) => {
                let count = count.trim_matches(['[', ']']).parse().map_err(|_| wrong("is no count"))?;
                let words = line.split_once(']').map_or("", |(_, words)| words.trim());
                if words != GIVEN_UP && GIVEN_UP.starts_with(words) {
                    return Err(cut("oha", &format!("line {number} ends inside \"{GIVEN_UP}\"")));
                }
                counts.error(words, count);
            }
            _ => {}
        }
    }
    if figures.is_empty() {
        return Err(ForeignError::Wrong { place: "oha".into(), why: "has no latencies".into() });
    }
    if let Some((total, per_s)) = total.as_ref().zip(per_s.as_ref()) {
        counts.check(total, per_s)?;
    }
    counts.tell(total.map(|total| total.value), &mut reading);
    counts.latencies(figures, &mut reading);
    Ok(reading)
}

/// A number of a text, and how far off its printed digits may be, relative.
struct Rounded {
    value: f64,
    off: f64,
}

impl Rounded {
    /// `value` in any unit, printed as `text`; none of what is no number.
    fn of(text: &str, value: f64) -> Option<Self> {
        let printed = text.parse::<f64>().ok().filter(|printed| printed.is_finite() && value.is_finite())?;
        let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half = 0.5 / libm::pow(10.0, float(digits as u64));
        Some(Self { value, off: half / printed.abs().max(half) })
    }
}

/// `55.0869 ms` in nanoseconds.
fn time(value: &str, unit: &str) -> Option<f64> {
    let unit_ns = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => MS,
        "sec" | "s" | "secs" => S,
        _ => return None,
    };
    super::bounded(value.parse::<f64>().ok()? * unit_ns)
}
