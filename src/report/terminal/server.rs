//! The server's state, apart from the client's.

use super::page::{Look, Page};
use super::verdict;
use crate::report::Server;
use crate::report::figures::{maybe_time, plain, rate};
use std::fmt;

pub(super) fn write(server: &Server, page: &mut Page<'_>) -> fmt::Result {
    let (look, state) = verdict::server(server);
    let slope = server.in_flight_slope.map_or(String::new(), |slope| {
        let sign = if slope >= 0.0 { "+" } else { "" };
        format!(", {sign}{} per second", rate(Some(slope)))
    });
    page.paragraph(
        look,
        "Server  ",
        &format!("{} ({} in flight on average{slope})", state, plain(server.in_flight_mean)),
    )?;
    for reason in &server.reasons {
        page.paragraph(Look::Plain, "  ", reason)?;
    }
    if let Some(simulator) = &server.simulator {
        page.paragraph(
            if simulator.was_the_limit { Look::Doubtful } else { Look::Plain },
            "  simulator: ",
            &format!(
                "rho {}, lateness p50 {}, p99 {}{}",
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
