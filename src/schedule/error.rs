//! Why a schedule cannot be; its words name the value, what is accepted, and the remedy.

use std::fmt;

/// The user asked for a load that cannot be scheduled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleError(String);

impl ScheduleError {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScheduleError {}
