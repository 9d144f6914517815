//! The terminal report: what it looks like, that it fits, and that no summary breaks it.

use crate::any_summary::any_summary;
use crate::{assert_is_file, sample};
use lowrho::report::Summary;
use lowrho::report::terminal::{Style, text};
use proptest::prelude::*;

const WIDE: Style = Style { width: 100, colour: false, verbose: false };
const NARROW: Style = Style { width: 80, ..WIDE };
const VERBOSE: Style = Style { verbose: true, ..WIDE };

#[test]
fn a_steady_run_reads_like_this() {
    assert_is_file("tests/report/steady.txt", &text(&sample::steady(), &WIDE));
}

#[test]
fn a_broken_run_reads_like_this() {
    assert_is_file("tests/report/broken.txt", &text(&sample::broken(), &WIDE));
}

#[test]
fn a_run_of_stages_reads_like_this_on_a_narrow_terminal() {
    assert_is_file("tests/report/staged-80.txt", &text(&sample::staged(), &NARROW));
}

#[test]
fn who_asks_for_more_reads_this() {
    assert_is_file("tests/report/broken-verbose.txt", &text(&sample::broken(), &VERBOSE));
}

#[test]
fn a_run_that_measured_nothing_has_a_report_too() {
    assert_is_file("tests/report/nothing.txt", &text(&Summary::default(), &WIDE));
}

#[test]
fn all_that_is_essential_is_there_on_a_narrow_terminal() {
    let text = text(&sample::steady(), &NARROW);
    for word in
        ["1,003.2", "10,032", "TTFT", "ITL", "TPOT", "NTPOT", "E2E", "p99.9", "VALID", "KEPT UP", "0.212"]
    {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn colours_change_nothing_but_the_colour() {
    let coloured = text(&sample::broken(), &Style { colour: true, ..WIDE });
    assert!(coloured.contains("\x1b[1;31m"));
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find('\x1b') {
        bare.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    bare.push_str(rest);
    assert_eq!(bare, text(&sample::broken(), &WIDE));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_summary_breaks_the_report(summary in any_summary(), width in 0_usize..140, verbose: bool) {
        let text = text(&summary, &Style { width, colour: false, verbose });
        for line in text.lines() {
            prop_assert!(line.chars().count() <= width.max(40), "{} columns: {line}", line.chars().count());
            prop_assert!(!line.contains(char::is_control));
        }
        let mut summary = summary;
        summary.schema_version = 1;
        prop_assert_eq!(&Summary::from_json(&summary.to_json()).unwrap(), &summary);
    }
}
