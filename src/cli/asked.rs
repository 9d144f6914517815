//! Arguments, environment and files to what is asked for; does none of it.

use super::Exit;
use super::args::{Arguments, Command, CompareArguments, ExportArguments, ReportArguments, ScriptArguments};
use super::limits::tried_limits;
use super::{Compare, Export, K6Script, card, elsewhere, repeated, shape};
use crate::foreign::{Format, GateError, Scope};
use crate::host::{Facts, named_file};
use crate::plan::{
    BaselinePlan, FloorPlan, Gpus, Limits, Plan, PlanError, Prompts, REDACTED, Raw, SimPlan, SweepPlan, Text,
    parse_cpus,
};
use crate::run;
use crate::store::Results;
use crate::time::{Span, parse_span};
use clap::FromArgMatches;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A file of prompts is kept in memory whole, in bytes.
const LARGEST_PROMPTS: u64 = 4 << 30;

/// More than any configuration, in bytes.
const LARGEST_CONFIG: u64 = 1 << 20;

/// What is asked for, every bound checked.
#[derive(Debug)]
pub enum Asked {
    /// Make this run.
    Run(Box<Plan>, Invocation),
    /// Print what such a run would be.
    DryRun(Box<Plan>, Invocation),
    /// Measure how low this client can go here.
    Floor(Box<FloorPlan>),
    /// Run lowrho and a peer in turn.
    Baseline(Box<BaselinePlan>),
    /// Make this sweep.
    Sweep(Box<SweepPlan>, Invocation),
    /// Serve as the simulator.
    Sim(Box<SimPlan>, Option<i32>),
    /// See what a run would meet on this machine: this one, or any.
    Doctor {
        /// The run, if its options were given.
        plan: Option<Box<Plan>>,
        /// Whether to tell it as JSON.
        json: bool,
    },
    /// Print a config file to this place, or to stdout.
    Init(Option<PathBuf>),
    /// Tell again what results directories hold.
    Report {
        /// The directories, at least one.
        dirs: Vec<PathBuf>,
        /// How.
        forms: Vec<Form>,
        /// What the servers run on, if that is said anew.
        gpus: Option<Gpus>,
    },
    /// Tell result files of this and other tools side by side.
    Compare(Box<Compare>),
    /// Write a k6 script for such a run.
    K6Script(Box<Plan>, Invocation, K6Script),
    /// Write a run's summary in another tool's format.
    Export(Export),
    /// Make a config file of another tool's configuration.
    Import {
        /// A file's name, or a command line.
        words: Vec<String>,
        /// Where to; stdout when left out.
        out: Option<PathBuf>,
    },
}

/// How earlier results are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// As on the terminal after the run.
    Text,
    /// As `summary.json`.
    Json,
    /// As a table for other programs.
    Csv,
    /// As a page, into this file.
    Html(PathBuf),
    /// As figures, into this directory.
    Svg(PathBuf),
}

/// How a run came about, and what was read for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Invocation {
    /// The config file, if there was one.
    pub config: Option<PathBuf>,
    /// The results directory that is repeated, if one is.
    pub rerun_of: Option<PathBuf>,
    /// The text of the plan's file of prompts, if it has one; it makes a workload.
    pub prompts: Option<String>,
}

/// As many CPUs as any kernel is built for.
const MOST_SHARDS: usize = 8192;

/// Why nothing was done.
#[derive(Debug)]
pub enum Refusal {
    /// The arguments are not understood, or ask for help or the version.
    Usage(clap::Error),
    /// A file cannot be used; nothing was sent.
    File(String),
    /// What is asked for cannot be; nothing was sent.
    Plan(PlanError),
}

impl Refusal {
    /// Says it, and ends with 2, but for help and version, which are what was asked for.
    #[must_use]
    pub fn tell(&self) -> ExitCode {
        let mut to = io::stderr();
        // Nothing more can be done where stderr is closed.
        let _ = match self {
            Self::Usage(error) => {
                let _ = error.print();
                return if error.use_stderr() { Exit::BadPlan.into() } else { Exit::Good.into() };
            }
            Self::File(why) => writeln!(to, "error: {why}"),
            Self::Plan(error) => {
                error.mistakes.iter().try_for_each(|mistake| writeln!(to, "error: {mistake}"))
            }
        };
        Exit::BadPlan.into()
    }
}

