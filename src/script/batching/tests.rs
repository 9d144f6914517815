//! Continuous batching step by step, and its saturation against arithmetic and against a second simulation.

use super::*;
use crate::script::EngineKind;

const US: u64 = 1_000;

fn work(owner: u32, prompt_tokens: u32, output_tokens: u32) -> Work {
    Work { owner, number: u64::from(owner), prompt_tokens, output_tokens }
}

fn at_us(us: u64) -> Instant {
    Instant::from_ns(us * US)
}

/// 1 ms a step, 100 us a sequence, 10 us a token.
fn costs(chunk: u32) -> StepCosts {
    StepCosts {
        base: Span::from_ms(1),
        per_sequence: Span::from_us(100),
        per_token: Span::from_us(10),
        chunk,
    }
}

/// (owner, due in us, tokens made before, last) of all that comes.
fn play(engine: &mut Batching) -> Vec<(u32, u64, u32, bool)> {
    let (mut sizes, mut heard) = (Vec::new(), Vec::new());
    while let Some(due) = engine.next_due() {
        if let Some(burst) = engine.advance(due, &mut sizes) {
            heard.push((burst.owner, burst.due.as_ns() / US, burst.first, burst.last));
        }
    }
    heard
}

#[test]
fn a_step_costs_its_base_its_sequences_and_its_tokens() {
    let mut engine = Batching::new(costs(1_000), 8);
    engine.arrive(work(0, 50, 3), at_us(0));
    // Comes while the first step is under way: it joins the second, in which the first request decodes.
    engine.arrive(work(1, 20, 1), at_us(500));
    assert_eq!(
        play(&mut engine),
        [
            (0, 1_600, 0, false),
            (0, 1_600 + 1_000 + 200 + 210, 1, false),
            (1, 3_010, 0, true),
            (0, 3_010 + 1_110, 2, true),
        ]
    );
    assert_eq!((engine.running(), engine.waiting()), (0, 0));
}

#[test]
fn a_long_prompt_is_cut_so_that_the_others_go_on() {
    let mut engine = Batching::new(costs(11), 8);
    engine.arrive(work(0, 1, 4), at_us(0));
    engine.arrive(work(1, 25, 1), at_us(1));
    let heard = play(&mut engine);
    // 25 tokens take steps of 10, 10 and 5 beside the decoding one.
    let step = |tokens: u64| 1_000 + 200 + 10 * tokens;
    let ends = [1_110, 1_110 + step(11), 1_110 + 2 * step(11), 1_110 + 2 * step(11) + step(6)];
    let of = |owner| heard.iter().filter(|h| h.0 == owner).map(|h| h.1).collect::<Vec<_>>();
    assert_eq!(of(0), ends);
    assert_eq!(of(1), [ends[3]]);
}

#[test]
fn one_too_many_waits_for_a_place() {
    let mut engine = Batching::new(costs(100), 1);
    engine.arrive(work(0, 1, 2), at_us(0));
    engine.arrive(work(1, 1, 1), at_us(10));
    assert_eq!((engine.running(), engine.waiting()), (1, 1));
    let mut sizes = Vec::new();
    assert_eq!(engine.advance(at_us(9_999), &mut sizes).map(|b| b.due), Some(at_us(1_110)));
    engine.advance(at_us(9_999), &mut sizes);
    let second = engine.advance(at_us(9_999), &mut sizes).unwrap();
    assert_eq!((second.owner, second.due, second.waited), (1, at_us(3_330), Span::from_us(2_210)));
}

#[test]
fn whoever_goes_or_sticks_makes_no_more() {
    let mut engine = Batching::new(costs(100), 2);
    let gone = engine.arrive(work(0, 1, 9), at_us(0));
    let stuck = engine.arrive(work(1, 1, 9), at_us(0));
    engine.arrive(work(2, 1, 1), at_us(0));
    let mut sizes = Vec::new();
    engine.advance(at_us(1_110), &mut sizes);
    engine.cancel(gone, at_us(1_200));
    engine.cancel(gone, at_us(1_200));
    engine.stick(stuck);
    assert_eq!(play(&mut engine).iter().map(|h| h.0).collect::<Vec<_>>(), [2]);
    assert_eq!((engine.running(), engine.next_due()), (1, None));
    // The place of the stuck one is free again when its client goes.
    engine.arrive(work(3, 1, 1), at_us(9_000));
    engine.cancel(stuck, at_us(9_100));
    assert_eq!(play(&mut engine).iter().map(|h| h.0).collect::<Vec<_>>(), [3]);
}

