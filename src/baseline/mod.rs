//! The story of a baseline: lowrho and a peer in turn, round by round, each a child process against a fresh simulator.
//!
//! It must not favour a side: both are whole processes on the same CPUs, under the same load, and every number about them comes
//! from the same place.

mod child;
mod command;
mod folder;
mod highest;
mod order;
mod program;
mod server;
mod trial;
mod truth;

use crate::clock;
use crate::host::leave_pages_to_the_kernel;
use crate::plan::{BaselinePlan, MOST_BASELINE_RATE, Offered, Peer, format_cpus};
use crate::report::figures::count;
use crate::report::{BASELINE_VERSION, Baseline, BaselineRun, BaselineSide, HighestRate, Host};
use crate::run::Interrupts;
use crate::time::{Span, format_span};
use command::Load;
use folder::Folder;
use highest::Search;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use trial::{Bench, Side, Stop};

/// The longest trial of a search.
const TRIAL: Span = Span::from_s(4);

/// The share of a rate that must be on the wire, from the first request to the last, where it is said to be kept.
const KEPT: f64 = 0.99;

/// Why nothing was measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BaselineError {
    /// The peer's program is not there, or is not one.
    Missing(String),
    /// Something of our own failed.
    Failed(String),
    /// A signal came before any pair was measured.
    Interrupted,
}

impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(why) | Self::Failed(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted before a pair was measured"),
        }
    }
}

impl std::error::Error for BaselineError {}

/// Measures the baseline of `plan` on `host`; `path` is the value of PATH, and `say` is told of each run as it is done: its round
/// or search and its side, and what was found.
///
/// # Errors
/// The peer cannot be run, something of our own fails, or a signal comes before a pair was measured.
pub fn baseline(
    plan: &BaselinePlan,
    host: &Host,
    path: Option<&OsStr>,
    interrupts: &Interrupts,
    mut say: impl FnMut(&str, &BaselineRun),
) -> Result<Baseline, BaselineError> {
    // Refused only by a sandbox, which did not let us ask for small ones either.
    let _ = leave_pages_to_the_kernel();
    let program = program::find(plan.peer, plan.binary.as_deref(), path).map_err(BaselineError::Missing)?;
    let version = version(plan, &program, interrupts)?;
    let folder = Folder::new(plan.out.as_deref()).map_err(BaselineError::Failed)?;
    let mut found = begun(plan, host, version, program.display().to_string());
    let sides: Vec<Side> = plan
        .windows
        .iter()
        .map(|window| Side::Ours(window.clone()))
        .chain([Side::Theirs(plan.peer.name())])
        .collect();
    let mut bench = Bench { plan, program: &program, folder: &folder, interrupts, runs: 0, said: Vec::new() };
    let end = rounds(&mut bench, &sides, &mut found, &mut say)
        .and_then(|()| if plan.search { searches(&mut bench, &sides, &mut found, &mut say) } else { Ok(()) });
    let said = bench.said;
    found.conclude();
    match end {
        Ok(()) => {}
        Err(Stop::Interrupted) if found.measured_pairs() == 0 => return Err(BaselineError::Interrupted),
        Err(Stop::Interrupted) => {
            let pairs = found.measured_pairs();
            found
                .notes
                .push(format!("interrupted: {pairs} of {} pairs were measured until then", plan.pairs));
        }
        Err(Stop::Failed(why)) if found.measured_pairs() == 0 => return Err(BaselineError::Failed(why)),
        Err(Stop::Failed(why)) => found.failure = Some(why),
    }
    notes(plan, said, &mut found);
    Ok(found)
}

/// What the peer says of its version. Its files are no run's: a directory that was asked for stays empty when it says nothing,
/// so that the same command can be given again.
fn version(plan: &BaselinePlan, program: &Path, interrupts: &Interrupts) -> Result<String, BaselineError> {
    let folder = Folder::new(None).map_err(BaselineError::Failed)?;
    program::version(plan.peer, program, folder.path(), interrupts).map_err(|why| {
        if interrupts.count() > 0 { BaselineError::Interrupted } else { BaselineError::Missing(why) }
    })
}

