//! The columns that stages and servers have in common where several stand beside each other.
//!
//! It must not know which of the two they are.

use super::latency::quantile;
use super::table::Table;
use crate::report::figures::{UNDEFINED, count, whole_rate};
use crate::report::{Quantile, Section, Server};

/// A table with these columns first.
pub(super) fn table(first: [(&str, u8); 4]) -> Table {
    let common = [
        ("failed", 1),
        ("TTFT p50", 3),
        ("TTFT p99", 0),
        ("ITL p99", 2),
        ("E2E p99", 5),
        ("tokens/s", 6),
        ("server", 0),
    ];
    Table::new(&[&first[..], &common[..]].concat())
}

/// A row of it.
pub(super) fn row(first: [String; 4], section: &Section, server: &Server) -> Vec<String> {
    let latency = &section.latency;
    let common = [
        count(section.load.failed),
        quantile(&latency.ttft_ns, Quantile::P50),
        quantile(&latency.ttft_ns, Quantile::P99),
        quantile(&latency.itl_ns, Quantile::P99),
        quantile(&latency.e2e_ns, Quantile::P99),
        whole_rate(section.throughput.output_tokens_per_s),
        match server.kept_up {
            _ if server.went_away.is_some() => "went away".into(),
            Some(true) => "kept up".into(),
            Some(false) => "fell behind".into(),
            None => UNDEFINED.into(),
        },
    ];
    first.into_iter().chain(common).collect()
}
