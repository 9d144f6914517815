//! The verdict in words: each row of its table made to fail, and a run that passes.

use crate::made::{START, asked, at_ms, exactly, reply, token, usual};
use lowrho::analysis::{
    Facts, Findings, Level, ShardFacts, StageFacts, StageFindings, State, Stolen, Thresholds, Verdict,
};
use lowrho::record::{Audit, Metric, Recorder, Timeline, Turn, Window};
use lowrho::time::{Arrival, Instant, Span, StampClass};
use lowrho::wire::{ErrorClass, Heard};

const WINDOW_S: i64 = 20;

fn window() -> Window {
    Window::of_time(START, START + Span::from_s(WINDOW_S))
}

/// 100 requests/s, each of 8 tokens 5 ms apart after 200 ms, begun `lateness(index)` after they were due.
fn steady(lateness: impl Fn(u64) -> Span) -> Recorder {
    let mut recorder = Recorder::new(&[window()]);
    for index in 0..2_000 {
        let due = START + Span::from_ms(10) * i64::try_from(index).unwrap();
        let ttft = Span::from_ms(200) + Span::from_us(i64::try_from(index * 7_919 % 1_000).unwrap());
        recorder.finish(&usual(asked(index, due), lateness(index), ttft, &[Span::from_ms(5); 7], None));
    }
    recorder
}

/// A shard that was busy for this share of each millisecond.
fn busy(share: f64) -> Audit {
    let mut audit = Audit::new(&[window()]);
    for ms in 0..WINDOW_S * 1_000 {
        let entered = at_ms(ms);
        let ended = entered + Span::from_ms(1);
        let harvested = ended - Span::from_s_f64(share * 1e-3);
        let cpu = ended - harvested;
        let turn = Turn {
            entered,
            planned_wake: harvested,
            latest_wake: Instant::NEVER,
            harvested,
            ended,
            kernel: Span::ZERO,
            cpu,
            interrupted: None,
            polled: false,
        };
        audit.turn(&turn);
    }
    audit
}

fn facts() -> Facts {
    let shard = ShardFacts { reads: 10_000, ..ShardFacts::default() };
    Facts {
        stages: vec![StageFacts {
            requested_rate: Some(100.0),
            due: Some(2_000),
            is_ramp: false,
            stolen: None,
        }],
        shards: vec![shard.clone(), shard],
        ..Facts::default()
    }
}

fn judge(recorder: Recorder, audits: &[Audit], facts: &Facts) -> Findings {
    Findings::of(&[recorder], audits, facts, &Thresholds::default())
}

fn only_reason(verdict: &Verdict, check: &str) -> String {
    assert!(verdict.reasons.iter().all(|reason| reason.check == check), "{:?}", verdict.reasons);
    format!("{} {}: {}", verdict.state.name(), verdict.reasons[0].words, verdict.reasons[0].remedy)
}

#[test]
fn a_run_that_passes_every_check_is_valid_and_shows_them() {
    let found = judge(steady(|_| Span::from_us(80)), &[busy(0.2), busy(0.3)], &facts());
    let verdict = &found.total.verdict;
    assert_eq!((verdict.state, verdict.reasons.len()), (State::Valid, 0), "{:?}", verdict.reasons);
    let names: Vec<_> = verdict.checks.iter().map(|check| check.name).collect();
    assert_eq!(
        names,
        [
            "rho_busy",
            "begun",
            "on_schedule",
            "bias_ttft_p99",
            "bias_itl_p99",
            "delivered",
            "negative_spans",
            "queue_overflows",
            "lost_stamps",
            "rows_dropped"
        ]
    );
    assert!((verdict.checks[0].value.unwrap() - 0.3).abs() < 1e-6);
    assert_eq!(found.total.server.kept_up, Some(true));
    assert_eq!(found.total.load.requested_rate, Some(100.0));
}

#[test]
fn a_busy_shard_is_named_with_its_remedy() {
    let found = judge(steady(|_| Span::ZERO), &[busy(0.2), busy(0.63)], &facts());
    assert_eq!(
        only_reason(&found.total.verdict, "rho_busy"),
        "suspect shard 1 was busy 63 % of the time (rho_busy 0.63 > 0.5): use more shards (--shards) or a lower rate"
    );
    let found = judge(steady(|_| Span::ZERO), &[busy(0.95), busy(0.63)], &facts());
    assert_eq!(found.total.verdict.state, State::Invalid);
    assert_eq!(found.total.verdict.reasons.len(), 2);
    assert!(found.total.verdict.reasons[0].words.starts_with("shard 0 was busy 95 %"));
}

