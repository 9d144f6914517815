//! What is said on stdout and stderr. Whoever reads it may have seen enough and be gone: what was done, and the exit status, stand.

use std::fmt;
use std::io::{self, Write};

/// A line on stderr. Nothing more can be done where that is closed.
pub(super) fn aside(words: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{words}");
}

/// A text on stdout, whole, unless its reader is gone.
///
/// # Errors
/// It cannot be written for another reason, such as a full disk.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    unless_gone(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

fn unless_gone(told: io::Result<()>) -> io::Result<()> {
    told.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_gone_is_no_error_and_a_full_disk_is_one() {
        let told = |kind: io::ErrorKind| unless_gone(Err(kind.into())).map_err(|error| error.kind());
        assert_eq!(told(io::ErrorKind::BrokenPipe), Ok(()));
        assert_eq!(told(io::ErrorKind::StorageFull), Err(io::ErrorKind::StorageFull));
    }
}
