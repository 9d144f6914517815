//! `lowrho baseline`, done: measured, told, written as JSON where that is asked for. Decides no number.

use super::Exit;
use super::deeds::{self, signal};
use crate::baseline::{self, BaselineError};
use crate::host::{self, Facts};
use crate::plan::BaselinePlan;
use crate::report::figures::{maybe_count, maybe_time, rate};
use crate::report::terminal::{baseline as tables, clean};
use crate::report::{Baseline, BaselineRun};
use crate::run::Interrupts;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Measures, tells, and keeps the JSON.
pub(super) fn baseline(plan: &BaselinePlan, facts: &Facts) -> io::Result<Exit> {
    // Children have the limits of their parent.
    let _ = host::raise_files();
    let interrupts = Interrupts::catch()?;
    let say = |side: &str, run: &BaselineRun| {
        if !plan.quiet {
            // A progress line that nobody can read is no reason to stop.
            let _ = writeln!(io::stderr(), "{}", clean(&line(side, run)));
        }
    };
    let path = std::env::var_os("PATH");
    let found = match baseline::baseline(plan, &deeds::machine(facts), path.as_deref(), &interrupts, say) {
        Ok(found) => found,
        Err(error) => {
            writeln!(io::stderr(), "error: {}", clean(&error.to_string()))?;
            return Ok(match error {
                BaselineError::Missing(_) => Exit::BadPlan,
                BaselineError::Failed(_) => Exit::Failed,
                BaselineError::Interrupted => signal(&interrupts).map_or(Exit::Failed, Exit::Interrupted),
            });
        }
    };
    io::stdout().lock().write_all(tables(&found, &deeds::style(false)).as_bytes())?;
    let mut exit = signal(&interrupts).map_or(Exit::Good, Exit::Interrupted);
    if let Err(why) = keep(plan, &found) {
        writeln!(io::stderr(), "error: {why}")?;
        exit = exit.worse(Exit::Failed);
    }
    if let Some(why) = &found.failure {
        writeln!(io::stderr(), "error: {}; what was measured until then is told", clean(why))?;
        exit = exit.worse(Exit::Failed);
    }
    if found.measured_pairs() == 0 {
        writeln!(io::stderr(), "error: no pair was measured")?;
        exit = exit.worse(Exit::Failed);
    }
    Ok(exit)
}

/// One run on stderr, as it is done.
fn line(side: &str, run: &BaselineRun) -> String {
    let told = format!(
        "round {}, {} at {:.0}: {} of {} sent, {}/s on the wire, CPU {}, E2E p50 {}",
        run.round + 1,
        side,
        run.offered,
        maybe_count(run.sent),
        maybe_count(run.due),
        rate(run.wire_rate),
        run.cpu_s.map_or("-".into(), |s| format!("{s:.2} s")),
        maybe_time(run.e2e_end_ns.p50),
    );
    match (&run.problem, &run.verdict) {
        (Some(problem), _) => format!("{told}; {problem}"),
        (None, Some(verdict)) => format!("{told}; {verdict}"),
        (None, None) => told,
    }
}

fn keep(plan: &BaselinePlan, found: &Baseline) -> Result<(), String> {
    let Some(place) = &plan.json else { return Ok(()) };
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(place)?;
        file.write_all(found.to_json().as_bytes())
    };
    write().map_err(|error: io::Error| format!("cannot write {place}: {error}"))
}
