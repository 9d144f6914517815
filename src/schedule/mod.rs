//! When each request is due: warm-up, stages and cool-down as one seeded sequence that every shard walks alike.
//!
//! Fixed before the run: no clock is read, nothing is re-anchored, and no shard talks to another.

mod arrivals;
mod error;
mod process;
mod ramp;
#[expect(clippy::module_inception, reason = "the room is named for its main idea")]
mod schedule;
mod segment;
mod slots;
mod stage;
mod timetable;

pub use arrivals::{Arrivals, Due};
pub use error::ScheduleError;
pub use process::Process;
pub use ramp::Ramp;
pub use schedule::{Schedule, share};
pub use stage::{Extent, Load, Stage};
pub use timetable::{Timetable, Window};

#[cfg(test)]
mod proofs;
