//! inference-perf: `per_request_lifecycle_metrics.json`, every request with its messages and when each came.
//!
//! Known from inference-perf 0.7.0. It must not take a message without text for a token, nor the time until the client had
//! tokenised an answer for the server's.

use super::field::Field;
use super::order::statistics;
use super::quantity::Quantity;
use super::reading::{Reading, float};
use super::{ForeignError, S};
use serde_json::Value;

const START: &str = "clock starts before a connection is taken";
const TTFT: &str = "to the first message with text; clock starts before a connection is taken";
const ITL: &str = "gaps between messages with text";
const TPOT: &str = "between messages with text; tokens by the server's count, else by the client's tokenizer";
const E2E: &str = "to the last message with text; clock starts before a connection is taken";
const END: &str = "ends after the client has tokenised the answer; clock starts before a connection is taken";
const RATE: &str =
    "over successes, from the first start to the last end of all requests: the drain is inside";

/// Where a message has what was generated, by dialect; in the order in which they are looked for.
const GENERATED: [&str; 6] = [
    "/choices/0/text",
    "/choices/0/delta/content",
    "/choices/0/delta/reasoning_content",
    "/choices/0/delta/reasoning",
    "/choices/0/delta/refusal",
    "/choices/0/delta/tool_calls",
];

/// Whether a document is such a list.
pub(super) fn is(value: &Value) -> bool {
    value.pointer("/0/info").is_some() && value.pointer("/0/start_time").is_some()
}

/// Reads one.
pub(super) fn read(value: &Value, name: &str) -> Result<Reading, ForeignError> {
    let root = Field::root(value, "inference-perf");
    let mut rows = Rows::default();
    for row in root.list()? {
        rows.add(&row)?;
    }
    Ok(rows.finish(name))
}

#[derive(Default)]
struct Rows {
    ttft: Vec<f64>,
    itl: Vec<f64>,
    tpot: Vec<f64>,
    e2e: Vec<f64>,
    end: Vec<f64>,
    completed: u64,
    failed: u64,
    output_tokens: u64,
    input_tokens: u64,
    span_ns: Option<(f64, f64)>,
}

impl Rows {
    fn add(&mut self, row: &Field<'_>) -> Result<(), ForeignError> {
        let (start, end) = (row.need("start_time")?.time(S)?, row.need("end_time")?.time(S)?);
        if end < start {
            return Err(row.wrong("ends before it starts".into()));
        }
        let (from, until) = self.span_ns.unwrap_or((start, end));
        self.span_ns = Some((from.min(start), until.max(end)));
        if row.get("error").is_some() {
            self.failed += 1;
            return Ok(());
        }
        self.completed += 1;
        self.end.push(end - start);
        let info = row.need("info")?;
        self.input_tokens = self.input_tokens.saturating_add(info.maybe_count("input_tokens")?.unwrap_or(0));
        let Some(response) = info.get("response_metrics") else { return Ok(()) };
        let counted = match response.get("server_usage") {
            Some(usage) => usage.maybe_count("completion_tokens")?,
            None => None,
        };
        let tokens = counted.or(response.maybe_count("output_tokens")?).unwrap_or(0);
        self.output_tokens = self.output_tokens.saturating_add(tokens);
        let times = spoken(&response)?;
        let in_order = times.windows(2).all(|pair| pair.first() <= pair.get(1));
        if !in_order || times.first().is_some_and(|first| *first < start) {
            return Err(
                response.wrong("has messages that came before the request, or before one another".into())
            );
        }
        let ([first, ..], [.., last]) = (times.as_slice(), times.as_slice()) else { return Ok(()) };
        self.ttft.push(first - start);
        self.e2e.push(last - start);
        self.itl.extend(times.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?)));
        if tokens > 1 && times.len() > 1 {
            self.tpot.push((last - first) / float(tokens - 1));
        }
        Ok(())
    }

    fn finish(mut self, name: &str) -> Reading {
        let mut reading = Reading::of(name, "inference-perf per-request");
        reading.counts(Some(self.completed), Some(self.failed));
        let seconds = self.span_ns.map(|(from, until)| (until - from) / S).filter(|s| *s > 0.0);
        let per_s = |count: u64| seconds.map(|s| float(count) / s);
        reading.nearly(Quantity::RequestsPerS, per_s(self.completed), RATE);
        reading.nearly(Quantity::OutputTokensPerS, per_s(self.output_tokens), RATE);
        reading.nearly(Quantity::InputTokensPerS, per_s(self.input_tokens), RATE);
        for (values, quantity, how) in [
            (&mut self.ttft, Quantity::Ttft, TTFT),
            (&mut self.itl, Quantity::Itl, ITL),
            (&mut self.tpot, Quantity::Tpot, TPOT),
            (&mut self.e2e, Quantity::E2e, E2E),
            (&mut self.end, Quantity::E2eEnd, END),
        ] {
            reading.distribution(quantity, statistics(values), how);
        }
        if self.ttft.is_empty() && self.completed > 0 {
            reading.notes.push(format!("answers came whole, or their messages were not kept: {START}"));
        }
        reading
    }
}

