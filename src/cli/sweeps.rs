//! A sweep, done: told as it goes, printed at its end. Decides the exit status, no number.

use super::deeds::{machine, show, signal, status, style};
use super::words::{aside, print};
use super::{Exit, Invocation};
use crate::host::{self, Facts};
use crate::plan::{Require, SweepPlan};
use crate::report::Sweep;
use crate::report::terminal::{self, clean};
use crate::run::{self, Interrupts, Screen, Swept};
use crate::search::{End, Trust};
use std::io;

/// Makes the sweep of a plan.
pub(super) fn sweep(plan: &SweepPlan, how: &Invocation, facts: &Facts) -> io::Result<Exit> {
    let _ = host::raise_files();
    let interrupts = Interrupts::catch()?;
    let output = &plan.plan.output;
    let mut say = |line: &str| {
        if !output.quiet {
            aside(format_args!("{}", clean(line)));
        }
    };
    let screen = || Screen { show: show(&plan.plan), out: io::stderr() };
    let swept =
        run::sweep(plan, how.prompts.as_deref(), &machine(facts), facts, &interrupts, screen, &mut say);
    let Swept { sweep, dir, failures } = match swept {
        Ok(swept) => swept,
        Err(error) => {
            aside(format_args!("error: {}", clean(&error.to_string())));
            return Ok(status(&error, &interrupts));
        }
    };
    let text = if output.json { sweep.to_json() } else { terminal::sweep(&sweep, &style(output.verbose)) };
    print(&text)?;
    for failure in &failures {
        aside(format_args!("error: {}", clean(failure)));
    }
    if !output.quiet {
        aside(format_args!("results in {}", dir.display()));
    }
    Ok(match (signal(&interrupts), sweep.end) {
        (Some(signal), _) => Exit::Interrupted(signal),
        _ if !failures.is_empty() => Exit::Failed,
        (None, Some(End::Found)) if !is_trusted(&sweep, plan.plan.require) => Exit::Untrusted,
        (None, Some(End::Found)) => Exit::Good,
        (None, Some(End::TargetFailed | End::Aborted)) => Exit::TargetFailed,
        (None, Some(End::Nowhere)) => Exit::Crossed,
        (None, _) => Exit::Untrusted,
    })
}

/// Whether the client was good enough for what is told: of a search only trials of which our side can be trusted count, of a list
/// all are shown.
fn is_trusted(sweep: &Sweep, require: Require) -> bool {
    let worst = match require {
        Require::Valid => Trust::Valid,
        Require::Suspect => Trust::Suspect,
        Require::Any => return true,
    };
    sweep.is_searched() || sweep.trials.iter().all(|trial| trial.trial.outcome.client <= worst)
}
