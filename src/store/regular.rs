//! A file of a results directory, opened to be read: no pipe, which would be waited for, and no device, which has no end.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a regular file.
///
/// # Errors
/// It cannot be opened, or is something else.
pub(super) fn regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)
}
