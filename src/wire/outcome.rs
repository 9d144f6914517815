//! How a response ended: its class, its tokens, and the oddities that were tolerated and counted.

/// Why a request failed. The names are the words of records and reports (`docs/RESULTS.md`).
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "each name is its own meaning; docs/METHOD.md lists them")]
pub enum ErrorClass {
    Connect,
    Tls,
    StaleConnection,
    EofBeforeHead,
    TruncatedHead,
    HeadTooLarge,
    HttpProtocol,
    HttpRedirect,
    Http429,
    Http4xx,
    Http5xx,
    NotAStream,
    UnsupportedEncoding,
    EmptyResponse,
    SseParse,
    EventTooLarge,
    StreamError,
    Aborted,
    IncompleteStream,
    TruncatedBody,
    Reset,
    TimeoutConnect,
    TimeoutFirstByte,
    TimeoutFirstToken,
    TimeoutIdle,
    TimeoutTotal,
    Cancelled,
}

impl ErrorClass {
    /// Every class, in the order of the enum.
    pub const ALL: [Self; 27] = [
        Self::Connect,
        Self::Tls,
        Self::StaleConnection,
        Self::EofBeforeHead,
        Self::TruncatedHead,
        Self::HeadTooLarge,
        Self::HttpProtocol,
        Self::HttpRedirect,
        Self::Http429,
        Self::Http4xx,
        Self::Http5xx,
        Self::NotAStream,
        Self::UnsupportedEncoding,
        Self::EmptyResponse,
        Self::SseParse,
        Self::EventTooLarge,
        Self::StreamError,
        Self::Aborted,
        Self::IncompleteStream,
        Self::TruncatedBody,
        Self::Reset,
        Self::TimeoutConnect,
        Self::TimeoutFirstByte,
        Self::TimeoutFirstToken,
        Self::TimeoutIdle,
        Self::TimeoutTotal,
        Self::Cancelled,
    ];

    /// The word that records and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::StaleConnection => "stale_connection",
            Self::EofBeforeHead => "eof_before_head",
            Self::TruncatedHead => "truncated_head",
            Self::HeadTooLarge => "head_too_large",
            Self::HttpProtocol => "http_protocol",
            Self::HttpRedirect => "http_redirect",
            Self::Http429 => "http_429",
            Self::Http4xx => "http_4xx",
            Self::Http5xx => "http_5xx",
            Self::NotAStream => "not_a_stream",
            Self::UnsupportedEncoding => "unsupported_encoding",
            Self::EmptyResponse => "empty_response",
            Self::SseParse => "sse_parse",
            Self::EventTooLarge => "event_too_large",
            Self::StreamError => "stream_error",
            Self::Aborted => "aborted",
            Self::IncompleteStream => "incomplete_stream",
            Self::TruncatedBody => "truncated_body",
            Self::Reset => "reset",
            Self::TimeoutConnect => "timeout_connect",
            Self::TimeoutFirstByte => "timeout_first_byte",
            Self::TimeoutFirstToken => "timeout_first_token",
            Self::TimeoutIdle => "timeout_idle",
            Self::TimeoutTotal => "timeout_total",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Where the count of a request's output tokens comes from, best first.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum TokenSource {
    /// `usage.completion_tokens`.
    Usage,
    /// The lengths of `token_ids`.
    TokenIds,
    /// The lengths of `logprobs`.
    Logprobs,
    /// One for each token-bearing event: an estimate.
    Events,
}

impl TokenSource {
    /// The word that records and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::TokenIds => "token_ids",
            Self::Logprobs => "logprobs",
            Self::Events => "events",
        }
    }
}

/// Why a choice ended, as the server put it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each name is the server's own word")]
pub enum FinishReason {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
    Abort,
    Error,
    /// Any other word, cut to 32 bytes.
    Other(Box<str>),
}

impl FinishReason {
    /// The longest word that is kept of a server's own.
    pub const LONGEST_WORD: usize = 32;

    /// The word that the server used and records use.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Abort => "abort",
            Self::Error => "error",
            Self::Other(word) => word,
        }
    }

    /// The reason a word stands for; a word of the server's own is cut to [`Self::LONGEST_WORD`] bytes.
    #[must_use]
    pub fn from_name(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            "abort" => Self::Abort,
            "error" => Self::Error,
            _ => {
                let mut end = word.len().min(Self::LONGEST_WORD);
                while !word.is_char_boundary(end) {
                    end -= 1;
                }
                Self::Other(word[..end].into())
            }
        }
    }
}

