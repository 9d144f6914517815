//! What each event of a stream means, in the order the rules give: done, stray comment, error, usage, choices.
//!
//! It must not know framing, nor how the body ends.

use super::openai::Event;
use super::sse::Found;
use super::tally::Tally;
use super::words::cut;
use super::{Counters, ErrorClass, Heard, Listener, error_message};

/// Why a response failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub(super) class: ErrorClass,
    pub(super) detail: Option<Box<str>>,
}

impl Failure {
    pub(super) fn new(class: ErrorClass) -> Self {
        Self { class, detail: None }
    }

    pub(super) fn because(class: ErrorClass, detail: &str) -> Self {
        Self { class, detail: Some(cut(detail)) }
    }

    /// With the message that `body` holds.
    pub(super) fn in_words_of(class: ErrorClass, body: &[u8]) -> Self {
        Self { class, detail: error_message(body) }
    }
}

/// The meaning of one stream so far.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) tally: Tally,
    /// The terminal event has come.
    pub(super) done: bool,
}

impl Stream {
    pub(super) fn new(choices: u16) -> Self {
        Self { tally: Tally::new(choices), done: false }
    }

    /// Takes one thing that the scanner found. An event that was not `closed` by a blank line may be cut, so it
    /// says nothing if it is no JSON.
    #[inline]
    pub(super) fn take(
        &mut self,
        found: Found<'_>,
        closed: bool,
        counters: &mut Counters,
        hear: &mut impl Listener,
    ) -> Result<(), Failure> {
        let (data, named_error) = match found {
            Found::Event { data, named_error } => (data.trim_ascii(), named_error),
            other if self.done => {
                counters.data_after_done |= matches!(other, Found::ErrorField(_) | Found::Unframed(_));
                return Ok(());
            }
            other => return unusual(other),
        };
        if data == b"[DONE]" {
            if !self.done {
                self.done = true;
                hear.heard(Heard::Done);
            }
            return Ok(());
        }
        if self.done {
            self.take_late(data, counters);
            return Ok(());
        }
        if data.starts_with(b":") {
            counters.stray_comments = counters.stray_comments.saturating_add(1);
            hear.heard(Heard::Other);
            return Ok(());
        }
        let mut event = Event::default();
        if event.read(data).is_none() {
            if !closed {
                counters.unclean_end = true;
                return Ok(());
            }
            hear.heard(Heard::Other);
            return Err(Failure::in_words_of(ErrorClass::SseParse, data));
        }
        if event.is_error || named_error {
            hear.heard(Heard::Other);
            return Err(Failure::in_words_of(ErrorClass::StreamError, data));
        }
        self.tally.add(&event, hear);
        Ok(())
    }

    /// After the terminal event usage alone still counts.
    #[cold]
    fn take_late(&mut self, data: &[u8], counters: &mut Counters) {
        counters.data_after_done = true;
        if let Some(event) = Event::of(data) {
            self.tally.add_late(&event);
        }
    }

    /// Whether the stream said all it had to say: from here on an end, however dirty, is only counted.
    pub(super) fn is_complete(&self) -> bool {
        self.done || self.tally.all_finished()
    }
}

/// What is found where an event should be.
#[cold]
fn unusual(found: Found<'_>) -> Result<(), Failure> {
    Err(match found {
        Found::ErrorField(b"" | b"null") | Found::Event { .. } => return Ok(()),
        Found::ErrorField(value) => Failure::in_words_of(ErrorClass::StreamError, value),
        Found::Unframed(line) => unframed(line),
        Found::Alien => Failure::because(ErrorClass::NotAStream, "the body is no event stream"),
        Found::TooLarge => Failure::because(ErrorClass::EventTooLarge, "an event is larger than 8 MiB"),
    })
}

/// The meaning of JSON that stands in an event stream without its framing.
pub(super) fn unframed(json: &[u8]) -> Failure {
    let is_error = Event::of(json).is_some_and(|event| event.is_error);
    Failure::in_words_of(if is_error { ErrorClass::StreamError } else { ErrorClass::SseParse }, json)
}
