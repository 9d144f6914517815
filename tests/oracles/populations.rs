//! Every row of the latency table over successes, failures, failures of our own and cancelled requests, worked out by hand.

use crate::made::{START, asked, at_ms, exactly, reply, token};
use lowrho::analysis::{Distribution, Facts, Findings, Level, StageFacts, StageFindings, Tail, Thresholds};
use lowrho::record::{Finished, Metric, Recorder, Timeline, Window};
use lowrho::time::{Arrival, Span, StampClass};
use lowrho::wire::{ErrorClass, Heard};

const SUCCESSES: i64 = 1_000;
const FAILURES: i64 = 100;
/// What a request that we cancelled had waited, after it was sent.
const AGE_MS: i64 = 700;

/// One request each 16 ms of 20 s: of 1,150, a thousand successes spread evenly, 100 failures, 40 of our own making and 10
/// that we cancelled.
fn found() -> StageFindings {
    let mut recorder = Recorder::new(&[Window::of_time(START, START + Span::from_s(20))]);
    for n in 0..SUCCESSES {
        // Each of 1 to 1,000 ms once, and each block of time has them all alike.
        recorder.finish(&success(n, n * 7_919 % SUCCESSES + 1));
    }
    for n in 0..FAILURES {
        recorder.finish(&failure(1_000 + n, 200 * n, ErrorClass::Http5xx, false));
    }
    for n in 0..40 {
        recorder.finish(&failure(1_100 + n, 500 * n, ErrorClass::Connect, true));
    }
    for n in 0..10 {
        recorder.finish(&failure(1_140 + n, 2_000 * n, ErrorClass::Cancelled, false));
    }
    let facts = Facts {
        stages: vec![StageFacts { requested_rate: Some(57.5), due: None, is_ramp: false, stolen: None }],
        ..Facts::default()
    };
    Findings::of(&[recorder], &[], &facts, &Thresholds::default()).total
}

/// Everything that this request measures is `ms`, or a simple multiple of it.
fn success(index: i64, ms: i64) -> Finished {
    let due = at_ms(20 * index);
    let mut timeline = Timeline::new(
        lowrho::record::Asked { asked_output_tokens: Some(2), ..asked(index.unsigned_abs(), due) },
        Vec::new(),
    );
    let x = Span::from_ms(ms);
    timeline.waited_for_pool(x);
    timeline.begun(due);
    timeline.secured(due, due + x);
    timeline.departed(due, due);
    timeline.read(exactly(due + x), 300);
    timeline.hear(&Heard::Head { status: 200 });
    timeline.hear(&token(0, true, 1));
    timeline.read(exactly(due + x * 2), 300);
    timeline.hear(&token(0, true, 1));
    timeline.read(Arrival { stamp: due + x * 3, earliest: due + x * 2, class: StampClass::Software }, 300);
    timeline.hear(&Heard::Done);
    timeline.hear(&Heard::End);
    timeline.finish(reply(2, None), due + x * 3)
}

fn failure(index: i64, due_ms: i64, error: ErrorClass, ours: bool) -> Finished {
    let due = at_ms(due_ms);
    let mut timeline = Timeline::new(
        lowrho::record::Asked { asked_output_tokens: Some(2), ..asked(index.unsigned_abs(), due) },
        Vec::new(),
    );
    timeline.begun(due);
    timeline.connected(due);
    timeline.departed(due, due);
    if ours {
        timeline.ours();
    }
    timeline.finish(reply(0, Some(error)), due + Span::from_ms(AGE_MS))
}

/// A metric, its value where the request's own is 1, in halves, and the age of the cancelled ones in it; `None` = complete.
const ROWS: [(Metric, i64, Option<i64>); 19] = [
    (Metric::Ttft, 2, Some(AGE_MS)),
    (Metric::TtftDue, 2, Some(AGE_MS)),
    (Metric::Ttfe, 2, Some(AGE_MS)),
    (Metric::Ttfo, 2, Some(AGE_MS)),
    (Metric::Itl, 2, Some(AGE_MS)),
    (Metric::Stall, 2, Some(AGE_MS)),
    // Nothing is known of the pace of one that had no token.
    (Metric::Tpot, 2, Some(0)),
    (Metric::NtpotDecoding, 1, Some(0)),
    // Two tokens were asked for.
    (Metric::Ntpot, 2, Some(AGE_MS / 2)),
    (Metric::NtpotSent, 2, Some(AGE_MS / 2)),
    (Metric::NtpotWaiting, 1, Some(AGE_MS / 2)),
    (Metric::E2e, 4, Some(AGE_MS)),
    (Metric::E2eDue, 4, Some(AGE_MS)),
    (Metric::E2eDone, 6, Some(AGE_MS)),
    (Metric::E2eEnd, 6, Some(AGE_MS)),
    (Metric::Head, 2, Some(AGE_MS)),
    (Metric::Connect, 2, None),
    (Metric::Handshake, 2, None),
    (Metric::PoolWait, 2, None),
];

