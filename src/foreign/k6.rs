//! k6: the legacy summary (`--summary-export`), `handleSummary`'s data, and the machine-readable summary.
//!
//! Known from k6 1.1.0 (the first two), 1.8.1 (all three) and 2.2.0 (`--summary-export`). It must not take a response's
//! head for a token: k6 knows none.

use super::field::Field;
use super::quantity::{Quantity, Statistic};
use super::reading::{Reading, float};
use super::{ForeignError, MS};
use serde_json::Value;

/// Where each statistic of a trend is kept: with parentheses in the legacy forms, without in the machine-readable one.
const KEYS: [(&str, Statistic); 13] = [
    ("avg", Statistic::Mean),
    ("min", Statistic::Min),
    ("med", Statistic::P50),
    ("p(50)", Statistic::P50),
    ("p50", Statistic::P50),
    ("p(90)", Statistic::P90),
    ("p90", Statistic::P90),
    ("p(95)", Statistic::P95),
    ("p95", Statistic::P95),
    ("p(99)", Statistic::P99),
    ("p99", Statistic::P99),
    ("p(99.9)", Statistic::P99_9),
    ("max", Statistic::Max),
];

const WAITING: &str =
    "from the request's last byte written to the first byte of the response (http_req_waiting)";
const DURATION: &str = "http_req_duration: sending, waiting and receiving; connecting is not in it, and requests of a \
                        warm-up are unless the script keeps them out";
const RATE: &str = "over the whole test, its start and its drain inside";
const NO_TOKEN: &str = "the first byte of the response's head, which a server may send long before the first token; \
                        k6 sees no tokens";
const MIXED: &str = "failed requests are among its values";

/// Whether a document is one of k6's summaries.
pub(super) fn is(value: &Value) -> bool {
    let legacy = value.get("root_group").is_some() && value.get("metrics").is_some_and(Value::is_object);
    let machine = value.pointer("/results/metrics").is_some_and(Value::is_array)
        && value.pointer("/metadata/k6_version").is_some();
    legacy || machine
}

/// The tag of the requests that are measured.
const MEASURED: &str = "scenario:measured";

/// One of three forms of the same thing.
enum Form {
    Export,
    Handle,
    Machine,
}

struct Summary<'a> {
    root: Field<'a>,
    form: Form,
}

impl<'a> Summary<'a> {
    /// The values of a metric, where the file has it.
    fn metric(&self, name: &str) -> Result<Option<Field<'a>>, ForeignError> {
        match self.form {
            Form::Export => Ok(self.root.need("metrics")?.get(name)),
            Form::Handle => match self.root.need("metrics")?.get(name) {
                Some(metric) => metric.need("values").map(Some),
                None => Ok(None),
            },
            Form::Machine => {
                for metric in self.root.need("results")?.need("metrics")?.list()? {
                    if metric.need("name")?.text()? == name {
                        return metric.need("values").map(Some);
                    }
                }
                Ok(None)
            }
        }
    }

    /// A metric of the script of `lowrho k6-script` without its warm-up, where the file has it; else of all requests.
    fn measured(&self, name: &str) -> Result<Option<Field<'a>>, ForeignError> {
        let scenario = match name.strip_suffix('}') {
            Some(tagged) => format!("{tagged},{MEASURED}}}"),
            None => format!("{name}{{{MEASURED}}}"),
        };
        let swapped = name
            .strip_suffix("{expected_response:true}")
            .map(|bare| format!("{bare}{{{MEASURED},expected_response:true}}"));
        for name in std::iter::once(scenario.as_str()).chain(swapped.as_deref()) {
            if let Some(found) = self.metric(name)? {
                return Ok(Some(found));
            }
        }
        self.metric(name)
    }

    fn trend(&self, name: &str) -> Result<Vec<(Statistic, f64)>, ForeignError> {
        self.measured(name)?.map_or(Ok(Vec::new()), |metric| metric.statistics(&KEYS, MS))
    }
}

