//! The servers of a run beside each other; what follows on the page is all of them together.

use super::beside;
use super::page::{Look, Page};
use crate::report::figures::{count, rate};
use crate::report::{Summary, TargetSection};
use std::fmt;

pub(super) fn write(summary: &Summary, page: &mut Page<'_>) -> fmt::Result {
    if summary.targets.len() > 1 {
        let mut table = beside::table([("Target", 0), ("weight", 4), ("sent/s", 0), ("done", 0)]);
        for (nth, target) in summary.targets.iter().enumerate() {
            table.row(row(nth, target));
        }
        page.blank()?;
        page.table(&table)?;
        for (nth, target) in summary.targets.iter().enumerate() {
            page.paragraph(Look::Dim, &format!("  {nth}: "), &target.target.url)?;
        }
    }
    let several = summary.targets.len() > 1;
    for (nth, target) in summary.targets.iter().enumerate() {
        let target = &target.target;
        let of = if several { format!("  target {nth}: ") } else { "  ".to_owned() };
        if target.addresses.len() > 1 {
            page.paragraph(Look::Dim, &of, &format!("at {}", target.addresses.join(", ")))?;
        }
        for note in &target.notes {
            page.paragraph(Look::Plain, &of, note)?;
        }
    }
    Ok(())
}

fn row(nth: usize, target: &TargetSection) -> Vec<String> {
    let load = &target.section.load;
    let first =
        [nth.to_string(), target.target.weight.to_string(), rate(load.sent_rate), count(load.completed)];
    beside::row(first, &target.section, &target.server)
}
