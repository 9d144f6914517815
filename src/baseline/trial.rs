//! One run of one side: server up, client from start to exit, server down, and what both of them and the kernel say of it.
//!
//! It must not end the baseline because a client fails: that is a row with what happened.

use super::child::{Ended, Running, Used};
use super::command::{self, Load, Prepared};
use super::folder::Folder;
use super::server::{Account, Server, last_words};
use super::{program, truth};
use crate::foreign::{self, Quantity, Reading, Statistic};
use crate::host::Unbusy;
use crate::plan::{BaselinePlan, Offered};
use crate::report::{BaselineRun, Summary, Told};
use crate::run::Interrupts;
use crate::time::{Span, format_span};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Stdio;

/// What a run may take beside its load: start-up, answers still to come, results.
const BESIDE: Span = Span::from_s(60);

/// More of a client's words are no line of a table, in characters.
const LONGEST_WORDS: usize = 200;

/// Who is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// lowrho, with this coalescing window.
    Ours(String),
    /// The peer of this name.
    Theirs(&'static str),
}

impl Side {
    /// The name of its column.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Ours(window) => format!("lowrho {window}"),
            Self::Theirs(name) => (*name).to_owned(),
        }
    }
}

/// Why no further run is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// lowrho was interrupted.
    Interrupted,
    /// Something of our own failed: the simulator, the disk.
    Failed(String),
}

/// Makes runs.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a BaselinePlan,
    pub(super) program: &'a Path,
    pub(super) folder: &'a Folder,
    pub(super) interrupts: &'a Interrupts,
    /// Runs made so far.
    pub(super) runs: u32,
    /// What the readers of results say of quantities, by side, each once.
    pub(super) said: Vec<String>,
}

