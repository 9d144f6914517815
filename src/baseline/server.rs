//! The simulator as a child on CPUs of its own: a fresh one for each run, with a log of the truth.
//!
//! It must not be told anything about the load.

use super::child::{Running, Used};
use crate::clock;
use crate::plan::{BaselineSim, format_cpus};
use crate::run::Interrupts;
use crate::time::{Span, format_span};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How long a simulator has to come up.
const START: Span = Span::from_s(20);

/// How often is looked whether it has.
const LOOK: Span = Span::from_ms(20);

/// A simulator that serves.
pub(super) struct Server {
    running: Running,
    /// Where it is asked for.
    pub(super) url: String,
    said: PathBuf,
}

/// What a simulator tells at its end.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) struct Account {
    /// CPU seconds of its process.
    pub(super) cpu_s: f64,
    /// Whether it says that it was the limit.
    pub(super) was_the_limit: bool,
    /// Whether its log lacks requests.
    pub(super) log_is_short: bool,
}

impl Server {
    /// Starts one on `cpus`; its log goes to `log`, what it says beside it.
    pub(super) fn start(
        sim: &BaselineSim,
        cpus: &[usize],
        log: &Path,
        interrupts: &Interrupts,
    ) -> Result<Self, String> {
        let (said, told) = (log.with_extension("sim.txt"), log.with_extension("sim.err"));
        let named = |error: io::Error| format!("the simulator cannot be started: {error}");
        let program = std::env::current_exe().map_err(named)?;
        let mut command = Command::new(program);
        command
            .args(["sim", "--listen", "127.0.0.1:0", "--ttft", &sim.ttft, "--itl", &sim.itl, "--cpus"])
            .arg(format_cpus(cpus))
            .arg("--log")
            .arg(log)
            .arg("--owner")
            .arg(std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(File::create(&said).map_err(named)?)
            .stderr(File::create(&told).map_err(named)?);
        let running = Running::start(&mut command, cpus).map_err(named)?;
        let deadline = clock::now() + START;
        loop {
            let words = fs::read_to_string(&told).map_err(named)?;
            if let Some(url) = url(&words) {
                return Ok(Self { url: url.to_owned(), running, said });
            }
            if running.has_ended(LOOK).map_err(named)? {
                let words = fs::read_to_string(&told).map_err(named)?;
                return Err(format!("the simulator ended at its start: {}", last_words(&words)));
            }
            if interrupts.count() > 0 {
                return Err("interrupted while the simulator started".into());
            }
            if clock::now() > deadline {
                return Err(format!("the simulator did not serve within {}", format_span(START)));
            }
        }
    }

    /// Stops it, so that its log is whole.
    pub(super) fn stop(self) -> Result<Account, String> {
        let named = |error: io::Error| format!("the simulator cannot be stopped: {error}");
        let Used { cpu_s, status, .. } = self.running.stop().map_err(named)?;
        if !status.success() {
            return Err(format!("the simulator failed: {status}"));
        }
        let said = fs::read_to_string(&self.said).map_err(named)?;
        Ok(Account {
            cpu_s,
            was_the_limit: said.contains("the server was the limit"),
            log_is_short: log_is_short(&said),
        })
    }
}

/// The first address of `simulator at URL, URL on cpus 1; ...`, once the line is whole.
fn url(words: &str) -> Option<&str> {
    let whole = &words[..words.rfind('\n')?];
    let (_, after) = whole.split_once("simulator at ")?;
    after.split([',', ' ']).next()
}

/// `simulator: log of 8000 requests, 0 dropped` is a whole one.
fn log_is_short(said: &str) -> bool {
    let dropped = said.lines().find_map(|line| line.strip_prefix("simulator: log of ")?.split_once(", "));
    dropped.is_none_or(|(_, dropped)| dropped != "0 dropped") || said.contains("the log is incomplete")
}

/// The last line that says something.
pub(super) fn last_words(text: &str) -> &str {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_once_its_line_is_whole() {
        let line = "note: x\nsimulator at http://127.0.0.1:4321 on cpus 1; Ctrl-C ends it";
        assert_eq!(url(line), None);
        assert_eq!(url(&format!("{line}\n")), Some("http://127.0.0.1:4321"));
        assert_eq!(url(""), None);
    }

    #[test]
    fn a_log_without_every_request_is_no_truth() {
        assert!(!log_is_short("simulator: rho 0.1\nsimulator: log of 80 requests, 0 dropped\n"));
        assert!(log_is_short("simulator: log of 80 requests, 10 dropped\n"));
        assert!(log_is_short(
            "simulator: log of 80 requests, 0 dropped\nsimulator: the log is incomplete: full\n"
        ));
        assert!(log_is_short(""));
    }

    #[test]
    fn the_last_words_are_a_line_that_says_something() {
        assert_eq!(last_words("a\nb\n\n"), "b");
        assert_eq!(last_words(" \n"), "it said nothing");
    }
}
