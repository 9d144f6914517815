//! The floor in tables: rates climbed, or ways of waiting side by side, and what they say.

use super::page::{Look, Page, Style};
use super::table::Table;
use crate::report::figures::{UNDEFINED, maybe_time, percent, plain, time, whole_rate};
use crate::report::{Came, Floor, RungFound, Verdict};
use std::fmt;

/// The floor as one text.
///
/// # Panics
/// Never: a text takes everything.
#[must_use]
pub fn floor(floor: &Floor, style: &Style) -> String {
    let mut text = String::new();
    write(floor, &mut Page::new(&mut text, style)).expect("a text takes everything");
    text
}

fn write(floor: &Floor, page: &mut Page<'_>) -> fmt::Result {
    let what = if floor.compares { "ways of waiting" } else { "floor" };
    page.line(Look::Heading, &format!("lowrho {}  {what}  {}", floor.lowrho, floor.target))?;
    let host = &floor.host;
    let model = host.cpu_model.as_deref().unwrap_or("unknown processor");
    let about = format!(
        "{model}, {} CPUs ({}), kernel {}; {} tokens a request",
        host.cpus, host.cpu_list, host.kernel, floor.tokens
    );
    page.paragraph(Look::Dim, "", &about)?;
    // Ladders follow each other: those of one kind stand together.
    let heading = |rung: &RungFound| heading(rung, floor.compares);
    for rungs in floor.rungs.chunk_by(|a, b| heading(a) == heading(b)) {
        page.blank()?;
        page.line(Look::Plain, &heading(&rungs[0]))?;
        if floor.compares {
            page.table(&ways(rungs))?;
        } else {
            page.table(&exactness(rungs))?;
            page.table(&cost(rungs))?;
        }
    }
    page.blank()?;
    if floor.compares {
        trade(page)?
    } else {
        verdicts(floor, page)?
    }
    notes(floor, page)
}

fn heading(rung: &RungFound, compares: bool) -> String {
    let came = match rung.answers {
        Came::Whole => "whole answers, zero delay",
        Came::Streamed => "streamed answers, a token at a time",
        Came::Foreign => "answers as the server sends them",
    };
    let shards = if rung.shards == 1 { "1 shard".to_owned() } else { format!("{} shards", rung.shards) };
    let rate =
        if compares { format!(", {} requests/s", whole_rate(Some(rung.asked_rate))) } else { String::new() };
    format!("{shards}, {came}{rate}")
}

/// How exact each rung was, and what both sides did meanwhile.
fn exactness(rungs: &[RungFound]) -> Table {
    let mut table = Table::new(&[
        ("requests/s", 0),
        ("events/s", 2),
        ("TTFT+ p50", 0),
        ("p99", 0),
        ("E2E+ p50", 0),
        ("p99", 0),
        ("late p99", 1),
        ("sim rho", 4),
        ("sim late p99", 3),
        ("verdict", 0),
    ]);
    for rung in rungs {
        table.row(vec![
            whole_rate(rung.sent_rate),
            whole_rate(rung.events_per_s),
            maybe_time(rung.ttft_over_ns.p50),
            maybe_time(rung.ttft_over_ns.p99),
            maybe_time(rung.e2e_over_ns.p50),
            maybe_time(rung.e2e_over_ns.p99),
            maybe_time(rung.lateness_p99_ns),
            plain(rung.sim_rho),
            limit(rung),
            verdict(rung),
        ]);
    }
    table
}

/// What each rung cost.
fn cost(rungs: &[RungFound]) -> Table {
    let mut table = Table::new(&[
        ("requests/s", 0),
        ("CPU s/1k requests", 0),
        ("CPU s/1k events", 0),
        ("kernel", 1),
        ("E[S]", 0),
        ("rho", 0),
        ("coalesced", 2),
    ]);
    for rung in rungs {
        table.row(vec![
            whole_rate(rung.sent_rate),
            seconds(rung.cpu_s_per_1k_requests),
            seconds(rung.cpu_s_per_1k_events),
            percent(rung.kernel_share),
            maybe_time(rung.service_mean_ns),
            plain(rung.rho),
            percent(rung.coalesced),
        ]);
    }
    table
}

fn ways(rungs: &[RungFound]) -> Table {
    let mut table = Table::new(&[
        ("waiting", 0),
        ("CPU s/1k req", 0),
        ("rho", 0),
        ("late p50", 2),
        ("late p99", 0),
        ("coalesced", 0),
        ("TTFT+ p50", 0),
        ("p99", 2),
        ("E2E+ p50", 3),
        ("ITL bias p99", 1),
        ("sim late p99", 4),
        ("verdict", 0),
    ]);
    for rung in rungs {
        table.row(vec![
            rung.waiting.clone(),
            seconds(rung.cpu_s_per_1k_requests),
            plain(rung.rho),
            maybe_time(rung.lateness_p50_ns),
            maybe_time(rung.lateness_p99_ns),
            percent(rung.coalesced),
            maybe_time(rung.ttft_over_ns.p50),
            maybe_time(rung.ttft_over_ns.p99),
            maybe_time(rung.e2e_over_ns.p50),
            maybe_time(rung.bias_itl_p99_ns),
            limit(rung),
            rung.verdict.name().into(),
        ]);
    }
    table
}

/// The simulator's lateness, marked where it made the simulator the limit.
fn limit(rung: &RungFound) -> String {
    let late = maybe_time(rung.sim_lateness_p99_ns);
    if rung.sim_was_the_limit { format!("!{late}") } else { late }
}

