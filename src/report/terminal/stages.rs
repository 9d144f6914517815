//! The stages of a run beside each other; what follows on the page is all of them together.

use super::beside;
use super::page::Page;
use crate::report::figures::{UNDEFINED, count, rate};
use crate::report::{Distribution, Quantile, Stage, Summary};
use std::fmt;

/// Longer names of stages are cut: the figures matter more.
const LONGEST_NAME: usize = 16;

pub(super) fn write(summary: &Summary, page: &mut Page<'_>) -> fmt::Result {
    let mut table = beside::table([("Stage", 0), ("asked/s", 4), ("sent/s", 0), ("done/s", 0)]);
    for (nth, stage) in summary.stages.iter().enumerate() {
        table.row(row(nth, stage));
    }
    page.blank()?;
    page.table(&table)
}

/// Whether some quantile that was observed is not told in the table.
pub(super) fn has_gaps(summary: &Summary) -> bool {
    let hides = |of: &Distribution, q| of.count > 0 && of.quantile(q).is_none();
    summary.stages.iter().map(|stage| &stage.section.latency).any(|of| {
        hides(&of.ttft_ns, Quantile::P50)
            || [&of.ttft_ns, &of.itl_ns, &of.e2e_ns].iter().any(|of| hides(of, Quantile::P99))
    })
}

fn row(number: usize, stage: &Stage) -> Vec<String> {
    let load = &stage.section.load;
    let cut: String = stage.name.chars().take(LONGEST_NAME).collect();
    let first = [
        // Readers count from one, as everywhere on the page.
        if stage.name == number.to_string() { (number + 1).to_string() } else { cut },
        load.requested_rate.map_or_else(
            || load.requested_concurrency.map_or(UNDEFINED.into(), |c| format!("{} at once", count(c))),
            |asked| rate(Some(asked)),
        ),
        rate(load.sent_rate),
        rate(load.achieved_rate),
    ];
    beside::row(first, &stage.section, &stage.server)
}