/// Reads one.
pub(super) fn read(value: &Value, name: &str) -> Result<Reading, ForeignError> {
    let (form, tool) = if value.get("results").is_some() {
        (Form::Machine, "k6 machine-readable summary")
    } else if value.get("state").is_some() {
        (Form::Handle, "k6 handleSummary")
    } else {
        (Form::Export, "k6 --summary-export")
    };
    let summary = Summary { root: Field::root(value, tool), form };
    let version = value.pointer("/metadata/k6_version").and_then(Value::as_str);
    let tool = version.map_or_else(|| tool.to_owned(), |version| format!("{tool} ({version})"));
    let mut reading = Reading::of(name, tool);

    let Some(all) = summary.metric("http_reqs")? else {
        return Err(summary.root.wrong("has no http_reqs: the script sent no request".to_owned()));
    };
    let requests = summary.measured("http_reqs")?.unwrap_or_else(|| all.clone());
    let sent = requests.need("count")?.count()?;
    let failed = failed(&summary)?;
    let completed = failed.and_then(|failed| sent.checked_sub(failed));
    reading.counts(completed, failed);
    let per_s = match summary.form {
        Form::Machine => summary
            .root
            .need("config")?
            .maybe_amount("duration")?
            .filter(|s| *s > 0.0)
            .map(|s| float(sent) / s),
        _ => requests.maybe_amount("rate")?,
    };
    // Of a part of the test the rate is still over the whole of it.
    let warmed = all.need("count")?.count()?.saturating_sub(sent);
    if warmed > 0 {
        reading.notes.push(format!(
            "{warmed} requests of its warm-up are left out, and so is its rate, which is over all of them"
        ));
    }
    let per_s = per_s.filter(|_| warmed == 0);
    let share = completed.filter(|_| sent > 0).map(|completed| float(completed) / float(sent));
    let successes = per_s.zip(share).map(|(rate, share)| rate * share);
    reading.nearly(Quantity::RequestsPerS, successes, RATE);

    latencies(&summary, failed, &mut reading)?;
    if let Some(dropped) = summary.metric("dropped_iterations")? {
        let dropped = dropped.need("count")?.count()?;
        if dropped > 0 {
            reading.notes.push(format!("{dropped} iterations were dropped: due, and never sent"));
        }
    }
    Ok(reading)
}

/// Requests that failed, if the file says.
fn failed(summary: &Summary<'_>) -> Result<Option<u64>, ForeignError> {
    let Some(failed) = summary.measured("http_req_failed")? else { return Ok(None) };
    // Of a rate, `passes` are the values that are true: here, those that failed.
    let key = if matches!(summary.form, Form::Machine) { "matches" } else { "passes" };
    failed.maybe_count(key)
}

fn latencies(summary: &Summary<'_>, failed: Option<u64>, reading: &mut Reading) -> Result<(), ForeignError> {
    let waiting = summary.trend("http_req_waiting")?;
    if failed == Some(0) {
        reading.distribution(Quantity::Head, waiting.clone(), WAITING);
    } else if !waiting.is_empty() {
        reading.keep_apart("http_req_waiting", Quantity::Head, waiting.clone(), MIXED);
    }
    if !waiting.is_empty() {
        reading.keep_apart("http_req_waiting", Quantity::Ttft, Vec::new(), NO_TOKEN);
    }
    let expected = summary.trend("http_req_duration{expected_response:true}")?;
    let all = summary.trend("http_req_duration")?;
    if !expected.is_empty() {
        reading.distribution(Quantity::E2eEnd, expected, DURATION);
    } else if failed == Some(0) {
        reading.distribution(Quantity::E2eEnd, all, DURATION);
    } else if !all.is_empty() {
        reading.keep_apart("http_req_duration", Quantity::E2eEnd, all, MIXED);
    }
    Ok(())
}
