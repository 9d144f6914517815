//! The directory itself, and its files that are written whole.

use crate::Folder;
use crate::any_record::{START, plain};
use base64::Engine;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use lowrho::plan::Records;
use lowrho::record::{Histogram, Metric, Record};
use lowrho::report::{SCHEMA_VERSION, ShardAudit, Summary};
use lowrho::store::{Remains, Results, RowQueue};
use lowrho::time::Span;
use lowrho::wire::ErrorClass;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_directory_with_something_in_it_is_refused_with_the_remedy() {
    let folder = Folder::new();
    fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let error = Results::create(folder.path()).unwrap_err().to_string();
    assert!(error.contains("is not empty: name another with --out"), "{error}");
}

#[test]
fn trying_a_directory_leaves_nothing_behind_but_what_was_there() {
    let folder = Folder::new();
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    Results::try_out(Some(&there.join("a/b"))).unwrap();
    Results::try_out(Some(&there)).unwrap();
    assert_eq!((names(folder.path()), names(&there)), (vec!["there".to_owned()], vec![]));
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_with_the_remedy_and_left_alone() {
    let folder = Folder::new();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let error = Results::try_out(Some(&file.join("results"))).unwrap_err().to_string();
    assert!(error.contains("cannot create") && error.contains("file"), "{error}");
    let error = Results::try_out(Some(folder.path())).unwrap_err().to_string();
    assert!(error.contains("is not empty: name another with --out"), "{error}");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn the_space_kept_for_a_summary_becomes_the_summary() {
    let folder = Folder::new();
    let results = Results::create(folder.path()).unwrap();
    results.keep_space().unwrap();
    let kept = fs::metadata(folder.path().join(".summary.json.part")).unwrap();
    let summary = Summary { schema_version: SCHEMA_VERSION, ..Summary::default() };
    results.write_summary(&summary).unwrap();
    assert_eq!(names(folder.path()), ["summary.json"]);
    let length = fs::metadata(folder.path().join("summary.json")).unwrap().len();
    assert!(
        length == summary.to_json().len() as u64 && length < kept.len(),
        "nothing of the space is left in it"
    );
    assert_eq!(results.read_summary().unwrap(), summary);
}

#[test]
fn what_a_killed_run_left_is_counted() {
    let folder = Folder::new();
    let results = Results::create(folder.path()).unwrap();
    assert_eq!(results.remains(), None, "nothing of a run is there");
    let queue = RowQueue::new(Records::All);
    let sender = queue.sender();
    let writer = results.start_records(queue, START).unwrap();
    for index in 0..3 {
        sender.send(plain(index));
    }
    sender.send(Record { error: Some(ErrorClass::Reset), ..plain(3) });
    assert_eq!(writer.finish().written, 4);
    let whole = Remains { rows: 4, failed: 1, cut: false, histograms: false };
    assert_eq!(results.remains(), Some(whole));
    let path = folder.path().join("records.jsonl");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 9]).unwrap();
    results.start_histograms(0).unwrap();
    assert_eq!(results.remains(), Some(Remains { rows: 3, failed: 0, cut: true, histograms: true }));
    results.write_summary(&Summary::default()).unwrap();
    assert_eq!(results.remains(), None, "a run that has its summary has left more than remains");
}

#[test]
fn two_runs_of_the_same_second_get_directories_of_their_own() {
    let folder = Folder::new();
    let made: Vec<_> = (0..3)
        .map(|_| Results::create_default(folder.path(), 1_780_000_000_000_000_000, "org/tiny").unwrap())
        .map(|results| results.dir().file_name().unwrap().to_str().unwrap().to_string())
        .collect();
    assert_eq!(
        made,
        ["20260528T202640Z-org-tiny", "20260528T202640Z-org-tiny-2", "20260528T202640Z-org-tiny-3"]
    );
}

#[test]
fn a_summary_is_read_again_and_leaves_no_part_behind() {
    let folder = Folder::new();
    let results = Results::create(folder.path()).unwrap();
    let mut summary = Summary { schema_version: SCHEMA_VERSION, ..Summary::default() };
    summary.run.id = "first".into();
    results.write_summary(&summary).unwrap();
    summary.run.id = "second".into();
    results.write_summary(&summary).unwrap();
    assert_eq!(results.read_summary().unwrap(), summary);
    assert_eq!(names(folder.path()), ["summary.json"]);
}

