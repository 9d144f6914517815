//! What was asked for, done: runs, the simulator on its own, reports of earlier runs. Decides the exit status, no number.

use super::words::{aside, print};
use super::{Ending, Exit, Invocation, Signal};
use crate::clock;
use crate::host::{self, Facts};
use crate::plan::{self, Plan, Require, SimPlan, format_cpus};
use crate::report::terminal::{self, Style, clean, spread};
use crate::report::{Doctor, Host, Repeats, Summary, Verdict};
use crate::run::{self, Done, Interrupts, RunError, Running, Screen};
use crate::store::{Results, StoreError};
use crate::time::Span;
use crate::watch::Show;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;

/// How often the simulator on its own looks whether it is to stop.
const LOOK: Span = Span::from_ms(50);

/// Makes the runs of a plan, tells of each, and of all together.
pub(super) fn run(plan: &Plan, how: &Invocation, facts: &Facts) -> io::Result<Exit> {
    // Where even this is forbidden the plan was checked against what cannot be had: the run says so by its failures.
    let _ = host::raise_files();
    let interrupts = Interrupts::catch()?;
    let host = machine(facts);
    let mut plan = plan.clone();
    let several = plan.load.repeat > 1;
    let mut runs: Vec<(String, Summary)> = Vec::new();
    let mut worst = Exit::Good;
    for nth in 0..plan.load.repeat {
        let mut one = plan.clone();
        one.be_the_nth(nth);
        let screen = Screen { show: show(&one), out: io::stderr() };
        match run::run(&one, how.prompts.as_deref(), &host, facts, &interrupts, screen) {
            Ok(done) => {
                worst = worst.worse(ending(&one, &done, &interrupts).into());
                // Of several runs the one document comes at the end.
                tell(&one, &done, one.output.json && !several)?;
                if several {
                    // The others are its neighbours.
                    plan.output.dir = done.dir.parent().map(|dir| dir.display().to_string());
                }
                runs.push((done.dir.display().to_string(), done.summary));
            }
            Err(error) => {
                aside(format_args!("error: {}", clean(&error.to_string())));
                worst = worst.worse(status(&error, &interrupts));
                break;
            }
        }
        if interrupts.count() > 0 {
            break;
        }
    }
    if several && !runs.is_empty() {
        let mut repeats = Repeats::of(&runs);
        if let Err(error) = write_repeats(&plan, &repeats) {
            aside(format_args!("error: {error}"));
            worst = worst.worse(Exit::Failed);
        }
        let text = if plan.output.json {
            repeats.summaries = runs.into_iter().map(|(_, summary)| summary).collect();
            repeats.to_json()
        } else {
            spread(&runs)
        };
        print(&text)?;
    }
    Ok(worst)
}

/// Keeps what several runs have in common in the directory above theirs.
fn write_repeats(plan: &Plan, repeats: &Repeats) -> Result<(), StoreError> {
    let dir = plan.output.dir.as_deref().expect("the first run named the directory of all");
    Results::open(Path::new(dir))?.write_repeats(repeats)
}

pub(super) fn machine(facts: &Facts) -> Host {
    Host {
        cpus: facts.cpus.len() as u64,
        cpu_list: format_cpus(&facts.cpus),
        cpu_model: facts.cpu_model.clone(),
        kernel: facts.kernel.clone(),
        memory_bytes: facts.memory_bytes,
        shard_cpus: Vec::new(),
    }
}

pub(super) fn show(plan: &Plan) -> Show {
    if plan.output.quiet {
        Show::Quiet
    } else if io::stderr().is_terminal() {
        Show::Live(Box::new(|| columns(io::stderr())))
    } else {
        Show::Plain
    }
}

/// Columns of a terminal; of anything else, what a report is made for.
pub(super) fn columns(terminal: impl AsFd) -> usize {
    /// Nothing can be read on less.
    const NARROWEST: usize = 40;
    let size = rustix::termios::tcgetwinsize(terminal).map(|size| usize::from(size.ws_col));
    size.ok().filter(|columns| *columns > 0).map_or(Style::default().width, |columns| columns.max(NARROWEST))
}

