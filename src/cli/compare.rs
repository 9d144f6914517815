//! `lowrho compare`, done: files read, told side by side, held to `--fail-if`. It decides no number.

use super::words::{aside, print};
use super::{Exit, again};
use crate::analysis::Remeasured;
use crate::foreign::{self, Comparison, Gate, Reading, Scope};
use crate::host::named_file;
use crate::report::terminal::clean;
use crate::report::{Ended, Summary};
use crate::store::{Results, StoreError};
use crate::time::{Instant, Span};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A result file is read whole; one of this size is no summary, nor are rows of so many requests.
const MOST_BYTES: u64 = 1 << 30;

/// What a comparison was asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Compare {
    /// The files and directories, in order.
    pub paths: Vec<PathBuf>,
    /// Whether to print Markdown instead of a table for the terminal.
    pub markdown: bool,
    /// Where a page is written, instead of printing.
    pub html: Option<PathBuf>,
    /// Which rows are told.
    pub scope: Scope,
    /// What differences must not show.
    pub gate: Gate,
}

/// Compares.
pub(super) fn compare(asked: &Compare) -> io::Result<Exit> {
    let mut readings = Vec::new();
    for path in &asked.paths {
        match read(path) {
            Ok(more) => readings.extend(more),
            Err(why) => {
                let why: Vec<String> = why.lines().map(clean).collect();
                aside(format_args!("error: {}: {}", path.display(), why.join("\n")));
                return Ok(Exit::BadPlan);
            }
        }
    }
    let comparison = Comparison::of(&readings, asked.scope);
    match &asked.html {
        Some(file) => {
            let exit = again::write_all(file, [(file.clone(), comparison.html())]);
            if exit != Exit::Good {
                return Ok(exit);
            }
        }
        None => {
            let text = if asked.markdown { comparison.markdown() } else { comparison.text() };
            print(&text)?;
        }
    }
    Ok(judge(&asked.gate, &readings))
}

/// Holds every later run of ours to the gate, against the first.
fn judge(gate: &Gate, readings: &[Reading]) -> Exit {
    if gate.is_empty() {
        return Exit::Good;
    }
    let ours: Vec<&Reading> = readings.iter().filter(|reading| reading.is_ours).collect();
    let [base, others @ ..] = ours.as_slice() else { return refused("no file is a result of lowrho") };
    if others.is_empty() {
        return refused("it takes two results of lowrho: the first is what the others are held to");
    }
    let mut exit = Exit::Good;
    for other in others {
        match gate.crossed(base, other) {
            Ok(crossed) => {
                for words in crossed {
                    aside(format_args!("crossed: {}", clean(&words)));
                    exit = Exit::Crossed;
                }
            }
            Err(why) => {
                aside(format_args!("error: {}", clean(&why.to_string())));
                return Exit::BadPlan;
            }
        }
    }
    exit
}

fn refused(why: &str) -> Exit {
    aside(format_args!("error: --fail-if: {why}"));
    Exit::BadPlan
}

/// What a file, or a results directory, says.
fn read(path: &Path) -> Result<Vec<Reading>, String> {
    let name = path.display().to_string();
    if path.is_dir() {
        if Results::open(path).is_ok_and(|results| results.holds_several()) {
            let (runs, broken_off) = repeats(path)?;
            let mut all = foreign::together(&runs, &name).ok_or("none of its runs went to its end")?;
            if broken_off > 0 {
                all.notes.push(format!("{broken_off} of its runs were broken off, and are left out"));
            }
            return Ok(vec![all]);
        }
        return run(path, &name).map(|(_, reading)| vec![reading]);
    }
    // The rows beside a summary belong to it.
    if path.file_name().is_some_and(|file| file == "summary.json")
        && let Some(dir) = path.parent()
    {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        return run(dir, &name).map(|(_, reading)| vec![reading]);
    }
    let text = named_file::text(path, MOST_BYTES).map_err(|error| error.to_string())?;
    foreign::read(&text, &name).map_err(|error| error.to_string())
}

/// The runs of `--repeat` below a directory that went to their end, and how many did not: one that was broken off measured
/// something else, and is no repetition.
fn repeats(dir: &Path) -> Result<(Vec<Reading>, usize), String> {
    let listed = fs::read_dir(dir).map_err(|error| error.to_string())?;
    let mut numbers: Vec<u32> =
        listed.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let (mut readings, mut broken_off) = (Vec::new(), 0);
    let mut seen = BTreeSet::new();
    for number in numbers {
        let dir = dir.join(number.to_string());
        let name = dir.display().to_string();
        let (summary, reading) = run(&dir, &name).map_err(|why| format!("{name}: {why}"))?;
        if !seen.insert(summary.run.id.clone()) {
            return Err(format!("{name}: run {} is there twice: its spread would be none", summary.run.id));
        }
        if summary.run.ended == Ended::Interrupted {
            broken_off += 1;
        } else {
            readings.push(reading);
        }
    }
    let made = made(dir).unwrap_or(seen.len());
    if made > seen.len() {
        return Err(format!(
            "{made} runs were made, and {} are there: the others may be the worst",
            seen.len()
        ));
    }
    Ok((readings, broken_off))
}

/// How many runs `repeats.json` lists.
fn made(dir: &Path) -> Option<usize> {
    let text = named_file::text(&dir.join("repeats.json"), MOST_BYTES).ok()?;
    let listed: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(listed.get("runs")?.as_array()?.len())
}

/// One run of ours, with what its rows tell.
fn run(dir: &Path, name: &str) -> Result<(Summary, Reading), String> {
    let results = Results::open(dir).map_err(|error| error.to_string())?;
    let summary = results
        .read_summary()
        .map_err(|error| again::without_summary(&results).unwrap_or_else(|| error.to_string()))?;
    let rows = rows(&results, &summary);
    let mut reading = foreign::ours(&summary, rows.as_ref().map_err(String::as_str), name);
    if let Err(error @ StoreError::Histograms { .. }) = results.read_histograms() {
        reading.notes.push(format!("{error}; no figure here comes from it"));
    }
    Ok((summary, reading))
}

/// The rows of a run, where every request that was begun has one; else why they are not to be had.
fn rows(results: &Results, summary: &Summary) -> Result<Remeasured, String> {
    let window = |stage: &crate::report::Stage| {
        let start = Instant::from_ns(u64::try_from(stage.start_ns).ok()?);
        Some((start, Span::from_ns(stage.window_ns)))
    };
    let windows = summary.stages.iter().map(window).collect::<Option<Vec<_>>>();
    let mut rows = Remeasured::new(windows.ok_or("a stage began before its run")?);
    for row in results.records(Instant::ZERO).map_err(|error| error.to_string())? {
        rows.add(&row.map_err(|error| error.to_string())?);
    }
    let (there, begun) = (rows.rows(), summary.total.load.begun);
    if there == 0 || there < begun {
        return Err(format!(
            "it takes a row of every request (--records all), and there are {there} of {begun}"
        ));
    }
    Ok(rows)
}
