//! The engine of each request's own pace, in virtual time.

use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn engine(ttft: &str, itl: &str, per_event: &str, max_running: Option<usize>) -> Engine {
    let latencies = Latencies::parse(ttft, itl, "1us").unwrap();
    Engine::new(latencies, per_event.parse().unwrap(), max_running, 11)
}

fn without_prefill(engine: &mut Engine) {
    let Pace::Laws(laws) = &mut engine.pace else { panic!("an engine of laws") };
    laws.prefill_per_token_ns = 0;
}

fn work(owner: u32, prompt_tokens: u32, output_tokens: u32) -> Work {
    Work { owner, number: u64::from(owner), prompt_tokens, output_tokens }
}

fn at(ms: u64) -> Instant {
    Instant::from_ns(ms * MS)
}

/// (owner, due in us, first token, sizes, last) of all that is planned, each taken `late_ns` after its instant.
fn play(engine: &mut Engine, late_ns: u64) -> Vec<(u32, u64, u32, Vec<u32>, bool)> {
    let (mut sizes, mut heard) = (Vec::new(), Vec::new());
    while let Some(due) = engine.next_due() {
        let now = Instant::from_ns(due.as_ns() + late_ns);
        let burst = engine.advance(now, &mut sizes).expect("what is due is given");
        heard.push((burst.owner, burst.due.as_ns() / 1_000, burst.first, sizes.clone(), burst.last));
    }
    heard
}

#[test]
fn tokens_come_at_their_exact_instants() {
    let mut engine = engine("20ms", "5ms", "1", None);
    engine.arrive(work(9, 100, 3), at(7));
    assert!(engine.advance(at(27), &mut Vec::new()).is_none(), "the prompt takes its 100 us");
    assert_eq!(
        play(&mut engine, 0),
        [(9, 27_100, 0, vec![1], false), (9, 32_100, 1, vec![1], false), (9, 37_100, 2, vec![1], true),]
    );
    assert_eq!((engine.running(), engine.waiting()), (0, 0));
}

#[test]
fn a_late_caller_shifts_nothing() {
    let plan = |late_ns| {
        let mut engine = engine("exp:20ms", "lognormal:5ms:3ms", "uniform:1:4", Some(2));
        for owner in 0..5 {
            engine.arrive(work(owner, 10, 12), at(u64::from(owner)));
        }
        play(&mut engine, late_ns)
    };
    assert_eq!(plan(0), plan(3 * MS));
}

#[test]
fn without_delays_all_is_due_at_once_in_one_burst() {
    let mut engine = engine("0s", "0s", "3", None);
    without_prefill(&mut engine);
    let ticket = engine.arrive(work(1, 5, 8), at(3));
    let mut sizes = Vec::new();
    let burst = engine.advance_one(ticket, at(3), &mut sizes).expect("due at once");
    assert_eq!((burst.due, burst.last, &sizes[..]), (at(3), true, &[3, 3, 2][..]));
    assert_eq!((engine.next_due(), engine.running()), (None, 0));
}

#[test]
fn one_too_many_waits_for_the_planned_end_of_the_first_to_finish() {
    let mut engine = engine("10ms", "1ms", "1", Some(2));
    without_prefill(&mut engine);
    for (owner, tokens) in [(0, 5), (1, 2), (2, 1), (3, 1)] {
        engine.arrive(work(owner, 1, tokens), at(0));
    }
    assert_eq!((engine.running(), engine.waiting()), (2, 2));
    let ends: Vec<_> = play(&mut engine, MS).into_iter().filter(|e| e.4).map(|e| (e.0, e.1)).collect();
    assert_eq!(ends, [(1, 11_000), (0, 14_000), (2, 21_000), (3, 24_000)]);
}

#[test]
fn the_wait_is_told_with_the_first_event() {
    let mut engine = engine("10ms", "1ms", "1", Some(1));
    without_prefill(&mut engine);
    engine.arrive(work(0, 1, 1), at(0));
    engine.arrive(work(1, 1, 1), at(4));
    let mut sizes = Vec::new();
    assert_eq!(engine.advance(at(99), &mut sizes).map(|b| b.waited), Some(Span::ZERO));
    assert_eq!(
        engine.advance(at(99), &mut sizes).map(|b| (b.waited, b.due)),
        Some((Span::from_ms(6), at(20)))
    );
}

#[test]
fn a_cancelled_request_makes_room_and_its_name_goes_stale() {
    let mut engine = engine("10ms", "1ms", "1", Some(1));
    without_prefill(&mut engine);
    let first = engine.arrive(work(0, 1, 9), at(0));
    let second = engine.arrive(work(1, 1, 9), at(0));
    engine.arrive(work(2, 1, 1), at(0));
    engine.cancel(second, at(1));
    assert_eq!((engine.running(), engine.waiting()), (1, 1));
    engine.cancel(first, at(5));
    engine.cancel(first, at(6));
    assert!(engine.advance_one(first, at(99), &mut Vec::new()).is_none());
    assert_eq!(play(&mut engine, 0), [(2, 15_000, 0, vec![1], true)]);
}

