//! A run, or a sweep, as the page is told of it.

use crate::analysis::Course;
use crate::record::{Histogram, Metric};
use crate::report::{Summary, Sweep};

/// One run.
#[derive(Clone, Debug)]
pub struct Told {
    /// What it is called beside others: its directory.
    pub name: String,
    /// What was found.
    pub summary: Summary,
    /// The measured successes' metrics, where their histograms were kept.
    pub curves: Vec<Curve>,
    /// What happened when, where every request has a row.
    pub course: Option<Course>,
    /// What of its files could not be read.
    pub notes: Vec<String>,
}

/// One sweep.
#[derive(Clone, Debug)]
pub struct ToldSweep {
    /// What it is called beside others: its directory.
    pub name: String,
    /// What was found.
    pub sweep: Sweep,
}

/// One metric's values.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Which.
    pub metric: Metric,
    /// In nanoseconds.
    pub values: Histogram,
}

impl Told {
    pub(super) fn curve(&self, metric: Metric) -> Option<&Histogram> {
        let found = self.curves.iter().find(|curve| curve.metric == metric)?;
        (found.values.count() > 0).then_some(&found.values)
    }
}
