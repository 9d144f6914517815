//! What parsing one streamed event takes on this host: a hot loop of the client's own path, from read to delta.
//!
//! It must not be taken for the cost within a run: there caches are shared with the kernel.

use crate::clock;
use crate::time::Span;
use crate::wire::{Api, Expect, Heard, Progress, Response};

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
    transfer-encoding: chunked\r\n\r\n";
/// As vLLM words it.
const EVENT: &str = "data: {\"id\":\"chatcmpl-9ca064d78f53d9dc8a6f0c4e1b7d2a35\",\"object\":\"chat.completion.chunk\",\
    \"created\":1795969892,\"model\":\"meta-llama/Llama-3.1-8B\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" the\"},\
    \"logprobs\":null,\"finish_reason\":null,\"token_ids\":null}]}\n\n";
/// Events of a batch: some hundred microseconds, above the clock's own cost.
const EVENTS: u32 = 1_024;
/// Batches; the middle one is told.
const BATCHES: usize = 51;

/// CPU time of one event, the median of several batches.
pub(super) fn event_cost() -> Span {
    let read = format!("{:x}\r\n{EVENT}\r\n", EVENT.len()).into_bytes();
    let mut costs: Vec<Span> = (0..BATCHES).map(|_| batch(&read)).collect();
    costs.sort_unstable();
    Span::from_ns(costs[BATCHES / 2].as_ns() / i64::from(EVENTS))
}

fn batch(read: &[u8]) -> Span {
    let mut response = Response::new(Expect { api: Api::Chat, choices: 1, reused: false });
    let mut tokens = 0_u32;
    let mut hear = |heard: Heard| tokens += u32::from(matches!(heard, Heard::Delta(_)));
    response.read(HEAD, &mut hear);
    let begun = clock::thread_cpu();
    for _ in 0..EVENTS {
        let progress = response.read(std::hint::black_box(read), &mut hear);
        assert_eq!(progress, Progress::More, "a stream goes on until its end");
    }
    let cost = clock::thread_cpu() - begun;
    assert_eq!(tokens, EVENTS, "every event is heard");
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_takes_some_time() {
        assert!(event_cost() > Span::ZERO);
    }
}
