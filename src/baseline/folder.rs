//! Where the files of the runs go: a directory that is asked for stays, a temporary one is gone with its owner.
//!
//! It must not keep files that nobody asked for: the logs of a search would fill a small disk.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A directory of runs.
pub(super) struct Folder {
    path: PathBuf,
    is_temporary: bool,
}

impl Folder {
    /// The directory that is asked for, else a new one of the system's temporary ones.
    ///
    /// # Errors
    /// It cannot be made: its name and why.
    pub(super) fn new(asked: Option<&str>) -> Result<Self, String> {
        let Some(asked) = asked else { return temporary(&std::env::temp_dir()) };
        let path = std::path::absolute(asked).and_then(|path| fs::create_dir_all(&path).map(|()| path));
        let path = path.map_err(|error| format!("a directory for the runs: {asked}: {error}"))?;
        Ok(Self { path, is_temporary: false })
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

/// A new directory below `parent`, ours alone: what is there already may be another's, or a link of another's choice.
fn temporary(parent: &Path) -> Result<Folder, String> {
    /// So many names are not taken by accident.
    const NAMES: u32 = 10_000;
    let mut last = None;
    for suffix in 0..NAMES {
        let path = parent.join(format!("lowrho-baseline-{}-{suffix}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(Folder { path, is_temporary: true }),
            Err(error) => {
                let is_taken = error.kind() == io::ErrorKind::AlreadyExists;
                last = Some(format!("a directory for the runs: {}: {error}", path.display()));
                if !is_taken {
                    break;
                }
            }
        }
    }
    Err(last.unwrap_or_default())
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_temporary_directory_is_new_and_nobody_elses_and_gone_with_its_owner() {
        let parent = Folder::new(None).unwrap();
        let taken = parent.path().join(format!("lowrho-baseline-{}-0", std::process::id()));
        symlink("/", &taken).unwrap();
        let found = temporary(parent.path()).unwrap();
        assert!(found.path() != taken && found.path().starts_with(parent.path()), "{:?}", found.path());
        assert_eq!(fs::metadata(found.path()).unwrap().permissions().mode() & 0o777, 0o700);
        let path = found.path().to_owned();
        drop(found);
        assert!(!path.exists() && taken.exists());
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        for found in [temporary(Path::new("/nonexistent")), Folder::new(Some("/proc/none"))] {
            let why = found.err().expect("nobody can write there");
            assert!(why.contains("/nonexistent/lowrho-baseline-") || why.contains(": /proc/none: "), "{why}");
        }
    }
}
