//! What a response is told about its request and its connection, and what it answers to a read.
//!
//! It must not do anything.

use super::{Api, ErrorClass};

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
    /// Nothing more is to be read. [`Response::reply`](super::Response::reply) tells how it ended and whether the
    /// connection can be reused.
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
    /// TLS failed: the peer cannot be trusted, or broke the protocol.
    Insecure,
    /// Our own timer fired: of this class if the response was not complete yet.
    TimedOut(ErrorClass),
    /// We gave it up.
    Cancelled,
    /// Bytes were there before the request had left: whatever they are, they are no answer to it.
    Unasked,
    /// There is no memory for what it has not finished: it and others keep too much ([`super::Response::kept`]).
    Crowded,
}

impl Closed {
    /// The class of a response that it ends before its head was whole: `bare` = before its first byte.
    pub(super) const fn in_head(self, bare: bool, reused: bool) -> ErrorClass {
        match self {
            Self::TimedOut(class) => class,
            Self::Unasked => ErrorClass::HttpProtocol,
            Self::Cancelled => ErrorClass::Cancelled,
            Self::Crowded => ErrorClass::HeadTooLarge,
            Self::Insecure => ErrorClass::Tls,
            _ if bare && reused => ErrorClass::StaleConnection,
            Self::Reset => ErrorClass::Reset,
            Self::Fin | Self::Unannounced if bare => ErrorClass::EofBeforeHead,
            Self::Fin | Self::Unannounced => ErrorClass::TruncatedHead,
        }
    }

    /// The class of a response that it ends in the middle of its body.
    pub(super) const fn in_body(self) -> ErrorClass {
        match self {
            Self::Fin | Self::Unannounced => ErrorClass::TruncatedBody,
            Self::Reset => ErrorClass::Reset,
            Self::Insecure => ErrorClass::Tls,
            Self::TimedOut(class) => class,
            Self::Unasked => ErrorClass::HttpProtocol,
            Self::Cancelled => ErrorClass::Cancelled,
            Self::Crowded => ErrorClass::EventTooLarge,
        }
    }
}
