//! The one line against the paper's misdiagnosis: whose the tail of TTFT is.

use super::page::{Look, Page};
use crate::report::Blame;
use crate::report::figures::{percent, time};
use std::fmt;

pub(super) fn write(blame: &Blame, page: &mut Page<'_>) -> fmt::Result {
    let network = blame.network_ns.map_or("network not measured".into(), |ns| {
        format!("network {} ({}, least round trip)", time(ns), percent(blame.network_share))
    });
    let split = blame.server_idle_ns.zip(blame.server_load_ns).map_or_else(String::new, |(idle, load)| {
        format!(": {} when idle, {} added by load", time(idle), time(load))
    });
    page.blank()?;
    page.paragraph(
        Look::Plain,
        "TTFT p99    ",
        &format!(
            "{} = client at most {} ({}) + {network} + server {} ({}){split}",
            time(blame.ttft_p99_ns),
            time(blame.client_ns),
            percent(blame.client_share),
            time(blame.server_ns),
            percent(blame.server_share),
        ),
    )
}
