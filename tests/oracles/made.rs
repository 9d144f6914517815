//! Requests made in virtual time, as a shard would tell them.

use lowrho::random::{Purpose, Stream};
use lowrho::record::{Asked, Finished, Timeline};
use lowrho::time::{Arrival, Instant, Phase, Span, StampClass};
use lowrho::wire::{Bears, Counters, Delta, ErrorClass, Heard, Reply, TokenSource, Usage};

/// When these runs start on their clock.
pub const START: Instant = Instant::from_ns(1_000_000_000_000);

pub fn stream(purpose: &'static str, index: u64) -> Stream {
    Stream::new(7, Purpose::named(purpose), index)
}

pub fn at_ms(ms: i64) -> Instant {
    START + Span::from_ms(ms)
}

/// A measured request of stage 0 that asks for 8 tokens.
pub fn asked(index: u64, due: Instant) -> Asked {
    Asked {
        index,
        shard: 0,
        stage: 0,
        target: 0,
        phase: Phase::Measured,
        due,
        asked_output_tokens: Some(8),
        choices: 1,
    }
}

/// A reply that counts `tokens` by usage, or failed.
pub fn reply(tokens: u64, error: Option<ErrorClass>) -> Reply {
    Reply {
        status: Some(200),
        error,
        detail: None,
        output_tokens: Some(tokens),
        token_source: TokenSource::Usage,
        usage: Usage { prompt_tokens: Some(128), completion_tokens: Some(tokens), ..Usage::default() },
        undecided_count: false,
        finish_reason: None,
        counters: Counters::default(),
        retry_after_s: None,
        retry_at_unix_s: None,
        reusable: true,
    }
}

/// A text token of one choice.
pub const fn token(choice: u16, opens_event: bool, tokens: u32) -> Heard {
    Heard::Delta(Delta { choice, opens_event, bears: Bears::Token, answer: true, tokens })
}

/// A read whose stamp is exact.
pub fn exactly(stamp: Instant) -> Arrival {
    Arrival { stamp, earliest: stamp, class: StampClass::Software }
}

/// A usual request: sent `lateness` after it was due, first token after `ttft`, the others after each of `gaps`, then `[DONE]`
/// and the end in one further read 50 us later.
pub fn usual(asked: Asked, lateness: Span, ttft: Span, gaps: &[Span], error: Option<ErrorClass>) -> Finished {
    let mut timeline = Timeline::new(asked, Vec::new());
    let sent = asked.due + lateness;
    timeline.begun(sent);
    timeline.reused();
    timeline.departed(sent, sent + Span::from_us(5));
    let mut at = sent + ttft;
    timeline.read(exactly(at), 300);
    timeline.hear(&Heard::Head { status: 200 });
    timeline.hear(&token(0, true, 1));
    for gap in gaps {
        at += *gap;
        timeline.read(exactly(at), 250);
        timeline.hear(&token(0, true, 1));
    }
    at += Span::from_us(50);
    if error.is_none() {
        timeline.read(exactly(at), 20);
        timeline.hear(&Heard::Done);
        timeline.hear(&Heard::End);
    }
    timeline.finish(reply(1 + gaps.len() as u64, error), at)
}

/// Many requests of all sorts, in a window that begins at [`START`] and lasts `seconds`.
pub fn crowd(count: u64, seconds: i64) -> Vec<Finished> {
    let mut stream = stream("crowd", 0);
    let mut exponential = |mean_us: f64| Span::from_s_f64(stream.exponential() * mean_us * 1e-6);
    let spacing = Span::from_s(seconds) / i64::try_from(count).unwrap();
    (0..count)
        .map(|index| {
            let mut asked = asked(index, START + spacing * i64::try_from(index).unwrap());
            asked.shard = u16::try_from(index % 3).unwrap();
            let error = match index % 50 {
                7 => Some(ErrorClass::Http5xx),
                11 => Some(ErrorClass::Cancelled),
                _ => None,
            };
            let gaps: Vec<Span> = (0..7).map(|_| exponential(5_000.0)).collect();
            let (lateness, ttft) = (exponential(100.0), Span::from_ms(5) + exponential(20_000.0));
            usual(asked, lateness, ttft, &gaps, error)
        })
        .collect()
}
