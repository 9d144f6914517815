//! The same traffic through other clients: what the choice of a client does to the numbers.

use super::page::{Look, Page};
use super::table::Table;
use crate::report::figures::{UNDEFINED, count, maybe_time, plain, time};
use crate::report::{ImaginedClient, Reported, Summary};
use std::fmt;

/// The cost of an event that the sentence is about: that of a client in an interpreted language.
const SAID_NS: i64 = 300_000;

pub(super) fn write(summary: &Summary, verbose: bool, page: &mut Page<'_>) -> fmt::Result {
    let client = &summary.client;
    if let Some(processed) = &client.bias_removed {
        page.list(Look::Plain, "  stamped when processed: ", &figures(processed))?;
    }
    let (alone, several): (Vec<_>, Vec<_>) = client.imagined.iter().partition(|client| client.processes == 1);
    let pairs: Vec<(&ImaginedClient, &ImaginedClient)> = alone
        .into_iter()
        .filter_map(|one| Some((one, *several.iter().find(|many| many.service_ns == one.service_ns)?)))
        .collect();
    let Some((_, many)) = pairs.first() else { return Ok(()) };
    let of_many = format!("rho of {}", count(many.processes));
    let mut table = Table::new(&[
        ("  Other clients", 0),
        ("rho of 1", 0),
        ("TTFT p99", 0),
        ("ITL p99", 1),
        ("E2E p99", 2),
        (&of_many, 0),
        ("TTFT p99", 0),
        ("ITL p99", 1),
        ("E2E p99", 2),
    ]);
    let said = |(one, _): &&(&ImaginedClient, &ImaginedClient)| one.service_ns == SAID_NS;
    for (one, many) in &pairs {
        let mut row = vec![format!("  {} an event", time(one.service_ns))];
        row.extend(cells(one).into_iter().chain(cells(many)));
        table.row(row);
    }
    page.table(&table)?;
    if pairs.iter().any(|(one, many)| one.saturated || many.saturated) {
        let words = format!("saturated: grows with the run, here {}", time(summary.run.window_ns));
        page.paragraph(Look::Dim, "  ! ", &words)?;
    }
    if let Some((one, many)) = pairs.iter().find(said) {
        page.paragraph(Look::Plain, "  ", &sentence(summary, one, many))?;
    }
    if verbose {
        waits(&pairs, page)?;
    }
    Ok(())
}

fn figures(reported: &Reported) -> [String; 3] {
    let metrics = [("TTFT", &reported.ttft_ns), ("ITL", &reported.itl_ns), ("E2E", &reported.e2e_ns)];
    let figure = |(name, quantiles): (&str, &crate::report::Quantiles)| {
        format!("{name} p50 {}, p99 {}", maybe_time(quantiles.p50), maybe_time(quantiles.p99))
    };
    metrics.map(figure)
}

/// rho, TTFT, ITL, E2E.
fn cells(client: &ImaginedClient) -> [String; 4] {
    let mark = |ns: Option<i64>| match ns {
        Some(ns) if client.saturated => format!("!{}", time(ns)),
        ns => maybe_time(ns),
    };
    let reported = &client.reported;
    [plain(client.rho), mark(reported.ttft_ns.p99), mark(reported.itl_ns.p99), mark(reported.e2e_ns.p99)]
}

/// `at 300 us an event on one process: rho 1.90, TTFT p99 41.0 s; on 8: rho 0.237, TTFT p99 20.4 ms; here: 20.2 ms`.
fn sentence(summary: &Summary, one: &ImaginedClient, many: &ImaginedClient) -> String {
    let says = |client: &ImaginedClient| {
        format!("rho {}, TTFT p99 {}", plain(client.rho), maybe_time(client.reported.ttft_ns.p99))
    };
    let published = summary.total.latency.ttft_ns.p99;
    format!(
        "at {} an event on one process: {}; on {}: {}; here: {}",
        time(one.service_ns),
        says(one),
        count(many.processes),
        says(many),
        maybe_time(published)
    )
}

/// How late their sends are: for those who ask for more.
fn waits(pairs: &[(&ImaginedClient, &ImaginedClient)], page: &mut Page<'_>) -> fmt::Result {
    for (one, many) in pairs {
        let wait =
            |client: &ImaginedClient| client.send_wait_ns.p99.map_or_else(|| UNDEFINED.to_string(), time);
        page.paragraph(
            Look::Dim,
            &format!("  {}: ", time(one.service_ns)),
            &format!("sends wait p99 {} on 1, {} on {}", wait(one), wait(many), count(many.processes)),
        )?;
    }
    Ok(())
}
