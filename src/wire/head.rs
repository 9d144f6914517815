//! A response's head: where it ends, and what in it the rest depends on.
//!
//! It must not judge a status, nor read a body.

use super::body::Framing;
use super::retry_after::RetryAfter;

/// No server we know sends 64 headers; those behind some gateways do.
const USUAL_HEADERS: usize = 64;
/// More than this is refused.
const MOST_HEADERS: usize = 512;
/// A larger head is refused, in bytes.
pub(super) const LARGEST_HEAD: usize = 256 << 10;

/// What a final head says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) framing: Framing,
    /// Whether the connection may carry another request once this body has ended by its framing.
    pub(super) persistent: bool,
    pub(super) media: Media,
    pub(super) coding: Coding,
    /// Seconds that the server keeps an idle connection.
    pub(super) keep_alive_s: Option<u32>,
    /// When the server wants to be asked again.
    pub(super) retry_after: Option<RetryAfter>,
    /// Where a redirect leads.
    pub(super) location: Option<Box<str>>,
}

/// What kind of body the Content-Type promises.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Media {
    EventStream,
    Json,
    Html,
    /// None, or anything else: the first bytes tell.
    Unsaid,
}

/// How the body is compressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Coding {
    Identity,
    Gzip,
    /// One we do not undo, by name.
    Unsupported(Box<str>),
}

/// What a head turned out to be.
#[derive(Debug)]
pub(super) enum Parsed {
    /// The head of the response proper.
    Final(Head),
    /// A 1xx head: another one follows.
    Interim,
    /// Broken, and why.
    Broken(&'static str),
    /// More headers than anyone may send.
    TooLarge,
}

/// Finds the end of a head.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct HeadEnd {
    /// Bytes already looked at: a head that comes in many reads is looked at once.
    scanned: usize,
}

impl HeadEnd {
    /// The length of the head that `bytes` begins with, blank line included, once it is whole. Give it the same
    /// bytes and more each time.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for at in memchr::memchr_iter(b'\n', &bytes[self.scanned..]).map(|at| at + self.scanned) {
            // A line end may be LF or CRLF (RFC 9112, 2.2); the blank line is one right after another.
            let line = &bytes[..at];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.ends_with(b"\n") {
                return Some(at + 1);
            }
        }
        self.scanned = bytes.len();
        None
    }
}

/// Whether `bytes` may become a head: wrong protocols are told at once, not at a blank line that never comes.
pub(super) fn may_be_a_head(bytes: &[u8]) -> bool {
    let start = b"HTTP/1.";
    let length = bytes.len().min(start.len());
    bytes[..length] == start[..length]
}

/// What came in place of a head, in words.
pub(super) fn what_instead(bytes: &[u8]) -> &'static str {
    match bytes {
        // A TLS record: an alert, or a handshake, of any version (RFC 8446, 5.1).
        [0x15 | 0x16, 0x03, ..] => "the reply is TLS, not HTTP: write https:// in the URL",
        // The first byte of a record may come alone.
        [0x15 | 0x16] => "the reply seems to be TLS, not HTTP: write https:// in the URL",
        _ => "the reply does not begin with HTTP/1.",
    }
}

/// Parses a whole head.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut usual = [httparse::EMPTY_HEADER; USUAL_HEADERS];
    match parse_into(bytes, &mut usual) {
        Err(httparse::Error::TooManyHeaders) => {
            let mut many = vec![httparse::EMPTY_HEADER; MOST_HEADERS];
            parse_into(bytes, &mut many)
        }
        parsed => parsed,
    }
    .unwrap_or_else(|error| match error {
        httparse::Error::TooManyHeaders => Parsed::TooLarge,
        httparse::Error::Status => Parsed::Broken("the status line is malformed"),
        httparse::Error::Version => Parsed::Broken("the HTTP version is not 1.0 or 1.1"),
        _ => Parsed::Broken("the response head is malformed"),
    })
}

fn parse_into<'a>(bytes: &'a [u8], headers: &mut [httparse::Header<'a>]) -> Result<Parsed, httparse::Error> {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    let mut response = httparse::Response::new(headers);
    let httparse::Status::Complete(_) = config.parse_response(&mut response, bytes)? else {
        return Ok(Parsed::Broken("the response head is malformed"));
    };
    let status = response.code.unwrap_or(0);
    Ok(match status {
        101 => Parsed::Broken("the server switched protocols (101) without being asked"),
        100..=199 => Parsed::Interim,
        200..=599 => read(status, response.version == Some(1), response.headers),
        _ => Parsed::Broken("the status is not between 100 and 599"),
    })
}

