//! The results directory: written as the run goes, read again afterwards.
//!
//! It knows files and formats; it computes no number, and a failing disk never stops a run.

mod directory;
mod error;
mod histograms;
mod queue;
mod reader;
mod regular;
mod told;
mod writer;

pub use directory::{Remains, Results};
pub use error::StoreError;
pub use histograms::HistogramLog;
pub use queue::{RowQueue, RowSender};
pub use reader::RecordReader;
pub use told::MOST_ROWS;
pub use writer::{RowWriter, RowsWritten};
