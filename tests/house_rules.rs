//! The house's rules, checked on the sources themselves: who may use whom, where `unsafe` lives, how long a file may be.

use std::fs;
use std::path::{Path, PathBuf};

/// Every room and the rooms it may use (`docs/ARCHITECTURE.md`, "Rooms").
const ROOMS: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("random", &[]),
    ("wire", &[]),
    ("schedule", &["time", "random"]),
    ("workload", &["random", "wire", "schedule"]),
    ("script", &["time", "random", "wire"]),
    ("record", &["time", "wire"]),
    ("analysis", &["time", "random", "record"]),
    ("plan", &["time", "random", "wire", "schedule", "workload", "script", "analysis"]),
    ("search", &["time", "analysis"]),
    ("report", &["time", "plan", "record", "analysis", "search"]),
    ("foreign", &["time", "plan", "analysis", "report"]),
    ("clock", &["time"]),
    ("host", &["time", "clock"]),
    ("ring", &["time", "clock"]),
    ("tls", &["wire"]),
    ("shard", &["time", "clock", "wire", "schedule", "workload", "plan", "record", "host", "ring", "tls"]),
    ("sim", &["time", "clock", "wire", "script", "ring", "tls"]),
    ("store", &["time", "record", "plan", "analysis", "report"]),
    ("watch", &["time", "record", "report", "clock"]),
    (
        "run",
        &[
            "time", "random", "wire", "schedule", "workload", "script", "record", "analysis", "plan",
            "search", "report", "foreign", "clock", "host", "ring", "tls", "shard", "sim", "store", "watch",
        ],
    ),
    ("baseline", &["time", "workload", "plan", "report", "foreign", "clock", "host", "run"]),
    (
        "cli",
        &[
            "time", "random", "wire", "schedule", "workload", "script", "record", "analysis", "plan",
            "search", "report", "foreign", "clock", "host", "tls", "sim", "store", "watch", "run",
            "baseline",
        ],
    ),
];

/// Rooms that decide numbers: no files, threads, environment, sockets or async.
const PURE: &[&str] = &[
    "time", "random", "wire", "schedule", "workload", "script", "record", "analysis", "plan", "search",
    "report", "foreign",
];

const IMPURE: &[&str] = &[
    "std::fs",
    "std::thread",
    "std::env",
    "std::net::Tcp",
    "std::net::Udp",
    "std::os",
    "async fn",
    "rustix::net",
    "glommio",
];

/// Longer files hold two ideas.
const LONGEST_FILE: usize = 500;

struct Source {
    path: PathBuf,
    room: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src can be listed") {
            let path = entry.expect("src can be listed").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|e| e != "rs") {
                continue;
            }
            let inside = path.strip_prefix(&root).expect("below src");
            let room = inside.components().next().expect("a file has a name").as_os_str().to_string_lossy();
            let room = room.trim_end_matches(".rs").to_string();
            let text = fs::read_to_string(&path).expect("a source can be read");
            found.push(Source { path: inside.to_path_buf(), room, text });
        }
    }
    assert!(!found.is_empty(), "no sources found: the test looks in the wrong place");
    found
}

/// The lines that are code: neither comments nor the text of a docstring.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(n, line)| (n + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Rooms named on a line as `crate::room` or in `use crate::{room, other::Thing}`.
fn rooms_named(line: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (at, _) in line.match_indices("crate::") {
        let after = &line[at + "crate::".len()..];
        if let Some(group) = after.strip_prefix('{') {
            let mut depth = 0_u32;
            let mut word = String::new();
            let mut at_start = true;
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        named.push(std::mem::take(&mut word));
                        at_start = true;
                    }
                    ':' if depth == 0 => at_start = false,
                    c if depth == 0 && at_start && (c.is_ascii_alphanumeric() || c == '_') => word.push(c),
                    _ => {}
                }
            }
            named.push(word);
        } else {
            named.push(after.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect());
        }
    }
    named.retain(|word| ROOMS.iter().any(|(room, _)| room == word));
    named
}

#[test]
fn the_reader_of_imports_sees_groups_and_single_paths() {
    assert_eq!(rooms_named("use crate::time::Instant;"), ["time"]);
    assert_eq!(rooms_named("use crate::{time::{Instant, Span}, wire};"), ["time", "wire"]);
    assert_eq!(rooms_named("let x = crate::shard::start();"), ["shard"]);
}

#[test]
fn every_room_uses_only_the_rooms_below_it() {
    let mut broken = Vec::new();
    for source in sources() {
        if source.room == "lib" || source.room == "main" {
            continue;
        }
        let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == source.room) else {
            broken.push(format!(
                "{}: {} is not a room of docs/ARCHITECTURE.md",
                source.path.display(),
                source.room
            ));
            continue;
        };
        for (n, line) in code_lines(&source.text) {
            for used in rooms_named(line) {
                if used != source.room && !allowed.contains(&used.as_str()) {
                    broken.push(format!("{}:{n}: {} may not use {used}", source.path.display(), source.room));
                }
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn pure_rooms_touch_nothing_outside() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|s| PURE.contains(&s.room.as_str())) {
        for (n, line) in code_lines(&source.text) {
            for word in IMPURE.iter().filter(|word| line.contains(**word)) {
                broken.push(format!(
                    "{}:{n}: {} is pure and may not use {word}",
                    source.path.display(),
                    source.room
                ));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn only_the_ring_is_unsafe() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|s| s.room != "ring") {
        for (n, line) in code_lines(&source.text) {
            if line.contains("unsafe ") || line.contains("allow(unsafe_code)") {
                broken.push(format!("{}:{n}: unsafe lives in src/ring alone", source.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn a_file_is_one_idea_and_says_so_first() {
    let mut broken = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > LONGEST_FILE {
            broken.push(format!("{}: {lines} lines, over {LONGEST_FILE}", source.path.display()));
        }
        if !source.text.starts_with("//!") {
            broken.push(format!("{}: the first line must say what the file is (//!)", source.path.display()));
        }
        let name = source.path.file_stem().expect("a file has a name").to_string_lossy().to_string();
        if ["util", "utils", "common", "types", "helpers", "misc"].contains(&name.as_str()) {
            broken.push(format!("{}: {name} names no idea", source.path.display()));
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}
