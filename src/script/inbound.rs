//! The requests of one connection: bytes in, at most one whole request out at a time.
//!
//! It must not answer, nor look into a body. What it holds between reads is only an unfinished request.

use memchr::memmem;

/// Where a client's head must have ended; uvicorn's own limit is the same.
const HEAD_CAP: usize = 64 * 1024;
/// Far above the longest prompt a model takes; beyond it the client is broken.
const BODY_CAP: usize = 64 * 1024 * 1024;
/// Headers of one request. Clients send about ten; a proxy's chain stays far below this.
const HEADERS: usize = 64;

/// What the bytes so far amount to.
#[derive(Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// Nothing whole yet.
    More,
    /// The client waits for `100 Continue` before it sends the body.
    Continue,
    /// One whole request.
    Request(Request<'a>),
    /// Not HTTP: the connection is of no more use.
    Broken,
}

/// One whole request, borrowed from what was read.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, `POST`, ...
    pub method: &'a str,
    /// The target without its query.
    pub path: &'a str,
    /// `x-request-id`, where it is text.
    pub request_id: Option<&'a str>,
    /// Whether the client will use the connection again.
    pub keep_alive: bool,
    /// The body without its framing.
    pub body: &'a [u8],
}

/// The reader's state between reads.
#[derive(Debug, Default)]
pub struct Inbound {
    /// The unfinished request so far; empty between requests.
    held: Vec<u8>,
    progress: Progress,
    /// The body of a chunked request, its framing removed.
    unchunked: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Progress {
    /// Bytes of the head already searched for its end.
    searched: usize,
    /// The head's length and its body's framing, once the head is whole.
    head: Option<(usize, Framing)>,
    told_to_continue: bool,
    /// The request in `held` was handed out: the next read starts afresh.
    handed_out: bool,
}

#[derive(Debug, Clone, Copy)]
enum Framing {
    Length(usize),
    /// The next chunk's header starts here; `None` once the last chunk is behind and trailers follow from `trailers`.
    Chunked {
        next: usize,
        trailers: bool,
    },
}

/// The parts of a head that decide how to go on.
struct Head<'a> {
    len: usize,
    method: &'a str,
    path: &'a str,
    request_id: Option<&'a str>,
    keep_alive: bool,
    expects_continue: bool,
    framing: Framing,
}

impl Inbound {
    /// Reads `bytes` up to the end of one request. Returns how many were used, and what they said: bytes after a
    /// request's end stay with the caller, to be read once that request is answered.
    pub fn read<'a>(&'a mut self, bytes: &'a [u8]) -> (usize, Said<'a>) {
        if self.progress.handed_out {
            self.forget();
        }
        let held_before = self.held.len();
        let step = if held_before == 0 {
            advance(bytes, &mut self.progress, &mut self.unchunked)
        } else {
            self.held.extend_from_slice(bytes);
            advance(&self.held, &mut self.progress, &mut self.unchunked)
        };
        match step {
            Step::More | Step::Continue => {
                if held_before == 0 {
                    self.held.extend_from_slice(bytes);
                }
                let said = if matches!(step, Step::Continue) { Said::Continue } else { Said::More };
                (bytes.len(), said)
            }
            Step::Broken => (bytes.len(), Said::Broken),
            Step::Whole { end, body_at } => {
                self.progress.handed_out = true;
                let used = end - held_before;
                let whole = if held_before == 0 { &bytes[..end] } else { &self.held[..end] };
                let head = match parse_head(whole) {
                    Ok(Some(head)) => head,
                    _ => unreachable!("a head that was whole is whole still"),
                };
                let body = if matches!(head.framing, Framing::Chunked { .. }) {
                    &self.unchunked[..]
                } else {
                    &whole[body_at..]
                };
                let request = Request {
                    method: head.method,
                    path: head.path,
                    request_id: head.request_id,
                    keep_alive: head.keep_alive,
                    body,
                };
                (used, Said::Request(request))
            }
        }
    }

    /// Gives back the memory of a request that was handed out. Call it when the request has been understood:
    /// a stream may stay open for minutes, and its prompt is of no more use.
    pub fn forget(&mut self) {
        self.progress = Progress::default();
        self.held = Vec::new();
        self.unchunked = Vec::new();
    }
}

