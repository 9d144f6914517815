//! The plan itself: what a run is made from; only the checks of this room make one.

use super::raw::Raw;
use super::secrets::redacted;
use super::{Client, Load, Payload, SimPlan, Target};
use crate::analysis::{Slo, Thresholds};
use std::fmt;

/// A run, every bound of which has been checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Who is driven.
    pub target: Target,
    /// How much and when.
    pub load: Load,
    /// What is sent.
    pub payload: Payload,
    /// Our own side.
    pub client: Client,
    /// What is written and where.
    pub output: Output,
    /// The embedded simulator to start and drive, if `--sim`.
    pub sim: Option<SimPlan>,
    /// The worst verdict that still exits with 0.
    pub require: Require,
    /// What the verdict holds the client to.
    pub thresholds: Thresholds,
    /// The service levels asked for; crossing one is exit 99.
    pub slo: Slo,
    /// What of a sweep's trial ends the sweep when crossed: the opposites of what was written; empty for a run.
    pub abort_on: Slo,
    /// The share of failed requests above which the target has failed (exit 4), 0 to 1.
    pub max_error_share: f64,
    /// What the plan had to give up, in words for the report (one CPU shared with the simulator, ...).
    pub caveats: Vec<String>,
    /// What was asked, the defaults filled in: what the effective config is written from.
    pub(super) asked: Asked,
}

/// The options a plan was made from. Its `Debug` form hides secrets.
#[derive(Clone, PartialEq)]
pub(super) struct Asked(pub(super) Raw);

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&redacted(self.0.clone()), f)
    }
}

/// What is written and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The results directory; `None` = `results/<time>-<model>`.
    pub dir: Option<String>,
    /// Which of several runs this is, from 1: its results are in a directory of that name below the others'.
    pub nth: Option<u32>,
    /// Which requests get a row in `records.jsonl`.
    pub records: Records,
    /// Whether rows hold every gap between events.
    pub record_gaps: bool,
    /// Kept with the results, in the order given.
    pub tags: Vec<(String, String)>,
    /// Whether stdout gets `summary.json` instead of the terminal report.
    pub json: bool,
    /// No progress on stderr.
    pub quiet: bool,
    /// More rows and figures in the terminal report.
    pub verbose: bool,
}

/// Which requests get a row in `records.jsonl`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Records {
    /// None.
    None,
    /// Those that failed.
    Failed,
    /// All.
    All,
}

/// The worst verdict that still exits with 0.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Require {
    /// Only a valid one.
    Valid,
    /// Suspect will do.
    Suspect,
    /// Any will do.
    Any,
}
