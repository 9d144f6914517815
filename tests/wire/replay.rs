//! Plays a response to the decoder and notes what a client would: which events bore tokens, the texts, the reply.
//!
//! It must not judge: the tests do.

use crate::case::{Case, End};
use lowrho::wire::{
    Api, Bears, Closed, ErrorClass, Expect, Heard, Listener, Progress, Reply, Response, TextKind, unescape,
};

/// What came of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub reply: Reply,
    /// Dispatched events.
    pub events: u64,
    pub first_token_event: Option<u64>,
    pub first_output_event: Option<u64>,
    pub token_events: u64,
    pub text: String,
    pub reasoning: String,
    pub done: bool,
    /// The reads were still wanted at the end of the bytes.
    pub open: bool,
}

/// Hears a response out.
#[derive(Default)]
struct Notes {
    events: u64,
    /// Event, whether it is undecided, whether it belongs to the answer.
    bearing: Vec<(u64, bool, bool)>,
    text: Vec<u8>,
    reasoning: Vec<u8>,
    done: bool,
}

impl Listener for Notes {
    const WANTS_TEXT: bool = true;

    fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Delta(delta) => {
                self.events += u64::from(delta.opens_event);
                if delta.bears != Bears::Nothing {
                    self.bearing.push((self.events - 1, delta.bears == Bears::Undecided, delta.answer));
                }
            }
            Heard::Other => self.events += 1,
            Heard::Done => {
                self.events += 1;
                self.done = true;
            }
            Heard::Head { .. } | Heard::End => {}
        }
    }

    fn text(&mut self, _choice: u16, kind: TextKind, raw: &[u8]) {
        match kind {
            TextKind::Answer => self.text.extend(unescape(raw).bytes()),
            TextKind::Reasoning => self.reasoning.extend(unescape(raw).bytes()),
            TextKind::Refusal => {}
        }
    }
}

/// What a response to `case` expects.
pub fn expect(case: &Case) -> Expect {
    let api = if case.api == "completions" { Api::Completions } else { Api::Chat };
    Expect { api, choices: case.choices, reused: case.reused }
}

/// How the case's end looks to a response.
pub fn closing(case: &Case) -> Closed {
    match case.end {
        End::Fin => Closed::Fin,
        End::Rst => Closed::Reset,
        End::TlsEof => Closed::Unannounced,
        // Nothing comes any more: the timer that the case is about fires, or any.
        End::Stall | End::Open => {
            let named = |class: &ErrorClass| Some(class.name()) == case.expect.error_class.as_deref();
            let timers =
                [ErrorClass::TimeoutFirstByte, ErrorClass::TimeoutFirstToken, ErrorClass::TimeoutTotal];
            Closed::TimedOut(timers.into_iter().find(named).unwrap_or(ErrorClass::TimeoutIdle))
        }
    }
}

/// Plays `reads`, then `end`.
pub fn play<'a>(expect: Expect, reads: impl IntoIterator<Item = &'a [u8]>, end: Closed) -> Seen {
    let mut response = Response::new(expect);
    let mut notes = Notes::default();
    let mut progress = Progress::More;
    for read in reads {
        progress = response.read(read, &mut notes);
    }
    response.closed(end, &mut notes);
    let reply = response.reply();
    let counts: Vec<_> =
        notes.bearing.iter().filter(|(_, undecided, _)| !undecided || reply.undecided_count).collect();
    let mut token_events: Vec<u64> = counts.iter().map(|(event, ..)| *event).collect();
    token_events.dedup();
    Seen {
        events: notes.events,
        first_token_event: token_events.first().copied(),
        first_output_event: counts.iter().find(|(.., answer)| *answer).map(|(event, ..)| *event),
        token_events: token_events.len() as u64,
        text: String::from_utf8_lossy(&notes.text).into_owned(),
        reasoning: String::from_utf8_lossy(&notes.reasoning).into_owned(),
        done: notes.done,
        open: progress != Progress::Over,
        reply,
    }
}
