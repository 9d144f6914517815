//! What is left after a kill, a full disk, and a writer that falls behind.

use crate::Folder;
use crate::any_record::{START, plain};
use lowrho::plan::Records;
use lowrho::store::{Results, RowQueue, RowWriter};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const CHILD_DIR: &str = "LOWRHO_TEST_KILLED_RUN";
const ROWS: u64 = 1_000;

/// The run that the next test kills: it sends rows, and then neither finishes nor drops.
#[test]
#[ignore = "not a test of its own"]
fn a_run_that_is_killed() {
    let dir = std::env::var_os(CHILD_DIR).expect("started by the next test");
    let results = Results::create(Path::new(&dir)).unwrap();
    let queue = RowQueue::new(Records::All);
    let sender = queue.sender();
    let _writer = results.start_records(queue, START).unwrap();
    for index in 0..ROWS {
        sender.send(plain(index));
    }
    loop {
        std::thread::park();
    }
}

#[test]
fn a_killed_run_leaves_every_row_it_had_time_to_write() {
    let folder = Folder::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "survival::a_run_that_is_killed"])
        .env(CHILD_DIR, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let results = Results::open(folder.path()).unwrap();
    // Until the rows are there, however slow this machine is; a writer that keeps them back never gets further.
    let (_never, patience) = mpsc::channel::<()>();
    let mut seen = 0;
    for _ in 0..3_000 {
        seen = results.records(START).map_or(0, |rows| rows.filter(Result::is_ok).count());
        if seen >= usize::try_from(ROWS).unwrap() {
            break;
        }
        let _ = patience.recv_timeout(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(seen, usize::try_from(ROWS).unwrap(), "rows in the file before anyone finished it");
    let left: Vec<u64> = results.records(START).unwrap().map(|row| row.unwrap().index).collect();
    assert_eq!(left, (0..ROWS).collect::<Vec<_>>());
}

#[test]
fn a_writer_that_is_dropped_still_writes_what_was_sent() {
    let folder = Folder::new();
    let results = Results::create(folder.path()).unwrap();
    let queue = RowQueue::new(Records::All);
    queue.sender().send(plain(3));
    let writer = results.start_records(queue, START).unwrap();
    drop(writer);
    assert_eq!(results.records(START).unwrap().map(Result::unwrap).collect::<Vec<_>>(), [plain(3)]);
}

#[test]
fn a_full_disk_is_told_at_the_end_and_every_lost_row_is_counted() {
    let path = Path::new("/dev/full");
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let queue = RowQueue::new(Records::All);
    let sender = queue.sender();
    let writer = RowWriter::start(queue, file, path, START).unwrap();
    for index in 0..ROWS {
        sender.send(plain(index));
    }
    let rows = writer.finish();
    assert_eq!((rows.written, rows.lost, rows.dropped), (0, ROWS, 0));
    let words = rows.error.unwrap().to_string();
    assert!(words.contains("/dev/full") && words.contains("make room"), "{words}");
}

#[test]
fn a_writer_that_falls_behind_drops_rows_and_counts_them_all() {
    // A pipe that nobody reads takes some rows, and then keeps the writer waiting.
    let (mut reader, pipe) = std::io::pipe().unwrap();
    let queue = RowQueue::new(Records::All);
    let (one, other) = (queue.sender(), queue.sender());
    let file = File::from(OwnedFd::from(pipe));
    let writer = RowWriter::start(queue, file, Path::new("pipe"), START).unwrap();
    let sent = 40_000;
    for index in 0..sent {
        one.send(plain(index));
    }
    other.send(plain(sent));
    let rows = std::thread::spawn(move || {
        let mut text = Vec::new();
        reader.read_to_end(&mut text).unwrap();
        text.iter().filter(|byte| **byte == b'\n').count() as u64
    });
    let told = writer.finish();
    assert!(told.dropped > 0 && told.dropped <= sent + 1, "{told:?}");
    assert_eq!(told.written + told.dropped, sent + 1);
    assert_eq!(rows.join().unwrap(), told.written);
}
