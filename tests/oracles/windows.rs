//! Who counts in a window, and what: latencies of those due in it, throughput of what was stamped in it.

use crate::made::{START, asked, at_ms, exactly, reply, token, usual};
use lowrho::analysis::{Facts, Findings, Level, StageFacts, Tail, Thresholds};
use lowrho::record::{Asked, Finished, Metric, Recorder, Timeline, Window};
use lowrho::time::{Instant, Phase, Span};
use lowrho::wire::{ErrorClass, Heard};

const SECOND: Span = Span::from_s(1);

fn recorder() -> Recorder {
    Recorder::new(&[Window::of_time(START, START + SECOND * 10)])
}

fn of_phase(index: u64, due: Instant, phase: Phase) -> Asked {
    Asked { phase, ..asked(index, due) }
}

fn findings(recorder: Recorder) -> Findings {
    let facts = Facts {
        stages: vec![StageFacts { requested_rate: Some(1.0), due: None, is_ramp: false, stolen: None }],
        ..Facts::default()
    };
    Findings::of(&[recorder], &[], &facts, &Thresholds::default())
}

#[test]
fn a_warm_up_request_leaves_its_tokens_in_the_window_but_not_its_latency() {
    let mut recorder = recorder();
    // Due 1 s before the window; tokens at -0.5 s, 0.5 s and 1.5 s.
    let early = of_phase(0, START - SECOND, Phase::Warmup);
    recorder.finish(&usual(early, Span::ZERO, Span::from_ms(500), &[SECOND, SECOND], None));
    let stage = &recorder.stages()[0];
    assert_eq!((stage.population.due, stage.population.completed), (0, 0));
    assert_eq!(stage.tally(Metric::Ttft).values().count(), 0);
    assert_eq!(
        (stage.flow.completed, stage.flow.output_tokens, stage.flow.events, stage.flow.begun),
        (1, 2, 2, 0)
    );
    // In flight for the first 1.5 s and 50 us of the window.
    assert_eq!(stage.in_flight_ns.iter().sum::<u128>(), 1_500_050_000);
}

#[test]
fn a_request_due_in_the_window_counts_however_late_it_ends() {
    let mut recorder = recorder();
    let late = asked(0, START + SECOND * 9);
    recorder.finish(&usual(late, Span::ZERO, SECOND * 2, &[SECOND], None));
    let stage = &recorder.stages()[0];
    assert_eq!((stage.population.due, stage.population.completed), (1, 1));
    assert_eq!(stage.tally(Metric::E2e).values().max(), Some(3_000_000_000));
    assert_eq!((stage.flow.completed, stage.flow.output_tokens, stage.flow.begun), (0, 0, 1));
}

#[test]
fn tokens_that_the_events_do_not_show_are_spread_over_them() {
    let mut recorder = recorder();
    let mut timeline = Timeline::new(of_phase(0, START - SECOND, Phase::Warmup), Vec::new());
    timeline.begun(START - SECOND);
    timeline.departed(START - SECOND, START - SECOND);
    for ms in [-500, 500, 600, 700] {
        timeline.read(exactly(at_ms(ms)), 250);
        timeline.hear(&token(0, true, 0));
    }
    recorder.finish(&timeline.finish(reply(10, None), at_ms(800)));
    // 10 tokens over 4 events, cumulated and floored: 2, 3, 2, 3.
    assert_eq!(recorder.stages()[0].flow.output_tokens, 8);
}

#[test]
fn each_stage_has_what_was_stamped_in_its_own_window() {
    let windows =
        [(0, 2), (3, 5)].map(|(from, until)| Window::of_time(START + SECOND * from, START + SECOND * until));
    let mut recorder = Recorder::new(&windows);
    let asked = Asked { stage: 0, ..asked(0, START + SECOND) };
    // Tokens at 1.5, 2.5, 3.5, 4.5 s: one in each window's reach, one between, two in the second.
    recorder.finish(&usual(asked, Span::ZERO, Span::from_ms(500), &[SECOND; 3], None));
    recorder.read(START + SECOND * 4, 100);
    recorder.read(START + Span::from_ms(2_500), 1_000);
    let [first, second] = [&recorder.stages()[0], &recorder.stages()[1]];
    assert_eq!((first.flow.output_tokens, second.flow.output_tokens), (1, 2));
    assert_eq!((first.population.due, second.population.due), (1, 0));
    assert_eq!((first.flow.completed, second.flow.completed), (0, 1));
    assert_eq!((first.flow.bytes, second.flow.bytes), (0, 100));
}

fn failed_or_cancelled(index: u64, error: ErrorClass, ours: bool, after: Span) -> Finished {
    let due = START + Span::from_ms(16) * i64::try_from(index).unwrap();
    let mut timeline = Timeline::new(asked(index, due), Vec::new());
    timeline.begun(due);
    timeline.departed(due, due);
    if ours {
        timeline.ours();
    }
    timeline.finish(reply(0, Some(error)), due + after)
}

