//! What the server wants done on one connection at one planned instant, and what of it belongs into the log.

use crate::time::Instant;

/// One send, and what becomes of the connection after it. Reused from step to step.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The connection.
    pub conn: usize,
    /// The planned instant.
    pub due: Instant,
    /// The bytes to send; may be empty.
    pub bytes: Vec<u8>,
    /// What the log has to say of this step, in order; empty unless the server keeps marks.
    pub marks: Vec<Mark>,
    /// Whether a token-bearing event is among the bytes.
    pub bears_tokens: bool,
    /// What follows once the bytes are sent.
    pub then: Then,
}

/// What becomes of a connection after a step.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Then {
    /// It stays.
    #[default]
    Stay,
    /// It is closed with FIN.
    Close,
    /// It is closed with RST.
    Reset,
}

/// One thing the log tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A request was understood: all marks up to its end belong to it.
    Request {
        /// The client's `x-request-id`, if it gave one.
        id: Option<Box<str>>,
        /// When its last byte arrived.
        received: Instant,
    },
    /// The bytes of the step up to `end` complete this.
    Said {
        /// What was said.
        what: Said,
        /// When it was planned.
        planned: Instant,
        /// Bytes of the step up to its end.
        end: usize,
    },
    /// The request is over.
    End,
}

/// The parts of an answer that the log tells apart.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// The response head.
    Head,
    /// A role event.
    Role,
    /// A token-bearing event with this many tokens.
    Tokens(u32),
    /// The usage event.
    Usage,
    /// `[DONE]`.
    Done,
    /// An error, within a stream or instead of an answer.
    Error,
    /// A whole answer of this many tokens, head and all.
    Whole(u32),
}

impl Said {
    /// The log's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Role => "role",
            Self::Tokens(_) => "token",
            Self::Usage => "usage",
            Self::Done => "done",
            Self::Error => "error",
            Self::Whole(_) => "whole",
        }
    }

    /// Tokens it carries.
    #[must_use]
    pub const fn tokens(self) -> u32 {
        match self {
            Self::Tokens(n) | Self::Whole(n) => n,
            _ => 0,
        }
    }
}

impl Step {
    /// Empties it, keeping its memory.
    pub(super) fn restart(&mut self, conn: usize, due: Instant) {
        self.conn = conn;
        self.due = due;
        self.bytes.clear();
        self.marks.clear();
        self.bears_tokens = false;
        self.then = Then::Stay;
    }
}
