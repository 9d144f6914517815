//! Heads and whole replies, worded as vLLM 0.32 behind uvicorn words them.
//!
//! It must not frame a stream's events: `stream` does.

use super::ask::BadAsk;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

/// What vLLM puts into `system_fingerprint`, marked as ours: a result must show what served it.
pub(super) const FINGERPRINT: &str = "vllm-0.32.0-lowrho-sim";

/// A reply that is known whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: Option<&'static str>,
    /// Lines of the head beyond the usual, each with its end of line.
    pub(super) extra: &'static str,
    pub(super) body: String,
}

impl Reply {
    fn json(status: u16, body: String) -> Self {
        Self { status, content_type: Some("application/json"), extra: "", body }
    }

    /// `/health`: well, and no more.
    pub(super) fn health() -> Self {
        Self { status: 200, content_type: None, extra: "", body: String::new() }
    }

    /// `/v1/models`.
    pub(super) fn models(model: &str, max_model_len: u32, created_s: u64) -> Self {
        let model = quote(model);
        Self::json(
            200,
            format!(
                r#"{{"object":"list","data":[{{"id":{model},"object":"model","created":{created_s},"owned_by":"vllm","root":{model},"parent":null,"max_model_len":{max_model_len},"permission":[{{"id":"modelperm-lowrho","object":"model_permission","created":{created_s},"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,"allow_search_indices":false,"allow_view":true,"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}}]}}]}}"#
            ),
        )
    }

    /// `/metrics`.
    pub(super) fn metrics(text: String) -> Self {
        Self {
            status: 200,
            content_type: Some("text/plain; version=1.0.0; charset=utf-8"),
            extra: "",
            body: text,
        }
    }

    /// A path nobody serves.
    pub(super) fn not_found() -> Self {
        Self::json(404, r#"{"detail":"Not Found"}"#.into())
    }

    /// A path that wants another method.
    pub(super) fn method_not_allowed(allowed: &'static str) -> Self {
        let extra = if allowed == "GET" { "allow: GET\r\n" } else { "allow: POST\r\n" };
        Self { extra, ..Self::json(405, r#"{"detail":"Method Not Allowed"}"#.into()) }
    }

    /// A model that is not served here.
    pub(super) fn no_such_model(asked: &str, served: &str) -> Self {
        let message = format!("The model `{asked}` does not exist. Valid aliases: {served}.");
        Self::json(404, error_json(&message, "NotFoundError", Some("model"), 404))
    }

    /// A body that cannot be obeyed.
    pub(super) fn bad_ask(bad: &BadAsk) -> Self {
        Self::json(400, error_json(&bad.message, "BadRequestError", bad.param, 400))
    }

    /// A status that a fault asks for.
    pub(super) fn fault(status: u16) -> Self {
        let kind = match status {
            429 => "RateLimitError",
            503 => "ServiceUnavailableError",
            500.. => "InternalServerError",
            _ => "BadRequestError",
        };
        let extra = if status == 429 { "retry-after: 1\r\n" } else { "" };
        let message = format!("{} (a fault of the simulator's script)", reason(status));
        Self { extra, ..Self::json(status, error_json(&message, kind, None, status)) }
    }

    /// What is not HTTP. uvicorn closes the connection after it.
    pub(super) fn not_http() -> Self {
        Self {
            status: 400,
            content_type: Some("text/plain; charset=utf-8"),
            extra: "",
            body: "Invalid HTTP request received.".into(),
        }
    }

    /// Head and body.
    pub(super) fn write(&self, date: &HttpDate, keep_alive: bool, into: &mut Vec<u8>) {
        write_unary_head(self.status, self.content_type, self.extra, self.body.len(), date, keep_alive, into);
        into.extend_from_slice(self.body.as_bytes());
    }
}

/// The head of a whole reply.
pub(super) fn write_unary_head(
    status: u16,
    content_type: Option<&str>,
    extra: &str,
    content_length: usize,
    date: &HttpDate,
    keep_alive: bool,
    into: &mut Vec<u8>,
) {
    write_status(status, date, into);
    into.extend_from_slice(b"content-length: ");
    into.extend_from_slice(itoa::Buffer::new().format(content_length).as_bytes());
    into.extend_from_slice(b"\r\n");
    if let Some(content_type) = content_type {
        into.extend_from_slice(b"content-type: ");
        into.extend_from_slice(content_type.as_bytes());
        into.extend_from_slice(b"\r\n");
    }
    into.extend_from_slice(extra.as_bytes());
    write_last_lines(keep_alive, into);
}

/// The head of a stream.
pub(super) fn write_stream_head(date: &HttpDate, keep_alive: bool, into: &mut Vec<u8>) {
    write_status(200, date, into);
    into.extend_from_slice(b"content-type: text/event-stream; charset=utf-8\r\n");
    if !keep_alive {
        into.extend_from_slice(b"connection: close\r\n");
    }
    into.extend_from_slice(b"vary: Origin\r\ntransfer-encoding: chunked\r\n\r\n");
}

fn write_status(status: u16, date: &HttpDate, into: &mut Vec<u8>) {
    into.extend_from_slice(b"HTTP/1.1 ");
    into.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
    into.push(b' ');
    into.extend_from_slice(reason(status).as_bytes());
    into.extend_from_slice(b"\r\ndate: ");
    into.extend_from_slice(date.text.as_bytes());
    into.extend_from_slice(b"\r\nserver: uvicorn\r\n");
}

fn write_last_lines(keep_alive: bool, into: &mut Vec<u8>) {
    if !keep_alive {
        into.extend_from_slice(b"connection: close\r\n");
    }
    into.extend_from_slice(b"vary: Origin\r\n\r\n");
}

/// The `date` line's value, made once a second.
#[derive(Debug, Default)]
pub(super) struct HttpDate {
    second: Option<u64>,
    text: String,
}

impl HttpDate {
    /// Moves it to `unix_s`.
    pub(super) fn set(&mut self, unix_s: u64) {
        if self.second == Some(unix_s) {
            return;
        }
        let timestamp = i64::try_from(unix_s).ok().and_then(|s| Timestamp::from_second(s).ok());
        let printed = timestamp.and_then(|t| DateTimePrinter::new().timestamp_to_rfc9110_string(&t).ok());
        self.text = printed.expect("the clock stands before the year 10000");
        self.second = Some(unix_s);
    }
}

/// `text` as a JSON string.
pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn error_json(message: &str, kind: &str, param: Option<&str>, code: u16) -> String {
    let param = param.map_or("null".into(), quote);
    format!(r#"{{"error":{{"message":{},"type":"{kind}","param":{param},"code":{code}}}}}"#, quote(message))
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Request Entity Too Large",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ if status < 500 => "Client Error",
        _ => "Server Error",
    }
}
