//! What the server saw of one run, by the simulator's log: arrivals, their distance from the schedule, and how long answers took.
//!
//! It must not use what a client says: it is what clients are held against.

use crate::report::Told;
use serde::Deserialize;
use std::io::BufRead;

/// A line of the simulator's log (docs/SIMULATOR.md).
#[derive(Deserialize)]
struct Line {
    received_ns: u64,
    complete: bool,
    events: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    what: String,
    before_ns: u64,
}

/// The truth of one run.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Truth {
    /// Requests that arrived.
    pub(super) arrived: u64,
    /// Token-bearing events that were sent.
    pub(super) events: u64,
    /// Requests per second from the first arrival to the last.
    pub(super) wire_rate: Option<f64>,
    /// Arrival less the schedule.
    pub(super) start_jitter: Told,
    /// Head's send - arrival.
    pub(super) head: Told,
    /// Last send - arrival.
    pub(super) e2e_end: Told,
    /// Last send - the schedule.
    pub(super) e2e_due: Told,
}

/// One request, in nanoseconds of the server's clock.
#[derive(Copy, Clone)]
struct Seen {
    arrival: i64,
    head: Option<i64>,
    end: Option<i64>,
}

/// Reads a log. `schedule`: the rate of a constant schedule and the number of requests that it has; where fewer arrived, which
/// of them were due when cannot be told.
pub(super) fn read(log: impl BufRead, schedule: Option<(u32, u64)>) -> Result<Truth, String> {
    let mut seen = Vec::new();
    let mut events = 0_u64;
    for (line, number) in log.lines().zip(1_u64..) {
        let line = line.map_err(|error| error.to_string())?;
        let line: Line = serde_json::from_str(&line).map_err(|error| format!("line {number}: {error}"))?;
        let whole = |ns: u64| i64::try_from(ns).map_err(|_| format!("line {number}: {ns} ns is no instant"));
        let tokens = line.events.iter().filter(|said| matches!(said.what.as_str(), "token" | "whole"));
        events += tokens.count() as u64;
        let head = line.events.iter().find(|said| matches!(said.what.as_str(), "head" | "whole"));
        seen.push(Seen {
            arrival: whole(line.received_ns)?,
            head: head.map(|said| whole(said.before_ns)).transpose()?,
            // Of an answer that was given up the last send is no end.
            end: line
                .events
                .last()
                .filter(|_| line.complete)
                .map(|said| whole(said.before_ns))
                .transpose()?,
        });
    }
    seen.sort_unstable_by_key(|one| one.arrival);
    let arrived = seen.len() as u64;
    let schedule = schedule.filter(|(_, due)| arrived >= *due).map(|(rate, _)| slots(&seen, rate));
    let slots = schedule.unwrap_or_default();
    let since = |end: fn(&Seen) -> Option<i64>| {
        told(seen.iter().filter_map(|one| Some(end(one)? - one.arrival)).collect())
    };
    Ok(Truth {
        arrived,
        events,
        wire_rate: wire_rate(&seen),
        start_jitter: told(seen.iter().zip(&slots).map(|(one, slot)| one.arrival - slot).collect()),
        head: since(|one| one.head),
        e2e_end: since(|one| one.end),
        e2e_due: told(seen.iter().zip(&slots).filter_map(|(one, slot)| Some(one.end? - slot)).collect()),
    })
}