/// The verdict, marked where it took a second try.
fn verdict(rung: &RungFound) -> String {
    let name = rung.verdict.name();
    if rung.tries > 1 { format!("{name} ({})", rung.tries) } else { name.into() }
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or(UNDEFINED.into(), |seconds| format!("{seconds:.4}"))
}

/// What the ladders say: where each ended, the highest rates, where the time goes.
fn verdicts(floor: &Floor, page: &mut Page<'_>) -> fmt::Result {
    for highest in &floor.highest {
        let shards =
            if highest.shards == 1 { "1 shard".into() } else { format!("{} shards", highest.shards) };
        let events = match highest.events_per_s {
            Some(events) => format!(", {} events/s one by one", whole_rate(Some(events))),
            None => String::new(),
        };
        let text = format!(
            "{} requests/s{events}: measured, not extrapolated",
            whole_rate(Some(highest.requests_per_s))
        );
        page.paragraph(Look::Good, &format!("Highest valid  {shards}: "), &text)?;
    }
    if floor.highest.is_empty() {
        page.line(Look::Bad, "Highest valid  none: no rung had a valid verdict")?;
    }
    for end in &floor.ends {
        page.paragraph(Look::Plain, "  ended: ", end)?;
    }
    where_time_goes(floor, page)
}

fn where_time_goes(floor: &Floor, page: &mut Page<'_>) -> fmt::Result {
    let valid = floor.rungs.iter().filter(|rung| rung.verdict == Verdict::Valid);
    // Of the busiest valid rung, where most ticks were counted.
    let busiest = valid.max_by(|a, b| a.rho.unwrap_or(0.0).total_cmp(&b.rho.unwrap_or(0.0)));
    let Some(rung) = busiest else { return Ok(()) };
    let Some((kernel, event_s)) = rung.kernel_share.zip(rung.cpu_s_per_1k_events) else { return Ok(()) };
    let mut words = format!(
        "at {} events/s the kernel takes {} of the shards' CPU time (by its own ticks), our code {}",
        whole_rate(rung.events_per_s),
        percent(Some(kernel)),
        percent(Some(1.0 - kernel))
    );
    // Seconds for 1,000 events are milliseconds for one.
    let event_ns = event_s * 1e6;
    if let Some(parse) = floor.parse_event_ns {
        words += &format!(
            "; parsing alone, in a hot loop, takes {} an event, {} of it",
            time(parse),
            percent(Some(whole(parse) / event_ns))
        );
    }
    if let Some((recording, request_s)) = rung.recording_per_request_ns.zip(rung.cpu_s_per_1k_requests) {
        let share = percent(Some(whole(recording) / (request_s * 1e6)));
        words += &format!("; recording takes {} a request, {share}", time(recording));
    }
    words += "; pacing and the audit are in our code's rest and are not told apart";
    page.paragraph(Look::Plain, "Where it goes  ", &words)?;
    if let Some(costs) = floor.costs {
        let words = format!(
            "{} of a shard for a request and {} for a streamed event, kernel included: rho per shard = \
             (requests/s x the one + events/s x the other) / shards",
            time(costs.request_ns),
            time(costs.event_ns)
        );
        page.paragraph(Look::Plain, "Cost  ", &words)?;
    }
    if let Some(card) = &floor.card {
        page.paragraph(
            Look::Plain,
            "Capacity card  ",
            &format!("{card}: --shards auto and --dry-run read it"),
        )?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for the eye")]
const fn whole(ns: i64) -> f64 {
    ns as f64
}

/// What the comparison is about, in words.
fn trade(page: &mut Page<'_>) -> fmt::Result {
    let words = "a window gathers arrivals: fewer wake-ups, so less CPU and rho, while stamps stay the kernel's. Its price \
                 is the share of coalesced reads (two events of one stream met; the instant of the earlier is uncertain \
                 by up to the window, and the bias bound holds it). Without a window each arrival wakes the shard. \
                 Polling takes the whole core: its rho leaves vain passes out, its CPU time does not. A due send ends \
                 every window.";
    page.paragraph(Look::Plain, "The trade  ", words)
}

fn notes(floor: &Floor, page: &mut Page<'_>) -> fmt::Result {
    let foreign = floor.rungs.iter().any(|rung| rung.answers == Came::Foreign);
    let words = if foreign {
        "TTFT+ and E2E+ are as reported: against a server without a log of the truth they bound the overhead from above"
    } else {
        "TTFT+ and E2E+ are reported less true by the simulator's log; the way to the server and back is in them"
    };
    page.paragraph(Look::Dim, "  ", words)?;
    if floor.rungs.iter().any(|rung| rung.sim_was_the_limit) {
        let words = "! the simulator's own lateness is over 200 us at p99: there the server was the limit, not the client";
        page.paragraph(Look::Dim, "  ", words)?;
    }
    let again = floor.rungs.iter().any(|rung| rung.tries > 1);
    if again && !floor.compares {
        let words = "(2) a rung that was not valid was measured once more: the second run is shown";
        page.paragraph(Look::Dim, "  ", words)?;
    }
    // Why a ladder's last rung was not valid is told where it ended.
    let doubtful = floor.rungs.iter().filter(|rung| floor.compares && rung.verdict != Verdict::Valid);
    for rung in doubtful {
        let label = format!("  {}, {}: ", rung.waiting, rung.verdict.name());
        page.paragraph(Look::Dim, &label, rung.reasons.first().map_or("", String::as_str))?;
    }
    Ok(())
}