impl Bench<'_> {
    /// Makes one.
    pub(super) fn run(&mut self, side: &Side, load: Load, round: u32) -> Result<BaselineRun, Stop> {
        if self.interrupts.count() > 0 {
            return Err(Stop::Interrupted);
        }
        let order = self.runs;
        self.runs += 1;
        let failed = |error: std::io::Error| Stop::Failed(format!("a directory of a run: {error}"));
        let folder = self.folder.of_run(order, &side.name()).map_err(failed)?;
        let mut found = BaselineRun {
            round,
            order,
            offered: match load.offered {
                Offered::Rate(rate) => rate.into(),
                Offered::Slots(slots) => slots.into(),
            },
            due: self.plan.due(load.offered, load.length),
            ..BaselineRun::default()
        };
        let done = self.measure(side, load, &folder, &mut found);
        self.folder.is_read(&folder);
        // A child may have been interrupted with us, and ended by itself.
        if self.interrupts.count() > 0 {
            return Err(Stop::Interrupted);
        }
        done.map(|()| found)
    }

    fn measure(
        &mut self,
        side: &Side,
        load: Load,
        folder: &Path,
        found: &mut BaselineRun,
    ) -> Result<(), Stop> {
        let log = folder.join("truth.jsonl");
        let server = match &self.plan.sim {
            Some(sim) => {
                let server = Server::start(sim, &self.plan.server_cpus, &log, self.interrupts);
                Some(server.map_err(Stop::Failed)?)
            }
            None => None,
        };
        let url = server.as_ref().map_or(self.plan.url.as_str(), |server| server.url.as_str()).to_owned();
        let printed = folder.join("stdout.txt");
        let prepared = match side {
            Side::Ours(window) => command::ours(self.plan, load, window, &url, folder),
            Side::Theirs(_) => command::theirs(self.plan, load, (self.program, &url), folder, &printed),
        };
        let Prepared { command, result } = prepared.map_err(Stop::Failed)?;
        let used = self.client(command, load, folder, &printed, found);
        let account = server.map(Server::stop).transpose().map_err(Stop::Failed)?;
        match used {
            Err(problem) => found.problem = Some(problem),
            Ok(used) => {
                found.cpu_s = Some(used.cpu_s);
                found.rss_bytes = Some(used.rss_bytes);
                found.problem = problem(&used, load.length, folder);
            }
        }
        if let Some(account) = account {
            self.truth(load, &log, account, found)?;
        }
        if found.problem.is_none() {
            found.problem = self.told(side, &result, folder, found).err();
        }
        if found.problem.is_none() && found.sent == Some(0) {
            found.problem = Some("no request reached the server".into());
        }
        Ok(())
    }

    /// Runs the client, and sees how busy the CPUs are meanwhile; a problem in words where it cannot be run.
    fn client(
        &self,
        mut command: std::process::Command,
        load: Load,
        folder: &Path,
        printed: &Path,
        found: &mut BaselineRun,
    ) -> Result<Used, String> {
        let named = |error: std::io::Error| format!("it cannot be run: {error}");
        command
            .stdin(Stdio::null())
            .stdout(File::create(printed).map_err(named)?)
            .stderr(File::create(folder.join("stderr.txt")).map_err(named)?);
        let before = Unbusy::read();
        let running = Running::start(&mut command, &self.plan.client_cpus).map_err(named)?;
        let used = running.wait(load.length + load.length + BESIDE, self.interrupts).map_err(named)?;
        if let Some((before, after)) = before.zip(Unbusy::read()) {
            let busy = |cpus: &[usize]| after.busy_since(&before, cpus).map(Span::as_s_f64);
            found.client_busy_s = busy(&self.plan.client_cpus);
            found.server_busy_s = busy(&self.plan.server_cpus);
            if !self.plan.server_cpus.is_empty() {
                let mut both = [self.plan.client_cpus.as_slice(), &self.plan.server_cpus].concat();
                both.sort_unstable();
                both.dedup();
                found.both_busy_s = busy(&both);
            }
        }
        Ok(used)
    }

    /// Takes what the simulator says.
    fn truth(&self, load: Load, log: &Path, account: Account, found: &mut BaselineRun) -> Result<(), Stop> {
        let schedule = match load.offered {
            Offered::Rate(rate) => found.due.map(|due| (rate, due)),
            Offered::Slots(_) => None,
        };
        let failed = |why: String| Stop::Failed(format!("the simulator's log {}: {why}", log.display()));
        let file = File::open(log).map_err(|error| failed(error.to_string()))?;
        let truth = truth::read(BufReader::new(file), schedule).map_err(failed)?;
        found.server_cpu_s = Some(account.cpu_s);
        found.server_was_the_limit = account.was_the_limit;
        found.sent = Some(truth.arrived);
        found.events = Some(truth.events);
        found.wire_rate = truth.wire_rate;
        found.start_jitter_ns = truth.start_jitter;
        found.true_head_ns = truth.head;
        found.true_e2e_end_ns = truth.e2e_end;
        found.true_e2e_due_ns = truth.e2e_due;
        if account.log_is_short && found.problem.is_none() {
            found.problem =
                Some("the simulator's log lacks requests: there is no truth to hold it against".into());
        }
        Ok(())
    }

    /// Takes what the client says; what is wrong with it in words.
    fn told(
        &mut self,
        side: &Side,
        result: &Path,
        folder: &Path,
        found: &mut BaselineRun,
    ) -> Result<(), String> {
        let text = command::result(result)?;
        let readings = foreign::read(&text, &side.name());
        let readings =
            readings.map_err(|error| format!("its result is not understood: {}", one_line(&error)))?;
        let reading = readings.first().ok_or("its result holds no run")?;
        let counted = |quantity| whole(reading.figure(quantity, Statistic::Value).map(|figure| figure.value));
        let (completed, failed) = (counted(Quantity::Completed), counted(Quantity::Failed));
        found.failed = failed;
        if completed == Some(0) && found.sent != Some(0) {
            return Err(format!("no request succeeded: {}", why_nothing(side, &text, folder)));
        }
        if found.sent.is_none() {
            found.sent = completed.and_then(|completed| completed.checked_add(failed.unwrap_or(0)));
        }
        found.head_ns = figures(reading, Quantity::Head);
        found.e2e_end_ns = figures(reading, Quantity::E2eEnd);
        // A slot of a closed loop is due when it is free: that is no schedule.
        if found.due.is_some() {
            found.e2e_due_ns = figures(reading, Quantity::E2eDue);
            found.lateness_ns = figures(reading, Quantity::Lateness);
        }
        if let Side::Ours(_) = side {
            let summary = Summary::from_json(&text).map_err(|error| error.to_string())?;
            found.verdict = Some(summary.client.verdict.name().to_owned());
            found.verdict_reasons = summary.client.reasons.into_iter().map(|reason| reason.words).collect();
        } else {
            self.keep_notes(side, reading);
        }
        Ok(())
    }

    /// Keeps how the peer's quantities differ from ours.
    fn keep_notes(&mut self, side: &Side, reading: &Reading) {
        let near =
            reading.near.iter().filter(|(quantity, _)| matches!(quantity, Quantity::Head | Quantity::E2eEnd));
        let near = near.map(|(quantity, how)| format!("{} of {}: {how}", quantity.name(), side.name()));
        let apart = reading.apart.iter().filter(|apart| apart.not != Quantity::Ttft);
        let apart = apart.map(|apart| {
            format!("{} of {} is not {}: {}", apart.theirs, side.name(), apart.not.name(), apart.why)
        });
        for note in near.chain(apart) {
            if !self.said.contains(&note) {
                self.said.push(note);
            }
        }
    }
}

