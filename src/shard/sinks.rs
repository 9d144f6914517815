//! Where what a shard gathers goes: off its core, to whoever the run gives it to.
//!
//! None of them may block: a shard waits for nobody.

use crate::record::{Interval, Record, Traffic};

/// Takes each finished record away from the shard's core; must not block.
pub type RowSink = Box<dyn FnMut(Record) + Send>;

/// Takes away what was counted up to the end of each interval, with its number from 0; must not block.
pub type IntervalSink = Box<dyn FnMut(u32, Interval) + Send>;

/// Takes away what was seen since the last call, and gives an empty one for what comes; must not block.
pub type TrafficSink = Box<dyn FnMut(Traffic) -> Traffic + Send>;

/// Where what a shard has gathered goes.
pub struct Sinks {
    /// Finished records.
    pub rows: RowSink,
    /// Histograms as the run goes.
    pub intervals: IntervalSink,
    /// Traffic, for imagined clients.
    pub traffic: TrafficSink,
}
