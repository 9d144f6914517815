//! The slowest requests and where their time went.

use super::page::Page;
use super::table::Table;
use crate::report::figures::{maybe_count, maybe_time, time};
use crate::report::{Slow, Summary};
use std::fmt;

/// Shown without being asked for more: enough to see whether they share a cause.
const SHOWN: usize = 3;

pub(super) fn write(summary: &Summary, verbose: bool, page: &mut Page<'_>) -> fmt::Result {
    if summary.slowest.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&[
        ("Slowest", 0),
        ("due at", 3),
        ("E2E from due", 0),
        ("= to send", 0),
        ("+ to first", 0),
        ("+ decode", 0),
        ("longest ITL", 2),
        ("tokens", 1),
    ]);
    let shown = if verbose { summary.slowest.len() } else { SHOWN };
    for slow in summary.slowest.iter().take(shown) {
        table.row(row(slow));
    }
    page.blank()?;
    page.table(&table)
}

fn row(slow: &Slow) -> Vec<String> {
    vec![
        format!("#{}", slow.index),
        time(slow.due_ns),
        time(slow.e2e_due_ns),
        time(slow.before_sent_ns),
        maybe_time(slow.ttft_ns),
        maybe_time(slow.decode_ns),
        maybe_time(slow.stall_ns),
        maybe_count(slow.output_tokens),
    ]
}
