//! The text of a file that somebody named, as far as a file of its kind can reach: devices and pipes have no end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The text of `path`, which has `most` bytes at most.
///
/// # Errors
/// It cannot be read, is a pipe or a socket that lies among files, is longer, or is no UTF-8.
pub(super) fn text(path: &Path, most: u64) -> io::Result<String> {
    let kind = fs::metadata(path)?;
    // A pipe that nobody writes into is waited for without end. The other end of what a shell hands over (/dev/fd/63,
    // /dev/stdin) is open already.
    let is_handed_over = ["/dev", "/proc"].iter().any(|place| path.starts_with(place));
    if !kind.is_file() && !kind.is_dir() && !is_handed_over {
        return Err(io::Error::other("it is no regular file: name one, or hand a pipe over as <(command)"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!(
            "it is longer than the {most} bytes that are read of such a file"
        )));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text (UTF-8)"))
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
        let why = text(&path, 100).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert!(why.starts_with("it is no regular file"), "{why}");
    }
}
