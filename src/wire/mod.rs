//! Bytes to events: response head, body framing, server-sent events and the deltas of each API; and the request's bytes.
//!
//! No clock, no socket, borrowed bytes, and no allocation per event on the usual path. The instant of what is
//! heard here is the caller's: see [`crate::record`].

mod body;
mod content;
mod expect;
mod gzip;
mod head;
mod heard;
mod json;
mod listener;
mod openai;
mod outcome;
mod request;
mod response;
mod retry_after;
mod sse;
mod stream;
mod tally;
mod words;

pub use expect::{Closed, Expect, Progress};
pub use heard::{Bears, Delta, Heard};
pub use listener::{Listener, TextKind};
pub use outcome::{Counters, ErrorClass, FinishReason, Reply, TokenSource, Usage};
pub use request::{Common, HeadFault, Method, RequestHead, check_header};
pub use response::Response;
pub use words::{error_message, model_ids, unescape};

/// The dialect of a request and its response.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Api {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/completions`.
    Completions,
}

impl Api {
    /// The path below the server's base.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }
}
