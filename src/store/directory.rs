//! The results directory: its name, its files, and the one way each is written and read.

use super::histograms::read_sums;
use super::{HistogramLog, RecordReader, RowQueue, RowWriter, StoreError};
use crate::record::{Histogram, Metric};
use crate::report::{Repeats, Summary, Sweep};
use crate::time::Instant;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// No file that is read whole is longer, in bytes: a summary has some KiB, and a sweep's some MiB.
const MOST_BYTES: u64 = 1 << 30;
const CONFIG: &str = "config.toml";
const RECORDS: &str = "records.jsonl";
const SUMMARY: &str = "summary.json";
const HISTOGRAMS: &str = "histograms.hlog";
const PAGE: &str = "report.html";
const REPEATS: &str = "repeats.json";

/// Space for a summary: one of a stage and a shard takes some 25 KB, and each more of them some 10 KB.
const SUMMARY_ROOM: u64 = 256 << 10;
const SWEEP: &str = "sweep.json";

/// Where results go when no directory is named.
const DEFAULT_PARENT: &str = "results";

/// A model's name is cut here, so that the directory's stays below the 255 bytes that file systems allow.
const LONGEST_MODEL: usize = 64;

/// What a run left that never came to its summary.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Remains {
    /// Whole rows of `records.jsonl`.
    pub rows: u64,
    /// Those of requests that failed.
    pub failed: u64,
    /// Whether the last row is cut.
    pub cut: bool,
    /// Whether `histograms.hlog` is there.
    pub histograms: bool,
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
    /// When it is not empty; when the system refuses.
    pub fn create(dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(StoreError::io("create", dir))?;
        if fs::read_dir(dir).map_err(StoreError::io("read", dir))?.next().is_some() {
            return Err(StoreError::NotEmpty(dir.to_path_buf()));
        }
        Ok(Self { dir: dir.to_path_buf() })
    }

    /// The same where a run that never ended may have left its files: they are removed, and nothing else is.
    ///
    /// # Errors
    /// As [`Results::create`].
    pub fn create_anew(dir: &Path) -> Result<Self, StoreError> {
        for name in [CONFIG, RECORDS, SUMMARY, HISTOGRAMS, PAGE] {
            for path in [dir.join(name), dir.join(format!(".{name}.part"))] {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(StoreError::io("replace", &path)(error));
                    }
                    _ => {}
                }
            }
        }
        Self::create(dir)
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

    /// Tries whether a run could write to `dir` (`None` = where results go by default): makes what is missing, keeps
    /// space for a summary, and takes all of it away again.
    ///
    /// # Errors
    /// When it is not empty, or the system refuses: before anything was sent, not after.
    pub fn try_out(dir: Option<&Path>) -> Result<(), StoreError> {
        let default = Path::new(DEFAULT_PARENT);
        let tried = dir.unwrap_or(default);
        let missing: Vec<&Path> = tried.ancestors().take_while(|path| !path.exists()).collect();
        let result = match dir {
            Some(dir) => Self::create(dir),
            None => fs::create_dir_all(default)
                .map_err(StoreError::io("create", default))
                .map(|()| Self { dir: default.to_path_buf() }),
        };
        let result = result.and_then(|results| {
            let kept = results.keep_space();
            let _ = fs::remove_file(results.beside(SUMMARY));
            kept
        });
        // What is in use by others by now stays.
        missing.into_iter().for_each(|path| drop(fs::remove_dir(path)));
        result
    }

    /// Keeps space for the summary, so that a disk which the run's own rows fill has room for what they come to.
    ///
    /// # Errors
    /// When there is none. A file system that cannot keep space is none.
    pub fn keep_space(&self) -> Result<(), StoreError> {
        let path = self.beside(SUMMARY);
        let keep = || {
            let file = File::create(&path)?;
            match fallocate(&file, FallocateFlags::empty(), 0, SUMMARY_ROOM) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
                kept => kept.map_err(io::Error::from),
            }
        };
        keep().map_err(StoreError::io("keep space for", &self.dir.join(SUMMARY)))
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

    /// Starts writing `records.jsonl` on a thread of its own; see [`RowWriter::start`].
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start_records(&self, queue: RowQueue, start: Instant) -> Result<RowWriter, StoreError> {
        let path = self.dir.join(RECORDS);
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        RowWriter::start(queue, file, &path, start)
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

    /// Writes `sweep.json`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_sweep(&self, sweep: &Sweep) -> Result<(), StoreError> {
        self.write_whole(SWEEP, |file| file.write_all(sweep.to_json().as_bytes()))
    }

    /// Reads `sweep.json`.
    ///
    /// # Errors
    /// When the system refuses, or it is not a sweep that this version can read.
    pub fn read_sweep(&self) -> Result<Sweep, StoreError> {
        let text = self.read_whole(SWEEP)?;
        Sweep::from_json(&text).map_err(|error| StoreError::Sweep { path: self.dir.join(SWEEP), error })
    }

    /// Writes `repeats.json`: what several runs in directories below this one have in common.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_repeats(&self, repeats: &Repeats) -> Result<(), StoreError> {
        self.write_whole(REPEATS, |file| file.write_all(repeats.to_json().as_bytes()))
    }

    /// Whether it is the directory above those of several runs.
    #[must_use]
    pub fn holds_several(&self) -> bool {
        self.dir.join(REPEATS).is_file()
    }

    /// Whether it is the directory of a sweep.
    #[must_use]
    pub fn holds_a_sweep(&self) -> bool {
        self.dir.join(SWEEP).is_file()
    }

    /// What a run without a summary left: it was killed, or goes on. `None` = nothing of a run is there.
    #[must_use]
    pub fn remains(&self) -> Option<Remains> {
        if self.dir.join(SUMMARY).exists() {
            return None;
        }
        // Instants do not matter here, but must not run out below zero.
        let mut rows = self.records(Instant::from_ns(1 << 62)).ok()?;
        let mut remains = Remains { histograms: self.dir.join(HISTOGRAMS).is_file(), ..Remains::default() };
        for row in rows.by_ref().map_while(Result::ok) {
            remains.rows += 1;
            remains.failed += u64::from(row.has_failed());
        }
        remains.cut = rows.was_cut();
        Some(remains)
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.dir.join(format!(".{name}.part"))
    }

    fn read_whole(&self, name: &str) -> Result<String, StoreError> {
        let path = self.dir.join(name);
        let length = fs::metadata(&path).and_then(|found| match found.is_file() {
            true if found.len() <= MOST_BYTES => Ok(found.len()),
            true => Err(io::Error::other(format!(
                "it has {} bytes, more than any that lowrho wrote",
                found.len()
            ))),
            false => Err(io::Error::other("it is no regular file")),
        });
        length.and_then(|_| fs::read_to_string(&path)).map_err(StoreError::io("read", &path))
    }

    /// Writes beside, syncs, then renames: a reader sees the old file or the new one, never a part.
    fn write_whole(
        &self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let path = self.dir.join(name);
        let beside = self.beside(name);
        let write = || {
            // Not cut to nothing first: space may have been kept in it.
            let file = File::options().write(true).create(true).truncate(false).open(&beside)?;
            let mut file = BufWriter::new(file);
            fill(&mut file)?;
            let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            let length = file.stream_position()?;
            file.set_len(length)?;
            file.sync_all()?;
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
