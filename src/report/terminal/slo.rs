//! Service levels: goodput, and which terms were crossed.

use super::page::{Look, Page};
use crate::report::figures::{UNDEFINED, count, percent, rate, time};
use crate::report::{Held, Slo, SloTerm, Unit};
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
        page.paragraph(look, "  ", &format!("{}: {word}{}", term.term, made(term)))?;
    }
    Ok(())
}

/// `, 412 ms; 63 of 9,985 over it (n_eff 1,204), proved at 95 %`.
fn made(term: &SloTerm) -> String {
    if term.state == Held::Untold {
        return String::new();
    }
    let value = match (term.unit, term.value) {
        _ if term.infinite => "infinite, by failures".into(),
        (_, None) => UNDEFINED.into(),
        (Unit::Ns, Some(ns)) => time(whole(ns)),
        (Unit::Ratio, value) => percent(value),
        (Unit::PerS, value) => format!("{}/s", rate(value)),
    };
    let over = match (term.over, term.of, term.n_eff) {
        (Some(over), Some(of), Some(n_eff)) => {
            format!("; {} of {} over it (n_eff {})", count(over), count(of), rate(Some(n_eff)))
        }
        _ => String::new(),
    };
    let interval = term.ci.map_or(String::new(), |[low, high]| format!(" ({} to {})", time(low), time(high)));
    let sure = match term.sure {
        Some(true) => ", proved at 95 %",
        Some(false) => ", not proved",
        None => "",
    };
    format!(", {value}{interval}{over}{sure}")
}

#[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
fn whole(ns: f64) -> i64 {
    ns as i64
}
