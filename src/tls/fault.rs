//! What is wrong with certificates, keys and names before the first byte: each names the thing and the remedy.

use std::fmt;

/// A mistake in what TLS was set up with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFault(String);

impl TlsFault {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsFault {}