/// Says what a run found, and where it is kept; `json`: as its summary.
fn tell(plan: &Plan, done: &Done, json: bool) -> io::Result<()> {
    if json {
        print(&done.summary.to_json())?;
    } else if !plan.output.json {
        print(&page(&done.summary, plan.output.verbose))?;
    }
    for failure in &done.failures {
        aside(format_args!("error: {}", clean(failure)));
    }
    let total = &done.summary.total;
    if total.load.completed == 0 && total.load.failed > 0 {
        let classes: Vec<String> =
            total.errors.iter().map(|(class, count)| format!("{count} {class}")).collect();
        aside(format_args!("error: no request succeeded: {}", classes.join(", ")));
    }
    if !plan.output.quiet {
        aside(format_args!("results in {}", done.dir.display()));
    }
    Ok(())
}

pub(super) fn page(summary: &Summary, verbose: bool) -> String {
    terminal::text(summary, &style(verbose))
}

/// How a report looks on this stdout.
pub(super) fn style(verbose: bool) -> Style {
    let colour =
        io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Style { colour, verbose, width: columns(io::stdout()) }
}

/// What is to be said of a run by its exit status.
fn ending(plan: &Plan, done: &Done, interrupts: &Interrupts) -> Ending {
    let load = &done.summary.total.load;
    let over = load.completed + load.failed - load.failed_by_us.min(load.failed);
    let errors = over - load.completed;
    let too_many = over > 0 && share(errors, over) > plan.max_error_share;
    let verdict = done.summary.client.verdict;
    Ending {
        interrupted: signal(interrupts),
        failed: !done.failures.is_empty(),
        target_failed: (over > 0 && load.completed == 0) || too_many,
        untrusted: match plan.require {
            Require::Valid => verdict != Verdict::Valid,
            Require::Suspect => verdict == Verdict::Invalid,
            Require::Any => false,
        },
        crossed: done.summary.total.slo.as_ref().is_some_and(|slo| !slo.held),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share to be compared with one the user wrote")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

pub(super) fn signal(interrupts: &Interrupts) -> Option<Signal> {
    match interrupts.status()? {
        143 => Some(Signal::Terminate),
        _ => Some(Signal::Interrupt),
    }
}

/// The status of a run that measured nothing.
pub(super) fn status(error: &RunError, interrupts: &Interrupts) -> Exit {
    match error {
        RunError::Plan(_) => Exit::BadPlan,
        RunError::Target(_) => Exit::TargetFailed,
        RunError::Own(_) => Exit::Failed,
        RunError::Interrupted => signal(interrupts).map_or(Exit::Failed, Exit::Interrupted),
    }
}

/// Serves as the simulator until it is told to stop, or the process that owns it is gone; then its own account.
pub(super) fn sim(plan: &SimPlan, owner: Option<i32>) -> io::Result<Exit> {
    let _ = host::raise_files();
    let interrupts = Interrupts::catch()?;
    if let Some(caveat) = &plan.caveat {
        aside(format_args!("note: {caveat}"));
    }
    let Running { sim, certificate } = match run::serve(plan) {
        Ok(running) => running,
        Err(error) => {
            aside(format_args!("error: {error}"));
            return Ok(status(&error, &interrupts));
        }
    };
    let secured = |url: String| match &certificate {
        Some(_) => url.replacen("http:", "https:", 1),
        None => url,
    };
    let places: Vec<String> = sim.addresses().iter().map(|address| secured(address.url())).collect();
    let (places, cpus) = (places.join(", "), format_cpus(&plan.cpus));
    aside(format_args!("simulator at {places} on cpus {cpus}; Ctrl-C ends it"));
    while interrupts.count() == 0 && has_owner(owner) {
        clock::sleep(LOOK);
    }
    print(&sim.join().to_string())?;
    // Being told to stop is how a server ends.
    Ok(Exit::Good)
}

/// Whether the process that is named as the owner still is the parent; an owner that was killed could stop nothing.
fn has_owner(owner: Option<i32>) -> bool {
    owner.is_none_or(|owner| rustix::process::getppid().is_some_and(|parent| parent.as_raw_pid() == owner))
}

/// Tells what a run would meet on this machine.
pub(super) fn doctor(facts: &Facts, plan: Option<&Plan>, json: bool) -> io::Result<Exit> {
    let doctor = Doctor::of(&plan::judge(&run::examine(facts, plan), plan));
    let text = if json { doctor.to_json() } else { doctor.text() };
    print(&text)?;
    Ok(if doctor.ok { Exit::Good } else { Exit::Failed })
}
