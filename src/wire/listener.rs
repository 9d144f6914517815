//! Who hears what a response says. It must not decide anything.

use super::Heard;

/// Hears a response as it is read. Any closure over [`Heard`] is one.
pub trait Listener {
    /// Whether [`Listener::text`] is wanted. Where it is not, the texts are never looked at.
    const WANTS_TEXT: bool = false;

    /// One thing was said.
    fn heard(&mut self, heard: Heard);

    /// A piece of text of one choice, told before its [`Heard::Delta`]: the inside of a JSON string as it stood on
    /// the wire, escapes and all ([`super::unescape`] resolves them).
    fn text(&mut self, _choice: u16, _kind: TextKind, _raw: &[u8]) {}
}

impl<F: FnMut(Heard)> Listener for F {
    fn heard(&mut self, heard: Heard) {
        self(heard);
    }
}

/// What a piece of text belongs to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TextKind {
    /// The answer.
    Answer,
    /// Reasoning that precedes it.
    Reasoning,
    /// A refusal to answer.
    Refusal,
}
