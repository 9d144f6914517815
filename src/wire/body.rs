//! Body framing: which bytes of the connection are the body's, and where it ends (RFC 9112, 6 and 7).
//!
//! It must not know what the body is. No byte is copied.

use std::ops::Range;

/// What chunk extensions of one chunk, or all trailers, may come to, in bytes: they are ignored.
const LONGEST_IGNORED: u32 = 16 << 10;

/// How a body is framed, and how far it has come.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// There is none.
    Empty,
    /// So many bytes are to come.
    Length(u64),
    /// In chunks.
    Chunked(Chunk),
    /// Until the connection ends.
    UntilClose,
}

/// What comes next in a chunked body.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Chunk {
    /// The first digit of a size.
    Size,
    /// More digits of it.
    Digits { size: u64, passed: u32 },
    /// An extension, to the line's end.
    Extension { size: u64, passed: u32 },
    /// The LF that ends the size line.
    SizeEnd { size: u64 },
    /// Bytes of the body.
    Data { left: u64 },
    /// The line end after them.
    DataEnd,
    /// The LF of that line end.
    DataLf,
    /// The first byte of a trailer line.
    Trailer { passed: u32 },
    /// More of it, to the line's end.
    TrailerLine { passed: u32 },
    /// The LF that ends the message.
    LastLf,
    /// Nothing.
    Ended,
}

/// What a step through the bytes of a read found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// These are the body's.
    Data(Range<usize>),
    /// The read is used up.
    More,
    /// The body has ended.
    End,
    /// The framing is broken.
    Broken(&'static str),
}

impl Framing {
    pub(super) const fn chunked() -> Self {
        Self::Chunked(Chunk::Size)
    }

    /// Goes on in `read` from `at`, which moves behind what was found.
    #[inline]
    pub(super) fn step(&mut self, read: &[u8], at: &mut usize) -> Step {
        let rest = read.len() - *at;
        match self {
            Self::Empty | Self::Length(0) | Self::Chunked(Chunk::Ended) => Step::End,
            _ if rest == 0 => Step::More,
            Self::Length(left) => Step::Data(take(left, read, at)),
            Self::UntilClose => {
                let start = *at;
                *at = read.len();
                Step::Data(start..*at)
            }
            Self::Chunked(chunk) => chunk.step(read, at),
        }
    }
}

impl Chunk {
    fn step(&mut self, read: &[u8], at: &mut usize) -> Step {
        while *at < read.len() {
            // The usual lines are passed at once: a size without an extension, the line end behind the data.
            if *self == Self::DataEnd && read[*at..].starts_with(b"\r\n") {
                *at += 2;
                *self = Self::Size;
                continue;
            }
            if *self == Self::Size
                && let Some((left, length)) = usual_size(&read[*at..])
            {
                *at += length;
                *self = Self::Data { left };
            }
            if let Self::Data { left } = self {
                let data = take(left, read, at);
                if *left == 0 {
                    *self = Self::DataEnd;
                }
                if data.is_empty() {
                    return Step::More;
                }
                return Step::Data(data);
            }
            match self.after(read[*at]) {
                Ok(next) => *self = next,
                Err(why) => return Step::Broken(why),
            }
            *at += 1;
            if *self == Self::Ended {
                return Step::End;
            }
        }
        Step::More
    }

    /// What comes after `byte`, which is none of the body's.
    #[inline]
    fn after(self, byte: u8) -> Result<Self, &'static str> {
        // Line ends are CRLF; a bare LF is let pass, as in heads.
        Ok(match (self, byte) {
            (Self::Size, _) => Self::Digits { size: hex(byte).ok_or(NO_SIZE)?, passed: 1 },
            (Self::Digits { size, .. } | Self::Extension { size, .. }, b'\n')
            | (Self::SizeEnd { size }, b'\n') => {
                if size == 0 {
                    Self::Trailer { passed: 0 }
                } else {
                    Self::Data { left: size }
                }
            }
            (Self::Digits { size, .. }, b'\r') => Self::SizeEnd { size },
            (Self::Digits { size, passed }, b';' | b' ' | b'\t') => Self::Extension { size, passed },
            (Self::Digits { size, passed }, _) => {
                let digit = hex(byte).ok_or(NO_SIZE)?;
                let size = size.checked_mul(16).ok_or("a chunk's size overflows")? + digit;
                Self::Digits { size, passed: passed_on(passed)? }
            }
            (Self::Extension { size, passed }, _) => Self::Extension { size, passed: passed_on(passed)? },
            (Self::DataEnd, b'\r') => Self::DataLf,
            (Self::DataEnd | Self::DataLf, b'\n') => Self::Size,
            (Self::DataEnd | Self::DataLf, _) => return Err("a chunk is longer than its size says"),
            (Self::Trailer { .. }, b'\r') => Self::LastLf,
            (Self::Trailer { .. } | Self::LastLf, b'\n') => Self::Ended,
            (Self::TrailerLine { passed }, b'\n') => Self::Trailer { passed },
            (Self::Trailer { passed } | Self::TrailerLine { passed }, _) => {
                Self::TrailerLine { passed: passed_on(passed)? }
            }
            (Self::SizeEnd { .. } | Self::LastLf, _) => {
                return Err("a line of the chunked framing ends in CR alone");
            }
            (Self::Data { .. } | Self::Ended, _) => unreachable!("the step takes these itself"),
        })
    }
}