impl From<PlanError> for Refusal {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

/// Reads what `arguments`, the name of the program first, ask for on a machine of these `facts`.
///
/// # Errors
/// Usage, unreadable files, and plans that cannot be: nothing was done yet.
pub fn read(arguments: impl IntoIterator<Item = OsString>, facts: &Facts) -> Result<Asked, Refusal> {
    let arguments = with_negatives(arguments);
    let all = arguments.iter().any(|argument| argument == "--help");
    let matches = shape::command(all).try_get_matches_from(arguments);
    let matches = matches.map_err(|error| Refusal::Usage(elsewhere::explained(error)))?;
    match Arguments::from_arg_matches(&matches).map_err(Refusal::Usage)?.command {
        Command::Run(run) => {
            let file = run.config.as_deref().map(config).transpose()?.unwrap_or_default();
            let how = Invocation { config: run.config, ..Invocation::default() };
            planned(run.raw.over(file), run.dry_run, how, facts)
        }
        Command::Rerun(rerun) => repeated::rerun(*rerun, facts),
        Command::Doctor(doctor) => {
            let file = doctor.config.as_deref().map(config).transpose()?.unwrap_or_default();
            examined(doctor.raw.over(file), facts)
        }
        Command::Floor(floor) => {
            let plan = FloorPlan::new(&floor.floor, &tried_limits(facts))?;
            if let Some(dir) = plan.out.as_deref().filter(|dir| is_occupied(Path::new(dir))) {
                return Err(occupied(dir));
            }
            // The rungs differ in their loads alone.
            run::check_certificates(&plan.ladders[0].rungs[0].plan)
                .map_err(|error| Refusal::File(error.to_string()))?;
            Ok(Asked::Floor(Box::new(plan)))
        }
        Command::Baseline(baseline) => {
            let plan = BaselinePlan::new(&baseline.baseline, &tried_limits(facts))?;
            if let Some(dir) = plan.out.as_deref().filter(|dir| is_occupied(Path::new(dir))) {
                return Err(occupied(dir));
            }
            if let Some(file) = plan.json.as_deref().filter(|file| Path::new(file).exists()) {
                return Err(Refusal::File(format!("--json {file}: it is there already: name another")));
            }
            Ok(Asked::Baseline(Box::new(plan)))
        }
        Command::Sweep(sweep) => repeated::sweep(*sweep, facts),
        Command::Sim(sim) => {
            Ok(Asked::Sim(Box::new(SimPlan::new(sim.sim, &tried_limits(facts))?), sim.owner))
        }
        Command::Init(init) => Ok(Asked::Init(init.file)),
        Command::Compare(compare) => compared(*compare),
        Command::K6Script(script) => scripted(*script, facts),
        Command::Export(export) => exported(export),
        Command::ImportConfig(import) => Ok(Asked::Import { words: import.words, out: import.out }),
        Command::Report(report) => {
            let gpus = Gpus::read(report.gpus.as_ref(), report.price.as_ref()).map_err(Refusal::File)?;
            Ok(Asked::Report { dirs: report.dirs.clone(), forms: forms(report), gpus })
        }
    }
}

fn scripted(arguments: ScriptArguments, facts: &Facts) -> Result<Asked, Refusal> {
    let ScriptArguments { config: path, script, expect_e2e, raw } = arguments;
    let refuse = |why: &dyn Display| Refusal::File(format!("--expect-e2e {expect_e2e}: {why}"));
    let e2e = parse_span(&expect_e2e).map_err(|why| refuse(&why))?;
    if e2e <= Span::ZERO || e2e > Span::from_s(3_600) {
        return Err(refuse(&"must be more than 0s and at most an hour"));
    }
    let file = path.as_deref().map(config).transpose()?.unwrap_or_default();
    let how = Invocation { config: path, ..Invocation::default() };
    match planned(raw.over(file), true, how, facts)? {
        Asked::DryRun(plan, how) => Ok(Asked::K6Script(plan, how, K6Script { script, e2e })),
        other => Ok(other),
    }
}

fn exported(ExportArguments { dir, format, out }: ExportArguments) -> Result<Asked, Refusal> {
    let named = Format::ALL.into_iter().find(|known| known.name() == format);
    let Some(format) = named else {
        let names = Format::ALL.map(Format::name).join(", ");
        return Err(Refusal::File(format!("--as {format}: is no format; accepted: {names}")));
    };
    Ok(Asked::Export(Export { dir, format, out }))
}

fn compared(arguments: CompareArguments) -> Result<Asked, Refusal> {
    let CompareArguments { files: paths, markdown, html, all, fail_if } = arguments;
    let read =
        |text: String| text.parse().map_err(|why: GateError| Refusal::File(format!("--fail-if: {why}")));
    let gate = fail_if.map(read).transpose()?.unwrap_or_default();
    let scope = if all { Scope::All } else { Scope::Usual };
    Ok(Asked::Compare(Box::new(Compare { paths, markdown, html, scope, gate })))
}

/// `--duration -5s` as `--duration=-5s`, so that it is refused as the duration that it is and not as an unknown flag: no flag
/// begins with a digit.
fn with_negatives(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for argument in arguments {
        let is_negative = argument
            .to_str()
            .and_then(|text| text.strip_prefix('-'))
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
        let flag = joined.last_mut().filter(|last| {
            let last = last.to_str().unwrap_or_default();
            is_negative && last.starts_with('-') && last != "--" && !last.contains('=')
        });
        match flag {
            Some(flag) => {
                flag.push("=");
                flag.push(argument);
            }
            None => joined.push(argument),
        }
    }
    joined
}

/// The forms asked for; the text where there is none.
fn forms(report: ReportArguments) -> Vec<Form> {
    let printed = [(report.json, Form::Json), (report.csv, Form::Csv)];
    let mut forms: Vec<Form> =
        printed.into_iter().filter_map(|(asked, form)| asked.then_some(form)).collect();
    forms.extend(report.html.map(Form::Html));
    forms.extend(report.svg.map(Form::Svg));
    if forms.is_empty() { vec![Form::Text] } else { forms }
}

/// The plan for a doctor: what this machine cannot do is for the doctor to say, not a reason to refuse the plan.
fn examined(mut asked: Raw, facts: &Facts) -> Result<Asked, Refusal> {
    let json = asked.output.json.take() == Some(true);
    if asked == Raw::default() {
        return Ok(Asked::Doctor { plan: None, json });
    }
    let limits = carded(&asked, facts)?;
    let lenient = Limits {
        cpus: wished_cpus(&asked, &limits.cpus),
        memlock_bytes: None,
        kernel: None,
        io_uring_forbidden: None,
        ring_refused: None,
        ..limits
    };
    Ok(Asked::Doctor { plan: Some(Box::new(Plan::new(asked, &lenient)?)), json })
}

/// The CPUs that this process may run on, and those that a plan names or needs beside them: a doctor tells which are not there.
fn wished_cpus(asked: &Raw, there: &[usize]) -> Vec<usize> {
    let named =
        asked.client.cpus.as_ref().and_then(|cpus| parse_cpus(cpus.as_str()).ok()).unwrap_or_default();
    let shards =
        asked.client.shards.as_ref().and_then(|shards| shards.as_str().parse().ok()).unwrap_or(0_usize);
    let mut cpus: Vec<usize> = there.iter().chain(&named).copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    // No machine has as many as a slip of the finger may ask for: that is refused as any plan is.
    let next = cpus.last().map_or(0, |last| last + 1);
    let missing = shards.min(MOST_SHARDS).saturating_sub(cpus.len());
    cpus.extend(next..next + missing);
    cpus
}

/// What `facts` mean for a plan, with the costs of the capacity card that it asks for, or of the usual one.
fn carded(asked: &Raw, facts: &Facts) -> Result<Limits, Refusal> {
    let card = asked.client.card.as_ref().map(Text::as_str);
    let cost = card::cost(card, card::usual_place().as_deref(), facts)?;
    Ok(Limits { cost, ..tried_limits(facts) })
}

/// The plan of a sweep; `resume` is the directory that it goes on with.
pub(super) fn planned_sweep(
    asked: Raw,
    resume: Option<String>,
    mut how: Invocation,
    facts: &Facts,
) -> Result<Asked, Refusal> {
    let asked = with_key_of(std::env::var("OPENAI_API_KEY").ok(), asked);
    let limits = carded(&asked, facts)?;
    let mut plan = Box::new(SweepPlan::new(asked, &limits)?);
    plan.resume = resume;
    with_files(&mut plan.plan, &mut how)?;
    writable(&plan.plan)?;
    Ok(Asked::Sweep(plan, how))
}

pub(super) fn planned(
    asked: Raw,
    dry_run: bool,
    mut how: Invocation,
    facts: &Facts,
) -> Result<Asked, Refusal> {
    let asked = with_key_of(std::env::var("OPENAI_API_KEY").ok(), asked);
    let limits = carded(&asked, facts)?;
    let mut plan = Box::new(Plan::new(asked, &limits)?);
    with_files(&mut plan, &mut how)?;
    if dry_run {
        return Ok(Asked::DryRun(plan, how));
    }
    writable(&plan)?;
    Ok(Asked::Run(plan, how))
}

/// Reads the plan's file of prompts, if it has one, sees that its directory is free, and says what of the environment is
/// ignored.
fn with_files(plan: &mut Plan, how: &mut Invocation) -> Result<(), Refusal> {
    plan.caveats
        .extend(ignored_proxies(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())));
    if let Prompts::File(path) = &plan.payload.prompts {
        let refuse = |why: &dyn Display| Refusal::File(format!("--prompts {path}: {why}"));
        let text = named_file::text(Path::new(path), LARGEST_PROMPTS).map_err(|error| refuse(&error))?;
        plan.workload("model", "run", Some(&text)).map_err(|error| refuse(&error))?;
        how.prompts = Some(text);
    }
    run::check_certificates(plan).map_err(|error| Refusal::File(error.to_string()))?;
    if let Some(dir) = plan.output.dir.as_deref().filter(|dir| is_occupied(Path::new(dir))) {
        return Err(occupied(dir));
    }
    Ok(())
}

