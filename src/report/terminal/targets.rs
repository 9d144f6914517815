//! The servers of a run beside each other; what follows on the page is all of them together.

use super::latency::quantile;
use super::page::{Look, Page};
use super::table::Table;
use crate::report::figures::{UNDEFINED, count, rate, whole_rate};
use crate::report::{Quantile, Summary, TargetSection};
use std::fmt;

pub(super) fn write(summary: &Summary, page: &mut Page<'_>) -> fmt::Result {
    if summary.targets.len() > 1 {
        let mut table = Table::new(&[
            ("Target", 0),
            ("weight", 4),
            ("sent/s", 0),
            ("done", 0),
            ("failed", 1),
            ("TTFT p50", 3),
            ("TTFT p99", 0),
            ("ITL p99", 2),
            ("E2E p99", 5),
            ("tokens/s", 6),
            ("server", 0),
        ]);
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
    let (load, latency) = (&target.section.load, &target.section.latency);
    vec![
        nth.to_string(),
        target.target.weight.to_string(),
        rate(load.sent_rate),
        count(load.completed),
        count(load.failed),
        quantile(&latency.ttft_ns, Quantile::P50),
        quantile(&latency.ttft_ns, Quantile::P99),
        quantile(&latency.itl_ns, Quantile::P99),
        quantile(&latency.e2e_ns, Quantile::P99),
        whole_rate(target.section.throughput.output_tokens_per_s),
        match target.server.kept_up {
            _ if target.server.went_away.is_some() => "went away".into(),
            Some(true) => "kept up".into(),
            Some(false) => "fell behind".into(),
            None => UNDEFINED.into(),
        },
    ]
}
