//! The program under test, started with arguments, and what it leaves.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is gone with its owner.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lowrho-run-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn results(&self) -> PathBuf {
        self.0.join("results")
    }

    pub fn summary(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.results().join("summary.json")).unwrap()).unwrap()
    }

    pub fn rows(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.results().join("records.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn lowrho(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowrho"));
    command.current_dir(folder.path()).env_remove("OPENAI_API_KEY").stdin(Stdio::null());
    // A capacity card of this machine would change plans.
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// `lowrho run ARGUMENTS --out results --require any`, to its end.
pub fn run(folder: &Folder, arguments: &str) -> Output {
    start(folder, arguments).wait_with_output().unwrap()
}

pub fn start(folder: &Folder, arguments: &str) -> Child {
    start_with(lowrho(folder).arg("run").args(engine()), arguments)
}

/// The engine that the tests are to be made with, where one is named.
pub fn engine() -> Vec<String> {
    std::env::var("LOWRHO_TEST_ENGINE").map_or(Vec::new(), |engine| vec![format!("--engine={engine}")])
}

/// The same, of a command begun.
pub fn start_with(command: &mut Command, arguments: &str) -> Child {
    command
        .args(arguments.split_whitespace())
        .args(["--out", "results", "--require", "any"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