/// When each message with text came, in nanoseconds of the client's clock.
fn spoken(response: &Field<'_>) -> Result<Vec<f64>, ForeignError> {
    let (Some(chunks), Some(times)) = (response.get("response_chunks"), response.get("chunk_times")) else {
        return Ok(Vec::new());
    };
    let (count, stamps) = (chunks.list()?.count(), times.list()?.count());
    if count != stamps {
        return Err(response.wrong(format!("has {count} messages, and times of {stamps}")));
    }
    let mut spoken = Vec::new();
    for (chunk, time) in chunks.list()?.zip(times.list()?) {
        if has_text(chunk.text()?) {
            spoken.push(time.time(S)?);
        }
    }
    Ok(spoken)
}

/// Whether a message has anything that was generated. One that is no JSON has not.
fn has_text(chunk: &str) -> bool {
    let Ok(message) = serde_json::from_str::<Value>(chunk) else { return false };
    GENERATED.iter().any(|place| match message.pointer(place) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(calls)) => !calls.is_empty(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::Statistic;
    use serde_json::json;

    fn request(start: f64, chunks: &[(&str, f64)], tokens: u64) -> Value {
        let message = |text: &str| json!({ "choices": [{ "text": text }] }).to_string();
        json!({
            "start_time": start, "end_time": start + 0.2, "error": null,
            "info": { "input_tokens": 5, "response_metrics": {
                "output_tokens": 9, "server_usage": { "completion_tokens": tokens },
                "response_chunks": chunks.iter().map(|(text, _)| message(text)).collect::<Vec<_>>(),
                "chunk_times": chunks.iter().map(|(_, at)| start + at).collect::<Vec<_>>(),
            } },
        })
    }

    #[test]
    fn a_message_without_text_is_no_token() {
        let chunks = [("", 0.01), ("a", 0.02), ("b c", 0.05), ("", 0.09)];
        let list = json!([request(100.0, &chunks, 3), { "start_time": 100.5, "end_time": 102.0, "error": { "error_type": "x" }, "info": {} }]);
        assert!(is(&list));
        let reading = read(&list, "r").unwrap();
        let of = |quantity, statistic| reading.figure(quantity, statistic).unwrap().value;
        let near = |got: f64, ms: f64| assert!((got - ms * 1e6).abs() < 1e3, "{got} for {ms} ms");
        near(of(Quantity::Ttft, Statistic::Mean), 20.0);
        near(of(Quantity::E2e, Statistic::Mean), 50.0);
        near(of(Quantity::Itl, Statistic::Mean), 30.0);
        near(of(Quantity::Tpot, Statistic::Mean), 15.0);
        near(of(Quantity::E2eEnd, Statistic::Mean), 200.0);
        let single = |quantity| of(quantity, Statistic::Value);
        assert_eq!((single(Quantity::Completed), single(Quantity::Failed)), (1.0, 1.0));
        assert!((single(Quantity::OutputTokensPerS) - 1.5).abs() < 1e-9, "three tokens in two seconds");
    }

    #[test]
    fn answers_that_came_whole_have_an_end_alone() {
        let mut whole = request(1.0, &[], 4);
        whole["info"]["response_metrics"]["response_chunks"] = Value::Null;
        let reading = read(&json!([whole]), "r").unwrap();
        assert!(!reading.has(Quantity::Ttft) && reading.has(Quantity::E2eEnd));
        assert!(reading.notes.iter().any(|note| note.contains("came whole")), "{:?}", reading.notes);
    }

    #[test]
    fn what_is_not_as_the_tool_writes_it_is_refused_by_its_place() {
        let mut odd = request(1.0, &[("a", 0.1)], 4);
        odd["info"]["response_metrics"]["chunk_times"] = json!(["soon"]);
        let why = read(&json!([odd]), "r").unwrap_err().to_string();
        assert!(why.contains("chunk_times"), "{why}");
        let refused = |change: fn(&mut Value)| {
            let mut odd = request(1.0, &[("a", 0.1), ("b", 0.15)], 4);
            change(&mut odd);
            read(&json!([odd]), "r").unwrap_err().to_string()
        };
        assert!(refused(|odd| odd["end_time"] = json!(0.5)).contains("ends before it starts"));
        assert!(
            refused(|odd| odd["info"]["response_metrics"]["chunk_times"] = json!([1.15, 1.1]))
                .contains("one another")
        );
        assert!(
            refused(|odd| odd["info"]["response_metrics"]["chunk_times"] = json!([0.9, 1.1]))
                .contains("before the request")
        );
        assert!(
            refused(|odd| odd["info"]["response_metrics"]["chunk_times"] = json!([1.1]))
                .contains("times of 1")
        );
    }
}