#[test]
fn fates_add_up_and_failures_of_our_own_never_count_against_the_target() {
    let mut recorder = recorder();
    for index in 0..400 {
        recorder.finish(&usual(
            asked(index, at_ms(20 * i64::try_from(index).unwrap())),
            Span::ZERO,
            Span::from_ms(5),
            &[],
            None,
        ));
    }
    for index in 400..500 {
        recorder.finish(&failed_or_cancelled(index, ErrorClass::Connect, true, Span::ZERO));
    }
    let all_ours = findings(recorder.clone()).total;
    assert_eq!(
        (all_ours.load.begun, all_ours.load.completed, all_ours.load.failed, all_ours.load.ours),
        (500, 400, 100, 100)
    );
    assert!(matches!(all_ours.latency(Metric::Ttft).with_failures[Level::P95.index()], Tail::Finite(_)));
    for index in 500..600 {
        recorder.finish(&failed_or_cancelled(index, ErrorClass::Http5xx, false, Span::ZERO));
    }
    recorder.finish(&failed_or_cancelled(600, ErrorClass::Cancelled, false, Span::from_ms(3)));
    let total = findings(recorder).total;
    assert_eq!(total.load.begun, total.load.completed + total.load.failed + total.load.cancelled);
    let ttft = total.latency(Metric::Ttft);
    assert_eq!(ttft.with_failures[Level::P95.index()], Tail::Infinite);
    assert!(ttft.quantile(Level::P95).is_some());
    assert_eq!(total.population.errors.values().sum::<u64>(), 201);
    // The cancelled one was 3 ms old; every TTFT is 5 ms, so each quantile of it is a lower bound.
    assert_eq!((ttft.censored, ttft.censored_from), (1, Some(Span::from_ms(3))));
    assert!(ttft.is_at_least(ttft.quantile(Level::P50).unwrap().value));
}

#[test]
fn a_request_that_had_its_first_token_is_not_censored_in_ttft() {
    let mut recorder = recorder();
    let cancelled =
        usual(asked(0, START), Span::ZERO, Span::from_ms(5), &[SECOND], Some(ErrorClass::Cancelled));
    recorder.finish(&cancelled);
    let stage = &recorder.stages()[0];
    assert_eq!(stage.tally(Metric::Ttft).censored(), 0);
    assert_eq!(stage.tally(Metric::E2e).censored(), 1);
    assert_eq!(stage.tokens.partial_output, 2);
}

#[test]
fn rates_are_those_of_the_definitions() {
    let mut recorder = recorder();
    for index in 0..100 {
        let due = START + Span::from_ms(100) * i64::try_from(index).unwrap();
        recorder.finish(&usual(
            asked(index, due),
            Span::from_ms(1),
            Span::from_ms(250),
            &[Span::from_ms(10); 3],
            None,
        ));
    }
    let total = findings(recorder).total;
    let rate = |rate: Option<f64>| rate.unwrap();
    assert!((rate(total.load.scheduled_rate) - 10.0).abs() < 1e-9);
    assert!((rate(total.load.sent_rate) - 10.0).abs() < 1e-9);
    // Those due in the last 281 ms end after the window: 97 of 100 within it.
    assert!((rate(total.load.achieved_rate) - 9.8).abs() < 0.11, "{:?}", total.load);
    assert_eq!(total.tokens.output, 400);
    assert_eq!(total.weighted_ntpot(), Some(Span::from_ms(280) / 4));
    assert_eq!(total.delivered_share(), Some(0.5));
}

#[test]
fn a_number_of_requests_is_cut_into_blocks_by_index() {
    let mut recorder = Recorder::new(&[Window::of_requests(START, None, 10, 40)]);
    for index in 10..50 {
        recorder.finish(&usual(asked(index, START), Span::ZERO, Span::from_ms(5), &[], None));
    }
    let stage = &recorder.stages()[0];
    assert!(stage.tally(Metric::Ttft).blocks().iter().all(|block| block.count() == 2));
    assert_eq!(stage.last_over, Some(at_ms(5) + Span::from_us(50)));
    assert_eq!(findings(recorder).total.server.kept_up, None);
}

#[test]
fn the_head_and_the_first_role_event_are_not_the_first_token() {
    use lowrho::wire::{Bears, Delta};
    let mut timeline = Timeline::new(asked(0, START), Vec::new());
    timeline.departed(START, START);
    timeline.read(exactly(at_ms(3)), 100);
    timeline.hear(&Heard::Head { status: 200 });
    timeline.hear(&Heard::Delta(Delta {
        choice: 0,
        opens_event: true,
        bears: Bears::Nothing,
        answer: false,
        tokens: 0,
    }));
    timeline.read(exactly(at_ms(9)), 100);
    timeline.hear(&token(0, true, 1));
    let finished = timeline.finish(reply(1, None), at_ms(10));
    let record = finished.record();
    assert_eq!((record.head, record.event, record.first), (Some(at_ms(3)), Some(at_ms(3)), Some(at_ms(9))));
}
