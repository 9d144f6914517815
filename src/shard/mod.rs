//! One core of the client: a thread pinned to it, its executor (on io_uring), its connections, pacing, and the lifecycle of requests.
//!
//! It makes traces; what they mean is told by `wire`, `record` and, after the run, `analysis`.

mod account;
mod begin;
mod client;
mod control;
mod deadlines;
mod finish;
mod flight;
mod handler;
mod idle;
mod kept;
mod later;
mod lines;
mod measured;
mod outbox;
mod outgoing;
mod recording;
mod secure;
mod sessions;
mod sinks;
mod slots;
mod source;
mod thread;
mod ways;

pub use client::Orders;
pub use control::{Control, Order, Standing};
pub use flight::DRAIN;
pub use measured::{INTERVAL, Measured, windows};
pub use sessions::Handshakes;
pub use sinks::{IntervalSink, RowSink, Sinks, TrafficSink};
pub use thread::{Outcome, Shard};
pub use ways::Ways;
