//! `lowrho floor`, done: measured, written down as a capacity card, printed. Decides no number.

use super::deeds::{self, signal};
use super::words::{aside, print};
use super::{Exit, card};
use crate::host::{self, Facts};
use crate::plan::{CARD_VERSION, Card, FloorPlan};
use crate::report::figures::{maybe_time, plain, whole_rate};
use crate::report::terminal::{clean, floor as tables};
use crate::report::{Floor, RungFound};
use crate::run::{self, Interrupts};
use std::io;
use std::path::PathBuf;

/// Measures, tells, and keeps the card.
pub(super) fn floor(plan: &FloorPlan, facts: &Facts) -> io::Result<Exit> {
    let _ = host::raise_files();
    let interrupts = Interrupts::catch()?;
    let say = |rung: &RungFound| {
        if !plan.quiet {
            aside(format_args!("{}", line(rung)));
        }
    };
    let mut floor = match run::floor(plan, &deeds::machine(facts), facts, &interrupts, say) {
        Ok(floor) => floor,
        Err(error) => {
            aside(format_args!("error: {}", clean(&error.to_string())));
            return Ok(deeds::status(&error, &interrupts));
        }
    };
    let interrupted = signal(&interrupts);
    // A floor that was not finished is no ground for plans.
    let kept = if interrupted.is_some() { Ok(()) } else { keep(plan, facts, &mut floor) };
    let text = if plan.json { floor.to_json() } else { tables(&floor, &deeds::style(false)) };
    print(&text)?;
    if let Err(error) = kept {
        aside(format_args!("error: the capacity card is not written: {error}"));
        return Ok(Exit::Failed);
    }
    Ok(interrupted.map_or(Exit::Good, Exit::Interrupted))
}

/// One rung on stderr, as it is done.
fn line(rung: &RungFound) -> String {
    format!(
        "{} shard{}, {}: {} requests/s, rho {}, late p99 {}, {}",
        rung.shards,
        if rung.shards == 1 { "" } else { "s" },
        rung.waiting,
        whole_rate(rung.sent_rate),
        plain(rung.rho),
        maybe_time(rung.lateness_p99_ns),
        rung.verdict.name()
    )
}

/// Writes the card, where the costs were measured and one is wanted.
fn keep(plan: &FloorPlan, facts: &Facts, floor: &mut Floor) -> io::Result<()> {
    let place = match plan.card.as_deref() {
        Some(card::NONE) => None,
        Some(file) => Some(PathBuf::from(file)),
        None => card::usual_place(),
    };
    let Some(place) = place else { return Ok(()) };
    let Some(costs) = floor.costs else {
        // Only who asked for one misses it.
        if plan.card.is_some() {
            aside(format_args!(
                "no capacity card is written: the costs of a request and of an event were not both measured by valid rungs"
            ));
        }
        return Ok(());
    };
    let one = floor.highest.iter().find(|highest| highest.shards == 1);
    let card = Card {
        version: CARD_VERSION,
        lowrho: floor.lowrho.clone(),
        host: card::host(facts),
        engine: plan.ladders[0].rungs[0].plan.client.engine.name().into(),
        made_unix_s: floor.start_unix_ns / 1_000_000_000,
        tokens_per_request: floor.tokens,
        request_cost_ns: costs.request_ns,
        event_cost_ns: costs.event_ns,
        valid_requests_per_s: one.map(|highest| highest.requests_per_s),
        valid_events_per_s: one.and_then(|highest| highest.events_per_s),
    };
    card::write(&place, &card)?;
    floor.card = Some(place.display().to_string());
    Ok(())
}
