//! Who is driven: the endpoint, what every request says in its head, and how long we wait; opens no connection.

mod basic;
mod headers;
mod read;
mod url;

pub(super) use read::read;

use crate::time::Span;
use crate::wire::Api;
use std::fmt;

/// One server and how it is spoken to.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// Where requests go.
    pub endpoint: Endpoint,
    /// The dialect.
    pub api: Api,
    /// The model's name; `None` = asked from `/v1/models`.
    pub model: Option<String>,
    /// Headers added to every request, in the order given; `Authorization` from `--api-key` or the URL included.
    pub headers: Vec<Header>,
    /// A JSON object merged into every body; empty when nothing was asked.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// How long to wait for the server to answer before the run; `None` = not at all.
    pub wait_ready: Option<Span>,
    /// How long each part of a request may take.
    pub timeouts: Timeouts,
    /// Whether a few requests go out before the run, to learn what the server does.
    pub probe: bool,
}

/// Where requests go: `http://host:port/path`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Name or address, without the brackets of IPv6.
    pub host: String,
    /// TCP port; 0 = the embedded simulator's, filled in when it listens.
    pub port: u16,
    /// Path of the API, with its query if one was given.
    pub path: String,
    /// Path of the server's base, without `/v1` and without a slash at its end: `""` or `/proxy`.
    pub base: String,
}

impl Endpoint {
    /// The value of the `Host` header: the port is left out when it is 80.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == 80 { host } else { format!("{host}:{}", self.port) }
    }

    /// The final URL, as it is printed.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.authority(), self.path)
    }

    /// Path of another resource of the same server, such as `/v1/models` or `/health`.
    #[must_use]
    pub fn sibling(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// One header of every request. Its `Debug` form hides a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// The field's name as given.
    pub name: String,
    /// The field's value as it is sent.
    pub value: String,
    /// Whether it is `***` in everything written.
    pub secret: bool,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = if self.secret { "***" } else { &self.value };
        write!(f, "{}: {shown}", self.name)
    }
}

/// How long each part of a request may take; `None` = as long as `total` leaves it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// From `begun` to the end.
    pub total: Span,
    /// For the connection to be up.
    pub connect: Span,
    /// From `sent` to the first byte.
    pub first_byte: Option<Span>,
    /// From `sent` to the first token-bearing event.
    pub first_token: Option<Span>,
    /// Between two reads.
    pub idle: Option<Span>,
}
