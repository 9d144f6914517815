//! Stamped events to rows and statistics: the timeline of one request, its record, the shard's histograms, sums and audit.

mod row;

pub use row::Record;
