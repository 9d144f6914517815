//! What a body turns out to be, and what is done with it.
//!
//! It must not know framing, nor events.

use super::ErrorClass;
use super::head::Media;
use super::openai::Event;
use super::stream::{Failure, unframed};

/// Bytes kept of a body that is no stream, to tell what the server says in it.
const LONGEST_WORDS: usize = 64 << 10;
/// Bytes of a unary reply: a completion of any model's whole context fits.
const LARGEST_UNARY: usize = 16 << 20;

/// What is done with the body.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// The first byte will tell; the head said `text/event-stream`, or it did not.
    Sniffed { promised: bool },
    /// It is an event stream.
    Events,
    /// It is kept for the server's words: its status is a refusal.
    Words(ErrorClass),
    /// It is JSON or HTML where a stream was asked for.
    NotAStream,
    /// It is JSON where the head promised an event stream.
    Unframed,
    /// It is what was asked for.
    Unary,
    /// It is skipped.
    Ignored,
}

/// Why a status is a refusal.
pub(super) const fn refusal(status: u16) -> Option<ErrorClass> {
    match status {
        300..=399 => Some(ErrorClass::HttpRedirect),
        429 => Some(ErrorClass::Http429),
        400..=499 => Some(ErrorClass::Http4xx),
        500.. => Some(ErrorClass::Http5xx),
        _ => None,
    }
}

impl Content {
    /// As the head has it.
    pub(super) fn promised(refusal: Option<ErrorClass>, media: Media, unary: bool) -> Self {
        match (refusal, media) {
            (Some(class), _) => Self::Words(class),
            (None, _) if unary => Self::Unary,
            (None, Media::Json | Media::Html) => Self::NotAStream,
            (None, media) => Self::Sniffed { promised: media == Media::EventStream },
        }
    }

    /// Decides by the first byte that tells, and says where that is.
    pub(super) fn sniff(promised: bool, plain: &[u8]) -> Option<(Self, usize)> {
        let tells = |b: &u8| match b {
            // Line ends, and the three bytes of a byte order mark.
            b'\r' | b'\n' | 0xef | 0xbb | 0xbf => false,
            b' ' | b'\t' => promised,
            _ => true,
        };
        let start = plain.iter().position(tells)?;
        let content = match plain[start] {
            b'{' if promised => Self::Unframed,
            b'{' | b'[' | b'<' if !promised => Self::NotAStream,
            _ => Self::Events,
        };
        Some((content, start))
    }

    /// How many bytes are kept of it.
    pub(super) const fn most_kept(self) -> usize {
        match self {
            Self::Sniffed { .. } | Self::Events | Self::Ignored => 0,
            Self::Words(_) | Self::NotAStream | Self::Unframed => LONGEST_WORDS,
            Self::Unary => LARGEST_UNARY,
        }
    }

    /// What a body that is no stream fails with, by what was kept of it.
    pub(super) fn judge(self, kept: &[u8]) -> Option<Failure> {
        let is_error = || Event::of(kept).is_some_and(|event| event.is_error);
        let class = match self {
            Self::Words(class) => class,
            Self::NotAStream | Self::Unary if is_error() => ErrorClass::StreamError,
            Self::NotAStream => ErrorClass::NotAStream,
            Self::Unframed => return Some(unframed(kept)),
            Self::Sniffed { .. } | Self::Events | Self::Unary | Self::Ignored => return None,
        };
        Some(Failure::in_words_of(class, kept))
    }
}
