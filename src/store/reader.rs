//! The way back from `records.jsonl`: one record after another, in the order of completion.
//!
//! Never holds more than one line; a cut last line (kill -9, a full disk) ends the file and is said.

use super::StoreError;
use super::regular::regular;
use crate::record::{Record, read_line};
use crate::time::Instant;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// A row of a million gaps with their uncertainties has some 30 MB.
const LONGEST_LINE: u64 = 64 << 20;

/// An iterator over the records of a file.
#[derive(Debug)]
pub struct RecordReader {
    file: BufReader<File>,
    path: PathBuf,
    start: Instant,
    text: Vec<u8>,
    line: u64,
    cut: bool,
    ended: bool,
}

impl RecordReader {
    /// Opens a file of rows; their instants become instants of a run that started at `start`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(path: &Path, start: Instant) -> Result<Self, StoreError> {
        let file = regular(path).map_err(StoreError::io("read", path))?;
        Ok(Self {
            file: BufReader::new(file),
            path: path.to_path_buf(),
            start,
            text: Vec::new(),
            line: 0,
            cut: false,
            ended: false,
        })
    }

    /// Whether the file ended inside a row, once the iterator has ended.
    #[must_use]
    pub const fn was_cut(&self) -> bool {
        self.cut
    }

    fn read(&mut self) -> Result<Option<Record>, StoreError> {
        self.text.clear();
        self.line += 1;
        let mut line = (&mut self.file).take(LONGEST_LINE);
        let read = line.read_until(b'\n', &mut self.text).map_err(StoreError::io("read", &self.path))?;
        if read == 0 {
            return Ok(None);
        }
        if read as u64 == LONGEST_LINE {
            let words = format!("it is longer than the {LONGEST_LINE} bytes that a row can have");
            return Err(StoreError::Row { path: self.path.clone(), line: self.line, words });
        }
        let whole = self.text.ends_with(b"\n");
        match read_line(&self.text, self.start) {
            Ok(record) => Ok(Some(record)),
            Err(_) if !whole => {
                self.cut = true;
                Ok(None)
            }
            Err(words) => Err(StoreError::Row { path: self.path.clone(), line: self.line, words }),
        }
    }
}

impl Iterator for RecordReader {
    type Item = Result<Record, StoreError>;

    /// The next record; nothing after an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read().transpose();
        self.ended = !matches!(read, Some(Ok(_)));
        read
    }
}
