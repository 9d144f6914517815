//! The bounded queue of rows between the shards and their writer.
//!
//! It may refuse a row, and counts it; it never makes a shard wait.

use crate::plan::Records;
use crate::record::Record;
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows that may wait: at 50,000 requests/s, three beats of the writer. The queue's memory (some 4 MB) is taken at once.
const QUEUE_ROWS: usize = 8_192;

/// The queue of one run, until [`super::RowWriter::start`] takes it. Rows sent before wait in it.
#[derive(Debug)]
pub struct RowQueue {
    pub(super) rows: Sender<Record>,
    pub(super) queue: Receiver<Record>,
    pub(super) keep: Records,
    pub(super) dropped: Arc<AtomicU64>,
}

impl RowQueue {
    /// An empty queue that takes the records of a kind.
    #[must_use]
    pub fn new(keep: Records) -> Self {
        let (rows, queue) = crossbeam_channel::bounded(if keep == Records::None { 1 } else { QUEUE_ROWS });
        Self { rows, queue, keep, dropped: Arc::default() }
    }

    /// An end of the queue, for one shard.
    #[must_use]
    pub fn sender(&self) -> RowSender {
        RowSender { rows: self.rows.clone(), keep: self.keep, dropped_by_all: self.dropped.clone() }
    }
}

/// A shard's end of the queue.
#[derive(Debug)]
pub struct RowSender {
    rows: Sender<Record>,
    keep: Records,
    dropped_by_all: Arc<AtomicU64>,
}

impl RowSender {
    /// Hands a record over to be written, if records of its kind are kept. Never blocks: a full queue drops it, and
    /// that is counted.
    pub fn send(&self, record: Record) {
        let kept = match self.keep {
            Records::None => false,
            Records::Failed => record.error.is_some(),
            Records::All => true,
        };
        if kept && self.rows.try_send(record).is_err() {
            self.dropped_by_all.fetch_add(1, Relaxed);
        }
    }
}
