//! Why a workload cannot be; its words name the value, what is accepted, and the remedy.

use std::fmt;

/// The user asked for requests that cannot be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadError(String);

impl WorkloadError {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WorkloadError {}
