//! The server's state, apart from the client's.

use super::page::{Look, Page};
use super::verdict;
use crate::report::figures::{count, maybe_time, plain, rate, time};
use crate::report::{Server, WentAway};
use std::fmt;

pub(super) fn write(server: &Server, page: &mut Page<'_>) -> fmt::Result {
    let (look, state) = verdict::server(server);
    let in_flight = match (server.in_flight_mean, server.in_flight_slope) {
        (None, _) => String::new(),
        (mean, None) => format!(" ({} in flight on average)", plain(mean)),
        (mean, Some(slope)) => {
            let sign = if slope >= 0.0 { "+" } else { "" };
            format!(" ({} in flight on average, {sign}{} per second)", plain(mean), rate(Some(slope)))
        }
    };
    page.paragraph(look, "Server  ", &format!("{state}{in_flight}"))?;
    if let Some(away) = &server.went_away {
        page.paragraph(Look::Bad, "  it went away: ", &absence(away))?;
    }
    for reason in &server.reasons {
        page.paragraph(Look::Plain, "  ", reason)?;
    }
    if let Some(simulator) = &server.simulator {
        let unaccepted = match simulator.accepts_failed {
            0 => String::new(),
            n => format!(", {} accepts failed for want of files or memory", count(n)),
        };
        page.paragraph(
            if simulator.was_the_limit { Look::Doubtful } else { Look::Plain },
            "  simulator: ",
            &format!(
                "rho {}, lateness p50 {}, p99 {}{unaccepted}{}",
                plain(simulator.rho_busy),
                maybe_time(simulator.lateness_p50_ns),
                maybe_time(simulator.lateness_p99_ns),
                if simulator.was_the_limit {
                    ": the server was the limit of this run's accuracy"
                } else {
                    ""
                },
            ),
        )?;
    }
    Ok(())
}

fn absence(away: &WentAway) -> String {
    let failed = count(away.failed);
    match away.since_ns {
        Some(ns) => format!(
            "nothing came from it after {} of the run; {failed} requests failed since then without a byte of an answer",
            time(ns)
        ),
        None => format!("nothing ever came from it; {failed} requests failed without a byte of an answer"),
    }
}