/// Where a constant schedule has each request, in the order of arrival: as late as it can lie so that no request came before it
/// was due. What all are late by alike is so taken for the way to the server.
fn slots(seen: &[Seen], rate: u32) -> Vec<i64> {
    let due = |at: usize| {
        let ns = i128::from(at as u64) * 1_000_000_000 / i128::from(rate.max(1));
        i64::try_from(ns).unwrap_or(i64::MAX)
    };
    let start = seen.iter().enumerate().map(|(at, one)| one.arrival.saturating_sub(due(at))).min();
    let start = start.unwrap_or_default();
    (0..seen.len()).map(|at| start.saturating_add(due(at))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a rate of a few digits")]
fn wire_rate(seen: &[Seen]) -> Option<f64> {
    let length_ns = seen.last()?.arrival - seen.first()?.arrival;
    (length_ns > 0).then(|| (seen.len() - 1) as f64 * 1e9 / length_ns as f64)
}

/// Mean, and quantiles by rank.
fn told(mut values: Vec<i64>) -> Told {
    values.sort_unstable();
    let rank = |percent: usize| {
        let nth = (values.len() * percent).div_ceil(100);
        nth.checked_sub(1).and_then(|at| values.get(at).copied())
    };
    let sum: i128 = values.iter().copied().map(i128::from).sum();
    let mean = sum.checked_div(i128::from(values.len() as u64)).and_then(|mean| i64::try_from(mean).ok());
    Told { mean, p50: rank(50), p99: rank(99), max: values.last().copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a request that arrived at `us`, its head sent at once and two tokens 10 and 30 us later.
    fn line(us: u64) -> String {
        let event =
            |what: &str, after: u64| format!(r#"{{"what":"{what}","before_ns":{}}}"#, (us + after) * 1_000);
        let events = [event("head", 1), event("token", 10), event("token", 30), event("done", 30)].join(",");
        format!(r#"{{"x_request_id":null,"received_ns":{},"complete":true,"events":[{events}]}}"#, us * 1_000)
    }

    fn of(arrivals_us: &[u64], schedule: Option<(u32, u64)>) -> Truth {
        let lines: Vec<String> = arrivals_us.iter().map(|us| line(*us)).collect();
        read(lines.join("\n").as_bytes(), schedule).expect("a log")
    }

    #[test]
    fn arrivals_are_held_against_the_schedule_in_their_own_order() {
        // Due every millisecond; ends are logged in another order than arrivals.
        let truth = of(&[3_040, 1_000, 2_000, 4_010], Some((1_000, 4)));
        assert_eq!((truth.arrived, truth.events), (4, 8));
        let late = truth.start_jitter;
        assert_eq!(
            (late.p50, late.p99, late.max, late.mean),
            (Some(0), Some(40_000), Some(40_000), Some(12_500))
        );
        assert_eq!((truth.head.p50, truth.e2e_end.p99), (Some(1_000), Some(30_000)));
        assert_eq!(truth.e2e_due.max, Some(70_000));
        let rate = truth.wire_rate.unwrap();
        assert!((rate - 3.0 / 3.010e-3).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn the_schedule_lies_so_that_nothing_came_before_it_was_due() {
        let truth = of(&[1_500, 2_000, 3_100], Some((1_000, 3)));
        assert_eq!((truth.start_jitter.max, truth.start_jitter.p50), (Some(500_000), Some(100_000)));
    }

    #[test]
    fn where_requests_are_missing_nobody_knows_when_the_others_were_due() {
        let truth = of(&[1_000, 2_000], Some((1_000, 3)));
        assert_eq!((truth.start_jitter, truth.e2e_due), (Told::default(), Told::default()));
        assert_eq!((truth.arrived, truth.e2e_end.p50), (2, Some(30_000)));
        assert_eq!(of(&[1_000, 2_000], None).start_jitter, Told::default(), "a closed loop has no schedule");
    }

    #[test]
    fn an_answer_that_was_given_up_has_arrived_and_has_no_end() {
        let cut = line(2_000).replace("\"complete\":true", "\"complete\":false");
        let truth = read(format!("{}\n{cut}\n", line(1_000)).as_bytes(), Some((1_000, 2))).unwrap();
        assert_eq!((truth.arrived, truth.e2e_end.mean, truth.head.mean), (2, Some(30_000), Some(1_000)));
        assert_eq!((truth.e2e_due.max, truth.start_jitter.max), (Some(30_000), Some(0)));
    }

    #[test]
    fn nothing_arrived_and_what_is_no_log_is_said() {
        assert_eq!(of(&[], Some((1_000, 8))), Truth::default());
        assert!(read("{}".as_bytes(), None).is_err_and(|why| why.starts_with("line 1")));
    }
}