/// Sees that results can be written before anything is sent.
fn writable(plan: &Plan) -> Result<(), Refusal> {
    Results::try_out(plan.output.dir.as_deref().map(Path::new))
        .map_err(|error| Refusal::File(format!("--out: {error}")))
}

fn occupied(dir: &str) -> Refusal {
    let why = "it must be new or empty, so that no earlier results are lost: name another";
    Refusal::File(format!("--out {dir}: {why}"))
}

/// What is to be said of the environment's proxies, where it names some: a proxy's own latencies are not what is asked for.
/// Their values stay unsaid, for they may hold a password.
fn ignored_proxies(is_set: impl Fn(&str) -> bool) -> Option<String> {
    const NAMES: [&str; 6] =
        ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let set: Vec<&str> = NAMES.into_iter().filter(|name| is_set(name)).collect();
    (!set.is_empty()).then(|| {
        format!("{} in the environment is ignored: connections go straight to the target", set.join(", "))
    })
}

/// Whether something is there that results would be mixed with.
fn is_occupied(dir: &Path) -> bool {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_some(),
        // A file of that name is; whether a missing one can be made is tried later.
        Err(_) => dir.exists(),
    }
}

/// The environment's key, where neither flag nor file has one and the target is not our own simulator.
fn with_key_of(environment: Option<String>, mut raw: Raw) -> Raw {
    let missing = raw.target.api_key.as_ref().is_none_or(|key| key.as_str() == REDACTED);
    if let Some(key) = environment.filter(|key| !key.is_empty() && missing && raw.target.sim != Some(true)) {
        raw.target.api_key = Some(Text(key));
    }
    raw
}

