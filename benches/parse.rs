//! What one usual event costs to parse: nanoseconds of thread CPU time through `Response::read`, beside loops that do
//! no more than touch the same bytes. It must not measure the kernel.
//!
//! `cargo bench --bench parse`; with `-- --check` it fails when the goal is missed.

use lowrho::wire::{Api, Bears, Expect, Heard, Progress, Response};
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;

/// The goal: a core at 50,000 events/s spends under 1 % of itself here.
const GOAL_NS: f64 = 150.0;
const EVENTS: usize = 4_096;
const BATCHES: usize = 101;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ndate: Sun, 29 Nov 2026 16:31:32 GMT\r\nserver: uvicorn\r\n\
    content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// A stream of `EVENTS` token events in vLLM's shape, one chunk each, as uvicorn writes them.
fn events(with_usage: bool) -> Vec<Vec<u8>> {
    let words = [" the", " quick", " brown", " fox", ".\\n", " jumps", " over", " \u{2014} lazy"];
    let event = |n: usize| {
        let word = words[n % words.len()];
        let usage = if with_usage {
            let n = n + 1;
            format!(
                ",\"usage\":{{\"prompt_tokens\":15,\"total_tokens\":{},\"completion_tokens\":{n}}}",
                n + 15
            )
        } else {
            String::new()
        };
        let event = format!(
            "data: {{\"id\":\"chatcmpl-9ca064d78f53d9dc8a6f0c4e1b7d2a35\",\"object\":\"chat.completion.chunk\",\
             \"created\":1795969892,\"model\":\"meta-llama/Llama-3.1-8B\",\"choices\":[{{\"index\":0,\
             \"delta\":{{\"content\":\"{word}\"}},\"logprobs\":null,\"finish_reason\":null,\
             \"token_ids\":null}}]{usage}}}\n\n"
        );
        format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
    };
    (0..EVENTS).map(event).collect()
}

fn cpu_ns() -> f64 {
    lowrho::clock::thread_cpu().as_s_f64() * 1e9
}

fn sorted(mut samples: Vec<f64>) -> Vec<f64> {
    samples.sort_by(f64::total_cmp);
    samples
}

/// Quartiles of the cost of one event, in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "a count of events")]
fn cost_ns(mut batch: impl FnMut()) -> [f64; 3] {
    batch();
    let samples = (0..BATCHES).map(|_| {
        let before = cpu_ns();
        batch();
        (cpu_ns() - before) / EVENTS as f64
    });
    let samples = sorted(samples.collect());
    [BATCHES / 4, BATCHES / 2, 3 * BATCHES / 4].map(|at| samples[at])
}

fn parse(reads: &[Vec<u8>]) -> u64 {
    let mut response = Response::new(Expect { api: Api::Chat, choices: 1, reused: false });
    let mut tokens = 0;
    let mut hear = |heard: Heard| {
        tokens += u64::from(matches!(heard, Heard::Delta(delta) if delta.bears == Bears::Token));
    };
    response.read(HEAD, &mut hear);
    for read in reads {
        let progress = response.read(black_box(read), &mut hear);
        assert_eq!(progress, Progress::More);
    }
    tokens
}

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let mut say = |text: std::fmt::Arguments<'_>| writeln!(out, "{text}").expect("stdout can be written");
    let mut worst: f64 = 0.0;
    // The goal is for the usual event, which has no usage: continuous usage has to be asked for.
    for (name, is_usual, events, per_read) in [
        ("one event a read", true, events(false), 1),
        ("16 events a read", true, events(false), 16),
        ("one event a read, with usage", false, events(true), 1),
    ] {
        let bytes = events.iter().map(Vec::len).sum::<usize>() / EVENTS;
        let reads: Vec<Vec<u8>> = events.chunks(per_read).map(<[_]>::concat).collect();
        assert_eq!(parse(&reads), EVENTS as u64, "every event bears a token");
        let parsed = cost_ns(|| assert_eq!(parse(&reads), EVENTS as u64));
        let lines = cost_ns(|| {
            let count = |read: &Vec<u8>| memchr::memchr_iter(b'\n', black_box(read)).count();
            black_box(reads.iter().map(count).sum::<usize>());
        });
        let touched = cost_ns(|| {
            let sum = |read: &Vec<u8>| black_box(read).iter().map(|b| u64::from(*b)).sum::<u64>();
            black_box(reads.iter().map(sum).sum::<u64>());
        });
        say(format_args!(
            "{name} ({bytes} bytes): {:.0} ns an event (quartiles {:.0}-{:.0}); line ends by memchr {:.0} ns ({:.1}x), \
             sum of bytes {:.0} ns ({:.1}x)",
            parsed[1],
            parsed[0],
            parsed[2],
            lines[1],
            parsed[1] / lines[1],
            touched[1],
            parsed[1] / touched[1],
        ));
        if is_usual {
            worst = worst.max(parsed[1]);
        }
    }
    say(format_args!("a Response takes {} bytes", size_of::<Response>()));
    if std::env::args().any(|arg| arg == "--check") && worst > GOAL_NS {
        say(format_args!("missed: {worst:.0} ns is over the goal of {GOAL_NS} ns"));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
