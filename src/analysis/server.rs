//! The server's state, said apart from the client's: whether it kept up.
//!
//! It must not touch the verdict, which is about us.

use super::Trend;
use super::stages::Stages;
use super::words::say_number;

/// What the load did to the server, as far as it can be told from here.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ServerState {
    /// False when requests in flight grew through the window; `None` in a closed loop, which cannot tell.
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

    /// All stages together: it kept up when it did in every stage that can tell.
    pub(super) fn over<'a>(stages: impl Iterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        let mut behind: Option<(&Self, Stages)> = None;
        let mut untold: Option<(&Vec<String>, Stages)> = None;
        for (number, stage) in stages.enumerate() {
            all.kept_up = match (all.kept_up, stage.kept_up) {
                (Some(mine), Some(theirs)) => Some(mine && theirs),
                (mine, theirs) => mine.or(theirs),
            };
            if stage.words.is_empty() {
                continue;
            }
            if stage.kept_up != Some(false) {
                match &mut untold {
                    None => untold = Some((&stage.words, Stages::of(number))),
                    Some((_, stages)) => stages.add(number, true, false),
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
        if let Some((words, stages)) = untold {
            all.words.extend(words.iter().map(|words| match words.as_str() {
                // All stages of a run are closed loops, or none is.
                CLOSED => CLOSED.into(),
                words => format!("{stages}: {words}"),
            }));
        }
        all
    }

    fn slope(&self) -> Option<f64> {
        self.trend.as_ref().map(|trend| trend.slope_per_s)
    }
}
