//! The thread that writes rows: fed by a bounded queue, off the shards' cores, at a beat of its own.
//!
//! It may lose a row and says how many; it never makes a shard wait, and never stops a run.

use super::{RowQueue, StoreError};
use crate::plan::Records;
use crate::record::{Record, write_line};
use crate::time::Instant;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often the writer looks at the queue and writes what it found. It sleeps by the clock, not on the queue, so
/// that a shard that sends a row never pays for waking it; and kill -9 costs at most the rows of one beat.
const BEAT: Duration = Duration::from_millis(50);

/// Text is handed to the system at this size even before the beat ends.
const CHUNK_BYTES: usize = 256 * 1024;

/// What became of the rows.
#[derive(Debug)]
pub struct RowsWritten {
    /// Rows in the file.
    pub written: u64,
    /// Rows that the full queue refused, over all senders.
    pub dropped: u64,
    /// Rows taken from the queue that did not reach the file.
    pub lost: u64,
    /// Why rows were lost.
    pub error: Option<StoreError>,
}

/// The writer of `records.jsonl`. Dropped without [`RowWriter::finish`], it still writes what was sent.
#[derive(Debug)]
pub struct RowWriter {
    /// Its end tells the thread to finish; nothing is ever sent.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<Wrote>>,
    dropped: Arc<AtomicU64>,
    path: PathBuf,
}

/// What the thread hands back.
struct Wrote {
    written: u64,
    lost: u64,
    error: Option<io::Error>,
}

impl RowWriter {
    /// Starts the thread that empties `queue`. Instants are written from `start`.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(queue: RowQueue, file: File, path: &Path, start: Instant) -> Result<Self, StoreError> {
        let RowQueue { queue, dropped, keep, .. } = queue;
        let (running, end) = crossbeam_channel::bounded(0);
        // Where no row will ever come, it is not worth its wakes.
        let beat = if keep == Records::None { Duration::MAX } else { BEAT };
        let thread = Builder::new()
            .name("lowrho-rows".into())
            .spawn(move || {
                Rows {
                    file,
                    start,
                    text: Vec::new(),
                    pending: 0,
                    wrote: Wrote { written: 0, lost: 0, error: None },
                }
                .run(&queue, &end, beat)
            })
            .map_err(StoreError::io("start a thread to write", path))?;
        Ok(Self { running: Some(running), thread: Some(thread), dropped, path: path.to_path_buf() })
    }

    /// Writes what was sent until now, and tells what became of all rows.
    ///
    /// # Panics
    /// When the thread did: its own defect.
    #[must_use]
    pub fn finish(mut self) -> RowsWritten {
        let Wrote { written, lost, error } = self.join().expect("the writer of rows does not panic");
        RowsWritten {
            written,
            lost,
            dropped: self.dropped.load(Relaxed),
            error: error.map(StoreError::io("write", &self.path)),
        }
    }

    fn join(&mut self) -> Option<Wrote> {
        self.running = None;
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for RowWriter {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// The thread's own side.
struct Rows {
    file: File,
    start: Instant,
    text: Vec<u8>,
    /// Rows in `text`.
    pending: u64,
    wrote: Wrote,
}

impl Rows {
    fn run(mut self, queue: &Receiver<Record>, end: &Receiver<()>, beat: Duration) -> Wrote {
        while end.recv_timeout(beat) == Err(RecvTimeoutError::Timeout) {
            self.drain(queue);
        }
        self.drain(queue);
        self.wrote
    }

    fn drain(&mut self, queue: &Receiver<Record>) {
        for record in queue.try_iter() {
            self.add(&record);
        }
        self.write();
    }

    fn add(&mut self, record: &Record) {
        if self.wrote.error.is_some() {
            self.wrote.lost += 1;
            return;
        }
        write_line(record, self.start, &mut self.text);
        self.pending += 1;
        if self.text.len() >= CHUNK_BYTES {
            self.write();
        }
    }

    /// Hands the text to the system. After an error the file may end inside a row, so nothing more is ever added.
    fn write(&mut self) {
        let mut rest = self.text.as_slice();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => {
                    self.wrote.error = Some(io::ErrorKind::WriteZero.into());
                    break;
                }
                Ok(n) => rest = &rest[n..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.wrote.error = Some(error);
                    break;
                }
            }
        }
        // Every row ends with the only line feed it has, so those left over are the rows that did not get through.
        let lost = u64::try_from(memchr::memchr_iter(b'\n', rest).count()).expect("a count fits 64 bits");
        self.wrote.lost += lost;
        self.wrote.written += self.pending - lost;
        self.pending = 0;
        self.text.clear();
    }
}