fn read(status: u16, http_1_1: bool, headers: &[httparse::Header<'_>]) -> Parsed {
    let mut head = Head {
        status,
        framing: Framing::UntilClose,
        persistent: http_1_1,
        media: Media::Unsaid,
        coding: Coding::Identity,
        keep_alive_s: None,
        retry_after: None,
        location: None,
    };
    let (mut length, mut lengths_differ) = (None, false);
    let (mut retry_after, mut date) = (None, None);
    let (mut chunked, mut transfer_coded) = (false, false);
    for header in headers.iter() {
        let value = header.value.trim_ascii();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            for one in list(value) {
                let Some(one) = decimal(one) else {
                    return Parsed::Broken("Content-Length is not a number");
                };
                lengths_differ |= length.is_some_and(|length| length != one);
                length = Some(one);
            }
        } else if is("transfer-encoding") {
            for coding in list(value) {
                if chunked {
                    return Parsed::Broken("Transfer-Encoding: chunked is not the last coding");
                }
                chunked = coding.eq_ignore_ascii_case(b"chunked");
                // Old servers say identity and mean nothing by it.
                transfer_coded |= !chunked && !coding.eq_ignore_ascii_case(b"identity");
            }
        } else if is("connection") {
            head.persistent &= !list(value).any(|token| token.eq_ignore_ascii_case(b"close"));
        } else if is("keep-alive") {
            let timeout = list(value).find_map(|part| {
                let (name, seconds) = part.split_at_checked(b"timeout=".len())?;
                name.eq_ignore_ascii_case(b"timeout=").then(|| decimal(seconds))?
            });
            let timeout = timeout.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX));
            head.keep_alive_s = timeout.or(head.keep_alive_s);
        } else if is("retry-after") {
            retry_after = Some(value);
        } else if is("date") {
            date = Some(value);
        } else if is("content-type") {
            head.media = media(value);
        } else if is("content-encoding") {
            for coding in list(value).filter(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
                let gzip = coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip");
                head.coding = if gzip && head.coding == Coding::Identity {
                    Coding::Gzip
                } else {
                    Coding::Unsupported(String::from_utf8_lossy(value).into())
                };
            }
        } else if is("location") {
            head.location = Some(String::from_utf8_lossy(value).into());
        }
    }
    head.retry_after = retry_after.and_then(|value| RetryAfter::read(value, date));
    if transfer_coded {
        head.coding = Coding::Unsupported("a transfer coding other than chunked".into());
    }
    head.framing = match (status, chunked, length) {
        (204 | 304, ..) => Framing::Empty,
        (_, true, Some(_)) => {
            // Two framings: one of them lies, so nothing that follows the body can be trusted (RFC 9112, 6.3).
            head.persistent = false;
            Framing::chunked()
        }
        (_, true, None) => Framing::chunked(),
        (_, false, _) if lengths_differ => {
            return Parsed::Broken("two Content-Length headers differ");
        }
        (_, false, Some(length)) if !transfer_coded => Framing::Length(length),
        (_, false, _) => {
            head.persistent = false;
            Framing::UntilClose
        }
    };
    Parsed::Final(head)
}

/// The non-empty elements of a comma-separated list.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(<[u8]>::trim_ascii).filter(|part| !part.is_empty())
}

pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, &digit| {
        digit.is_ascii_digit().then(|| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?
    })
}