enum Step {
    More,
    Continue,
    Whole { end: usize, body_at: usize },
    Broken,
}

fn advance(bytes: &[u8], progress: &mut Progress, unchunked: &mut Vec<u8>) -> Step {
    let (head_len, mut framing) = match progress.head {
        Some(known) => known,
        None => {
            // A head's end is searched for before it is parsed, so that a head in many reads costs no more.
            let from = progress.searched.saturating_sub(3);
            if memmem::find(&bytes[from..], b"\n\r\n").is_none()
                && memmem::find(&bytes[from..], b"\n\n").is_none()
            {
                progress.searched = bytes.len();
                return if bytes.len() > HEAD_CAP || !starts_like_a_request(bytes) {
                    Step::Broken
                } else {
                    Step::More
                };
            }
            let head = match parse_head(bytes) {
                Ok(Some(head)) => head,
                Ok(None) if bytes.len() <= HEAD_CAP => {
                    progress.searched = bytes.len();
                    return Step::More;
                }
                _ => return Step::Broken,
            };
            progress.told_to_continue |= !head.expects_continue;
            progress.head = Some((head.len, head.framing));
            (head.len, head.framing)
        }
    };
    let step = match &mut framing {
        Framing::Length(len) if bytes.len() - head_len >= *len => {
            Step::Whole { end: head_len + *len, body_at: head_len }
        }
        Framing::Length(_) => Step::More,
        Framing::Chunked { next, trailers } => unchunk(bytes, next, trailers, unchunked),
    };
    progress.head = Some((head_len, framing));
    if matches!(step, Step::More) && !progress.told_to_continue {
        progress.told_to_continue = true;
        return Step::Continue;
    }
    step
}

/// Refuses a TLS hello or other noise at once, instead of waiting for a line that never ends.
fn starts_like_a_request(bytes: &[u8]) -> bool {
    bytes.iter().take(16).all(|b| b.is_ascii_graphic() || matches!(b, b' ' | b'\r' | b'\n'))
}

/// Walks chunk headers from `next` on, moving whole chunks to `body`.
fn unchunk(bytes: &[u8], next: &mut usize, trailers: &mut bool, body: &mut Vec<u8>) -> Step {
    while !*trailers {
        let (header, size) = match httparse::parse_chunk_size(&bytes[*next..]) {
            Ok(httparse::Status::Complete((header, size))) => (header, size),
            Ok(httparse::Status::Partial) if bytes.len() - *next < HEAD_CAP => return Step::More,
            _ => return Step::Broken,
        };
        let Some(size) =
            usize::try_from(size).ok().filter(|size| body.len().saturating_add(*size) <= BODY_CAP)
        else {
            return Step::Broken;
        };
        let data = *next + header;
        if size == 0 {
            *next = data;
            *trailers = true;
            break;
        }
        let Some(chunk) = bytes.get(data..data + size + 2) else {
            return Step::More;
        };
        if !chunk.ends_with(b"\r\n") {
            return Step::Broken;
        }
        body.extend_from_slice(&chunk[..size]);
        *next = data + size + 2;
    }
    // Trailers are lines up to an empty one.
    while let Some(end) = memchr::memchr(b'\n', &bytes[*next..]) {
        let line = &bytes[*next..*next + end];
        *next += end + 1;
        if line.is_empty() || line == b"\r" {
            return Step::Whole { end: *next, body_at: *next };
        }
    }
    if bytes.len() - *next > HEAD_CAP { Step::Broken } else { Step::More }
}

