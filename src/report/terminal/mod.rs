//! The terminal report: a run read in ten seconds.
//!
//! It prints what a [`Summary`] holds, so that a run and `report` on its directory print the same; it computes no figure.

mod baseline;
mod beside;
mod blame;
mod client;
mod failures;
mod floor;
mod head;
mod imagined;
mod latency;
mod ntpot;
mod page;
mod server;
mod slo;
mod slowest;
mod spread;
mod stages;
mod sweep;
mod table;
mod targets;
mod verdict;
mod volume;

pub use baseline::baseline;
pub use floor::floor;
pub use page::{Style, clean};
pub use spread::spread;
pub use sweep::sweep;

use super::Summary;
use page::Page;
use std::fmt::{self, Write};

/// Writes the report.
///
/// # Errors
/// When `out` refuses.
pub fn write(summary: &Summary, style: &Style, out: &mut dyn Write) -> fmt::Result {
    let mut page = Page::new(out, style);
    head::write(summary, &mut page)?;
    verdict::write(summary, &mut page)?;
    let staged = summary.stages.len() > 1;
    if staged {
        stages::write(summary, &mut page)?;
    }
    targets::write(summary, &mut page)?;
    volume::write_load(summary, &mut page)?;
    failures::write(summary, style.verbose, &mut page)?;
    latency::write(&summary.total, staged && stages::has_gaps(summary), style.verbose, &mut page)?;
    ntpot::write(&summary.total.ntpot, style.verbose, &mut page)?;
    if let Some(blame) = &summary.blame {
        blame::write(blame, &mut page)?;
    }
    volume::write_throughput(&summary.total, summary.gpus.as_ref(), &mut page)?;
    if let Some(slo) = &summary.total.slo {
        slo::write(slo, &mut page)?;
    }
    slowest::write(summary, style.verbose, &mut page)?;
    client::write(&summary.client, style.verbose, &mut page)?;
    imagined::write(summary, style.verbose, &mut page)?;
    server::write(&summary.server, &mut page)
}

/// The report as one text.
///
/// # Panics
/// Never: a text takes everything.
#[must_use]
pub fn text(summary: &Summary, style: &Style) -> String {
    let mut text = String::new();
    write(summary, style, &mut text).expect("a text takes everything");
    text
}