pub(super) fn config(path: &Path) -> Result<Raw, Refusal> {
    let refuse = |why: &dyn Display| Refusal::File(format!("{}: {why}", path.display()));
    let text = named_file::text(path, LARGEST_CONFIG).map_err(|error| refuse(&error))?;
    Raw::from_toml(&text).map_err(|error| refuse(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_of_the_environment_is_named_and_its_value_is_not() {
        assert_eq!(ignored_proxies(|_| false), None);
        let said = ignored_proxies(|name| name == "HTTP_PROXY" || name == "all_proxy").unwrap();
        assert!(said.starts_with("HTTP_PROXY, all_proxy in the environment is ignored"), "{said}");
    }

    #[test]
    fn a_negative_value_belongs_to_its_flag() {
        let joined = |arguments: &[&str]| {
            let joined = with_negatives(arguments.iter().map(OsString::from)).into_iter();
            joined.map(|argument| argument.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(joined(&["l", "run", "-d", "-5s", "--rate", "-.5"]), "l run -d=-5s --rate=-.5");
        assert_eq!(joined(&["l", "report", "-5", "-r", "5", "-q"]), "l report -5 -r 5 -q");
    }

    #[test]
    fn the_environments_key_is_used_where_no_other_is_given() {
        let raw = |toml: &str| Raw::from_toml(toml).unwrap();
        let key = |raw: Raw| with_key_of(Some("env".into()), raw).target.api_key.map(|key| key.0);
        assert_eq!(key(raw("")).as_deref(), Some("env"));
        assert_eq!(key(raw("[target]\napi-key = \"***\"")).as_deref(), Some("env"));
        assert_eq!(key(raw("[target]\napi-key = \"mine\"")).as_deref(), Some("mine"));
        assert_eq!(key(raw("[target]\nsim = true")), None);
    }
}
