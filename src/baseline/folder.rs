//! Where the files of the runs go: a directory that is asked for stays, a temporary one is gone with its owner.
//!
//! It must not keep files that nobody asked for: the logs of a search would fill a small disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A directory of runs.
pub(super) struct Folder {
    path: PathBuf,
    is_temporary: bool,
}

impl Folder {
    /// The directory that is asked for, else one of the system's temporary ones.
    pub(super) fn new(asked: Option<&str>) -> io::Result<Self> {
        let path = match asked {
            Some(path) => std::path::absolute(path)?,
            None => std::env::temp_dir().join(format!("lowrho-baseline-{}", std::process::id())),
        };
        fs::create_dir_all(&path)?;
        Ok(Self { path, is_temporary: asked.is_none() })
    }

    /// Itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A new directory for a run.
    pub(super) fn of_run(&self, order: u32, name: &str) -> io::Result<PathBuf> {
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = self.path.join(format!("{order:03}-{name}"));
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// The run of that directory was read.
    pub(super) fn is_read(&self, run: &Path) {
        if self.is_temporary {
            let _ = fs::remove_dir_all(run);
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
