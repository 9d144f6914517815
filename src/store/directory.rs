//! The results directory: its name, its files, and the one way each is written and read.

use super::histograms::read_sums;
use super::{HistogramLog, RecordReader, RowQueue, RowWriter, StoreError};
use crate::record::{Histogram, Metric};
use crate::report::Summary;
use crate::time::Instant;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.toml";
const RECORDS: &str = "records.jsonl";
const SUMMARY: &str = "summary.json";
const HISTOGRAMS: &str = "histograms.hlog";
const PAGE: &str = "report.html";

/// Where results go when no directory is named.
const DEFAULT_PARENT: &str = "results";

/// A model's name is cut here, so that the directory's stays below the 255 bytes that file systems allow.
const LONGEST_MODEL: usize = 64;

/// What to do with a directory that holds something already.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Existing {
    /// Refuse it.
    Refuse,
    /// Write over what a run wrote there, and leave the rest alone.
    Overwrite,
}

/// The directory of one run's results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Results {
    dir: PathBuf,
}

impl Results {
    /// Makes the directory for a new run, and its parents.
    ///
    /// # Errors
    /// When it is not empty, unless told to overwrite; when the system refuses.
    pub fn create(dir: &Path, existing: Existing) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(StoreError::io("create", dir))?;
        let occupied = fs::read_dir(dir).map_err(StoreError::io("read", dir))?.next().is_some();
        if occupied && existing == Existing::Refuse {
            return Err(StoreError::NotEmpty(dir.to_path_buf()));
        }
        // What an earlier run left must not be taken for this one's if it dies early.
        for name in [CONFIG, RECORDS, SUMMARY, HISTOGRAMS, PAGE] {
            let path = dir.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::io("replace", &path)(error));
                }
                _ => {}
            }
        }
        Ok(Self { dir: dir.to_path_buf() })
    }

    /// Makes `results/<time>-<model>` below `parent`; a second one of the same second gets a number.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create_default(parent: &Path, start_unix_ns: u64, model: &str) -> Result<Self, StoreError> {
        let parent = parent.join(DEFAULT_PARENT);
        fs::create_dir_all(&parent).map_err(StoreError::io("create", &parent))?;
        let name = default_name(start_unix_ns, model);
        let mut dir = parent.join(&name);
        let mut n = 1_u32;
        loop {
            match fs::create_dir(&dir) {
                Ok(()) => return Ok(Self { dir }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    n += 1;
                    dir = parent.join(format!("{name}-{n}"));
                }
                Err(error) => return Err(StoreError::io("create", &dir)(error)),
            }
        }
    }

    /// The directory of a finished run.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        fs::read_dir(dir).map_err(StoreError::io("read", dir))?;
        Ok(Self { dir: dir.to_path_buf() })
    }

    /// Its path.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes `config.toml`: the effective configuration, secrets already hidden.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_config(&self, text: &str) -> Result<(), StoreError> {
        self.write_whole(CONFIG, |file| file.write_all(text.as_bytes()))
    }

    /// Reads `config.toml`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn read_config(&self) -> Result<String, StoreError> {
        self.read_whole(CONFIG)
    }

    /// Starts writing `records.jsonl` on a thread of its own; see [`RowWriter::start`].
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start_records(
        &self,
        queue: RowQueue,
        start: Instant,
        on_start: impl FnOnce() + Send + 'static,
    ) -> Result<RowWriter, StoreError> {
        let path = self.dir.join(RECORDS);
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        RowWriter::start(queue, file, &path, start, on_start)
    }

    /// Reads `records.jsonl`; instants become those of a run that started at `start`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn records(&self, start: Instant) -> Result<RecordReader, StoreError> {
        RecordReader::open(&self.dir.join(RECORDS), start)
    }

    /// Starts `histograms.hlog`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start_histograms(&self, start_unix_ns: u64) -> Result<HistogramLog, StoreError> {
        HistogramLog::create(&self.dir.join(HISTOGRAMS), start_unix_ns)
    }

    /// Writes `summary.json`, whole or not at all.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), StoreError> {
        self.write_whole(SUMMARY, |file| file.write_all(summary.to_json().as_bytes()))
    }

    /// Reads `summary.json`.
    ///
    /// # Errors
    /// When the system refuses, or it is not a summary that this version can read.
    pub fn read_summary(&self) -> Result<Summary, StoreError> {
        let text = self.read_whole(SUMMARY)?;
        Summary::from_json(&text).map_err(|error| StoreError::Summary { path: self.dir.join(SUMMARY), error })
    }

    /// The sums of `histograms.hlog`, by metric.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn read_histograms(&self) -> Result<BTreeMap<Metric, Histogram>, StoreError> {
        read_sums(&self.dir.join(HISTOGRAMS))
    }

    /// Writes `report.html`; gives its path.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_page(&self, page: &str) -> Result<PathBuf, StoreError> {
        self.write_whole(PAGE, |file| file.write_all(page.as_bytes()))?;
        Ok(self.dir.join(PAGE))
    }

    fn read_whole(&self, name: &str) -> Result<String, StoreError> {
        let path = self.dir.join(name);
        fs::read_to_string(&path).map_err(StoreError::io("read", &path))
    }

    /// Writes beside, syncs, then renames: a reader sees the old file or the new one, never a part.
    fn write_whole(
        &self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let path = self.dir.join(name);
        let beside = self.dir.join(format!(".{name}.part"));
        let write = || {
            let mut file = BufWriter::new(File::create(&beside)?);
            fill(&mut file)?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&beside);
            StoreError::io("write", &path)(error)
        })
    }
}

/// `<time>-<model>`: the time in UTC, so that names sort, and the model made safe for any file system.
fn default_name(start_unix_ns: u64, model: &str) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(start_unix_ns))
        .expect("64 bits of nanoseconds end before the year 9999")
        .strftime("%Y%m%dT%H%M%SZ")
        .to_string();
    format!("{time}-{}", safe_name(model))
}

/// Letters, digits, dots and underscores; everything else becomes one dash.
fn safe_name(model: &str) -> String {
    let mut safe = String::new();
    for c in model.chars() {
        let kept = c.is_ascii_alphanumeric() || c == '_' || (c == '.' && !safe.is_empty());
        if kept {
            safe.push(c);
        } else if !safe.is_empty() && !safe.ends_with('-') {
            safe.push('-');
        }
        if safe.len() == LONGEST_MODEL {
            break;
        }
    }
    let safe = safe.trim_end_matches(['-', '.']);
    if safe.is_empty() { "model".into() } else { safe.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_directory_is_named_after_the_time_and_the_model() {
        assert_eq!(
            default_name(1_780_000_000_000_000_000, "meta-llama/Llama-3.1 8B"),
            "20260528T202640Z-meta-llama-Llama-3.1-8B"
        );
    }

    proptest! {
        #[test]
        fn any_model_makes_a_safe_name(model: String) {
            let safe = safe_name(&model);
            prop_assert!(!safe.is_empty() && safe.len() <= LONGEST_MODEL);
            prop_assert!(safe.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)));
            prop_assert!(!safe.starts_with(['.', '-']));
        }
    }
}
