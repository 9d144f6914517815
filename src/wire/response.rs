//! One response from its first byte to its end.
//!
//! It must not know clocks or sockets: whoever drives it says what was read and how the connection ended.

use super::{Api, Counters, ErrorClass, Listener, Reply, TokenSource, Usage};

/// What was asked, as far as the reading of the reply depends on it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Expect {
    /// The dialect.
    pub api: Api,
    /// Choices asked for (`n`), at least 1.
    pub choices: u16,
    /// Whether the connection has carried a request before: if it dies without a byte, it was stale.
    pub reused: bool,
}

/// What to do after a read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Read on.
    More,
    /// The terminal event has come but not the body's end: read on for a little while only, then say
    /// [`Closed::TimedOut`].
    Draining,
    /// Nothing more is to be read. [`Response::reply`] tells how it ended and whether the connection can be reused.
    Over,
}

/// How a connection ended, or why we end it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Closed {
    /// The peer's FIN, after its last byte.
    Fin,
    /// The peer's RST, or any other failure of the socket.
    Reset,
    /// A FIN that TLS did not announce (no close_notify).
    Unannounced,
    /// Our own timer fired: of this class if the response was not complete yet.
    TimedOut(ErrorClass),
    /// We gave it up.
    Cancelled,
}

/// The reading of one response.
#[derive(Debug)]
pub struct Response {
    expect: Expect,
    bytes: u64,
    reads: u32,
    error: Option<ErrorClass>,
}

impl Response {
    /// A stream is expected.
    #[must_use]
    pub fn new(expect: Expect) -> Self {
        Self { expect, bytes: 0, reads: 0, error: None }
    }

    /// A whole body is expected (`GET /v1/models`, a completion without `stream`): [`Response::body`] has it.
    #[must_use]
    pub fn unary(expect: Expect) -> Self {
        Self::new(expect)
    }

    /// Takes what one read brought.
    pub fn read(&mut self, bytes: &[u8], _hear: &mut impl Listener) -> Progress {
        self.bytes += bytes.len() as u64;
        self.reads += 1;
        Progress::More
    }

    /// Takes the connection's end, or ours.
    pub fn closed(&mut self, how: Closed, _hear: &mut impl Listener) {
        self.error = Some(match how {
            Closed::Fin | Closed::Unannounced if self.expect.reused => ErrorClass::StaleConnection,
            Closed::Fin | Closed::Unannounced => ErrorClass::EofBeforeHead,
            Closed::Reset => ErrorClass::Reset,
            Closed::TimedOut(class) => class,
            Closed::Cancelled => ErrorClass::Cancelled,
        });
    }

    /// How it ended. Only after [`Progress::Over`] or [`Response::closed`].
    pub fn reply(&mut self) -> Reply {
        Reply {
            status: None,
            error: self.error,
            detail: None,
            output_tokens: None,
            token_source: TokenSource::Events,
            usage: Usage::default(),
            undecided_count: false,
            finish_reason: None,
            counters: Counters::default(),
            reusable: false,
        }
    }

    /// The body of a unary reply, decoded, as far as it has come.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &[]
    }

    /// Bytes read so far, head included.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads so far.
    #[must_use]
    pub const fn reads(&self) -> u32 {
        self.reads
    }

    /// Seconds that the server keeps an idle connection open, where it says so.
    #[must_use]
    pub const fn keep_alive_s(&self) -> Option<u32> {
        None
    }
}
