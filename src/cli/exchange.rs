//! `lowrho export` and `lowrho import-config`, done: files read, files written. It decides no number and no option.

use super::words::{aside, print};
use super::{Exit, again, limits};
use crate::foreign::{Format, Imported, export, import_inference_perf, is_command, vllm_command};
use crate::host::Facts;
use crate::host::named_file;
use crate::plan::{Plan, Raw};
use crate::report::terminal::clean;
use crate::store::Results;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a run's summary in another tool's format.
pub(super) fn export_run(dir: &Path, format: Format, out: Option<&Path>) -> io::Result<Exit> {
    let summary = Results::open(dir).map_err(|error| error.to_string()).and_then(|results| {
        let read = results.read_summary();
        read.map_err(|error| again::without_summary(&results).unwrap_or_else(|| error.to_string()))
    });
    match summary {
        Ok(summary) => put(out, &export(&summary, format)),
        Err(why) => Ok(refuse(&why)),
    }
}

/// Makes a config file of another tool's configuration: a file, or a command line's words.
pub(super) fn import(words: &[String], out: Option<&Path>, facts: &Facts) -> io::Result<Exit> {
    let (of, imported) = match imported(words) {
        Ok(made) => made,
        Err(why) => return Ok(refuse(&why)),
    };
    let text = imported.text(&of);
    let raw = match Raw::from_toml(&text) {
        Ok(raw) => raw,
        Err(why) => {
            return Ok(refuse(&format!("{of}: a value of it cannot stand in a config file: {why}")));
        }
    };
    let exit = put(out, &text)?;
    let count = |n: usize| if n == 1 { "1 option".to_owned() } else { format!("{n} options") };
    if !imported.missing.is_empty() {
        let missing = count(imported.missing.len());
        aside(format_args!("{missing} without an equivalent: see the comments at the file's head"));
    }
    // A config may be made on another machine than the one it is for, and a URL be given later.
    if let Err(error) = Plan::new(raw, &limits(facts)) {
        for mistake in error.mistakes {
            let mistake = clean(&mistake.to_string());
            aside(format_args!("note: lowrho run would refuse it here: {mistake}"));
        }
    }
    Ok(exit)
}

/// More than any configuration.
const MOST_BYTES: u64 = 1 << 20;

fn imported(words: &[String]) -> Result<(String, Imported), String> {
    if let [one] = words
        && !one.contains(' ')
    {
        let text = named_file::text(Path::new(one), MOST_BYTES).map_err(|error| format!("{one}: {error}"))?;
        let made = import_inference_perf(&text).map_err(|why| format!("{one}: {why}"))?;
        return Ok((format!("inference-perf's {one}"), made));
    }
    let words = match words {
        [line] => shlex::split(line).ok_or_else(|| format!("{line:?}: its quotes are not closed"))?,
        words => words.to_vec(),
    };
    if !is_command(&words) {
        return Err(
            "give a file of inference-perf (YAML), or after -- a command line of vllm bench serve".into()
        );
    }
    let made = vllm_command(&words).map_err(|why| why.to_string())?;
    Ok(("a command line of vllm bench serve".into(), made))
}

/// Prints, or writes a file that must not be there yet.
fn put(out: Option<&Path>, text: &str) -> io::Result<Exit> {
    let Some(path) = out else {
        print(text)?;
        return Ok(Exit::Good);
    };
    let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
    if let Err(error) = made.and_then(|mut file| file.write_all(text.as_bytes())) {
        aside(format_args!("error: cannot write {}: {error}", path.display()));
        return Ok(Exit::Failed);
    }
    Ok(Exit::Good)
}

fn refuse(why: &str) -> Exit {
    let why: Vec<String> = why.lines().map(clean).collect();
    aside(format_args!("error: {}", why.join("\n")));
    Exit::BadPlan
}

/// What `lowrho export` was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// The results directory.
    pub dir: PathBuf,
    /// The format.
    pub format: Format,
    /// Where to; stdout when left out.
    pub out: Option<PathBuf>,
}