#[test]
fn a_page_says_where_its_curves_hold_what_its_tables_do_not() {
    let folder = Folder::new();
    let results = Results::create(folder.path()).unwrap();
    let mut summary = Summary { schema_version: SCHEMA_VERSION, ..Summary::default() };
    summary.client.shards = vec![ShardAudit::default(), ShardAudit { shard: 1, ..ShardAudit::default() }];
    results.write_summary(&summary).unwrap();
    assert!(results.tell(10).unwrap().notes.is_empty());
    summary.client.shards[1].failed = Some("it stopped beating".into());
    results.write_summary(&summary).unwrap();
    let notes = results.tell(10).unwrap().notes;
    assert!(notes.len() == 1 && notes[0].starts_with("shard 1 failed: distributions"), "{notes:?}");
}

#[test]
fn a_summary_that_cannot_be_read_names_its_file_and_the_remedy() {
    let folder = Folder::new();
    let results = Results::open(folder.path()).unwrap();
    let path = folder.path().join("summary.json");
    fs::write(&path, "{\"schema_version\": 999}").unwrap();
    let error = results.read_summary().unwrap_err().to_string();
    assert!(error.contains("summary.json") && error.contains("newer"), "{error}");
    fs::write(&path, "{\"schema_version\": 1,").unwrap();
    let error = results.read_summary().unwrap_err().to_string();
    assert!(error.contains("not a summary"), "{error}");
}

#[test]
fn a_directory_that_is_not_there_says_so() {
    let folder = Folder::new();
    let error = Results::open(&folder.path().join("gone")).unwrap_err().to_string();
    assert!(error.contains("cannot read") && error.contains("gone"), "{error}");
}

#[test]
fn the_histogram_log_is_one_that_public_readers_take() {
    let folder = Folder::new();
    let results = Results::create(folder.path()).unwrap();
    let mut histogram = Histogram::published();
    for ms in 1..=100 {
        histogram.record(ms * 1_000_000);
    }
    let mut log = results.start_histograms(1_780_000_000_500_000_000).unwrap();
    for start in [1, 11] {
        let histograms = [(Metric::Ttft, &histogram), (Metric::Itl, &histogram)];
        log.append(Span::from_s(start), Span::from_s(10), histograms).unwrap();
    }
    let text = fs::read(folder.path().join("histograms.hlog")).unwrap();
    let entries: Vec<_> = IntervalLogIterator::new(&text).map(Result::unwrap).collect();
    let mut tags = Vec::new();
    for entry in &entries {
        match entry {
            LogEntry::StartTime(at) | LogEntry::BaseTime(at) => {
                assert_eq!(*at, Duration::from_millis(1_780_000_000_500));
            }
            LogEntry::Interval(interval) => {
                tags.push(interval.tag().map(|tag| tag.as_str()));
                assert_eq!(interval.duration(), Duration::from_secs(10));
                assert!((99.0..101.0).contains(&interval.max()), "the maximum is in ms: {}", interval.max());
                let values = decoded(interval.encoded_histogram());
                assert_eq!(values.len(), 100);
                assert!(values.value_at_quantile(0.5).abs_diff(50_000_000) <= 50_000_000 / 1000);
            }
        }
    }
    assert_eq!(tags, [None, Some("ttft"), Some("itl"), None, Some("ttft"), Some("itl")]);
}

#[test]
fn a_damaged_histogram_log_is_no_part_of_one() {
    let folder = Folder::new();
    let results = Results::create(folder.path()).unwrap();
    let mut histogram = Histogram::published();
    histogram.record(1_000_000);
    let mut log = results.start_histograms(0).unwrap();
    for start in [1, 2] {
        log.append(Span::from_s(start), Span::from_s(1), [(Metric::Itl, &histogram)]).unwrap();
    }
    let path = folder.path().join("histograms.hlog");
    let whole = fs::read_to_string(&path).unwrap();
    let counts = |text: &str| {
        fs::write(&path, text).unwrap();
        results.read_histograms().map(|sums| sums[&Metric::Itl].count()).map_err(|error| error.to_string())
    };
    assert_eq!(counts(&whole), Ok(2));
    // The last line was being written when the run was killed.
    assert_eq!(counts(&whole[..whole.len() - 3]), Ok(1));
    let lines: Vec<&str> = whole.lines().collect();
    let damaged_line = lines.len() - 1;
    for damage in ["garbage", "Tag=itl,1.000,1.000,1.000,HISTFAAAnot-base64!"] {
        let mut lines = lines.clone();
        lines[damaged_line - 1] = damage;
        let why = counts(&format!("{}\n", lines.join("\n"))).unwrap_err();
        let told = format!("hlog:{damaged_line}: it is no interval of histograms: the file is damaged");
        assert!(why.ends_with(&told), "{why}");
    }
    // A metric that a later version keeps is none of ours.
    let later = whole.replace("Tag=itl", "Tag=later");
    assert_eq!(counts(&format!("{whole}{later}")), Ok(2));
}

fn decoded(text: &str) -> hdrhistogram::Histogram<u64> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}