/// What is known before the first run.
fn begun(plan: &BaselinePlan, host: &Host, peer_version: String, peer_binary: String) -> Baseline {
    let number = |offered: Offered| match offered {
        Offered::Rate(number) | Offered::Slots(number) => f64::from(number),
    };
    let sides = plan.windows.iter().map(|window| (Side::Ours(window.clone()).name(), true));
    let sides = sides.chain([(plan.peer.name().to_owned(), false)]);
    Baseline {
        baseline_version: BASELINE_VERSION,
        lowrho: env!("CARGO_PKG_VERSION").into(),
        peer: plan.peer.name().into(),
        peer_version,
        peer_binary,
        start_unix_ns: clock::unix_ns(),
        host: host.clone(),
        client_cpus: format_cpus(&plan.client_cpus),
        server_cpus: format_cpus(&plan.server_cpus),
        target: target(plan),
        load: load_in_words(plan),
        offered: number(plan.offered),
        second: plan.second.map(f64::from),
        pairs: plan.pairs,
        sides: sides
            .map(|(name, is_ours)| BaselineSide { name, is_ours, ..BaselineSide::default() })
            .collect(),
        ratios: Vec::new(),
        notes: plan.caveats.clone(),
        failure: None,
    }
}

fn target(plan: &BaselinePlan) -> String {
    match &plan.sim {
        None => format!("{} ({})", plan.url, plan.model),
        Some(sim) => format!("a fresh lowrho sim for each run, TTFT {}, ITL {}", sim.ttft, sim.itl),
    }
}

fn load_in_words(plan: &BaselinePlan) -> String {
    let connections = count(plan.connections(plan.offered).into());
    let much = match plan.offered {
        Offered::Rate(rate) => {
            let second =
                plan.second.map_or(String::new(), |rate| format!(" (slope from {})", count(rate.into())));
            format!("{} requests/s{second}, constant gaps, {connections} connections", count(rate.into()))
        }
        Offered::Slots(slots) => format!("a closed loop of {} requests in flight", count(slots.into())),
    };
    format!(
        "{much} kept alive, prompts of {} and answers of {} tokens; {} a run, {} rounds",
        plan.input_tokens,
        plan.tokens,
        format_span(plan.duration),
        plan.pairs
    )
}

/// Every side at every load, round by round.
fn rounds(
    bench: &mut Bench<'_>,
    sides: &[Side],
    found: &mut Baseline,
    say: &mut impl FnMut(&str, &BaselineRun),
) -> Result<(), Stop> {
    let (loads, length) = (bench.plan.loads(), bench.plan.duration);
    for round in 0..bench.plan.pairs {
        for offered in &loads {
            for at in order::of_round(round, sides.len()) {
                let (Some(side), Some(kept)) = (sides.get(at), found.sides.get_mut(at)) else { continue };
                let run = bench.run(side, Load { offered: *offered, length }, round)?;
                say(&format!("round {}, {}", round + 1, side.name()), &run);
                kept.runs.push(run);
            }
        }
    }
    Ok(())
}

/// The highest rate of every side.
fn searches(
    bench: &mut Bench<'_>,
    sides: &[Side],
    found: &mut Baseline,
    say: &mut impl FnMut(&str, &BaselineRun),
) -> Result<(), Stop> {
    let Offered::Rate(first) = bench.plan.offered else { return Ok(()) };
    let length = bench.plan.duration.min(TRIAL);
    for (side, kept) in sides.iter().zip(&mut found.sides) {
        let mut search = Search::new(first, MOST_BASELINE_RATE).above(kept_in_pairs(bench.plan, &kept.runs));
        let mut why = String::new();
        let mut server_was_the_limit = false;
        while let Some(rate) = search.next() {
            let offered = Offered::Rate(rate);
            let (outcome, is_servers) = match possible(bench.plan, offered, length) {
                Err(beyond) => {
                    search.impossible();
                    (Err(beyond), false)
                }
                Ok(()) => {
                    let run = bench.run(side, Load { offered, length }, 0)?;
                    say(&format!("{}, search", side.name()), &run);
                    let outcome = kept_in_full(&run);
                    search.told(outcome.is_ok());
                    (outcome, run.server_was_the_limit)
                }
            };
            if search.lost == Some(rate)
                && let Err(wrong) = outcome
            {
                (why, server_was_the_limit) = (wrong, is_servers);
            }
        }
        let Search { kept: highest, lost, trials, .. } = search;
        kept.highest = Some(HighestRate { kept: highest, lost, why, trials, server_was_the_limit });
    }
    Ok(())
}

