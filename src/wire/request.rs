//! A request's head: everything that does not change is written once, the rest is patched in per request.
//!
//! It must not know bodies nor sockets.

use std::fmt;

/// The methods we use.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Method {
    /// Without a body.
    Get,
    /// With a JSON body.
    Post,
}

/// What every request of a run has in common.
#[derive(Copy, Clone, Debug)]
pub struct Common<'a> {
    /// GET or POST.
    pub method: Method,
    /// Path and query, from the first slash on.
    pub target: &'a str,
    /// Host and port, as the Host header carries them.
    pub host: &'a str,
    /// `Bearer` token of the Authorization header.
    pub api_key: Option<&'a str>,
    /// The user's own headers; one of a default's name takes its place.
    pub headers: &'a [(String, String)],
    /// With it, every request carries `x-request-id: <run>-<index>`.
    pub run: Option<&'a str>,
}

/// A head that is ready but for the request's index and its body's length.
#[derive(Clone, Debug)]
pub struct RequestHead {
    /// Up to the request's index, or to the header after it where requests are not numbered.
    fixed: Box<[u8]>,
    numbered: bool,
    bodied: bool,
}

impl RequestHead {
    /// Writes down what does not change.
    ///
    /// # Errors
    /// When the target, the host or a header cannot stand in an HTTP head, or is one that this writer must set.
    pub fn new(common: &Common<'_>) -> Result<Self, HeadFault> {
        if !common.target.starts_with('/') || !common.target.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(HeadFault::Target(common.target.into()));
        }
        if common.host.is_empty() || !common.host.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(HeadFault::Host(common.host.into()));
        }
        for (name, value) in common.headers {
            check_header(name, value)?;
        }
        let theirs = |name: &str| common.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let mut fixed = Vec::with_capacity(512);
        let mut line = |parts: &[&str]| {
            parts.iter().for_each(|part| fixed.extend_from_slice(part.as_bytes()));
            fixed.extend_from_slice(b"\r\n");
        };
        let bodied = common.method == Method::Post;
        line(&[if bodied { "POST " } else { "GET " }, common.target, " HTTP/1.1"]);
        let accept = if bodied { "text/event-stream" } else { "application/json" };
        let defaults = [
            ("Host", common.host),
            ("User-Agent", concat!("lowrho/", env!("CARGO_PKG_VERSION"))),
            ("Accept", accept),
            // A compressed stream arrives when its compressor pleases: the instants would be the compressor's.
            ("Accept-Encoding", "identity"),
            ("Content-Type", "application/json"),
        ];
        for (name, value) in defaults {
            if !theirs(name) && (bodied || name != "Content-Type") {
                line(&[name, ": ", value]);
            }
        }
        if let Some(key) = common.api_key
            && !theirs("Authorization")
        {
            check_header("Authorization", key)?;
            line(&["Authorization: Bearer ", key]);
        }
        for (name, value) in common.headers {
            line(&[name, ": ", value.trim()]);
        }
        let run = common.run.filter(|_| !theirs(REQUEST_ID));
        if let Some(run) = run {
            check_header(REQUEST_ID, run)?;
            for part in [REQUEST_ID, ": ", run, "-"] {
                fixed.extend_from_slice(part.as_bytes());
            }
        }
        Ok(Self { fixed: fixed.into(), numbered: run.is_some(), bodied })
    }

    /// The same head, saying that the connection is not to be used again (RFC 9112, 9.6).
    #[must_use]
    pub fn closing(mut self) -> Self {
        // Before the index, which ends what is fixed.
        let first_line = memchr::memchr(b'\n', &self.fixed).map_or(0, |at| at + 1);
        let mut fixed = self.fixed.into_vec();
        fixed.splice(first_line..first_line, *b"Connection: close\r\n");
        self.fixed = fixed.into();
        self
    }

    /// Appends the whole head of request `index`, whose body has `length` bytes.
    pub fn write(&self, index: u64, length: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.fixed);
        let mut digits = itoa::Buffer::new();
        if self.numbered {
            into.extend_from_slice(digits.format(index).as_bytes());
            into.extend_from_slice(b"\r\n");
        }
        if self.bodied {
            into.extend_from_slice(b"Content-Length: ");
            into.extend_from_slice(digits.format(length).as_bytes());
            into.extend_from_slice(b"\r\n");
        }
        into.extend_from_slice(b"\r\n");
    }

    /// At most what [`RequestHead::write`] appends, in bytes.
    #[must_use]
    pub const fn longest(&self) -> usize {
        // Two numbers of at most 20 digits, the Content-Length name, three line ends.
        self.fixed.len() + 2 * 20 + "Content-Length: ".len() + 3 * 2
    }
}

const REQUEST_ID: &str = "x-request-id";

/// Headers that frame the message: were they the user's, no reply could be trusted.
const OURS: [&str; 4] = ["content-length", "transfer-encoding", "connection", "upgrade"];

