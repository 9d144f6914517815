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
fn runs_read_like_this_on_terminals_of_every_width() {
    let runs = [("steady", sample::steady()), ("broken", sample::broken()), ("staged", sample::staged())];
    for (name, summary) in runs {
        for width in [60, 80, 120] {
            let text = text(&summary, &Style { width, ..WIDE });
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{name} at {width} is {widest:?} wide");
            assert!(!text.contains('~'), "{name} at {width} has a cut line:\n{text}");
            assert_is_file(&format!("tests/report/{name}-{width}.txt"), &text);
        }
    }
}

#[test]
fn who_asks_for_more_reads_this() {
    assert_is_file("tests/report/broken-verbose.txt", &text(&sample::broken(), &VERBOSE));
}

#[test]
fn the_verdict_is_among_the_first_lines() {
    for (summary, line) in [
        (sample::steady(), "Verdict  client VALID, server KEPT UP"),
        (
            sample::broken(),
            "Verdict  client INVALID (rho_busy, delivered; below), server DID NOT KEEP UP, SLO CROSSED",
        ),
    ] {
        assert!(text(&summary, &WIDE).lines().take(5).any(|l| l == line), "{}", text(&summary, &WIDE));
    }
}

#[test]
fn a_quantile_that_is_left_out_is_explained_once() {
    let count = |summary: &Summary| text(summary, &NARROW).matches("too few independent").count();
    assert_eq!((count(&sample::steady()), count(&sample::broken())), (0, 1));
    let mut staged = sample::staged();
    assert_eq!(count(&staged), 0);
    staged.stages[1].section.latency.itl_ns.p99 = None;
    assert_eq!(count(&staged), 1);
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
