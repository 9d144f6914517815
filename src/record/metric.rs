//! The metrics of one request, from its record alone (docs/METHOD.md, "Metrics of one request").
//!
//! It must not aggregate, and it never clamps: a negative span is our own defect and is to be seen.

use super::Record;
use crate::time::{Instant, Span};

/// Every latency metric that is published as a distribution. `Itl` has one value for each gap, the others one for each request.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "docs/METHOD.md defines each under the same name")]
pub enum Metric {
    Lateness,
    Ttft,
    TtftDue,
    Ttfe,
    Ttfo,
    Itl,
    Stall,
    Tpot,
    Ntpot,
    NtpotSent,
    NtpotWaiting,
    NtpotDecoding,
    E2e,
    E2eDue,
    E2eDone,
    E2eEnd,
    Head,
    Connect,
    Handshake,
    PoolWait,
}

impl Metric {
    /// Every metric, in the order of the enum and of the reports.
    pub const ALL: [Self; 20] = [
        Self::Lateness,
        Self::Ttft,
        Self::TtftDue,
        Self::Ttfe,
        Self::Ttfo,
        Self::Itl,
        Self::Stall,
        Self::Tpot,
        Self::Ntpot,
        Self::NtpotSent,
        Self::NtpotWaiting,
        Self::NtpotDecoding,
        Self::E2e,
        Self::E2eDue,
        Self::E2eDone,
        Self::E2eEnd,
        Self::Head,
        Self::Connect,
        Self::Handshake,
        Self::PoolWait,
    ];

    /// The word that records and reports use, without its unit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lateness => "lateness",
            Self::Ttft => "ttft",
            Self::TtftDue => "ttft_due",
            Self::Ttfe => "ttfe",
            Self::Ttfo => "ttfo",
            Self::Itl => "itl",
            Self::Stall => "stall",
            Self::Tpot => "tpot",
            Self::Ntpot => "ntpot",
            Self::NtpotSent => "ntpot_sent",
            Self::NtpotWaiting => "ntpot_waiting",
            Self::NtpotDecoding => "ntpot_decoding",
            Self::E2e => "e2e",
            Self::E2eDue => "e2e_due",
            Self::E2eDone => "e2e_done",
            Self::E2eEnd => "e2e_end",
            Self::Head => "head",
            Self::Connect => "connect",
            Self::Handshake => "handshake",
            Self::PoolWait => "pool_wait",
        }
    }

    /// Its place in [`Metric::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The metrics of one request, `None` where undefined. ITL has no single value and is always `None`: see [`super::Finished::gaps`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Metrics {
    values: [Option<Span>; Metric::ALL.len()],
}

impl Metrics {
    /// Computes them; a failed request's are partial and must be kept apart by the caller.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let mut values = [None; Metric::ALL.len()];
        for metric in Metric::ALL {
            values[metric.index()] = value(record, metric);
        }
        Self { values }
    }

    /// One of them.
    #[must_use]
    pub const fn get(&self, metric: Metric) -> Option<Span> {
        self.values[metric.index()]
    }
}

fn value(record: &Record, metric: Metric) -> Option<Span> {
    let since = |from: Option<Instant>, to: Option<Instant>| Some(to? - from?);
    let (due, sent) = (Some(record.due), record.sent);
    match metric {
        Metric::Lateness => since(due, record.begun),
        Metric::Ttft => since(sent, record.first),
        Metric::TtftDue => since(due, record.first),
        Metric::Ttfe => since(sent, record.event),
        Metric::Ttfo => since(sent, record.answer),
        Metric::Itl => None,
        Metric::Stall => record.stall,
        Metric::Tpot => tpot(record),
        Metric::Ntpot => per_token(since(due, record.last)?, record.output_tokens?),
        Metric::NtpotSent => per_token(since(sent, record.last)?, record.output_tokens?),
        Metric::NtpotWaiting => per_token(since(due, record.first)?, record.output_tokens?),
        Metric::NtpotDecoding => per_token(since(record.first, record.last)?, record.output_tokens?),
        Metric::E2e => since(sent, record.last),
        Metric::E2eDue => since(due, record.last),
        Metric::E2eDone => since(sent, record.done),
        Metric::E2eEnd => since(sent, record.end),
        Metric::Head => since(sent, record.head),
        Metric::Connect => since(record.begun, record.connected),
        Metric::Handshake => record.handshake,
        Metric::PoolWait => record.pool_wait,
    }
}

/// (last - first) / (N - n_first). With several choices N is their sum, and each choice has a TPOT of its own or none.
fn tpot(record: &Record) -> Option<Span> {
    per_token(record.last? - record.first?, tokens_after_first(record)?)
}

/// N - n_first, where TPOT is defined by it.
pub(super) fn tokens_after_first(record: &Record) -> Option<u64> {
    if record.choices > 1 {
        return None;
    }
    let tokens = record.output_tokens?;
    (2 * record.streamed_tokens >= tokens).then_some(())?;
    tokens.checked_sub(u64::from(record.n_first))
}

/// `span` over `tokens`, to the nearest nanosecond; `None` for no tokens.
pub(super) fn per_token(span: Span, tokens: u64) -> Option<Span> {
    let tokens = i64::try_from(tokens).ok().filter(|tokens| *tokens > 0)?;
    Some(Span::from_ns((span.as_ns() + tokens / 2).div_euclid(tokens)))
}
