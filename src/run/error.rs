//! Why a run measured nothing.
//!
//! It must not be used for what happens to a request: that is a record.

use crate::store::StoreError;
use std::fmt;

/// Why there is nothing to report, in words that name the thing and the remedy.
#[derive(Debug)]
pub enum RunError {
    /// The plan cannot work, which only now could be seen (a file of prompts, a header).
    Plan(String),
    /// The target cannot be driven: in its own words where it has some.
    Target(String),
    /// We cannot drive it: a ring, a core, a file.
    Own(String),
    /// Interrupted before anything was sent.
    Interrupted,
}

impl RunError {
    /// A results directory that cannot be written.
    pub(super) fn of_store(error: StoreError) -> Self {
        Self::Own(error.to_string())
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(words) | Self::Target(words) | Self::Own(words) => f.write_str(words),
            Self::Interrupted => f.write_str("interrupted before the first request was due"),
        }
    }
}

impl std::error::Error for RunError {}
