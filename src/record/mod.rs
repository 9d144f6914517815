//! Stamped events to rows and statistics: the timeline of one request, its record, the shard's histograms, sums and audit.
//!
//! It must not read a clock, know a socket, or judge: definitions are those of `docs/METHOD.md`.

mod audit;
mod bounds;
mod by_choice;
mod censored;
mod dispersion;
mod event_log;
mod failures;
mod finished;
mod gauge;
mod histogram;
mod interruption;
mod interval;
mod judged;
mod line;
mod metric;
mod queue;
mod recorder;
mod row;
mod silence;
mod slowest;
mod split;
mod stage;
mod sums;
mod tally;
mod timeline;
mod window;

pub use audit::{Audit, Turn, Work, WorkClass};
pub use bounds::Bounds;
pub use dispersion::{Bursts, Dispersion};
pub use failures::{Failure, Failures};
pub use finished::{Finished, Gap, TokenEvent};
pub use gauge::{GaugeReading, ShardGauge, TtftCounts};
pub use histogram::{Bucket, Histogram, quantile_rank};
pub use interruption::{Cause, Excess, Interruption, Switches, ThreadCounts};
pub use interval::Interval;
pub use judged::{Bound, Held, Judged};
pub use line::{read_line, write_line};
pub use metric::{Metric, Metrics};
pub use queue::{Jobs, Lost, Queue, Scheduling, Spent};
pub use recorder::Recorder;
pub use row::Record;
pub use silence::Silence;
pub use slowest::{Slow, Slowest};
pub use split::{LineSums, Split};
pub use stage::Stage;
pub use sums::{Flow, Population, TokenSums};
pub use tally::Tally;
pub use timeline::{Asked, Timeline};
pub use window::{BLOCKS, Blocks, Window};
