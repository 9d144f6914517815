//! Stamped events to rows and statistics: the timeline of one request, its record, the shard's histograms, sums and audit.

mod gauge;
mod line;
mod row;

pub use gauge::{GaugeReading, ShardGauge, TtftCounts};
pub use line::{read_line, write_line};
pub use row::Record;