#[test]
fn a_stuck_request_keeps_its_place() {
    let mut engine = engine("10ms", "1ms", "1", Some(1));
    let stuck = engine.arrive(work(0, 1, 9), at(0));
    engine.arrive(work(1, 1, 1), at(0));
    engine.stick(stuck);
    assert_eq!((engine.next_due(), engine.running(), engine.waiting()), (None, 1, 1));
    engine.cancel(stuck, at(50));
    assert_eq!(engine.next_due().map(Instant::as_ns), Some(60 * MS + 1_000));
}

#[test]
fn what_is_drawn_depends_on_the_number_alone() {
    let of_owner_3 = |others: u32| {
        let mut engine = engine("exp:20ms", "exp:5ms", "uniform:1:3", None);
        for owner in (0..others).chain([3]) {
            engine.arrive(work(owner, 1, 10), at(0));
        }
        play(&mut engine, 0).into_iter().filter(|e| e.0 == 3).collect::<Vec<_>>()
    };
    assert_eq!(of_owner_3(0), of_owner_3(3));
}

proptest! {
    #[test]
    fn every_token_comes_once_in_order_and_no_more_run_than_may(
        asked in prop::collection::vec((1_u32..20, 0_u64..30), 1..30),
        limit in 1_usize..5,
        seed_itl in prop::sample::select(vec!["0s", "3ms", "exp:2ms"]),
    ) {
        let mut engine = engine("exp:5ms", seed_itl, "uniform:1:3", Some(limit));
        let mut arrivals: Vec<_> = asked.iter().enumerate().collect();
        arrivals.sort_by_key(|(_, (_, ms))| *ms);
        let mut made = vec![0_u32; asked.len()];
        let mut ended = vec![false; asked.len()];
        let mut sizes = Vec::new();
        let mut latest = Instant::ZERO;
        let mut arrivals = arrivals.into_iter().peekable();
        loop {
            let next = engine.next_due();
            if let Some((owner, (tokens, ms))) = arrivals.next_if(|(_, (_, ms))| next.is_none_or(|due| at(*ms) <= due)) {
                engine.arrive(work(u32::try_from(owner).unwrap(), 1, *tokens), at(*ms));
                prop_assert!(engine.running() <= limit);
                continue;
            }
            let Some(due) = next else { break };
            let burst = engine.advance(due, &mut sizes).expect("due");
            prop_assert!(burst.due >= latest, "events come in order of their instants");
            latest = burst.due;
            let owner = index(burst.owner);
            prop_assert_eq!(burst.first, made[owner]);
            prop_assert!(!ended[owner]);
            made[owner] += sizes.iter().sum::<u32>();
            ended[owner] = burst.last;
        }
        prop_assert!(ended.iter().all(|ended| *ended));
        prop_assert!(made.iter().zip(&asked).all(|(made, (tokens, _))| made == tokens));
        prop_assert_eq!((engine.running(), engine.waiting()), (0, 0));
    }
}

#[test]
fn a_server_keeps_each_request_for_its_service_and_spreads_the_tokens_over_it() {
    let mut engine = Engine::of_service(Span::from_ms(30), "1".parse().unwrap(), 2, 1);
    for (owner, tokens, ms) in [(0, 3, 0), (1, 1, 0), (2, 2, 10)] {
        engine.arrive(work(owner, 1_000, tokens), at(ms));
    }
    let heard: Vec<_> = play(&mut engine, MS).into_iter().map(|e| (e.0, e.1, e.4)).collect();
    assert_eq!(
        heard,
        [
            (0, 10_000, false),
            (0, 20_000, false),
            (1, 30_000, true),
            (0, 30_000, true),
            (2, 45_000, false),
            (2, 60_000, true)
        ]
    );
}

#[test]
fn events_of_several_tokens_still_end_with_the_service() {
    let mut engine = Engine::of_service(Span::from_ms(30), "4".parse().unwrap(), 1, 1);
    engine.arrive(work(0, 1, 10), at(0));
    let heard: Vec<_> = play(&mut engine, 0).into_iter().map(|e| (e.1, e.3, e.4)).collect();
    assert_eq!(heard, [(12_000, vec![4], false), (24_000, vec![4], false), (30_000, vec![2], true)]);
}

#[test]
fn a_caller_who_is_behind_lets_nobody_begin_before_he_came() {
    let mut engine = Engine::of_service(Span::from_ms(10), "1".parse().unwrap(), 1, 1);
    engine.arrive(work(0, 1, 1), at(0));
    // The first was done at 10 ms, which nobody has looked at yet.
    engine.arrive(work(1, 1, 1), at(25));
    let mut sizes = Vec::new();
    assert_eq!(engine.advance(at(99), &mut sizes).map(|b| b.due), Some(at(10)));
    assert_eq!(engine.advance(at(99), &mut sizes).map(|b| (b.due, b.waited)), Some((at(35), Span::ZERO)));
}
