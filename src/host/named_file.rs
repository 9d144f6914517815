//! The text of a file that somebody named or another program wrote, as far as a file of its kind can reach: devices and pipes have
//! no end.
//!
//! It must not know what the text means.

use rustix::fs::{Mode, OFlags, open};
use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// What of a file is looked at before the rest is read, in bytes.
const FIRST: u64 = 1024;

/// Devices that end, or that are what the program is spoken to by.
const ENDING_DEVICES: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// The text of `path`, which has `most` bytes at most.
///
/// # Errors
/// It cannot be read, is a device, or a pipe or a socket that lies among files, is longer, or is no UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    refuse_endless(path, fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    (&file).take(most.saturating_add(1).min(FIRST)).read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        return Err(io::Error::other("it is binary, and no text (UTF-8): its first KiB holds a NUL byte"));
    }
    let bytes = within(bytes, &file, most)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text (UTF-8)"))
}

/// Refuses what may have no end.
fn refuse_endless(path: &Path, kind: FileType) -> io::Result<()> {
    // A pipe that nobody writes into is waited for without end. The other end of what a shell hands over (/dev/fd/63,
    // /dev/stdin) is open already.
    let is_handed_over = ["/dev", "/proc"].iter().any(|place| path.starts_with(place));
    let is_pipe = kind.is_fifo() || kind.is_socket();
    let is_device = kind.is_char_device() || kind.is_block_device();
    let is_ending = ENDING_DEVICES.iter().any(|one| path == Path::new(one));
    if (is_pipe && !is_handed_over) || (is_device && !is_ending) {
        let what = if is_device { "it is a device" } else { "it is no regular file" };
        return Err(io::Error::other(format!("{what}: name a file, or hand a pipe over as <(command)")));
    }
    Ok(())
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
    within(Vec::new(), &written(path)?, most).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// `bytes`, and behind them what of `file` is still to be read: `most` in all.
fn within(mut bytes: Vec<u8>, file: &File, most: u64) -> io::Result<Vec<u8>> {
    let left = most.saturating_add(1).saturating_sub(bytes.len() as u64);
    file.take(left).read_to_end(&mut bytes)?;
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
        let status = "/proc/self/status";
        for most in [0, 10] {
            let why = format!("it is longer than the {most} bytes that are read of such a file");
            assert_eq!(refused(status, most), why);
        }
        assert_eq!(text(Path::new("/dev/null"), 0).unwrap(), "");
        assert!(text(Path::new(status), 1 << 20).unwrap().starts_with("Name:"));
    }

    #[test]
    fn a_device_is_refused_by_its_kind_and_a_binary_by_its_first_bytes() {
        let refused = |path: &str| text(Path::new(path), u64::MAX).unwrap_err().to_string();
        for device in ["/dev/zero", "/dev/full", "/dev/urandom"] {
            assert_eq!(refused(device), "it is a device: name a file, or hand a pipe over as <(command)");
        }
        assert!(refused("/proc/self/exe").contains("no text (UTF-8): its first KiB holds a NUL byte"));
    }

    #[test]
    fn a_text_is_whole_where_its_first_kib_ends_inside_a_character() {
        let path = std::env::temp_dir().join(format!("lowrho-text-{}", std::process::id()));
        let long = format!("{}\u{b5}{}", "a".repeat(1_023), "b\0".repeat(2_000));
        fs::write(&path, &long).unwrap();
        let [whole, longer] = [0, 1].map(|less| text(&path, long.len() as u64 - less));
        fs::remove_file(&path).unwrap();
        assert_eq!(whole.unwrap(), long);
        assert!(longer.unwrap_err().to_string().starts_with("it is longer than the "));
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
