//! Service levels: goodput, and which terms were crossed.

use super::page::{Look, Page};
use crate::report::figures::{count, percent, rate};
use crate::report::{Held, Slo};
use std::fmt;

pub(super) fn write(slo: &Slo, page: &mut Page<'_>) -> fmt::Result {
    page.blank()?;
    let crossed = slo.terms.iter().filter(|term| term.state == Held::Crossed).count();
    let (look, word) = if slo.held { (Look::Good, "HELD") } else { (Look::Bad, "CROSSED") };
    let terms = if slo.held { String::new() } else { format!(" ({crossed} of {} terms)", slo.terms.len()) };
    page.paragraph(
        look,
        "SLO     ",
        &format!(
            "{word}{terms}; goodput {} requests/s: {} of {} requests kept every latency bound",
            rate(slo.goodput_per_s),
            percent(slo.good_share),
            count(slo.judged),
        ),
    )?;
    for term in &slo.terms {
        let (look, word) = match term.state {
            Held::Held => (Look::Plain, "held"),
            Held::Crossed => (Look::Bad, "crossed"),
            Held::Untold => (Look::Doubtful, "nothing to tell it by"),
        };
        page.paragraph(look, "  ", &format!("{}: {word}{}", term.term, term.made()))?;
    }
    Ok(())
}