/// Token counts the server gave; `None` where it gave none or null. Merged key by key, the last non-null wins.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[expect(missing_docs, reason = "the server's own keys")]
pub struct Usage {
    pub prompt_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// How many of the prompt's tokens were cached, as far as that can be: a server that counts more of them than the prompt
    /// has says nothing of it.
    #[must_use]
    pub fn cached_of_prompt(&self) -> Option<u64> {
        self.cached_tokens.filter(|cached| self.prompt_tokens.is_some_and(|prompt| *cached <= prompt))
    }

    /// Takes over what `later` says: never summed, and null says nothing.
    pub fn merge(&mut self, later: Self) {
        self.prompt_tokens = later.prompt_tokens.or(self.prompt_tokens);
        self.cached_tokens = later.cached_tokens.or(self.cached_tokens);
        self.completion_tokens = later.completion_tokens.or(self.completion_tokens);
        self.reasoning_tokens = later.reasoning_tokens.or(self.reasoning_tokens);
    }
}

/// Oddities of one response that are tolerated and counted.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[expect(missing_docs, reason = "docs/RESULTS.md tells each")]
pub struct Counters {
    pub no_done: bool,
    pub no_finish_reason: bool,
    pub unclean_end: bool,
    pub data_after_done: bool,
    pub wrong_content_type: bool,
    pub compressed: bool,
    pub usage_distrusted: bool,
    pub empty_output: bool,
    pub stray_comments: u32,
}

impl Counters {
    /// Each oddity by the word that records and reports use, and whether it was there.
    #[must_use]
    pub const fn each(&self) -> [(&'static str, bool); 9] {
        // Taken apart by name, so that a new counter cannot be forgotten here.
        let Self {
            no_done,
            no_finish_reason,
            unclean_end,
            data_after_done,
            wrong_content_type,
            compressed,
            usage_distrusted,
            empty_output,
            stray_comments,
        } = *self;
        [
            ("no_done", no_done),
            ("no_finish_reason", no_finish_reason),
            ("unclean_end", unclean_end),
            ("data_after_done", data_after_done),
            ("wrong_content_type", wrong_content_type),
            ("compressed", compressed),
            ("usage_distrusted", usage_distrusted),
            ("empty_output", empty_output),
            ("stray_comments", stray_comments > 0),
        ]
    }
}

/// The outcome of one response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The HTTP status; `None` when no head came.
    pub status: Option<u16>,
    /// `None` = success.
    pub error: Option<ErrorClass>,
    /// The server's or the parser's own words about the failure, at most 512 bytes.
    pub detail: Option<Box<str>>,
    /// Output tokens (partial for a failed request); `None` when no body was parsed.
    pub output_tokens: Option<u64>,
    /// Where `output_tokens` comes from.
    pub token_source: TokenSource,
    /// What the server counted.
    pub usage: Usage,
    /// Whether events heard as [`super::Bears::Undecided`] bore tokens after all.
    pub undecided_count: bool,
    /// The finish reason of the last choice to finish.
    pub finish_reason: Option<FinishReason>,
    /// What was tolerated.
    pub counters: Counters,
    /// Seconds after which a server that refused wants to be asked again (`Retry-After`), where it says so.
    pub retry_after_s: Option<u32>,
    /// The same where it names an instant, in seconds since 1970, and not its own time: whoever has a clock tells the seconds.
    pub retry_at_unix_s: Option<u32>,
    /// Whether the connection may carry another request.
    pub reusable: bool,
}

impl Reply {
    /// The outcome of a request that got no answer at all, with our own words about it where there are some.
    #[must_use]
    pub fn unanswered(class: ErrorClass, detail: Option<&str>) -> Self {
        Self {
            status: None,
            error: Some(class),
            detail: detail.map(Into::into),
            output_tokens: None,
            token_source: TokenSource::Events,
            usage: Usage::default(),
            undecided_count: false,
            finish_reason: None,
            counters: Counters::default(),
            retry_after_s: None,
            retry_at_unix_s: None,
            reusable: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_cached_than_there_is_says_nothing() {
        let of = |prompt_tokens, cached_tokens| Usage { prompt_tokens, cached_tokens, ..Usage::default() };
        assert_eq!(of(Some(5), Some(5)).cached_of_prompt(), Some(5));
        assert_eq!(of(Some(5), Some(500)).cached_of_prompt(), None);
        assert_eq!(
            (of(None, Some(5)).cached_of_prompt(), of(Some(5), None).cached_of_prompt()),
            (None, None)
        );
    }
}
