//! lowrho's own `summary.json`, with the intervals that its rows tell.
//!
//! It must not compute a figure: an interval that neither the summary nor the rows have is left out.

use super::quantity::{Quantity, Statistic};
use super::reading::{Figure, Reading};
use crate::analysis::{Level, Remeasured};
use crate::report::{Distribution, Quantile, Section, Summary, Verdict};
use serde_json::Value;
use std::collections::BTreeMap;

/// Quantiles come from histograms of three digits: two of them can differ by so much where the values do not.
const RESOLUTION: f64 = 1e-3;

/// What a summary says. `rows` are all rows of the run; where they are not at hand, why: then only p99 has an interval.
#[must_use]
pub fn ours(summary: &Summary, rows: Result<&Remeasured, &str>, name: &str) -> Reading {
    let mut reading = Reading::of(name, format!("lowrho {}", summary.run.version));
    reading.is_ours = true;
    let total = &summary.total;
    let load = &total.load;
    reading.counts(Some(load.completed), load.failed.checked_sub(load.failed_by_us));
    reading.single(Quantity::RequestedRate, load.requested_rate);
    reading.single(Quantity::RequestsPerS, total.throughput.requests_per_s);
    reading.single(Quantity::OutputTokensPerS, total.throughput.output_tokens_per_s);
    reading.single(Quantity::InputTokensPerS, total.throughput.input_tokens_per_s);
    reading.single(Quantity::NtpotWeighted, total.tokens.weighted_ntpot_ns.map(ns));
    let done = (Quantity::RequestsPerS, Statistic::Value);
    let interval = rows.map_err(str::to_owned).and_then(|rows| {
        rows.requests_per_s().ok_or_else(|| "the rates of several stages differ on purpose".to_owned())
    });
    match (reading.figures.get_mut(&done), interval) {
        (Some(figure), Ok(interval)) => figure.interval = Some(interval),
        (_, Err(why)) => drop(reading.unsure.insert(done, why)),
        (None, Ok(_)) => {}
    }
    for (quantity, found) in distributions(total) {
        distribution(&mut reading, quantity, found, rows);
    }
    if load.failed > load.failed_by_us {
        reading.notes.push(
            "requests failed: quantiles here are of successes; --fail-if takes a failure as infinite".into(),
        );
    }
    flatten("", &summary.config, &mut reading.settings);
    if summary.client.verdict != Verdict::Valid {
        let why = "what it says may be the client's own doing (lowrho report tells why)";
        reading.notes.push(format!("the client's verdict is {}: {why}", summary.client.verdict.name()));
    }
    reading
}

/// Every distribution of a section.
fn distributions(total: &Section) -> [(Quantity, &Distribution); 19] {
    let latency = &total.latency;
    [
        (Quantity::Lateness, &total.load.lateness_ns),
        (Quantity::PoolWait, &latency.pool_wait_ns),
        (Quantity::Connect, &latency.connect_ns),
        (Quantity::Head, &latency.head_ns),
        (Quantity::Ttfe, &latency.ttfe_ns),
        (Quantity::Ttft, &latency.ttft_ns),
        (Quantity::TtftDue, &latency.ttft_due_ns),
        (Quantity::Ttfo, &latency.ttfo_ns),
        (Quantity::Itl, &latency.itl_ns),
        (Quantity::Stall, &latency.stall_ns),
        (Quantity::Tpot, &latency.tpot_ns),
        (Quantity::Ntpot, &latency.ntpot_ns),
        (Quantity::NtpotSent, &latency.ntpot_sent_ns),
        (Quantity::NtpotWaiting, &latency.ntpot_waiting_ns),
        (Quantity::NtpotDecoding, &latency.ntpot_decoding_ns),
        (Quantity::E2e, &latency.e2e_ns),
        (Quantity::E2eDue, &latency.e2e_due_ns),
        (Quantity::E2eDone, &latency.e2e_done_ns),
        (Quantity::E2eEnd, &latency.e2e_end_ns),
    ]
}

/// Why a figure that has rows has no interval all the same.
fn too_little(quantity: Quantity, rows: &Remeasured) -> &'static str {
    if quantity == Quantity::Itl && rows.mean(quantity.name()).is_none() {
        "rows have gaps only under --record-gaps"
    } else {
        "too few independent values: a longer run has more"
    }
}

fn distribution(
    reading: &mut Reading,
    quantity: Quantity,
    found: &Distribution,
    rows: Result<&Remeasured, &str>,
) {
    let why = rows.map_or_else(str::to_owned, |rows| too_little(quantity, rows).to_owned());
    let rows = rows.ok();
    let load_failed =
        reading.figure(Quantity::Failed, Statistic::Value).is_some_and(|failed| failed.value > 0.0);
    let mut failing = Vec::new();
    let mut put = |statistic, value: Option<i64>, interval: Option<[f64; 2]>, at_least| {
        if let Some(value) = value {
            let figure = Figure { value: ns(value), interval, at_least };
            reading.figures.insert((quantity, statistic), figure);
            if interval.is_none() {
                reading.unsure.insert((quantity, statistic), why.clone());
            }
        }
    };
    put(Statistic::Mean, found.mean, rows.and_then(|rows| rows.mean(quantity.name())), false);
    put(Statistic::Sd, found.sd, None, false);
    put(Statistic::Min, found.min, None, false);
    put(Statistic::Max, found.max, None, false);
    for (statistic, quantile, level) in [
        (Statistic::P50, Quantile::P50, Level::P50),
        (Statistic::P90, Quantile::P90, Level::P90),
        (Statistic::P95, Quantile::P95, Level::P95),
        (Statistic::P99, Quantile::P99, Level::P99),
        (Statistic::P99_9, Quantile::P99_9, Level::P99_9),
    ] {
        let told = found.p99_ci.filter(|_| level == Level::P99).map(|ends| ends.map(ns));
        let interval = told.or_else(|| rows.and_then(|rows| rows.quantile(quantity.name(), level)));
        let interval = interval.map(|[low, high]| [low * (1.0 - RESOLUTION), high * (1.0 + RESOLUTION)]);
        let at_least = found.at_least.contains(&quantile);
        put(statistic, found.quantile(quantile), interval, at_least);
        if let Some((value, interval)) =
            rows.and_then(|rows| rows.quantile_with_failures(quantity.name(), level))
        {
            let interval = Some([interval[0] * (1.0 - RESOLUTION), interval[1] * (1.0 + RESOLUTION)]);
            failing.push(((quantity, statistic), Figure { value, interval, at_least }));
        }
    }
    if load_failed {
        reading.with_failures.extend(failing);
    }
}

/// Every key of the configuration with its value, but for where results go.
fn flatten(place: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                if !place.starts_with("output.") {
                    flatten(&place, value, into);
                }
            }
        }
        Value::Null => {}
        Value::String(text) => drop(into.insert(place.to_owned(), text.clone())),
        other => drop(into.insert(place.to_owned(), other.to_string())),
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days: finer than any latency")]
const fn ns(value: i64) -> f64 {
    value as f64
}
