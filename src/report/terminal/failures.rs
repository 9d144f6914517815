//! What went wrong, in the server's own words where it has some: the most frequent first.
//!
//! Failures without words are told by class alone, elsewhere.

use super::page::{Look, Page};
use crate::report::figures::count;
use crate::report::{Failure, Summary};
use std::fmt;

/// Kinds shown without being asked for more.
const SHOWN: usize = 3;

/// Characters of one kind's words: the rows have all of them.
const LONGEST: usize = 300;

pub(super) fn write(summary: &Summary, verbose: bool, page: &mut Page<'_>) -> fmt::Result {
    let most = if verbose { usize::MAX } else { SHOWN };
    let said = summary.failures.iter().filter_map(|failure| Some((failure, failure.detail.as_deref()?)));
    for (failure, detail) in said.take(most) {
        let times = match failure.count {
            1 => "once".into(),
            n => format!("{} times", count(n)),
        };
        page.paragraph(Look::Bad, &format!("  said {times}: "), &words(failure, detail))?;
    }
    Ok(())
}

/// `http_5xx, status 503: the queue is full`.
fn words(failure: &Failure, detail: &str) -> String {
    let status = failure.status.map_or(String::new(), |status| format!(", status {status}"));
    let mut words: String = detail.chars().take(LONGEST).collect();
    if words.len() < detail.len() {
        words.push_str(" ...");
    }
    format!("{}{status}: {words}", failure.class)
}
