//! What NTPOT is made of, against requests whose parts were planted.

use crate::made::{START, asked, exactly, reply, token};
use lowrho::analysis::{Facts, Findings, NtpotSplit, StageFacts, StageFindings, Thresholds};
use lowrho::record::{Finished, Metric, Recorder, Timeline, Window};
use lowrho::time::{Instant, Span};

const FIXED_US: i64 = 3_000;
const PREFILL_US: i64 = 20;
const DECODE_US: i64 = 5_000;

/// A prompt of which `cached` tokens cost nothing, then `tokens` tokens 5 ms apart.
fn answer(index: u64, due: Instant, input: u64, cached: u64, tokens: i64) -> Finished {
    let mut timeline = Timeline::new(asked(index, due), Vec::new());
    timeline.begun(due);
    timeline.departed(due, due);
    let uncached = i64::try_from(input - cached).unwrap();
    let first = due + Span::from_us(FIXED_US + PREFILL_US * uncached);
    for n in 0..tokens {
        timeline.read(exactly(first + Span::from_us(DECODE_US) * n), 250);
        timeline.hear(&token(0, true, 1));
    }
    let mut reply = reply(u64::try_from(tokens).unwrap(), None);
    reply.usage.prompt_tokens = Some(input);
    reply.usage.cached_tokens = Some(cached);
    timeline.finish(reply, first + Span::from_us(DECODE_US) * tokens)
}

fn found(answers: impl Fn(u64) -> (u64, u64, i64)) -> StageFindings {
    let mut recorders = [(); 2].map(|()| Recorder::new(&[Window::of_time(START, START + Span::from_s(20))]));
    for index in 0..2_000 {
        let due = START + Span::from_ms(10) * i64::try_from(index).unwrap();
        let (input, cached, tokens) = answers(index);
        recorders[usize::from(index % 2 == 0)].finish(&answer(index, due, input, cached, tokens));
    }
    let facts = Facts {
        stages: vec![StageFacts { requested_rate: Some(100.0), due: None, is_ramp: false, stolen: None }],
        ..Facts::default()
    };
    Findings::of(&recorders, &[], &facts, &Thresholds::default()).total
}

#[test]
fn waiting_and_decoding_add_up_to_ntpot() {
    let found = found(|index| (100 + index % 400, index % 50, if index % 4 == 0 { 2 } else { 40 }));
    let mean = |metric| found.latency(metric).mean.unwrap().as_ns();
    let parts = mean(Metric::NtpotWaiting) + mean(Metric::NtpotDecoding);
    assert!((parts - mean(Metric::Ntpot)).abs() <= 2, "{parts} is not {}", mean(Metric::Ntpot));
    // (N - 1) gaps over N tokens: 2.5 ms for two, 4.875 ms for forty.
    assert_eq!(mean(Metric::NtpotDecoding), (2_500_000 + 3 * 4_875_000) / 4);
}

#[test]
fn the_planted_prefill_is_found_whatever_was_cached() {
    let found = found(|index| (100 + index % 400, index % 50, if index % 4 == 0 { 2 } else { 40 }));
    let NtpotSplit { waiting, .. } = &found.ntpot;
    let waiting = waiting.as_ref().expect("a line without noise");
    assert!((waiting.prefill_per_input_token.mean_ns - 20_000.0).abs() < 1e-3, "{waiting:?}");
    let whole = found.latency(Metric::NtpotWaiting).mean.unwrap().as_s_f64() * 1e9;
    assert!((waiting.queue.mean_ns + waiting.prefill.mean_ns - whole).abs() < 1.0, "{waiting:?}");
    // 3 ms over two tokens, or over forty.
    let fixed = (3_000_000.0 / 2.0 + 3.0 * 3_000_000.0 / 40.0) / 4.0;
    assert!((waiting.queue.mean_ns - fixed).abs() < 1.0, "{waiting:?}, not {fixed}");
    assert_eq!(waiting.count, 2_000);
}

#[test]
fn short_answers_are_told_apart_from_long_ones() {
    let found = found(|index| (128, 0, if index % 4 == 0 { 2 } else { 40 }));
    let classes: Vec<_> = found
        .ntpot
        .classes
        .iter()
        .map(|class| (class.least, class.most, class.count, class.mean.unwrap().as_ns()))
        .collect();
    // First token after 3 + 2.56 ms.
    let ntpot = |tokens: i64| (5_560_000 + 5_000_000 * (tokens - 1)) / tokens;
    assert_eq!(classes, [(1, Some(4), 500, ntpot(2)), (17, Some(64), 1_500, ntpot(40))]);
    assert!(found.ntpot.classes.iter().all(|class| class.quantiles[3].is_some()));
    let why = found.ntpot.waiting.unwrap_err();
    assert!(why.starts_with("every prompt had 128 uncached input tokens"), "{why}");
}
