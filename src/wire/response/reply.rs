//! What a response amounts to once it is over.
//!
//! It must not read any further.

use super::{Content, Phase, Response};
use crate::wire::retry_after::RetryAfter;
use crate::wire::{ErrorClass, Reply, TokenSource};

impl Response {
    /// How it ended. Only after [`crate::wire::Progress::Over`] or [`Response::closed`].
    ///
    /// # Panics
    /// When asked before.
    #[must_use]
    pub fn reply(&self) -> Reply {
        assert!(self.phase == Phase::Over, "a reply was asked for before its response was over");
        let tally = &self.stream.tally;
        let error = self.failure.as_ref().map(|failure| failure.class);
        let (tokens, token_source) = tally.output_tokens();
        let output_tokens = match self.content {
            _ if self.status.is_none() => None,
            Content::Words(_) | Content::NotAStream | Content::Ignored => None,
            Content::Unary => tally.usage.completion_tokens,
            _ => match error {
                // What is not HTTP was not parsed as a body, unless tokens say otherwise.
                Some(ErrorClass::HttpProtocol | ErrorClass::UnsupportedEncoding) => {
                    tally.shows_tokens().then_some(tokens)
                }
                _ => Some(tokens),
            },
        };
        let mut counters = self.counters;
        counters.usage_distrusted = tally.distrusts_usage();
        if error.is_none() && self.content == Content::Events {
            counters.no_done = !self.stream.done;
            counters.no_finish_reason = !tally.all_finished();
            counters.empty_output = !tally.shows_tokens() && !tally.undecided_count();
        }
        Reply {
            status: self.status,
            error,
            detail: self.failure.as_ref().and_then(|failure| failure.detail.clone()),
            output_tokens,
            token_source: if output_tokens.is_some() { token_source } else { TokenSource::Events },
            usage: tally.usage,
            undecided_count: tally.undecided_count(),
            finish_reason: tally.finish_reason.clone(),
            counters,
            retry_after_s: self.retry_after.filter(|_| error.is_some()).and_then(RetryAfter::in_s),
            retry_at_unix_s: self.retry_after.filter(|_| error.is_some()).and_then(RetryAfter::at_unix_s),
            reusable: self.whole && self.persistent && !self.surplus,
        }
    }
}