/// Whether a header may stand in a request's head.
///
/// # Errors
/// When the name is no token, the value has bytes that end a line or are not text, or the header is one of ours.
pub fn check_header(name: &str, value: &str) -> Result<(), HeadFault> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(HeadFault::Name(name.into()));
    }
    if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
        return Err(HeadFault::Ours(name.into()));
    }
    if value.bytes().any(|b| b != b'\t' && (b < b' ' || b == 0x7f)) {
        return Err(HeadFault::Value(name.into()));
    }
    Ok(())
}

/// Why a request's head cannot be written. Values are not repeated: they may be secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeadFault {
    /// The path.
    Target(Box<str>),
    /// The host.
    Host(Box<str>),
    /// A header's name.
    Name(Box<str>),
    /// The value of the header named.
    Value(Box<str>),
    /// A header that only the writer may set.
    Ours(Box<str>),
}

impl fmt::Display for HeadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(target) => write!(
                f,
                "the path {target:?} cannot stand in a request line: it must begin with / and hold no \
                 space, control or non-ASCII character; percent-encode those"
            ),
            Self::Host(host) => write!(
                f,
                "the host {host:?} cannot stand in a Host header: it must be a name or address of visible ASCII \
                 characters; write other names in their xn-- form"
            ),
            Self::Name(name) => write!(
                f,
                "{name:?} is no header name: letters, digits and !#$%&'*+-.^_`|~ are allowed, as in X-Team"
            ),
            Self::Value(name) => {
                write!(f, "the value of header {name} holds a control character (a line end?): remove it")
            }
            Self::Ours(name) => {
                write!(f, "header {name} frames the request and is written for you: leave it out")
            }
        }
    }
}

impl std::error::Error for HeadFault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn common<'a>(headers: &'a [(String, String)]) -> Common<'a> {
        Common {
            method: Method::Post,
            target: "/v1/chat/completions",
            host: "127.0.0.1:8000",
            api_key: Some("k"),
            headers,
            run: Some("run"),
        }
    }

    fn own(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.into(), value.into())]
    }

    fn written(common: &Common<'_>) -> String {
        let head = RequestHead::new(common).unwrap();
        let mut bytes = Vec::new();
        head.write(7, 42, &mut bytes);
        assert!(bytes.len() <= head.longest());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_post_carries_what_a_streaming_server_needs() {
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nUser-Agent: lowrho/{version}\r\n\
             Accept: text/event-stream\r\nAccept-Encoding: identity\r\nContent-Type: application/json\r\n\
             Authorization: Bearer k\r\nx-request-id: run-7\r\nContent-Length: 42\r\n\r\n"
        );
        assert_eq!(written(&common(&[])), expected);
    }

    #[test]
    fn a_connection_that_is_not_used_again_is_said_to_close() {
        let mut bytes = Vec::new();
        RequestHead::new(&common(&[])).unwrap().closing().write(7, 42, &mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let usual = written(&common(&[]));
        assert_eq!(text.replacen("Connection: close\r\n", "", 1), usual);
        assert!(text.starts_with("POST /v1/chat/completions HTTP/1.1\r\nConnection: close\r\n"), "{text}");
    }

    #[test]
    fn a_get_has_no_body_and_says_nothing_of_one() {
        let get = Common { method: Method::Get, target: "/v1/models", run: None, ..common(&[]) };
        let text = written(&get);
        assert!(text.starts_with("GET /v1/models HTTP/1.1\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        assert!(!text.contains("Content-"), "{text}");
    }

    #[test]
    fn a_header_of_the_users_takes_the_place_of_the_default() {
        for (name, value) in [("accept", "*/*"), ("AUTHORIZATION", "Basic x"), ("X-Request-Id", "mine")] {
            let headers = own(name, value);
            let text = written(&common(&headers));
            let lines = text
                .lines()
                .filter(|line| line.split(':').next().is_some_and(|own| own.eq_ignore_ascii_case(name)));
            assert_eq!(lines.collect::<Vec<_>>(), [format!("{name}: {value}")]);
        }
    }

    #[test]
    fn what_would_break_the_head_is_refused_without_repeating_the_value() {
        for (name, value) in
            [("X-A", "a\r\nEvil: 1"), ("X-A", "a\0"), ("X A", "a"), ("", "a"), ("Connection", "close")]
        {
            let fault = RequestHead::new(&common(&own(name, value))).unwrap_err();
            assert!(!fault.to_string().contains("Evil"), "{fault}");
        }
        let spaced = Common { target: "/a b", ..common(&[]) };
        assert!(matches!(RequestHead::new(&spaced), Err(HeadFault::Target(_))));
    }

    #[test]
    fn a_key_with_a_line_end_is_refused() {
        let common = Common { api_key: Some("k\r\nX: y"), ..common(&[]) };
        assert_eq!(RequestHead::new(&common).unwrap_err(), HeadFault::Value("Authorization".into()));
    }
}
