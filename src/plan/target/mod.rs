//! Who is driven: the endpoint, what every request says in its head, and how long we wait; opens no connection.

mod balance;
mod basic;
mod headers;
mod read;
mod tls;
mod url;

pub(super) use read::read;
pub use tls::Tls;

use super::Gpus;
use crate::time::Span;
use crate::wire::Api;
use std::fmt;

/// The servers and how they are spoken to: all alike.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// Where requests go, at least one place.
    pub endpoints: Vec<Endpoint>,
    /// Which of several gets a request.
    pub balance: Balance,
    /// The dialect.
    pub api: Api,
    /// The model's name; `None` = asked from `/v1/models`.
    pub model: Option<String>,
    /// Headers added to every request, in the order given; `Authorization` from `--api-key` included.
    pub headers: Vec<Header>,
    /// How servers that speak TLS are met.
    pub tls: Tls,
    /// A JSON object merged into every body; empty when nothing was asked.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// How long to wait for the server to answer before the run; `None` = not at all.
    pub wait_ready: Option<Span>,
    /// How long each part of a request may take.
    pub timeouts: Timeouts,
    /// Whether refused requests are sent again.
    pub retry: Retry,
    /// What the servers run on, if that was said.
    pub gpus: Option<Gpus>,
    /// Whether a few requests go out before the run, to learn what the server does.
    pub probe: bool,
}

/// The most servers of one run: each has statistics of its own on every shard.
pub const MOST_TARGETS: usize = 64;

/// Which of several servers gets a request.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Balance {
    /// Each in turn, as often as its weight says.
    RoundRobin,
    /// By the prompt, or the session that its line names: the same one always gets the same server.
    Sticky,
}

/// Where requests go: `http://host:port/path`, the same with `https`, or a Unix socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Name or address, without the brackets of IPv6; `localhost` of a Unix socket.
    pub host: String,
    /// TCP port; 0 = the embedded simulator's, filled in when it listens.
    pub port: u16,
    /// Whether it speaks TLS.
    pub secure: bool,
    /// Path of the Unix socket, if it is one.
    pub socket: Option<String>,
    /// Its share among several, at least 1.
    pub weight: u32,
    /// `Authorization` by the URL's user info, where the run has no other.
    pub authorization: Option<Header>,
    /// Path of the API, with its query if one was given.
    pub path: String,
    /// Path of the server's base, without `/v1` and without a slash at its end: `""` or `/proxy`.
    pub base: String,
}

impl Endpoint {
    /// A server at a TCP port, of the usual share.
    pub(super) fn of_host(host: String, port: u16, path: String, base: String) -> Self {
        Self { host, port, secure: false, socket: None, weight: 1, authorization: None, path, base }
    }

    /// The value of the `Host` header: the port is left out when it is the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let usual = if self.secure { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }

    /// The final URL, as it is printed.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.socket {
            Some(socket) => format!("unix:{socket}:{}", self.path),
            None => format!("{}://{}{}", self.scheme(), self.authority(), self.path),
        }
    }

    /// `http` or `https`.
    #[must_use]
    pub const fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// Path of another resource of the same server, such as `/v1/models` or `/health`.
    #[must_use]
    pub fn sibling(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

impl Target {
    /// The headers of every request to `endpoint`.
    pub fn headers_of<'a>(&'a self, endpoint: &'a Endpoint) -> impl Iterator<Item = &'a Header> {
        self.headers.iter().chain(&endpoint.authorization)
    }

    /// The shares of the servers, in order.
    #[must_use]
    pub fn weights(&self) -> Vec<u32> {
        self.endpoints.iter().map(|endpoint| endpoint.weight).collect()
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

/// Whether and how often a refused request is sent again.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Retry {
    /// Times at most; 0 = never.
    pub times: u8,
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