fn is_near(span: Span, ms: i64) -> bool {
    // Three significant digits, as histograms keep them: never below.
    let (got, exact) = (span.as_ns(), ms * 1_000_000);
    got >= exact && got - exact <= exact / 1_000
}

fn assert_row(row: &Distribution, metric: Metric, halves: i64, censored_ms: Option<i64>) {
    assert_eq!(row.count, 1_000, "{metric:?}");
    let (is_at_least, age) = (|span| row.is_at_least(span), censored_ms.map(Span::from_ms));
    assert_eq!((row.censored, row.censored_from), (if age.is_some() { 10 } else { 0 }, age), "{metric:?}");
    // Over successes: the value of rank 500, 900, 950, 990; at 99.9 % only one is expected above.
    for (level, ms) in [(Level::P50, 500), (Level::P90, 900), (Level::P95, 950), (Level::P99, 990)] {
        let value = row.quantile(level).unwrap_or_else(|| panic!("{metric:?} has no {level:?}")).value;
        assert!(is_near(value, ms * halves / 2), "{metric:?} {level:?} {value:?}");
        let expected = censored_ms.is_some_and(|age| ms * halves / 2 > age);
        assert_eq!(is_at_least(value), expected, "{metric:?} {level:?}");
    }
    assert!(row.quantile(Level::P99_9).is_none(), "{metric:?}");
    // With 100 failures among 1,100: rank 550 and 990 are successes, 1,045 and 1,089 are not; at 99.9 % too few would be above.
    let [p50, p90, p95, p99, p99_9] = row.with_failures;
    for (tail, ms) in [(p50, 550), (p90, 990)] {
        assert!(matches!(tail, Tail::Finite(span) if is_near(span, ms * halves / 2)), "{metric:?} {tail:?}");
    }
    assert_eq!([p95, p99, p99_9], [Tail::Infinite, Tail::Infinite, Tail::Undefined], "{metric:?}");
}

#[test]
fn every_row_has_the_quantiles_bounds_and_gaps_of_the_method() {
    let found = found();
    let load = &found.load;
    assert_eq!((load.begun, load.completed, load.failed, load.ours), (1_150, 1_000, 140, 40));
    assert_eq!((load.cancelled, ROWS.len() + 1), (10, Metric::ALL.len()));
    for (metric, halves, censored_ms) in ROWS {
        assert_row(found.latency(metric), metric, halves, censored_ms);
    }
}

#[test]
fn lateness_is_of_all_that_were_begun_and_no_failure_takes_it_away() {
    let found = found();
    let lateness = found.latency(Metric::Lateness);
    assert_eq!((lateness.count, lateness.censored), (1_150, 0));
    assert!(lateness.with_failures.iter().all(|tail| *tail != Tail::Infinite));
}

#[test]
fn the_choices_of_one_request_are_one_observation() {
    let mut recorder = Recorder::new(&[Window::of_time(START, START + Span::from_s(20))]);
    for index in 0..299 {
        let due = at_ms(60 * index);
        let mut asked = asked(index.unsigned_abs(), due);
        asked.choices = 4;
        let mut timeline = Timeline::new(asked, Vec::new());
        timeline.begun(due);
        timeline.departed(due, due);
        for (nth, choice) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 0), (6, 1), (7, 2), (8, 3)] {
            timeline.read(exactly(due + Span::from_ms(nth)), 300);
            timeline.hear(&token(choice, true, 1));
        }
        recorder.finish(&timeline.finish(reply(8, None), due + Span::from_ms(9)));
    }
    let facts = Facts {
        stages: vec![StageFacts { requested_rate: Some(15.0), due: None, is_ramp: false, stolen: None }],
        ..Facts::default()
    };
    let found = Findings::of(&[recorder], &[], &facts, &Thresholds::default()).total;
    for metric in [Metric::Tpot, Metric::Itl] {
        let row = found.latency(metric);
        assert_eq!(row.count, 4 * 299);
        // 299 independent observations leave 2.99 above a p99: not three.
        assert!(row.quantile(Level::P99).is_none() && row.quantile(Level::P95).is_some(), "{metric:?}");
    }
}

#[test]
fn the_longest_gap_of_a_cancelled_request_is_at_least_what_it_was() {
    let mut recorder = Recorder::new(&[Window::of_time(START, START + Span::from_s(20))]);
    let mut timeline = Timeline::new(asked(0, START), Vec::new());
    timeline.begun(START);
    timeline.departed(START, START);
    for ms in [10, 310, 320] {
        timeline.read(exactly(at_ms(ms)), 300);
        timeline.hear(&token(0, true, 1));
    }
    recorder.finish(&timeline.finish(reply(3, Some(ErrorClass::Cancelled)), at_ms(325)));
    let stage = &recorder.stages()[0];
    assert_eq!(stage.tally(Metric::Itl).censored_from(), Some(Span::from_ms(5)));
    assert_eq!(stage.tally(Metric::Stall).censored_from(), Some(Span::from_ms(300)));
}
