//! The log of the truth: one JSON line a request, written by a thread of its own.
//!
//! It must not slow the server down: a full queue drops the row, and counts it.

use super::SimError;
use crate::script::Said;
use crate::time::Instant;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

/// Rows that may wait for the disk: seconds of it at a thousand requests/s, some megabytes at worst.
const QUEUE_ROWS: usize = 8_192;

/// One request, as it was answered.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) request_id: Option<Box<str>>,
    /// Receive stamp of its last byte.
    pub(super) received: Instant,
    pub(super) events: Vec<Event>,
    /// Whether the script played it to its end.
    pub(super) complete: bool,
}

/// One thing said, and the clock around the enter that sent it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Event {
    pub(super) what: Said,
    pub(super) planned: Instant,
    pub(super) before: Instant,
    pub(super) after: Instant,
}

/// What became of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerReport {
    /// Requests written.
    pub written: u64,
    /// Requests dropped because the disk could not keep up.
    pub dropped: u64,
    /// Why the writing failed, if it did.
    pub error: Option<String>,
}

/// The shards' end of the queue.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    rows: Sender<Box<Row>>,
    dropped: Arc<AtomicU64>,
}

impl Ledger {
    pub(super) fn push(&self, row: Box<Row>) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.rows.try_send(row) {
            self.dropped.fetch_add(1, Relaxed);
        }
    }
}

/// The writer's thread; it ends when every [`Ledger`] is dropped.
pub(super) struct Scribe {
    thread: JoinHandle<(u64, std::io::Result<()>)>,
    dropped: Arc<AtomicU64>,
}

impl Scribe {
    pub(super) fn start(path: &Path) -> Result<(Self, Ledger), SimError> {
        let file = File::create(path).map_err(|error| SimError::Log(path.into(), error))?;
        let (rows, queue) = bounded(QUEUE_ROWS);
        let thread = std::thread::Builder::new()
            .name("sim-log".into())
            .spawn(move || write_all(BufWriter::new(file), &queue))
            .map_err(|error| SimError::Thread(error.to_string()))?;
        let dropped = Arc::new(AtomicU64::new(0));
        Ok((Self { thread, dropped: Arc::clone(&dropped) }, Ledger { rows, dropped }))
    }

    pub(super) fn join(self) -> LedgerReport {
        let (written, result) = self.thread.join().expect("the log's writer does not panic");
        LedgerReport {
            written,
            dropped: self.dropped.load(Relaxed),
            error: result.err().map(|error| error.to_string()),
        }
    }
}

fn write_all(mut file: impl Write, queue: &Receiver<Box<Row>>) -> (u64, std::io::Result<()>) {
    let (mut written, mut line) = (0, Vec::new());
    for row in queue {
        line.clear();
        write_row(&row, &mut line);
        let result =
            file.write_all(&line).and_then(|()| if queue.is_empty() { file.flush() } else { Ok(()) });
        if let Err(error) = result {
            return (written, Err(error));
        }
        written += 1;
    }
    (written, file.flush())
}

fn write_row(row: &Row, into: &mut Vec<u8>) {
    into.extend_from_slice(b"{\"x_request_id\":");
    match &row.request_id {
        Some(id) => serde_json::to_writer(&mut *into, id).expect("a string takes all"),
        None => into.extend_from_slice(b"null"),
    }
    put_instant(",\"received_ns\":", row.received, into);
    into.extend_from_slice(b",\"first_token\":");
    match row.events.iter().position(|event| matches!(event.what, Said::Tokens(_))) {
        Some(first) => put_number(first, into),
        None => into.extend_from_slice(b"null"),
    }
    into.extend_from_slice(b",\"complete\":");
    into.extend_from_slice(if row.complete { b"true" } else { b"false" });
    into.extend_from_slice(b",\"events\":[");
    for (place, event) in row.events.iter().enumerate() {
        into.extend_from_slice(if place == 0 { b"{\"what\":\"" } else { b",{\"what\":\"" });
        into.extend_from_slice(event.what.name().as_bytes());
        into.extend_from_slice(b"\",\"tokens\":");
        put_number(event.what.tokens(), into);
        put_instant(",\"planned_ns\":", event.planned, into);
        put_instant(",\"before_ns\":", event.before, into);
        put_instant(",\"after_ns\":", event.after, into);
        into.push(b'}');
    }
    into.extend_from_slice(b"]}\n");
}

fn put_instant(key: &str, instant: Instant, into: &mut Vec<u8>) {
    into.extend_from_slice(key.as_bytes());
    put_number(instant.as_ns(), into);
}

fn put_number(number: impl itoa::Integer, into: &mut Vec<u8>) {
    into.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_of_json_that_names_its_first_token() {
        let event = |what, ns| Event {
            what,
            planned: Instant::from_ns(ns),
            before: Instant::from_ns(ns + 1),
            after: Instant::from_ns(ns + 2),
        };
        let row = Row {
            request_id: Some("a\"b".into()),
            received: Instant::from_ns(7),
            events: vec![event(Said::Head, 7), event(Said::Role, 20), event(Said::Tokens(3), 20)],
            complete: true,
        };
        let mut line = Vec::new();
        write_row(&row, &mut line);
        assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
        let json: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!((json["x_request_id"].as_str(), json["first_token"].as_u64()), (Some("a\"b"), Some(2)));
        assert_eq!(
            json["events"][2],
            serde_json::json!({"what": "token", "tokens": 3, "planned_ns": 20, "before_ns": 21, "after_ns": 22})
        );
    }
}
