//! `lowrho baseline`, done: measured, told, written as JSON where that is asked for. Decides no number.

use super::Exit;
use super::deeds::{self, signal};
use super::words::{aside, print};
use crate::baseline::{self, BaselineError};
use crate::host::{self, Facts};
use crate::plan::BaselinePlan;
use crate::report::figures::{maybe_count, maybe_time, rate};
use crate::report::terminal::{baseline as tables, clean};
use crate::report::{Baseline, BaselineRun};
use crate::run::Interrupts;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Measures, tells, and keeps the JSON.
pub(super) fn baseline(plan: &BaselinePlan, facts: &Facts) -> io::Result<Exit> {
    // Children have the limits of their parent.
    let _ = host::raise_files();
    let interrupts = Interrupts::catch()?;
    let say = |what: &str, run: &BaselineRun| {
        if !plan.quiet {
            aside(format_args!("{}", clean(&line(what, run))));
        }
    };
    // A place that cannot be written is told before minutes of runs, not after them.
    let json = match plan.json.as_deref().map(|place| Kept::open(Path::new(place))).transpose() {
        Ok(json) => json,
        Err(why) => {
            aside(format_args!("error: --json {why}"));
            return Ok(Exit::BadPlan);
        }
    };
    let path = std::env::var_os("PATH");
    let found = match baseline::baseline(plan, &deeds::machine(facts), path.as_deref(), &interrupts, say) {
        Ok(found) => found,
        Err(error) => {
            if let Some(json) = json {
                json.remove();
            }
            aside(format_args!("error: {}", clean(&error.to_string())));
            return Ok(match error {
                BaselineError::Missing(_) => Exit::BadPlan,
                BaselineError::Failed(_) => Exit::Failed,
                BaselineError::Interrupted => signal(&interrupts).map_or(Exit::Failed, Exit::Interrupted),
            });
        }
    };
    let mut exit = signal(&interrupts).map_or(Exit::Good, Exit::Interrupted);
    let kept = json.map_or(Ok(()), |json| json.write(&found));
    print(&tables(&found, &deeds::style(false)))?;
    for why in wrong(&found).into_iter().chain(kept.err()) {
        aside(format_args!("error: {}", clean(&why)));
        exit = exit.worse(Exit::Failed);
    }
    Ok(exit)
}

/// What of it went wrong as a whole.
fn wrong(found: &Baseline) -> Vec<String> {
    let failure = found.failure.as_ref().map(|why| format!("{why}; what was measured until then is told"));
    let nothing = (found.measured_pairs() == 0).then(|| "no pair was measured".to_owned());
    failure.into_iter().chain(nothing).collect()
}

/// One run on stderr, as it is done: what it was, and what was found.
fn line(what: &str, run: &BaselineRun) -> String {
    let told = format!(
        "{what} at {:.0}: {} of {} sent, {}/s on the wire, CPU {}, e2e_end p50 {}",
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

/// The file of the JSON: there from before the first run, written after the last.
struct Kept {
    file: File,
    place: PathBuf,
}

impl Kept {
    fn open(place: &Path) -> Result<Self, String> {
        let file = OpenOptions::new().write(true).create_new(true).open(place);
        let file = file.map_err(|error| format!("{}: it cannot be made: {error}", place.display()))?;
        Ok(Self { file, place: place.to_owned() })
    }

    fn write(mut self, found: &Baseline) -> Result<(), String> {
        let written = self.file.write_all(found.to_json().as_bytes());
        written.map_err(|error| format!("cannot write {}: {error}", self.place.display()))
    }

    /// Nothing was measured: the same command can be given again.
    fn remove(self) {
        let _ = fs::remove_file(self.place);
    }
}
