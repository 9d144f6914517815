//! What a run shows while it goes on: one live line on a terminal, plain lines elsewhere.
//!
//! It reads the shards' gauges and nothing else; the report never reads what it shows.

mod line;
mod progress;

pub use line::{Reading, line};
pub use progress::{Progress, Show};
