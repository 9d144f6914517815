//! What is left of a shard when a run is over, and why nothing is, where nothing is.
//!
//! It must not judge: the verdict does.

use crate::analysis::MissedBeats;
use crate::shard::Outcome;
use crate::time::Span;
use std::fmt::{self, Display, Formatter};

/// What is left of one shard.
pub struct Left {
    /// Its number.
    pub number: u16,
    /// Its CPU.
    pub cpu: usize,
    /// What it counted.
    pub outcome: Result<Outcome, Missing>,
    /// When it showed no sign of life while something was measured.
    pub missed_beats: MissedBeats,
}

/// Why nothing is left of a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    /// It had shown no sign of life for so long when the run waited for it no longer.
    Silent(Span),
    /// It had not ended when the run waited for it no longer.
    Busy,
    /// It ended without a word of what it had counted, for this reason.
    Ended(String),
}

impl Display for Missing {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(_) => to.write_str("it stopped beating and did not end")?,
            Self::Busy => to.write_str("it did not end when it was told to")?,
            Self::Ended(why) => to.write_str(why)?,
        }
        to.write_str(", and what it counted is not here")
    }
}