#[test]
fn late_requests_are_counted_against_two_percent_of_the_median_ttft() {
    // The median TTFT is 200 ms: 4 ms are on schedule.
    let late =
        |every: u64, by: Span| move |index: u64| if index.is_multiple_of(every) { by } else { Span::ZERO };
    let state = |recorder| judge(recorder, &[], &facts()).total.verdict.state;
    assert_eq!(state(steady(late(20, Span::from_us(3_900)))), State::Valid);
    assert_eq!(state(steady(late(50, Span::from_us(4_200)))), State::Suspect);
    let found = judge(steady(late(10, Span::from_ms(30))), &[], &facts());
    assert_eq!(found.total.verdict.state, State::Invalid);
    let words = only_reason(&found.total.verdict, "on_schedule");
    assert!(
        words.contains("only 90 % of the requests were begun within 4.01 ms of their due instant"),
        "{words}"
    );
}

#[test]
fn what_was_due_and_never_begun_is_counted_even_when_no_shard_saw_it() {
    let mut facts = facts();
    facts.stages[0].due = Some(2_010);
    let found = judge(steady(|_| Span::ZERO), &[], &facts);
    let words = only_reason(&found.total.verdict, "begun");
    assert!(words.starts_with("suspect 10 of 2010 requests that were due were never begun"), "{words}");
    facts.shards[0].failed = Some("it stopped beating".into());
    let found = judge(steady(|_| Span::ZERO), &[], &facts).total;
    let begun = found.verdict.reasons.iter().find(|reason| reason.check == "begun").unwrap();
    assert!(begun.words.ends_with("or by a shard that left no count of them"), "{}", begun.words);
    assert!(!begun.remedy.contains("--shards"), "{}", begun.remedy);
    facts.shards[0].failed = None;
    facts.stages[0].due = Some(2_100);
    assert_eq!(judge(steady(|_| Span::ZERO), &[], &facts).total.verdict.state, State::Invalid);
}

/// Requests whose first two tokens come in one read that can be `wide` older than its stamp.
fn coalesced(wide: Span) -> Recorder {
    let mut recorder = Recorder::new(&[window()]);
    for index in 0..2_000 {
        let due = START + Span::from_ms(10) * i64::try_from(index).unwrap();
        let mut timeline = Timeline::new(asked(index, due), Vec::new());
        timeline.begun(due);
        timeline.departed(due, due);
        let stamp = due + Span::from_ms(20);
        timeline.read(Arrival { stamp, earliest: stamp - wide, class: StampClass::Software }, 500);
        for _ in 0..8 {
            timeline.hear(&token(0, true, 1));
        }
        recorder.finish(&timeline.finish(reply(8, None), stamp));
    }
    recorder
}

#[test]
fn the_bias_bound_of_coalesced_reads_is_judged() {
    let bias = |wide| judge(coalesced(wide), &[], &facts()).total.verdict;
    assert_eq!(bias(Span::from_us(400)).state, State::Valid);
    assert_eq!(bias(Span::from_ms(1)).state, State::Suspect);
    let verdict = bias(Span::from_ms(5));
    assert_eq!(verdict.state, State::Invalid);
    let ttft = verdict.reasons.iter().find(|reason| reason.check == "bias_ttft_p99").unwrap();
    assert!(ttft.words.contains("the p99 of TTFT (20 ms) can be off by 5"), "{}", ttft.words);
}

#[test]
fn losses_are_suspect_and_many_are_invalid() {
    let with = |lost: u64| {
        let mut facts = facts();
        facts.shards[1].lost_stamps = lost;
        judge(steady(|_| Span::ZERO), &[], &facts).total.verdict
    };
    assert!(only_reason(&with(3), "lost_stamps").starts_with("suspect 3 of 20000: reads came without"));
    assert_eq!(with(30).state, State::Invalid);
}

#[test]
fn a_shard_that_ended_early_makes_the_run_invalid() {
    let mut facts = facts();
    assert_eq!(judge(steady(|_| Span::ZERO), &[], &facts).total.server.kept_up, Some(true));
    facts.shards[1].failed = Some("an assertion failed".into());
    let found = judge(steady(|_| Span::ZERO), &[], &facts).total;
    assert_eq!(found.server.kept_up, None, "half of the traffic is in no count: {:?}", found.server);
    let verdict = found.verdict;
    assert!(only_reason(&verdict, "shards_alive").contains("shard 1 failed: an assertion failed"));
    assert_eq!(verdict.state, State::Invalid);
}

#[test]
fn a_shard_that_stopped_beating_makes_the_run_invalid_and_is_no_defect_until_its_cpu_was_looked_at() {
    let mut facts = facts();
    facts.shards[1].cpu = Some(3);
    facts.shards[1].stuck = Some(Span::from_s(12));
    facts.shards[1].failed = Some("it stopped beating and did not end".into());
    let verdict = judge(steady(|_| Span::ZERO), &[], &facts).total.verdict;
    let words = only_reason(&verdict, "shards_alive");
    assert!(
        words.starts_with("invalid shard 1 stopped beating and did not end: it had been silent for 12 s"),
        "{words}"
    );
    let reason = verdict.reasons.iter().find(|reason| reason.check == "shards_alive").unwrap();
    assert!(reason.remedy.contains("cpu 3") && reason.remedy.contains("--cpus"), "{}", reason.remedy);
}

