//! The measured failures in the server's own words: how often each was said.
//!
//! It must not grow with the number of requests: words beyond the first kinds are counted together.

use super::Record;
use crate::wire::ErrorClass;

/// Kinds that one shard tells apart: servers that fail say few different things, and those that put a number into each
/// message would fill any table.
const KINDS: usize = 32;

/// One kind of failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Its class.
    pub class: ErrorClass,
    /// The HTTP status, where one came.
    pub status: Option<u16>,
    /// The server's or the parser's own words, where there are some.
    pub detail: Option<Box<str>>,
    /// How many requests failed so.
    pub count: u64,
}

/// Failures of measured requests by kind.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Failures {
    kinds: Vec<Failure>,
    others: u64,
}

impl Failures {
    /// Counts a measured request, if it failed.
    pub(super) fn count(&mut self, record: &Record) {
        let Some(class) = record.error.filter(|class| *class != ErrorClass::Cancelled) else { return };
        let (status, detail) = (record.status, &record.detail);
        let room = self.kinds.len() < KINDS;
        match self.kinds.iter_mut().find(|kind| kind.is(class, status, detail.as_deref())) {
            Some(kind) => kind.count += 1,
            None if room => {
                self.kinds.push(Failure { class, status, detail: detail.clone(), count: 1 });
            }
            None => self.others += 1,
        }
    }

    /// Adds another shard's.
    pub(super) fn merge(&mut self, other: &Self) {
        for kind in &other.kinds {
            match self.kinds.iter_mut().find(|mine| mine.is(kind.class, kind.status, kind.detail.as_deref()))
            {
                Some(mine) => mine.count += kind.count,
                None => self.kinds.push(kind.clone()),
            }
        }
        self.others += other.others;
    }

    /// The kinds told apart, most frequent first.
    #[must_use]
    pub fn by_count(&self) -> Vec<&Failure> {
        let mut kinds: Vec<&Failure> = self.kinds.iter().collect();
        let rank = |kind: &&Failure| (std::cmp::Reverse(kind.count), kind.class, kind.status);
        kinds.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.detail.cmp(&b.detail)));
        kinds
    }

    /// Failures of kinds that were not told apart.
    #[must_use]
    pub const fn others(&self) -> u64 {
        self.others
    }
}

impl Failure {
    fn is(&self, class: ErrorClass, status: Option<u16>, detail: Option<&str>) -> bool {
        self.class == class && self.status == status && self.detail.as_deref() == detail
    }
}

/// The record of a measured request that was begun at zero and failed at `over`, for tests.
#[cfg(test)]
pub(super) fn failed_at(over: crate::time::Instant, class: ErrorClass, detail: Option<&str>) -> Record {
    use crate::record::{Asked, Timeline};
    use crate::time::{Instant, Phase};
    use crate::wire::Reply;
    let mut timeline = Timeline::new(
        Asked {
            index: 0,
            shard: 0,
            stage: 0,
            target: 0,
            phase: Phase::Measured,
            due: Instant::ZERO,
            asked_output_tokens: None,
            choices: 1,
        },
        Vec::new(),
    );
    timeline.begun(Instant::ZERO);
    let reply = Reply::unanswered(class, detail);
    timeline.finish(reply, over).into_parts().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    fn told(failures: &Failures) -> Vec<(&str, u64)> {
        failures.by_count().iter().map(|kind| (kind.detail.as_deref().unwrap_or("-"), kind.count)).collect()
    }

    fn failures(words: &[&str]) -> Failures {
        let mut failures = Failures::default();
        for words in words {
            failures.count(&failed_at(Instant::ZERO, ErrorClass::Http5xx, Some(words)));
        }
        failures
    }

    #[test]
    fn the_most_frequent_words_come_first_over_all_shards() {
        let mut all = failures(&["queue full", "oom", "queue full"]);
        all.merge(&failures(&["oom", "oom", "loading"]));
        assert_eq!(told(&all), [("oom", 3), ("queue full", 2), ("loading", 1)]);
    }

    #[test]
    fn words_that_never_repeat_are_counted_together() {
        let words: Vec<String> = (0..100).map(|n| format!("request {n} failed")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let failures = failures(&words);
        assert_eq!(failures.by_count().len(), KINDS);
        assert_eq!(failures.others(), 100 - KINDS as u64);
    }

    #[test]
    fn what_we_gave_up_did_not_fail() {
        let mut failures = Failures::default();
        failures.count(&failed_at(Instant::ZERO, ErrorClass::Cancelled, None));
        assert_eq!(failures.by_count(), Vec::<&Failure>::new());
    }
}
