//! What a results directory holds, as the page of it wants to be told.
//!
//! Of these files the summary alone must be there: without histograms or rows there are fewer figures.

use super::{Results, StoreError};
use crate::analysis::Course;
use crate::report::Summary;
use crate::report::html::{Curve, Told, ToldSweep};
use crate::time::{Instant, Span};

/// With more rows than this, reading them again after a run would keep its user waiting: some seconds a million.
pub const MOST_ROWS: u64 = 1_000_000;

impl Results {
    /// Reads what was kept, at most `most_rows` rows of it.
    ///
    /// # Errors
    /// There is no summary that this version can read.
    pub fn tell(&self, most_rows: u64) -> Result<Told, StoreError> {
        let summary = self.read_summary()?;
        let read = self.read_histograms();
        // Files that are not there need no words: whoever wants them knows.
        let damaged = read.as_ref().err().filter(|error| matches!(error, StoreError::Histograms { .. }));
        let damaged = damaged.map(|error| format!("{error}, and no distribution is drawn"));
        let failed = summary.client.shards.iter().find(|shard| shard.failed.is_some());
        let uncounted = failed.map(|shard| {
            format!(
                "shard {} failed: distributions and what happened when also hold what it had given away before, which is in no table",
                shard.shard
            )
        });
        let notes = damaged.into_iter().chain(uncounted).collect();
        let curves = read.unwrap_or_default();
        let curves = curves.into_iter().map(|(metric, values)| Curve { metric, values }).collect();
        let course = self.course(&summary, most_rows);
        let name = self.dir().display().to_string();
        Ok(Told { name, summary, curves, course, notes })
    }

    /// Reads what was kept of a sweep.
    ///
    /// # Errors
    /// There is no sweep that this version can read.
    pub fn tell_sweep(&self) -> Result<ToldSweep, StoreError> {
        Ok(ToldSweep { name: self.dir().display().to_string(), sweep: self.read_sweep()? })
    }

    /// The course of the run, where every request that was begun has a row.
    fn course(&self, summary: &Summary, most_rows: u64) -> Option<Course> {
        let begun = summary.total.load.begun;
        if begun > most_rows {
            return None;
        }
        let length = Span::from_ns(summary.run.duration_ns);
        let mut course = Course::new(Instant::ZERO, length);
        for row in self.records(Instant::ZERO).ok()? {
            course.add(&row.ok()?);
        }
        // Fewer rows than requests: only failures were kept, or some were lost. Half a picture would mislead.
        (course.rows() > 0 && course.rows() >= begun).then_some(course)
    }
}
