//! A results directory taken up again: its run or its sweep repeated, or its sweep gone on with. Reads what was asked for; does none of it.

use super::args::{RerunArguments, SweepArguments};
use super::asked::{Asked, Invocation, Refusal, config, planned, planned_sweep};
use crate::host::Facts;
use crate::plan::{Raw, SweepOptions};
use crate::report::SWEEP_VERSION;
use crate::store::Results;
use std::path::Path;

/// What may be given anew where a sweep goes on: the rest is what was begun with, or its trials would not be of one server
/// under one workload.
const ANEW: [&str; 24] = [
    "sweep.budget",
    "target.url",
    "target.api-key",
    "target.header",
    "target.secret-header",
    "target.wait-ready",
    "target.no-probe",
    "target.gpus",
    "target.price",
    "client.shards",
    "client.cpus",
    "client.card",
    "client.engine",
    "client.connections",
    "client.stamps",
    "client.enable-hw-stamps",
    "client.coalesce",
    "client.busy-poll",
    "output.json",
    "output.quiet",
    "output.verbose",
    "output.tag",
    "verdict.require",
    "verdict.threshold",
];

/// Repeats what is in a results directory.
pub(super) fn rerun(rerun: RerunArguments, facts: &Facts) -> Result<Asked, Refusal> {
    let RerunArguments { dir, dry_run, raw } = rerun;
    let mut file = saved(&dir).map_err(|why| Refusal::File(format!("rerun {}: {why}", dir.display())))?;
    // The saved one names the results that are there already.
    file.output.out = None;
    let how = Invocation { rerun_of: Some(dir.clone()), ..Invocation::default() };
    if file.sweep == SweepOptions::default() {
        return planned(raw.over(file), dry_run, how, facts);
    }
    if dry_run {
        let why = "--dry-run tells of a run, and this is a sweep: its plan is in its config.toml";
        return Err(Refusal::File(format!("rerun {}: {why}", dir.display())));
    }
    planned_sweep(raw.over(file), None, how, facts)
}

/// A sweep, new or resumed: then its options are those it began with, but for the budget.
pub(super) fn sweep(arguments: SweepArguments, facts: &Facts) -> Result<Asked, Refusal> {
    let SweepArguments { config: path, resume, sweep, mut raw } = arguments;
    raw.sweep = sweep;
    let how = Invocation { config: path.clone(), ..Invocation::default() };
    let Some(dir) = resume else {
        let file = path.as_deref().map(config).transpose()?.unwrap_or_default();
        return planned_sweep(raw.over(file), None, how, facts);
    };
    let refuse = |why: String| Refusal::File(format!("--resume {}: {why}", dir.display()));
    let version =
        Results::open(&dir).and_then(|results| results.read_sweep()).map(|sweep| sweep.schema_version);
    match version {
        Ok(SWEEP_VERSION) => {}
        Ok(_) => return Err(refuse("an older lowrho began it: begin a new one".into())),
        Err(why) => return Err(refuse(format!("{why}\n  a sweep that can go on has a sweep.json"))),
    }
    let given = raw.given().into_iter();
    let strange = given.filter(|(section, key)| !ANEW.contains(&format!("{section}.{key}").as_str()));
    let mut strange: Vec<String> = strange
        .map(|(section, key)| if section == "sim" { format!("--sim-{key}") } else { format!("--{key}") })
        .collect();
    if path.is_some() {
        strange.insert(0, "--config".into());
    }
    if !strange.is_empty() {
        return Err(refuse(format!(
            "it goes on with what it began with, so that its trials are of one server under one load: leave out {}\n  \
             --budget, secrets, and what concerns this machine or what is shown can be given anew",
            strange.join(", ")
        )));
    }
    let mut file = config(&dir.join("config.toml"))?;
    (file.output.out, file.sweep.budget) = (None, None);
    planned_sweep(raw.over(file), Some(dir.display().to_string()), how, facts)
}

/// The config of a results directory; what is there instead, in words.
fn saved(dir: &Path) -> Result<Raw, String> {
    let path = dir.join("config.toml");
    if path.is_file() {
        return config(&path).map_err(|refusal| match refusal {
            Refusal::File(why) => why,
            other => format!("{other:?}"),
        });
    }
    if dir.is_file() {
        return Err("it is a file: name a results directory".into());
    }
    let results = Results::open(dir).map_err(|_| "there is no such results directory".to_owned())?;
    if results.holds_several() {
        let first = dir.join("1");
        return Err(format!(
            "it holds several runs (--repeat): lowrho rerun {} repeats the first",
            first.display()
        ));
    }
    Err("no results: it has no config.toml".into())
}
