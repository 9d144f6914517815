//! What can go wrong with the results directory, in words that name the path and the remedy.

use crate::report::SummaryError;
use crate::report::terminal::clean;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Why results cannot be written or read.
#[derive(Debug)]
pub enum StoreError {
    /// The directory for a new run's results holds something already.
    NotEmpty(PathBuf),
    /// The system refused.
    Io {
        /// What was being done: `create`, `write`, `read`, ...
        doing: &'static str,
        /// To which path.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A row is not one.
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        words: String,
    },
    /// A line of `histograms.hlog` is not one.
    Histograms {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// `summary.json` is not one.
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: SummaryError,
    },
    /// `sweep.json` is not one.
    Sweep {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
}

impl StoreError {
    /// Says what was done to which path when the system refused.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Io { doing, path, error }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEmpty(dir) => write!(
                f,
                "the results directory {} is not empty: name another with --out, or remove it",
                dir.display()
            ),
            Self::Io { doing, path, error } => {
                write!(f, "cannot {doing} {}: {error}", path.display())?;
                match error.kind() {
                    io::ErrorKind::StorageFull => f.write_str(": make room, or use --out on another disk"),
                    io::ErrorKind::FileTooLarge => {
                        f.write_str(": raise the limit of a file's size (ulimit -f)")
                    }
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                        f.write_str(": name a directory that you may write with --out")
                    }
                    io::ErrorKind::NotADirectory => {
                        f.write_str(": results are a directory: name the one that the file is in")
                    }
                    _ => Ok(()),
                }
            }
            // What is wrong is told in words of the file, which may have come from anywhere.
            Self::Row { path, line, words } => write!(f, "{}:{line}: {}", path.display(), clean(words)),
            Self::Histograms { path, line } => {
                write!(f, "{}:{line}: it is no interval of histograms: the file is damaged", path.display())
            }
            Self::Summary { path, error } => write!(f, "{}: {}", path.display(), clean(&error.to_string())),
            Self::Sweep { path, error } => write!(f, "{}: {}", path.display(), clean(&error.to_string())),
        }
    }
}

impl std::error::Error for StoreError {}