fn figures(reading: &Reading, quantity: Quantity) -> Told {
    let value = |statistic| {
        let figure = reading.figure(quantity, statistic)?;
        Some(foreign_ns(figure.value))
    };
    Told {
        mean: value(Statistic::Mean),
        p50: value(Statistic::P50),
        p99: value(Statistic::P99),
        max: value(Statistic::Max),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float cast saturates, and readers give no longer times"
)]
fn foreign_ns(ns: f64) -> i64 {
    libm::round(ns) as i64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and what was counted is not negative"
)]
fn whole(count: Option<f64>) -> Option<u64> {
    count.map(|count| libm::round(count) as u64)
}

/// What is wrong with how it ended.
fn problem(used: &Used, length: Span, folder: &Path) -> Option<String> {
    if used.ended == Ended::TimeLimit {
        let limit = format_span(length + length + BESIDE);
        return Some(format!("it did not end within {limit}, and was stopped"));
    }
    if used.status.success() {
        return None;
    }
    Some(format!("it ended with {}: {}", used.status, last_of(folder, &["stderr.txt", "stdout.txt"])))
}

/// What a client said last, in the first of these files that has words.
fn last_of(folder: &Path, files: &[&str]) -> String {
    let words = files
        .iter()
        .filter_map(|name| program::tail(&folder.join(name)).ok())
        .find(|words| !words.trim().is_empty())
        .unwrap_or_default();
    // Many words are no line of a table; the last of them tell what went wrong.
    last_words(&words).chars().take(LONGEST_WORDS).collect()
}

/// Why a client says that nothing succeeded.
fn why_nothing(side: &Side, text: &str, folder: &Path) -> String {
    let words = match side {
        Side::Theirs("oha") => oha_words(text),
        Side::Theirs("wrk") => wrk_words(text),
        _ => last_of(folder, &["stderr.txt"]),
    };
    words.chars().take(LONGEST_WORDS).collect()
}

/// `12 status 500, 3 connection refused` of oha's JSON.
fn oha_words(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let of = |key: &str, what: &str| -> Vec<String> {
        let counts = value.get(key).and_then(serde_json::Value::as_object).into_iter().flatten();
        counts.map(|(words, count)| format!("{count} {what}{words}")).collect()
    };
    [of("statusCodeDistribution", "status "), of("errorDistribution", "")].concat().join(", ")
}

/// The lines of wrk's text that count failures.
fn wrk_words(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| line.starts_with("Non-2xx") || line.starts_with("Socket errors:"));
    lines.collect::<Vec<_>>().join("; ")
}

fn one_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_nothing_succeeded_is_told_in_the_words_of_the_client() {
        let folder = Folder::new(None).expect("a folder");
        std::fs::write(folder.path().join("stderr.txt"), "a\nconnection refused\n").expect("it is written");
        let said = |side, text: &str| why_nothing(&Side::Theirs(side), text, folder.path());
        let oha =
            r#"{"statusCodeDistribution": {"503": 12}, "errorDistribution": {"connection refused": 3}}"#;
        assert_eq!(said("oha", oha), "12 status 503, 3 connection refused");
        let wrk = "  8 requests in 1s\n  Socket errors: connect 0, read 9\n  Non-2xx or 3xx responses: 8\n";
        assert_eq!(said("wrk", wrk), "Socket errors: connect 0, read 9; Non-2xx or 3xx responses: 8");
        assert_eq!(said("k6", "{}"), "connection refused");
    }

    #[test]
    fn a_side_all_of_whose_requests_failed_has_a_problem_and_no_figures() {
        let text = "Running 1s test @ http://h/\n    Latency     1.00ms    0.10ms   2.00ms   90.00%\n  \
                    8 requests in 1.00s, 1MB read\n  Non-2xx or 3xx responses: 8\nRequests/sec:  8.00\nTransfer/sec:  1.00MB\n";
        let folder = Folder::new(None).expect("a folder");
        let result = folder.path().join("stdout.txt");
        std::fs::write(&result, text).expect("it is written");
        let limits = crate::plan::Limits::roomy(&[0, 1]);
        let asked = crate::plan::BaselineOptions { tool: Some("wrk".into()), ..Default::default() };
        let plan = BaselinePlan::new(&asked, &limits).expect("a plan");
        let interrupts = Interrupts::default();
        let mut bench = Bench {
            plan: &plan,
            program: Path::new("/bin/wrk"),
            folder: &folder,
            interrupts: &interrupts,
            runs: 0,
            said: Vec::new(),
        };
        let mut found = BaselineRun { sent: Some(8), ..BaselineRun::default() };
        let why = bench.told(&Side::Theirs("wrk"), &result, folder.path(), &mut found).unwrap_err();
        assert_eq!(why, "no request succeeded: Non-2xx or 3xx responses: 8");
        assert_eq!((found.failed, found.e2e_end_ns), (Some(8), Told::default()));
    }
}
