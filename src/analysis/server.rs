//! The server's state, said apart from the client's: whether it kept up.
//!
//! It must not touch the verdict, which is about us.

use super::Trend;
use super::stages::Stages;
use super::words::{say_number, say_share};

/// What the load did to the server, as far as it can be told from here.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ServerState {
    /// False when requests in flight grew through the window, or most requests failed; `None` in a closed loop, and where
    /// failures keep requests in flight from telling.
    pub kept_up: Option<bool>,
    /// Requests in flight; `None` where the window's end is not fixed.
    pub trend: Option<Trend>,
    /// What there is to say, in words.
    pub words: Vec<String>,
}

/// Why a closed loop is not judged.
const CLOSED: &str =
    "a closed loop cannot tell whether the server keeps up: each request waits for an answer";

/// Why a load that changes is not judged.
const UNSTEADY: &str =
    "whether the server kept up cannot be told: the load changed, or ended before its window did";

/// Failures end early, and load that is refused keeps nothing in flight: from this share on, what is in flight tells nothing.
const DOUBTFUL_FAILURES: f64 = 0.01;

/// Where a larger share waited for a place, the limit of those in flight was in force.
const DOUBTFUL_WAITS: f64 = 0.01;

/// A server that failed more than this share did not keep up, whatever was in flight.
const MOST: f64 = 0.5;

impl ServerState {
    pub(super) fn of(trend: Option<Trend>, open_loop: bool) -> Self {
        let kept_up = trend.as_ref().filter(|_| open_loop).map(|trend| !trend.grew);
        let words = match &trend {
            Some(trend) if kept_up == Some(false) => vec![format!(
                "the server did not keep up: +{} requests/s in flight; latencies below depend on the run's length",
                say_number(trend.slope_per_s)
            )],
            _ if !open_loop => vec![CLOSED.into()],
            None => vec![UNSTEADY.into()],
            _ => Vec::new(),
        };
        Self { kept_up, trend, words }
    }

    /// Takes into account that the server failed this share of the requests that were begun.
    pub(super) fn failing(&mut self, share: f64) {
        if share > MOST {
            self.kept_up = Some(false);
            self.words
                .push(format!("the server did not keep up: it failed {} of the requests", say_share(share)));
        } else if share > DOUBTFUL_FAILURES && self.kept_up == Some(true) {
            self.kept_up = None;
            self.words.push(format!(
                "whether the server kept up cannot be told: it failed {} of the requests, and those in flight did not grow",
                say_share(share)
            ));
        }
    }

    /// Takes into account that a shard left no count of its requests, where one did.
    pub(super) fn partly_counted(&mut self, partly: bool) {
        if partly && self.kept_up == Some(true) {
            self.kept_up = None;
            self.words
                .push("whether the server kept up cannot be told: what a shard counted is missing".into());
        }
    }

    /// Takes into account that this share of the requests waited for a place of the pool: what is in flight cannot grow then.
    pub(super) fn held_back(&mut self, share: f64) {
        if share > DOUBTFUL_WAITS && self.kept_up == Some(true) {
            self.kept_up = None;
            self.words.push(format!(
                "whether the server kept up cannot be told: {} of the requests waited for a place among those in flight \
                 (--max-concurrency, --connections), which could not grow",
                say_share(share)
            ));
        }
    }

    /// All stages together: it kept up when it did in every stage that can tell.
    pub(super) fn over<'a>(stages: impl Iterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        let mut behind: Option<(&Self, Stages)> = None;
        let mut untold: Vec<(&str, Stages)> = Vec::new();
        for (number, stage) in stages.enumerate() {
            all.kept_up = match (all.kept_up, stage.kept_up) {
                (Some(mine), Some(theirs)) => Some(mine && theirs),
                (mine, theirs) => mine.or(theirs),
            };
            if stage.words.is_empty() {
                continue;
            }
            if stage.kept_up != Some(false) {
                for words in &stage.words {
                    match untold.iter_mut().find(|(told, _)| told == words) {
                        None => untold.push((words, Stages::of(number))),
                        Some((_, stages)) => stages.add(number, true, false),
                    }
                }
                continue;
            }
            match &mut behind {
                None => behind = Some((stage, Stages::of(number))),
                Some((worst, stages)) => {
                    let worse = stage.slope() > worst.slope();
                    stages.add(number, stage.words == worst.words, worse);
                    if worse {
                        *worst = stage;
                    }
                }
            }
        }
        if let Some((worst, stages)) = behind {
            all.words.extend(worst.words.iter().map(|words| format!("{stages}: {words}")));
        }
        all.words.extend(untold.into_iter().map(|(words, stages)| match words {
            // All stages of a run are closed loops, or none is.
            CLOSED => CLOSED.into(),
            words => format!("{stages}: {words}"),
        }));
        all
    }

    fn slope(&self) -> Option<f64> {
        self.trend.as_ref().map(|trend| trend.slope_per_s)
    }
}
