//! Rows: their keys, the way there and back, and what a broken file says.

use crate::Folder;
use crate::any_record::{START, any_record, plain};
use lowrho::plan::Records;
use lowrho::record::Record;
use lowrho::store::{Results, RowQueue};
use proptest::prelude::*;
use std::fs::{self, OpenOptions};
use std::io::Write;

fn write(results: &Results, keep: Records, records: &[Record]) {
    let queue = RowQueue::new(keep);
    let sender = queue.sender();
    let writer = results.start_records(queue, START).unwrap();
    for record in records {
        sender.send(record.clone());
    }
    let rows = writer.finish();
    assert_eq!((rows.dropped, rows.lost), (0, 0));
    assert!(rows.error.is_none());
}

fn read(results: &Results) -> Vec<Record> {
    results.records(START).unwrap().map(Result::unwrap).collect()
}

fn new_results(folder: &Folder) -> Results {
    Results::create(folder.path()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_written_is_read_again(records in proptest::collection::vec(any_record(), 0..12)) {
        let folder = Folder::new();
        let results = new_results(&folder);
        write(&results, Records::All, &records);
        prop_assert_eq!(read(&results), records);
    }

    #[test]
    fn a_file_cut_anywhere_gives_its_whole_rows(cut in 0.0..1.0_f64) {
        let folder = Folder::new();
        let results = new_results(&folder);
        write(&results, Records::All, &[plain(0), plain(1), plain(2)]);
        let path = folder.path().join("records.jsonl");
        let whole = fs::read(&path).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let end = (cut * whole.len() as f64) as usize;
        fs::write(&path, &whole[..end]).unwrap();
        let mut reader = results.records(START).unwrap();
        let read: Vec<u64> = reader.by_ref().map(|record| record.unwrap().index).collect();
        // A row that lacks its line feed alone is whole.
        let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(n, _)| n).collect();
        let expected = ends.iter().filter(|n| **n <= end).count() as u64;
        prop_assert_eq!(read, (0..expected).collect::<Vec<_>>());
        let clean = end == 0 || ends.iter().any(|n| *n == end || n + 1 == end);
        prop_assert_eq!(reader.was_cut(), !clean);
    }
}

#[test]
fn the_keys_of_a_row_are_the_published_ones_in_their_order() {
    let folder = Folder::new();
    let results = new_results(&folder);
    write(&results, Records::All, &[plain(7)]);
    let text = fs::read_to_string(folder.path().join("records.jsonl")).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"index":7,"shard":0,"stage":0,"phase":"measured","due_ns":1000000,"begun_ns":2000000,"#,
            r#""connected_ns":null,"sent_ns":2000000,"head_ns":20000000,"event_ns":21000000,"first_ns":22000000,"#,
            r#""answer_ns":22000000,"last_ns":60000000,"done_ns":60000000,"end_ns":61000000,"reused":true,"#,
            r#""status":200,"ok":true,"error":null,"detail":null,"finish_reason":"length","input_tokens":128,"#,
            r#""cached_tokens":null,"output_tokens":8,"reasoning_tokens":null,"asked_output_tokens":8,"#,
            r#""token_source":"usage","events":8,"n_first":1,"bytes":2000,"coalesced":1,"uncertainty_ns":30000,"#,
            r#""stall_ns":7000000,"retries":0,"stamp":"software","sent_uncertainty_ns":9000}"#,
            "\n"
        )
    );
}

#[test]
fn only_failures_are_kept_when_only_failures_are_asked_for() {
    let folder = Folder::new();
    let results = new_results(&folder);
    let failure = Record { error: Some(lowrho::wire::ErrorClass::Reset), ..plain(1) };
    write(&results, Records::Failed, &[plain(0), failure.clone(), plain(2)]);
    assert_eq!(read(&results), [failure]);
    write(&results, Records::None, &[plain(0)]);
    assert_eq!(read(&results), []);
}

#[test]
fn a_broken_row_is_named_by_its_file_and_line() {
    let folder = Folder::new();
    let results = new_results(&folder);
    write(&results, Records::All, &[plain(0), plain(1)]);
    let path = folder.path().join("records.jsonl");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{{\"index\":2}}").unwrap();
    let mut reader = results.records(START).unwrap();
    assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 2);
    let mut again = results.records(START).unwrap();
    let error = again.by_ref().find_map(Result::err).unwrap().to_string();
    assert!(error.starts_with(&format!("{}:3: not a row: missing field", path.display())), "{error}");
    assert!(again.next().is_none(), "nothing follows an error");
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let folder = Folder::new();
    let results = new_results(&folder);
    write(&results, Records::All, &[plain(0)]);
    for name in ["records.jsonl", "histograms.hlog"] {
        let path = folder.path().join(name);
        let _ = fs::remove_file(&path);
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
    }
    let rows = results.records(START).unwrap_err().to_string();
    let sums = results.read_histograms().unwrap_err().to_string();
    assert!([rows, sums].iter().all(|why| why.contains("no regular file")));
}

#[test]
fn a_word_that_no_row_says_is_refused() {
    let folder = Folder::new();
    let results = new_results(&folder);
    write(&results, Records::All, &[plain(0)]);
    let path = folder.path().join("records.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to, about) in [
        ("\"measured\"", "\"later\"", "phase is \"later\""),
        ("\"error\":null", "\"error\":\"reset\"", "ok and error contradict"),
        ("\"software\"", "\"guess\"", "stamp is \"guess\""),
        ("\"due_ns\":1000000", "\"due_ns\":-9000000000000000", "is no instant"),
        ("\"due_ns\":1000000", "\"due_ns\":9223372036854775807", "is no instant"),
    ] {
        fs::write(&path, text.replace(from, to)).unwrap();
        let error = results.records(START).unwrap().find_map(Result::err).unwrap().to_string();
        assert!(error.contains(about), "{error}");
    }
}
