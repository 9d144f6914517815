//! The text of a file that somebody named or another program wrote, as far as a file of its kind can reach: devices and pipes have
//! no end.
//!
//! It must not know what the text means.

use rustix::fs::{Mode, OFlags, open};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The text of `path`, which has `most` bytes at most.
///
/// # Errors
/// It cannot be read, is a pipe or a socket that lies among files, is longer, or is no UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let kind = fs::metadata(path)?;
    // A pipe that nobody writes into is waited for without end. The other end of what a shell hands over (/dev/fd/63,
    // /dev/stdin) is open already.
    let is_handed_over = ["/dev", "/proc"].iter().any(|place| path.starts_with(place));
    if !kind.is_file() && !kind.is_dir() && !is_handed_over {
        return Err(io::Error::other("it is no regular file: name one, or hand a pipe over as <(command)"));
    }
    let bytes = within(&File::open(path)?, most)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text (UTF-8)"))
}

/// Opens what another program wrote; waits for nobody, whatever lies there.
///
/// # Errors
/// It cannot be opened, or is no regular file.
pub fn written(path: &Path) -> io::Result<File> {
    // A pipe without a writer opens at once so, and is refused like a device.
    let file = File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// The text of what another program wrote, `most` bytes at most; what is no UTF-8 in it is replaced.
///
/// # Errors
/// It cannot be read, is no regular file, or is longer.
pub fn written_text(path: &Path, most: u64) -> io::Result<String> {
    within(&written(path)?, most).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn within(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!(
            "it is longer than the {most} bytes that are read of such a file"
        )));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_and_what_fits_is_read() {
        let refused = |path: &str, most| text(Path::new(path), most).unwrap_err().to_string();
        assert_eq!(refused("/dev/zero", 100), "it is longer than the 100 bytes that are read of such a file");
        assert_eq!(text(Path::new("/dev/null"), 0).unwrap(), "");
        assert!(text(Path::new("/proc/self/status"), 1 << 20).unwrap().starts_with("Name:"));
        assert!(refused("/proc/self/exe", 1 << 30).contains("no text"));
    }

    #[test]
    fn a_pipe_among_files_is_refused_and_not_waited_for() {
        let path = std::env::temp_dir().join(format!("lowrho-pipe-{}", std::process::id()));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let why = [text(&path, 100), written_text(&path, 100)].map(|read| read.unwrap_err().to_string());
        fs::remove_file(&path).unwrap();
        assert!(why.iter().all(|why| why.starts_with("it is no regular file")), "{why:?}");
    }

    #[test]
    fn what_a_program_wrote_is_a_regular_file_of_bounded_length() {
        let refused = |path: &str, most| written_text(Path::new(path), most).unwrap_err().to_string();
        assert_eq!(refused("/dev/zero", 100), "it is no regular file");
        assert_eq!(refused("/proc", 100), "it is no regular file");
        assert!(refused("/proc/self/exe", 100).starts_with("it is longer than the 100 bytes"));
        assert!(written_text(Path::new("/proc/self/status"), 1 << 20).unwrap().starts_with("Name:"));
    }
}
