//! Reported less true: the records of a run beside the simulator's log, joined by request id.
//!
//! It must not correct anything: the way to the server and back is part of the difference.

use crate::record::Record;
use crate::report::Over;
use crate::store::{RecordReader, StoreError};
use crate::time::{Instant, Phase, Span};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// What a run's records say beside the truth.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Errors {
    /// TTFT, reported less true; as reported without a log.
    pub(super) ttft: Over,
    /// E2E, likewise.
    pub(super) e2e: Over,
    /// Requests compared.
    pub(super) compared: u64,
    /// Requests of the whole run, every phase.
    pub(super) requests: u64,
    /// Their token-bearing events.
    pub(super) events: u64,
}

/// A line of the simulator's log (docs/SIMULATOR.md).
#[derive(Deserialize)]
struct Line {
    x_request_id: Option<String>,
    received_ns: u64,
    events: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    what: String,
    before_ns: u64,
}

/// One request as its server saw it: TTFT and E2E.
#[derive(Copy, Clone)]
struct Truth {
    ttft: Span,
    e2e: Span,
}

/// Reads records, and the log of the run of this id where there is one.
pub(super) fn errors(records: RecordReader, log: Option<(&str, &Path)>) -> Result<Errors, String> {
    let truths = log.map(|(run, log)| truths(run, log)).transpose()?;
    let (mut ttft, mut e2e) = (Vec::new(), Vec::new());
    let mut errors = Errors::default();
    for record in records {
        let record = record.map_err(|error: StoreError| error.to_string())?;
        errors.requests += 1;
        errors.events += u64::from(record.events);
        let Some((reported_ttft, reported_e2e)) = reported(&record) else { continue };
        let truth = match &truths {
            None => Truth { ttft: Span::ZERO, e2e: Span::ZERO },
            Some(truths) => match truths.get(&record.index) {
                Some(truth) => *truth,
                None => continue,
            },
        };
        ttft.push((reported_ttft - truth.ttft).as_ns());
        e2e.push((reported_e2e - truth.e2e).as_ns());
    }
    errors.compared = ttft.len() as u64;
    errors.ttft = over(ttft);
    errors.e2e = over(e2e);
    Ok(errors)
}

/// TTFT and E2E of a measured success.
fn reported(record: &Record) -> Option<(Span, Span)> {
    let counts = record.phase == Phase::Measured && record.error.is_none();
    let sent = record.sent.filter(|_| counts)?;
    Some((record.first? - sent, record.last? - sent))
}

fn truths(run: &str, log: &Path) -> Result<HashMap<u64, Truth>, String> {
    let named = |error: std::io::Error| format!("{}: {error}", log.display());
    let file = BufReader::new(File::open(log).map_err(named)?);
    let mut truths = HashMap::new();
    for line in file.lines() {
        let line = line.map_err(named)?;
        let line: Line =
            serde_json::from_str(&line).map_err(|error| format!("{}: {error}", log.display()))?;
        let index = line.x_request_id.as_deref().and_then(|id| id.strip_prefix(run)?.strip_prefix('-'));
        let Some(index) = index.and_then(|index| index.parse::<u64>().ok()) else { continue };
        let mut tokens = line.events.iter().filter(|said| said.what == "token");
        let Some(first) = tokens.next() else { continue };
        let last = tokens.next_back().unwrap_or(first);
        let received = Instant::from_ns(line.received_ns);
        let since = |said: &Said| Instant::from_ns(said.before_ns) - received;
        truths.insert(index, Truth { ttft: since(first), e2e: since(last) });
    }
    Ok(truths)
}

/// The median and the 0.99 quantile by rank.
fn over(mut values: Vec<i64>) -> Over {
    values.sort_unstable();
    let rank = |percent: usize| {
        let nth = (values.len() * percent).div_ceil(100);
        nth.checked_sub(1).and_then(|at| values.get(at).copied())
    };
    Over { p50: rank(50), p99: rank(99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_their_rank() {
        assert_eq!(over(Vec::new()), Over { p50: None, p99: None });
        assert_eq!(over(vec![7]), Over { p50: Some(7), p99: Some(7) });
        assert_eq!(over((1..=200).rev().collect()), Over { p50: Some(100), p99: Some(198) });
    }
}