fn media(value: &[u8]) -> Media {
    let kind = value.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
    let is = |name: &[u8]| kind.eq_ignore_ascii_case(name);
    let json_suffix = kind.len().checked_sub(5).is_some_and(|at| kind[at..].eq_ignore_ascii_case(b"+json"));
    if is(b"text/event-stream") {
        Media::EventStream
    } else if is(b"application/json") || json_suffix {
        Media::Json
    } else if is(b"text/html") || is(b"application/xhtml+xml") {
        Media::Html
    } else {
        Media::Unsaid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        match parse(text.as_bytes()) {
            Parsed::Final(head) => head,
            other => panic!("{text:?} gave {other:?}"),
        }
    }

    #[test]
    fn a_reply_of_tls_is_told_from_other_noise() {
        assert!(what_instead(&[0x15, 3, 1, 0, 2, 2, 70]).contains("https://"), "an alert");
        assert!(what_instead(&[0x16, 3, 3]).contains("https://"), "a handshake");
        assert!(what_instead(&[0x15]).contains("https://"), "its first byte alone");
        assert!(!what_instead(b"SSH-2.0").contains("TLS"));
        assert!(!what_instead(&[0x15, 9]).contains("TLS"));
    }

    fn with(headers: &str) -> Head {
        head(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n"))
    }

    #[test]
    fn retry_after_is_read_in_seconds_or_as_a_date_beside_the_responses_own() {
        let in_s = |header: &str| with(header).retry_after.and_then(RetryAfter::in_s);
        assert_eq!(in_s("Retry-After: 7"), Some(7));
        assert_eq!(in_s("retry-after:  99999999999 "), Some(u32::MAX));
        let date = "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT";
        assert_eq!(with(date).retry_after, Some(RetryAfter::AtUnixS(946_684_799)));
        assert_eq!(in_s(&format!("{date}\r\nDate: Fri, 31 Dec 1999 23:59:49 GMT")), Some(10));
        assert_eq!(in_s(&format!("Date: Fri, 31 Dec 1999 23:59:49 GMT\r\n{date}")), Some(10));
        assert_eq!(with("A: b").retry_after, None);
    }

    #[test]
    fn framing_follows_rfc_9112() {
        assert_eq!(with("A: b").framing, Framing::UntilClose);
        assert!(!with("A: b").persistent);
        assert_eq!(with("Content-Length: 5").framing, Framing::Length(5));
        assert_eq!(with("Content-Length: 5, 5\r\ncontent-length: 5").framing, Framing::Length(5));
        assert_eq!(with("Transfer-Encoding: Chunked").framing, Framing::chunked());
        assert!(with("Transfer-Encoding: chunked").persistent);
        let both = with("Transfer-Encoding: chunked\r\nContent-Length: 5");
        assert_eq!((both.framing, both.persistent), (Framing::chunked(), false));
        assert_eq!(with("Transfer-Encoding: identity\r\nContent-Length: 5").framing, Framing::Length(5));
        assert_eq!(head("HTTP/1.1 204 No Content\r\n\r\n").framing, Framing::Empty);
        assert_eq!(head("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n").framing, Framing::Empty);
    }

    #[test]
    fn a_connection_persists_only_where_nobody_closes_it() {
        assert!(with("Content-Length: 0\r\nConnection: keep-alive").persistent);
        assert!(!with("Content-Length: 0\r\nConnection: Keep-Alive, Close").persistent);
        assert!(!with("Content-Length: 0\r\nConnection: x\r\nConnection: close").persistent);
        assert!(!head("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n").persistent);
        assert_eq!(with("Keep-Alive: max=9, Timeout=5").keep_alive_s, Some(5));
    }

    #[test]
    fn what_cannot_be_framed_is_broken() {
        for headers in [
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: 5, 6",
            "Content-Length: -1",
            "Content-Length: +1",
            "Content-Length: 99999999999999999999",
            "Transfer-Encoding: chunked, gzip",
            "Transfer-Encoding: chunked, chunked",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n");
            assert!(matches!(parse(text.as_bytes()), Parsed::Broken(_)), "{headers}");
        }
        for line in ["HTTP/1.1 2x0 OK", "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 600 X", "HTTP/2 200"] {
            let text = format!("{line}\r\n\r\n");
            assert!(matches!(parse(text.as_bytes()), Parsed::Broken(_)), "{line}");
        }
    }

    #[test]
    fn types_and_codings_are_told_apart_whatever_their_case() {
        assert_eq!(with("content-type: Text/Event-Stream;charset=utf-8").media, Media::EventStream);
        assert_eq!(with("Content-Type: application/problem+JSON").media, Media::Json);
        assert_eq!(with("Content-Type: text/html").media, Media::Html);
        assert_eq!(with("Content-Type: text/plain").media, Media::Unsaid);
        assert_eq!(with("Content-Encoding: GZIP").coding, Coding::Gzip);
        assert_eq!(with("Content-Encoding: identity").coding, Coding::Identity);
        for coding in ["br", "zstd", "deflate", "gzip, br", "gzip, gzip"] {
            assert_eq!(
                with(&format!("Content-Encoding: {coding}")).coding,
                Coding::Unsupported(coding.into())
            );
        }
    }

    #[test]
    fn sloppy_heads_are_read() {
        let folded = with("X-Fold: a\r\n b\r\nno colon here\r\nContent-Length : 7");
        assert_eq!(folded.framing, Framing::Length(7));
        assert_eq!(head("HTTP/1.1 200\r\nContent-Length: 7\r\n\r\n").framing, Framing::Length(7));
        assert_eq!(head("HTTP/1.1 200 OK\nContent-Length: 7\n\n").framing, Framing::Length(7));
        let many: String = (0..400).map(|n| format!("x-{n}: {n}\r\n")).collect();
        assert_eq!(with(&format!("{many}Content-Length: 7")).framing, Framing::Length(7));
        let too_many: String = (0..513).map(|n| format!("x-{n}: {n}\r\n")).collect();
        assert!(matches!(parse(format!("HTTP/1.1 200 OK\r\n{too_many}\r\n").as_bytes()), Parsed::TooLarge));
    }

    #[test]
    fn the_end_of_a_head_is_found_however_it_is_cut() {
        for (text, length) in [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\n\n", 25),
            ("HTTP/1.1 200 OK\nA: b\n\nbody", 22),
            ("HTTP/1.1 200 OK\nA: b\n\r\nbody", 23),
        ] {
            let bytes = text.as_bytes();
            for cut in 0..length {
                let mut end = HeadEnd::default();
                assert_eq!(end.find(&bytes[..cut]), None, "{text:?} cut at {cut}");
                assert_eq!(end.find(bytes), Some(length), "{text:?} cut at {cut}");
            }
        }
    }
}