#[test]
fn nobody_is_let_in_before_he_came_by_a_caller_who_is_behind() {
    let mut engine = Batching::new(costs(100), 4);
    engine.arrive(work(0, 1, 1), at_us(0));
    engine.arrive(work(1, 1, 1), at_us(5_000));
    let mut sizes = Vec::new();
    engine.advance(at_us(9_000), &mut sizes);
    let second = engine.advance(at_us(9_000), &mut sizes).unwrap();
    assert_eq!((second.due, second.waited), (at_us(6_110), Span::ZERO));
}

/// Completions per second of an engine whose queue never empties.
fn saturated(costs: StepCosts, places: usize, prompt: u32, output: u32) -> f64 {
    let mut engine = Batching::new(costs, places);
    let mut asked = 0;
    let mut ask = |engine: &mut Batching, at| {
        asked += 1;
        engine.arrive(work(asked, prompt, output), at);
    };
    (0..3 * places).for_each(|_| ask(&mut engine, Instant::ZERO));
    let (mut sizes, mut done, mut from) = (Vec::new(), 0_u32, Instant::ZERO);
    loop {
        let due = engine.next_due().expect("there is always work");
        let Some(burst) = engine.advance(due, &mut sizes) else { continue };
        if burst.last {
            ask(&mut engine, burst.due);
            done += 1;
            match done {
                5_000 => from = burst.due,
                25_000 => return 20_000.0 / (burst.due - from).as_s_f64(),
                _ => {}
            }
        }
    }
}

/// The same engine written again with plain counters: how many tokens each place has left, in seconds, one step after another.
fn simulated(costs: StepCosts, places: usize, prompt: u32, output: u32) -> f64 {
    let (base, per_sequence, per_token) =
        (costs.base.as_s_f64(), costs.per_sequence.as_s_f64(), costs.per_token.as_s_f64());
    // (prompt left, tokens left), in order of arrival.
    let mut places = vec![(prompt, output); places];
    let (mut now, mut from, mut done) = (0.0, 0.0, 0_u32);
    loop {
        let decoding = places.iter().filter(|place| place.0 == 0).count();
        let mut room = costs.chunk - u32::try_from(decoding).unwrap();
        let (mut sequences, mut tokens) = (decoding, costs.chunk - room);
        places.iter_mut().for_each(|(left, to_make)| {
            let part = (*left).min(room);
            if *left == 0 {
                *to_make -= 1;
            } else if part > 0 {
                (*left, room, tokens, sequences) = (*left - part, room - part, tokens + part, sequences + 1);
                *to_make -= u32::from(*left == 0);
            }
        });
        now += base
            + per_sequence * f64::from(u32::try_from(sequences).unwrap())
            + per_token * f64::from(tokens);
        let before = places.len();
        places.retain(|place| place.1 > 0);
        for _ in places.len()..before {
            places.push((prompt, output));
            done += 1;
            match done {
                5_000 => from = now,
                25_000 => return 20_000.0 / (now - from),
                _ => {}
            }
        }
    }
}

#[test]
fn saturation_is_what_arithmetic_says_where_prompts_fit_a_step() {
    for (places, prompt, output) in [(1, 10, 5), (4, 100, 20), (16, 64, 8), (32, 200, 50)] {
        let costs = costs(2_048);
        let arithmetic = EngineKind::Batch(costs).saturation_per_s(places, prompt, output).unwrap();
        let engine = saturated(costs, places as usize, prompt, output);
        assert!(
            (engine / arithmetic - 1.0).abs() < 0.005,
            "{places}: {engine}/s, by arithmetic {arithmetic}/s"
        );
    }
}

#[test]
fn saturation_under_cut_prompts_is_that_of_a_second_simulation() {
    for (chunk, places, prompt, output) in [(64, 8, 200, 10), (33, 32, 40, 6), (300, 16, 1_000, 30)] {
        let costs = costs(chunk);
        assert_eq!(EngineKind::Batch(costs).saturation_per_s(places, prompt, output), None);
        let (engine, second) = (
            saturated(costs, places as usize, prompt, output),
            simulated(costs, places as usize, prompt, output),
        );
        assert!(
            (engine / second - 1.0).abs() < 0.002,
            "chunk {chunk}: {engine}/s, simulated again {second}/s"
        );
    }
}