/// The size that a whole line without an extension gives, and the line's length; `None` for any other line.
#[inline]
fn usual_size(read: &[u8]) -> Option<(u64, usize)> {
    /// A chunk of 4 GiB and more is not usual.
    const MOST_DIGITS: usize = 7;
    let mut size = 0;
    for (digits, &byte) in read.iter().take(MOST_DIGITS + 1).enumerate() {
        match byte {
            b'0'..=b'9' => size = size << 4 | u64::from(byte - b'0'),
            b'a'..=b'f' => size = size << 4 | u64::from(byte - b'a' + 10),
            b'\r' if size > 0 && read.get(digits + 1) == Some(&b'\n') => return Some((size, digits + 2)),
            _ => return None,
        }
    }
    None
}

const NO_SIZE: &str = "a chunk's size is not a hexadecimal number";

fn passed_on(passed: u32) -> Result<u32, &'static str> {
    if passed < LONGEST_IGNORED {
        Ok(passed + 1)
    } else {
        Err("chunk extensions or trailers are longer than 16 KiB")
    }
}

#[inline]
fn hex(digit: u8) -> Option<u64> {
    char::from(digit).to_digit(16).map(u64::from)
}

/// The range of at most `left` bytes of `read` from `at` on, which moves behind them.
#[inline]
fn take(left: &mut u64, read: &[u8], at: &mut usize) -> Range<usize> {
    let rest = read.len() - *at;
    let length = usize::try_from(*left).map_or(rest, |left| left.min(rest));
    *left -= length as u64;
    *at += length;
    *at - length..*at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body, where it ended (in the last read), or why it broke.
    fn body(mut framing: Framing, reads: &[&[u8]]) -> (Vec<u8>, Step) {
        let mut body = Vec::new();
        for read in reads {
            let mut at = 0;
            loop {
                match framing.step(read, &mut at) {
                    Step::Data(data) => body.extend_from_slice(&read[data]),
                    Step::More => break,
                    end => return (body, end),
                }
            }
        }
        (body, Step::More)
    }

    #[test]
    fn chunks_are_joined_however_they_are_cut() {
        let wire = b"5;a=\"b\"\r\nHello\r\n0a \r\n, chunked \r\n006\nworld!\n0\r\nX: y\r\nZ\r\n\r\n";
        for cut in 0..=wire.len() {
            let (head, tail) = wire.split_at(cut);
            assert_eq!(body(Framing::chunked(), &[head, tail]), (b"Hello, chunked world!".into(), Step::End));
        }
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        assert_eq!(body(Framing::chunked(), &bytes), (b"Hello, chunked world!".into(), Step::End));
    }

    #[test]
    fn broken_chunks_are_told() {
        for wire in [
            "zz\r\n",
            "\r\n",
            "-1\r\n",
            "5x\r\n",
            "1\r\nab",
            "1\r\na\rb",
            "1\rx",
            "0\r\n\rx",
            "11111111111111111\r\n",
        ] {
            assert!(matches!(body(Framing::chunked(), &[wire.as_bytes()]).1, Step::Broken(_)), "{wire:?}");
        }
    }

    #[test]
    fn what_is_ignored_has_a_bound() {
        let long = "x".repeat(17 << 10);
        let zeros = "0".repeat(17 << 10);
        for wire in [format!("5;{long}\r\n"), format!("0\r\nA: {long}\r\n\r\n"), format!("{zeros}5\r\n")] {
            assert!(matches!(body(Framing::chunked(), &[wire.as_bytes()]).1, Step::Broken(_)));
        }
    }

    #[test]
    fn a_length_ends_exactly_and_a_close_never_by_itself() {
        assert_eq!(body(Framing::Length(3), &[b"ab", b"cd"]), (b"abc".into(), Step::End));
        assert_eq!(body(Framing::Length(0), &[b""]).1, Step::End);
        assert_eq!(body(Framing::Empty, &[b"x"]), (vec![], Step::End));
        assert_eq!(body(Framing::UntilClose, &[b"ab", b"cd"]), (b"abcd".into(), Step::More));
    }
}
