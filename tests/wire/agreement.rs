//! The fast decoder beside the slow one, on one event.

use crate::slow::{Meaning, meaning};
use lowrho::wire::{Api, Closed, ErrorClass, Expect, Heard, Listener, Response, TextKind, unescape};

/// How the two differ, if they do: what the slow one understands, the fast one has to understand the same way; in
/// what is no JSON the fast one may pass over a fault that lies in a part it skips.
pub fn disagreement(payload: &[u8]) -> Option<String> {
    let (slow, fast) = (meaning(payload), fast(payload));
    let agree = slow == Meaning::NotJson || fast == slow;
    (!agree).then(|| format!("{}\nfast: {fast:?}\nslow: {slow:?}", String::from_utf8_lossy(payload)))
}

#[derive(Default)]
struct Said {
    heard: Vec<Heard>,
    text: String,
    reasoning: String,
}

impl Listener for Said {
    const WANTS_TEXT: bool = true;

    fn heard(&mut self, heard: Heard) {
        self.heard.push(heard);
    }

    fn text(&mut self, _choice: u16, kind: TextKind, raw: &[u8]) {
        match kind {
            TextKind::Answer => self.text.push_str(&unescape(raw)),
            TextKind::Reasoning => self.reasoning.push_str(&unescape(raw)),
            TextKind::Refusal => {}
        }
    }
}

/// What the fast decoder makes of one payload, the first of a stream.
fn fast(payload: &[u8]) -> Meaning {
    let mut response = Response::new(Expect { api: Api::Chat, choices: 1, reused: false });
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    response.read(head, &mut |_| {});
    let mut said = Said::default();
    response.read(&[b"data: ", payload, b"\n\n"].concat(), &mut said);
    response.closed(Closed::Cancelled, &mut |_| {});
    let reply = response.reply();
    match reply.error {
        Some(ErrorClass::SseParse) => Meaning::NotJson,
        Some(ErrorClass::StreamError) => Meaning::Error,
        error => {
            let bare = reply.finish_reason.as_ref().is_some_and(|reason| reason.name().is_empty());
            assert!(!bare, "a finish reason without a word");
            Meaning::Said {
                heard: said.heard,
                text: said.text,
                reasoning: said.reasoning,
                completion_tokens: reply.usage.completion_tokens,
                finished: error != Some(ErrorClass::Cancelled),
            }
        }
    }
}