/// The highest rate that a side kept in any run of the rounds.
fn kept_in_pairs(plan: &BaselinePlan, runs: &[BaselineRun]) -> Option<u32> {
    let rates = plan.loads().into_iter().filter_map(|offered| match offered {
        Offered::Rate(rate) => Some(rate),
        Offered::Slots(_) => None,
    });
    let is_kept = |run: &BaselineRun, rate: u32| run.offered == f64::from(rate) && kept_in_full(run).is_ok();
    rates.filter(|rate| runs.iter().any(|run| is_kept(run, *rate))).max()
}

/// Whether lowrho could be asked for such a load at all: the others would be refused connections and files too.
fn possible(plan: &BaselinePlan, offered: Offered, length: Span) -> Result<(), String> {
    let window = plan.windows.first().map_or("auto", String::as_str);
    let run = plan.run(offered, length, window, "http://127.0.0.1:80");
    run.map(drop).map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// Whether a run sent all that was due, in its time; else what was wrong.
fn kept_in_full(run: &BaselineRun) -> Result<(), String> {
    let limit = if run.server_was_the_limit { " (the simulator says that it was the limit)" } else { "" };
    if let Some(problem) = &run.problem {
        return Err(problem.clone());
    }
    let unsent = run.due.zip(run.sent).map_or(0, |(due, sent)| due.saturating_sub(sent));
    if unsent > 0 {
        return Err(format!("{} of {} unsent{limit}", count(unsent), count(run.due.unwrap_or(0))));
    }
    if let Some(failed) = run.failed.filter(|failed| *failed > 0) {
        return Err(format!("{} requests failed{limit}", count(failed)));
    }
    match run.wire_rate.filter(|rate| *rate < run.offered * KEPT) {
        Some(rate) => Err(format!("{rate:.0} requests/s were on the wire{limit}")),
        None => Ok(()),
    }
}

/// What is to be known beside the numbers.
fn notes(plan: &BaselinePlan, said: Vec<String>, found: &mut Baseline) {
    let mut note = |words: &str| found.notes.push(words.to_owned());
    if plan.sim.is_some() {
        let jitter = if plan.peer.is_closed() { "" } else { ", start jitter" };
        note(&format!(
            "sent, rate{jitter} and what is true or by the server are from the simulator's log; the way to it and back is in \
              \"less true\""
        ));
    } else {
        note(
            "a server of yours keeps no log of the truth: there is no start jitter, no rate on the wire and nothing true to tell, and sent is \
              what each client counts",
        );
    }
    if plan.peer.is_closed() {
        note("a closed loop has no schedule: nothing is due, late or unsent");
    } else if plan.sim.is_some() {
        note(
            "start jitter: arrival at the server less the constant schedule, which is laid so that no request came before it was due",
        );
    }
    note(
        "CPU and memory are of the whole process by wait4(2), start-up in them; busy time is of the CPUs, all that was neither idle nor stolen: on loopback \
          each side runs some of the other's receiving, and only all CPUs together have it all",
    );
    if plan.peer == Peer::Oha {
        note(
            "oha is run without --latency-correction, which would count its latency from when its pacer woke for a request: no \
              earlier than it was due, so that neither is from the schedule",
        );
    }
    said.iter().for_each(|words| note(words));
    let limits =
        found.sides.iter().flat_map(|side| &side.runs).filter(|run| run.server_was_the_limit).count();
    if limits > 0 {
        let runs = if limits == 1 { "run" } else { "runs" };
        found.notes.push(format!(
            "in {limits} {runs} the simulator was late by more than 200 us at p99: there the server was the limit of what is exact"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_when_all_was_sent_in_its_time() {
        let run = BaselineRun {
            offered: 1_000.0,
            due: Some(4_000),
            sent: Some(4_000),
            failed: Some(0),
            wire_rate: Some(999.0),
            ..BaselineRun::default()
        };
        assert_eq!(kept_in_full(&run), Ok(()));
        let of = |run: BaselineRun| kept_in_full(&run).unwrap_err();
        assert_eq!(of(BaselineRun { sent: Some(3_990), ..run.clone() }), "10 of 4,000 unsent");
        assert_eq!(of(BaselineRun { failed: Some(2), ..run.clone() }), "2 requests failed");
        assert_eq!(of(BaselineRun { problem: Some("it fell".into()), ..run.clone() }), "it fell");
        let slow = BaselineRun { wire_rate: Some(900.0), server_was_the_limit: true, ..run };
        assert!(of(slow).starts_with("900 requests/s were on the wire (the simulator"));
    }
}