fn parse_head(bytes: &[u8]) -> Result<Option<Head<'_>>, ()> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(()),
    };
    let target = request.path.unwrap_or("/");
    let http_1_1 = request.version == Some(1);
    let mut head = Head {
        len,
        method: request.method.unwrap_or(""),
        path: target.split('?').next().unwrap_or("/"),
        request_id: None,
        keep_alive: http_1_1,
        expects_continue: false,
        framing: Framing::Length(0),
    };
    let mut chunked = false;
    for header in request.headers {
        let (name, value) = (header.name, header.value.trim_ascii());
        if name.eq_ignore_ascii_case("content-length") {
            let len = std::str::from_utf8(value).ok().and_then(|text| text.parse::<usize>().ok());
            head.framing = Framing::Length(len.filter(|len| *len <= BODY_CAP).ok_or(())?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(());
            }
            chunked = true;
        } else if name.eq_ignore_ascii_case("connection") {
            for word in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                if word.eq_ignore_ascii_case(b"close") {
                    head.keep_alive = false;
                } else if word.eq_ignore_ascii_case(b"keep-alive") && !http_1_1 {
                    head.keep_alive = true;
                }
            }
        } else if name.eq_ignore_ascii_case("expect") {
            head.expects_continue = http_1_1 && value.eq_ignore_ascii_case(b"100-continue");
        } else if name.eq_ignore_ascii_case("x-request-id") {
            head.request_id = std::str::from_utf8(value).ok().filter(|id| !id.is_empty());
        }
    }
    if chunked {
        head.framing = Framing::Chunked { next: len, trailers: false };
    }
    Ok(Some(head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Owned, so that it outlives its read.
    #[derive(Debug, PartialEq, Eq, Clone)]
    enum Owned {
        Continue,
        Request { method: String, path: String, id: Option<String>, keep_alive: bool, body: Vec<u8> },
        Broken,
    }

    /// Reads `wire` in the given pieces, a request at a time as a server does.
    fn read_in_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
        let (mut inbound, mut heard) = (Inbound::default(), Vec::new());
        for mut piece in pieces {
            while !piece.is_empty() {
                let (used, said) = inbound.read(piece);
                match said {
                    Said::More => {
                        assert_eq!(used, piece.len(), "an unfinished request takes all it is given")
                    }
                    Said::Continue => heard.push(Owned::Continue),
                    Said::Broken => {
                        heard.push(Owned::Broken);
                        return heard;
                    }
                    Said::Request(r) => {
                        assert!(used > 0, "a request ends with a byte of its last read");
                        heard.push(Owned::Request {
                            method: r.method.into(),
                            path: r.path.into(),
                            id: r.request_id.map(Into::into),
                            keep_alive: r.keep_alive,
                            body: r.body.into(),
                        });
                        inbound.forget();
                    }
                }
                piece = &piece[used..];
            }
        }
        heard
    }

    fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
        format!("POST {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n{body}").into_bytes()
    }

    fn requests() -> Vec<Vec<u8>> {
        vec![
            b"GET /health?x=1 HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(),
            b"GET /v1/models HTTP/1.0\r\n\r\n".to_vec(),
            post("/v1/completions", "content-length: 7\r\nX-Request-ID:  run-17 \r\n", "{\"a\":1}"),
            post("/v1/completions", "connection: Keep-Alive, Close\r\ncontent-length: 0\r\n", ""),
            post(
                "/c",
                "transfer-encoding: chunked\r\n",
                "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nt: u\r\n\r\n",
            ),
            post("/e", "expect: 100-continue\r\ncontent-length: 3\r\n", "\r\n\r"),
        ]
    }

    #[test]
    fn what_a_request_says_is_heard() {
        let heard: Vec<_> = requests().iter().flat_map(|wire| read_in_pieces([&wire[..]])).collect();
        let of = |n: usize| match &heard[n] {
            Owned::Request { method, path, id, keep_alive, body } => (
                method.as_str(),
                path.as_str(),
                id.as_deref(),
                *keep_alive,
                std::str::from_utf8(body).unwrap(),
            ),
            other => panic!("{other:?}"),
        };
        assert_eq!(of(0), ("GET", "/health", None, true, ""));
        assert_eq!(of(1), ("GET", "/v1/models", None, false, ""));
        assert_eq!(of(2), ("POST", "/v1/completions", Some("run-17"), true, "{\"a\":1}"));
        assert_eq!(of(3), ("POST", "/v1/completions", None, false, ""));
        assert_eq!(of(4), ("POST", "/c", None, true, "abc0123456789"));
        assert_eq!(of(5), ("POST", "/e", None, true, "\r\n\r"));
    }

    #[test]
    fn a_client_that_expects_it_is_told_to_continue_once_and_only_while_the_body_is_missing() {
        let wire = post("/e", "expect: 100-continue\r\ncontent-length: 3\r\n", "abc");
        let head = wire.len() - 3;
        let heard = read_in_pieces([&wire[..head], &wire[head..head + 1], &wire[head + 1..]]);
        assert_eq!(heard[0], Owned::Continue);
        assert!(matches!(&heard[1], Owned::Request { body, .. } if body == b"abc"));
        assert_eq!(heard.len(), 2);
        assert_eq!(read_in_pieces([&wire[..]]).len(), 1);
    }

    #[test]
    fn every_split_of_pipelined_requests_reads_the_same() {
        let without_expect = |wire: &[Owned]| -> Vec<Owned> {
            wire.iter().filter(|said| **said != Owned::Continue).cloned().collect()
        };
        let wire: Vec<u8> = requests().concat();
        let whole = without_expect(&read_in_pieces([&wire[..]]));
        assert_eq!(whole.len(), requests().len());
        for cut in 1..wire.len() {
            let heard = read_in_pieces([&wire[..cut], &wire[cut..]]);
            assert_eq!(without_expect(&heard), whole, "cut at {cut}");
        }
        assert_eq!(without_expect(&read_in_pieces(wire.chunks(1))), whole);
    }

    #[test]
    fn what_is_not_http_is_broken_at_once() {
        for wire in [
            &b"\x16\x03\x01\x02\x00"[..],
            b"HELLO\r\n\r\n",
            b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
            b"POST / HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n",
            b"POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n",
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
        ] {
            let heard = read_in_pieces([wire]);
            assert_eq!(heard, [Owned::Broken], "{}", String::from_utf8_lossy(wire));
        }
    }

    #[test]
    fn a_head_without_end_is_broken_at_the_cap() {
        let mut inbound = Inbound::default();
        let mut pieces = 0;
        assert!(matches!(inbound.read(b"GET / HTTP/1.1\r\na: "), (_, Said::More)));
        while matches!(inbound.read(&[b'x'; 1024]), (_, Said::More)) {
            pieces += 1;
            assert!(pieces < 100, "the cap never came");
        }
        assert!(pieces >= 60);
    }

    #[test]
    fn a_long_prompt_is_not_kept_once_understood() {
        let body = "x".repeat(400_000);
        let wire = post("/v1/completions", &format!("content-length: {}\r\n", body.len()), &body);
        let mut inbound = Inbound::default();
        assert!(matches!(inbound.read(&wire[..1000]), (1000, Said::More)));
        assert!(matches!(inbound.read(&wire[1000..]), (_, Said::Request(r)) if r.body.len() == 400_000));
        inbound.forget();
        assert_eq!(inbound.held.capacity(), 0);
    }

    proptest! {
        #[test]
        fn any_cut_into_pieces_reads_the_same(cuts in prop::collection::vec(1_usize..60, 0..60)) {
            let wire: Vec<u8> = requests()[..5].concat();
            let (mut rest, mut pieces) = (&wire[..], Vec::new());
            for cut in cuts {
                let (piece, tail) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = tail;
            }
            pieces.push(rest);
            prop_assert_eq!(read_in_pieces(pieces), read_in_pieces([&wire[..]]));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0_usize..400) {
            let cut = cut.min(bytes.len());
            read_in_pieces([&bytes[..cut], &bytes[cut..]]);
        }
    }
}
