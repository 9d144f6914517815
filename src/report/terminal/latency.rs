//! The table of latencies; rows beyond the usual ones appear when they have something to add.

use super::page::{Look, Page};
use super::table::Table;
use crate::report::figures::{INFINITE, UNDEFINED, count, interval, maybe_time, time};
use crate::report::{Distribution, Latency, Quantile, Section, WithFailures};
use std::fmt;

/// `stages_have_gaps`: the table of the stages, above this one, leaves quantiles out.
pub(super) fn write(
    section: &Section,
    stages_have_gaps: bool,
    verbose: bool,
    page: &mut Page<'_>,
) -> fmt::Result {
    let latency = &section.latency;
    let mut table = Table::new(&[
        ("Latency", 0),
        ("mean", 0),
        ("p50", 0),
        ("p90", 3),
        ("p95", 2),
        ("p99", 0),
        ("p99.9", 0),
        ("max", 0),
        ("95 % of p99", 1),
    ]);
    let shown = rows(section).into_iter().filter(|(_, of, usual)| *usual || (verbose && of.count > 0));
    let shown: Vec<_> = shown.map(|(label, of, _)| (label, of)).collect();
    for (label, distribution) in &shown {
        table.row(row(label, distribution));
    }
    let failures = section.load.failed > section.load.failed_by_us;
    if failures {
        table.row(row_with_failures("TTFT *", &latency.ttft_ns.with_failures));
        table.row(row_with_failures("E2E *", &latency.e2e_ns.with_failures));
    }
    let lateness = &section.load.lateness_ns;
    table.row(row("lateness", lateness));
    page.blank()?;
    page.table(&table)?;
    let hides = |of: &Distribution| of.count > 0 && Quantile::ALL.iter().any(|q| of.quantile(*q).is_none());
    if hides(lateness) || shown.iter().any(|(_, of)| hides(of)) || stages_have_gaps {
        page.paragraph(
            Look::Dim,
            "- ",
            "too few independent observations: under 3 are expected above that quantile",
        )?;
    }
    if let Some(why) = why_no_tpot(section) {
        page.paragraph(Look::Dim, "- ", &why)?;
    }
    if failures {
        page.paragraph(Look::Dim, "* ", "with every failure as infinite; the other rows are successes only")?;
    }
    Ok(())
}

/// Why answers have no TPOT, where it is not the number of observations.
fn why_no_tpot(section: &Section) -> Option<String> {
    let (latency, tokens) = (&section.latency, &section.tokens);
    let (with, answers) = (latency.tpot_ns.count, latency.ttft_ns.count);
    let per_event = tokens.per_event.filter(|per_event| *per_event > 2.0 && tokens.sources.usage > 0);
    match per_event {
        _ if with >= answers => None,
        Some(per_event) => {
            let whose = if with == 0 {
                "no TPOT: answers".into()
            } else {
                format!("TPOT of {} of {} answers: the others", count(with), count(answers))
            };
            Some(format!(
                "{whose} streamed under half of the tokens of their usage one by one ({per_event:.1} tokens an event), so \
                 that when each came is not known; NTPOT stands"
            ))
        }
        None if with == 0 && tokens.output <= answers => {
            Some("no TPOT: no answer has a token after its first".into())
        }
        None => None,
    }
}

/// Every latency with its label, and whether it is shown without being asked for.
fn rows(section: &Section) -> [(&'static str, &Distribution, bool); 19] {
    let Latency {
        ttft_ns,
        ttft_due_ns,
        ttfe_ns,
        ttfo_ns,
        itl_ns,
        stall_ns,
        tpot_ns,
        ntpot_ns,
        ntpot_sent_ns,
        ntpot_waiting_ns,
        ntpot_decoding_ns,
        e2e_ns,
        e2e_due_ns,
        e2e_done_ns,
        e2e_end_ns,
        head_ns,
        connect_ns,
        handshake_ns,
        pool_wait_ns,
    } = &section.latency;
    let waited = pool_wait_ns.max > Some(0);
    // As-sent and from-due tell the same story until requests are late.
    let late = differs(ttft_due_ns.p99, ttft_ns.p99);
    let reasoned = ttfo_ns.count > 0 && differs(ttfo_ns.p50, ttft_ns.p50);
    [
        ("TTFT", ttft_ns, true),
        ("TTFT from due", ttft_due_ns, late || waited),
        ("TTFT any event", ttfe_ns, false),
        ("TTFT of answer", ttfo_ns, reasoned),
        ("ITL", itl_ns, true),
        ("longest ITL", stall_ns, false),
        ("TPOT", tpot_ns, true),
        ("NTPOT", ntpot_ns, true),
        ("  waiting", ntpot_waiting_ns, true),
        ("  decoding", ntpot_decoding_ns, true),
        ("NTPOT sent", ntpot_sent_ns, false),
        ("E2E", e2e_ns, true),
        ("E2E from due", e2e_due_ns, late || waited),
        ("E2E to done", e2e_done_ns, false),
        ("E2E to end", e2e_end_ns, false),
        ("head", head_ns, false),
        ("connect", connect_ns, false),
        ("  TLS handshake", handshake_ns, false),
        ("pool wait", pool_wait_ns, waited),
    ]
}

/// Whether two figures differ by more than 5 %.
fn differs(a: Option<i64>, b: Option<i64>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    (i128::from(a) - i128::from(b)).abs() * 20 > i128::from(b).abs()
}

fn row(label: &str, distribution: &Distribution) -> Vec<String> {
    let mut cells = vec![label.to_string(), maybe_time(distribution.mean)];
    cells.extend(Quantile::ALL.map(|q| quantile(distribution, q)));
    cells.push(maybe_time(distribution.max));
    cells.push(distribution.p99_ci.map_or(UNDEFINED.into(), |[low, high]| interval(low, high)));
    cells
}

fn row_with_failures(label: &str, with: &WithFailures) -> Vec<String> {
    let mut cells = vec![label.to_string(), INFINITE.to_string()];
    let figures = [with.p50, with.p90, with.p95, with.p99, with.p99_9];
    for (quantile, figure) in Quantile::ALL.into_iter().zip(figures) {
        cells.push(match figure {
            _ if with.undefined.contains(&quantile) => UNDEFINED.into(),
            None => INFINITE.into(),
            Some(ns) if with.at_least.contains(&quantile) => at_least(ns),
            Some(ns) => time(ns),
        });
    }
    cells.extend([INFINITE.to_string(), String::new()]);
    cells
}

/// One quantile, marked where it is a lower bound.
pub(super) fn quantile(distribution: &Distribution, quantile: Quantile) -> String {
    match distribution.quantile(quantile) {
        None => UNDEFINED.into(),
        Some(ns) if distribution.at_least.contains(&quantile) => at_least(ns),
        Some(ns) => time(ns),
    }
}

fn at_least(ns: i64) -> String {
    format!(">={}", time(ns))
}
