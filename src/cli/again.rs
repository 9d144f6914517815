//! What earlier runs found, told again: on the terminal, for other programs, as a page or figures. It decides no number.

use super::asked::Form;
use super::words::{self, aside};
use super::{Exit, deeds};
use crate::report::html::{self, Figure, Told, ToldSweep};
use crate::report::{GpuCost, Summary, csv, terminal};
use crate::store::{Remains, Results, StoreError};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Tells what the directories hold in the forms asked for; `gpus` in place of what was said when they were made.
pub(super) fn report(dirs: &[PathBuf], forms: &[Form], gpus: Option<GpuCost>) -> io::Result<Exit> {
    let sweeps: Vec<bool> = dirs.iter().map(|dir| is_sweep(dir)).collect();
    if sweeps.contains(&true) && sweeps.contains(&false) {
        let why = "runs and sweeps have no figure in common: report them apart";
        aside(format_args!("error: {why}"));
        return Ok(Exit::BadPlan);
    }
    let told = if sweeps.contains(&true) {
        told_sweeps(dirs).map(|mut told| {
            told.iter_mut().for_each(|one| one.sweep.gpus = gpus.or(one.sweep.gpus));
            forms.iter().try_fold(Exit::Good, |worst, form| Ok(worst.worse(tell_sweeps(&told, form)?)))
        })
    } else {
        told(dirs, forms).map(|mut told| {
            for summary in told.iter_mut().map(|one| &mut one.summary) {
                summary.gpus = gpus.map(|gpus| gpus.of(&summary.total)).or(summary.gpus);
            }
            forms.iter().try_fold(Exit::Good, |worst, form| Ok(worst.worse(tell(&told, form)?)))
        })
    };
    match told {
        Ok(exit) => exit,
        Err(why) => {
            aside(format_args!("error: {why}"));
            Ok(Exit::BadPlan)
        }
    }
}

fn is_sweep(dir: &Path) -> bool {
    Results::open(dir).is_ok_and(|results| results.holds_a_sweep())
}

fn told_sweeps(dirs: &[PathBuf]) -> Result<Vec<ToldSweep>, String> {
    let read = |dir: &PathBuf| Results::open(dir).and_then(|results| results.tell_sweep());
    dirs.iter().map(read).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Sweeps: each one's table and sentence, or what other programs read, or their page.
fn tell_sweeps(told: &[ToldSweep], form: &Form) -> io::Result<Exit> {
    let sweeps = || told.iter().map(|one| &one.sweep);
    match form {
        Form::Text => {
            let style = deeds::style(false);
            print(&sweeps().map(|one| terminal::sweep(one, &style)).collect::<Vec<_>>().join("\n"))
        }
        Form::Json => match told {
            [one] => print(&one.sweep.to_json()),
            _ => print(&format!("{:#}\n", serde_json::json!(sweeps().collect::<Vec<_>>()))),
        },
        Form::Csv => print(&csv::trials(told.iter().map(|one| (one.name.as_str(), &one.sweep)))),
        Form::Html(file) => Ok(write_all(file, [(file.clone(), html::sweep_page(told))])),
        Form::Svg(dir) => Ok(write_figures(dir, html::sweep_figures(told))),
    }
}

fn write_figures(dir: &Path, figures: Vec<Figure>) -> Exit {
    let file = |figure: Figure| (dir.join(format!("{}.svg", figure.name)), figure.standalone());
    write_all(dir, figures.into_iter().map(file))
}

fn told(dirs: &[PathBuf], forms: &[Form]) -> Result<Vec<Told>, String> {
    let drawn = forms.iter().any(|form| matches!(form, Form::Html(_) | Form::Svg(_)));
    let read = |dir: &PathBuf| {
        let results = Results::open(dir).map_err(|error| error.to_string())?;
        let read = || {
            if drawn {
                return results.tell(u64::MAX);
            }
            let name = dir.display().to_string();
            let summary = results.read_summary()?;
            Ok(Told { name, summary, curves: Vec::new(), course: None, notes: Vec::new() })
        };
        read().map_err(|error: StoreError| without_summary(&results).unwrap_or_else(|| error.to_string()))
    };
    dirs.iter().map(read).collect()
}

fn tell(told: &[Told], form: &Form) -> io::Result<Exit> {
    let summaries = told.iter().map(|run| &run.summary);
    match form {
        Form::Text => print(&summaries.map(|one| deeds::page(one, false)).collect::<Vec<_>>().join("\n")),
        Form::Json => print(&json(&summaries.collect::<Vec<_>>())),
        Form::Csv => print(&csv::table(told.iter().map(|run| (run.name.as_str(), &run.summary)))),
        Form::Html(file) => Ok(write_all(file, [(file.clone(), html::page(told))])),
        Form::Svg(dir) => Ok(write_figures(dir, html::figures(told))),
    }
}

/// One run as its `summary.json`; several as one array, so that it stays one document.
fn json(summaries: &[&Summary]) -> String {
    match summaries {
        [one] => one.to_json(),
        several => format!("{:#}\n", serde_json::json!(several)),
    }
}

fn print(text: &str) -> io::Result<Exit> {
    words::print(text)?;
    Ok(Exit::Good)
}

/// Writes files and says where; `asked` is the path that was given. A folder that is not there is more often a slip than a wish,
/// and so is a file that is there and is nothing that is drawn again.
pub(super) fn write_all(asked: &Path, files: impl IntoIterator<Item = (PathBuf, String)>) -> Exit {
    let mut written = 0_usize;
    if let Some(folder) = asked.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        let (asked, folder) = (asked.display(), folder.display());
        aside(format_args!(
            "error: cannot write {asked}: there is no folder {folder}: make it, or name another"
        ));
        return Exit::BadPlan;
    }
    for (path, text) in files {
        if is_something_else(&path) {
            let path = path.display();
            aside(format_args!(
                "error: cannot write {path}: it is there already, and is no page or figure: name another"
            ));
            return Exit::BadPlan;
        }
        let made = match path.parent() {
            // The folder of figures is ours to make.
            Some(folder) if folder == asked => fs::create_dir_all(folder),
            _ => Ok(()),
        };
        if let Err(error) = made.and_then(|()| fs::write(&path, text)) {
            aside(format_args!("error: cannot write {}: {error}", path.display()));
            return Exit::Failed;
        }
        written += 1;
    }
    let files = if written == 1 { "file" } else { "files" };
    aside(format_args!("{written} {files} written: {}", asked.display()));
    Exit::Good
}

/// Whether a regular file is there that begins with anything but a tag.
fn is_something_else(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut first = [0];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut first));
    // One that cannot be read is refused when it is written, or can be replaced.
    matches!(read, Ok(1)) && first != *b"<"
}

/// What there is where no summary is: several runs, or what is left of one that was killed.
pub(super) fn without_summary(results: &Results) -> Option<String> {
    let dir = results.dir().display();
    if results.holds_several() {
        return Some(format!(
            "{dir} holds several runs (repeats.json has their spread): lowrho report {dir}/1"
        ));
    }
    let Remains { rows, failed, cut, histograms } = results.remains()?;
    let cut = if cut { ", the last one cut" } else { "" };
    let rows = format!("records.jsonl has the rows of {rows} finished requests ({failed} failed){cut}");
    let histograms =
        if histograms { "; histograms.hlog has the latencies up to its last second" } else { "" };
    Some(format!(
        "{dir} has no summary.json: the run was killed, or still goes on\n  {rows}{histograms}\n  \
         lowrho rerun {dir} repeats the run"
    ))
}