#[test]
fn stolen_stamps_widen_the_bias_bound_and_are_named_as_its_reason() {
    let stolen = |share, longest| {
        let mut facts = facts();
        facts.stages[0].stolen = Some(Stolen { share, longest });
        judge(steady(|_| Span::ZERO), &[], &facts).total
    };
    let little = stolen(0.2, Span::from_us(200));
    assert_eq!(little.verdict.state, State::Valid, "{:?}", little.verdict.reasons);
    // TTFT lies between 200 and 201 ms: a fifth of the stamps late by 10 ms moves its p99 by 0.2 ms at the most, all of them
    // by 10 ms; and a gap of 5 ms by 10 ms one way and all of it the other. Each to a bucket of its histogram, 0.13 ms and 4 us.
    let ms =
        |found: &StageFindings, metric| found.bias.get(metric)[Level::P99.index()].unwrap().as_s_f64() * 1e3;
    let (some, all) = (stolen(0.2, Span::from_ms(10)), stolen(1.0, Span::from_ms(10)));
    assert!((0.1..0.4).contains(&ms(&some, Metric::Ttft)), "{}", ms(&some, Metric::Ttft));
    assert!((9.9..10.2).contains(&ms(&all, Metric::Ttft)), "{}", ms(&all, Metric::Ttft));
    assert!((14.8..15.2).contains(&ms(&all, Metric::Itl)), "{}", ms(&all, Metric::Itl));
    let states: Vec<_> = all.verdict.reasons.iter().map(|reason| (reason.check, reason.state)).collect();
    assert_eq!(states, [("bias_itl_p99", State::Invalid), ("bias_ttft_p99", State::Suspect)]);
    assert!(
        all.verdict.reasons[0]
            .words
            .contains("the CPUs that stamp were stolen (in 100 % of the time, up to 10 ms at once)")
    );
    let mut by_us = facts();
    by_us.stamps = StampClass::User;
    by_us.stages[0].stolen = Some(Stolen { share: 1.0, longest: Span::from_ms(10) });
    let by_us = judge(steady(|_| Span::ZERO), &[], &by_us).total;
    assert_eq!(by_us.bias.stolen(), None, "our own stamps are not made in softirq");
    assert!(by_us.verdict.caveats.iter().any(|caveat| caveat.contains("--stamps user")));
}

#[test]
fn fewer_tokens_than_asked_for_are_never_invalid() {
    let mut recorder = Recorder::new(&[window()]);
    for index in 0..2_000 {
        let due = START + Span::from_ms(10) * i64::try_from(index).unwrap();
        recorder.finish(&usual(asked(index, due), Span::ZERO, Span::from_ms(20), &[Span::from_ms(5)], None));
    }
    let verdict = judge(recorder, &[], &facts()).total.verdict;
    let words = only_reason(&verdict, "delivered");
    assert!(
        words.starts_with(
            "suspect 25 % of the output tokens asked for were delivered: this is not the workload"
        ),
        "{words}"
    );
}

#[test]
fn a_server_that_falls_behind_is_said_apart_from_the_verdict() {
    let mut recorder = Recorder::new(&[window()]);
    for index in 0..2_000_i64 {
        let due = START + Span::from_ms(10) * index;
        let asked = asked(u64::try_from(index).unwrap(), due);
        // Each request waits 3 ms longer than the one before: 30 more in flight each second.
        recorder.finish(&usual(
            asked,
            Span::ZERO,
            Span::from_ms(20) + Span::from_ms(3) * index,
            &[Span::from_ms(1); 7],
            None,
        ));
    }
    let found = judge(recorder, &[], &facts());
    assert_eq!(found.total.server.kept_up, Some(false));
    let words = &found.total.server.words[0];
    assert!(words.starts_with("the server did not keep up: +2"), "{words}");
    assert_eq!(found.total.verdict.state, State::Valid, "{:?}", found.total.verdict.reasons);
}

/// A server that falls behind by 30 requests a second, and what is made of it when the run was cut at `cut`.
fn falling_behind(cut: Option<Instant>) -> Option<bool> {
    let mut recorder = Recorder::new(&[window()]);
    for index in 0..2_000_i64 {
        let due = START + Span::from_ms(10) * index;
        let asked = asked(u64::try_from(index).unwrap(), due);
        let ttft = Span::from_ms(20) + Span::from_ms(3) * index;
        recorder.finish(&usual(asked, Span::ZERO, ttft, &[Span::from_ms(1); 7], None));
    }
    cut.into_iter().for_each(|at| recorder.cut(at));
    judge(recorder, &[], &Facts { interrupted: cut, ..facts() }).total.server.kept_up
}

#[test]
fn a_cut_behind_the_window_takes_nothing_from_what_it_tells() {
    let end = START + Span::from_s(WINDOW_S);
    assert_eq!(falling_behind(None), Some(false));
    assert_eq!(falling_behind(Some(end + Span::from_ms(60))), Some(false));
    assert_eq!(falling_behind(Some(end - Span::from_s(1))), None);
}

#[test]
fn a_server_is_not_said_to_keep_up_where_the_pool_holds_requests_back() {
    let mut recorder = Recorder::new(&[window()]);
    for index in 0..2_000_i64 {
        let due = START + Span::from_ms(10) * index;
        let mut timeline = Timeline::new(asked(u64::try_from(index).unwrap(), due), Vec::new());
        if index % 20 == 0 {
            timeline.waited_for_pool(Span::from_ms(3));
        }
        timeline.begun(due);
        timeline.departed(due, due + Span::from_us(5));
        let at = due + Span::from_ms(20);
        timeline.read(exactly(at), 300);
        for heard in [Heard::Head { status: 200 }, token(0, true, 1), Heard::Done, Heard::End] {
            timeline.hear(&heard);
        }
        recorder.finish(&timeline.finish(reply(1, None), at));
    }
    let found = judge(recorder, &[], &facts());
    assert_eq!(found.total.server.kept_up, None);
    assert!(
        found.total.server.words[0].contains("5 % of the requests waited"),
        "{:?}",
        found.total.server.words
    );
}

#[test]
fn stages_are_judged_each_and_the_run_by_the_worst() {
    let second = Window::of_time(START + Span::from_s(WINDOW_S), START + Span::from_s(2 * WINDOW_S));
    let mut recorder = Recorder::new(&[window(), second]);
    for index in 0..4_000 {
        let due = START + Span::from_ms(10) * i64::try_from(index).unwrap();
        let mut asked = asked(index, due);
        asked.stage = u16::from(index >= 2_000);
        let lateness = if index % 10 == 0 && asked.stage == 1 { Span::from_ms(30) } else { Span::ZERO };
        let error = (index % 400 == 0).then_some(ErrorClass::Reset);
        recorder.finish(&usual(asked, lateness, Span::from_ms(20), &[Span::from_ms(5); 7], error));
    }
    let mut facts = facts();
    facts.stages =
        vec![StageFacts { requested_rate: Some(100.0), due: None, is_ramp: false, stolen: None }; 2];
    let found = judge(recorder, &[], &facts);
    let states: Vec<_> = found.stages.iter().map(|stage| stage.verdict.state).collect();
    assert_eq!(states, [State::Valid, State::Invalid]);
    assert_eq!(found.total.verdict.state, State::Invalid);
    assert!(
        found.total.verdict.reasons[0].words.starts_with("stage 2: only 90 %"),
        "{:?}",
        found.total.verdict.reasons
    );
    assert_eq!(
        (found.total.load.due, found.total.load.failed, found.total.length),
        (4_000, 10, Span::from_s(40))
    );
    assert!((found.total.load.scheduled_rate.unwrap() - 100.0).abs() < 1e-9);
}

#[test]
fn a_p99_on_too_few_observations_is_named_as_such() {
    let mut recorder = Recorder::new(&[window()]);
    for index in 0..100 {
        let due = START + Span::from_ms(10) * i64::try_from(index).unwrap();
        let lateness = if index % 10 == 0 { Span::from_ms(30) } else { Span::ZERO };
        recorder.finish(&usual(asked(index, due), lateness, Span::from_ms(20), &[Span::from_ms(5); 7], None));
    }
    let mut facts = facts();
    facts.stages[0].due = Some(100);
    let words = only_reason(&judge(recorder, &[], &facts).total.verdict, "on_schedule");
    assert!(
        words.contains("(p99 of lateness about 30 ms: too few independent observations to print it)"),
        "{words}"
    );
}

#[test]
fn a_window_in_which_nothing_was_due_is_no_panic() {
    let mut facts = facts();
    facts.stages[0].due = None;
    let found = judge(Recorder::new(&[window()]), &[Audit::new(&[window()])], &facts);
    assert_eq!(found.total.verdict.state, State::Valid);
    assert_eq!(found.total.load.achieved_rate, Some(0.0));
    let open = Recorder::new(&[Window::of_requests(Instant::ZERO, None, 0, 1)]);
    assert_eq!(judge(open, &[], &facts).total.load.achieved_rate, None);
}
