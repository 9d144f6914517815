//! The quantities that a comparison has rows for, in the words of `docs/METHOD.md`.
//!
//! It must not know any tool: which number of which tool is one of these is said by that tool's reader.

use crate::time::Span;

/// What is measured.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "docs/METHOD.md defines each under the same name")]
pub enum Quantity {
    Completed,
    Failed,
    ErrorRate,
    RequestedRate,
    RequestsPerS,
    OutputTokensPerS,
    InputTokensPerS,
    Lateness,
    PoolWait,
    Connect,
    Head,
    Ttfe,
    Ttft,
    TtftDue,
    Ttfo,
    Itl,
    Stall,
    Tpot,
    Ntpot,
    NtpotSent,
    NtpotWaiting,
    NtpotDecoding,
    NtpotWeighted,
    E2e,
    E2eDue,
    E2eDone,
    E2eEnd,
}

/// The unit of a quantity.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A number of requests.
    Count,
    /// A share, from 0 to 1.
    Share,
    /// Per second.
    PerS,
    /// Nanoseconds.
    Ns,
}

/// Which of two values of a quantity is the better one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Better {
    /// The smaller.
    Less,
    /// The greater.
    More,
    /// Neither: it was asked for, or follows from how long the run was.
    Neither,
}

impl Quantity {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 27] = [
        Self::Completed,
        Self::Failed,
        Self::ErrorRate,
        Self::RequestedRate,
        Self::RequestsPerS,
        Self::OutputTokensPerS,
        Self::InputTokensPerS,
        Self::Lateness,
        Self::PoolWait,
        Self::Connect,
        Self::Head,
        Self::Ttfe,
        Self::Ttft,
        Self::TtftDue,
        Self::Ttfo,
        Self::Itl,
        Self::Stall,
        Self::Tpot,
        Self::Ntpot,
        Self::NtpotSent,
        Self::NtpotWaiting,
        Self::NtpotDecoding,
        Self::NtpotWeighted,
        Self::E2e,
        Self::E2eDue,
        Self::E2eDone,
        Self::E2eEnd,
    ];

    /// The word of `docs/METHOD.md`, as `--fail-if` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::ErrorRate => "error_rate",
            Self::RequestedRate => "requested_rate",
            Self::RequestsPerS => "requests_per_s",
            Self::OutputTokensPerS => "output_tokens_per_s",
            Self::InputTokensPerS => "input_tokens_per_s",
            Self::Lateness => "lateness",
            Self::PoolWait => "pool_wait",
            Self::Connect => "connect",
            Self::Head => "head",
            Self::Ttfe => "ttfe",
            Self::Ttft => "ttft",
            Self::TtftDue => "ttft_due",
            Self::Ttfo => "ttfo",
            Self::Itl => "itl",
            Self::Stall => "stall",
            Self::Tpot => "tpot",
            Self::Ntpot => "ntpot",
            Self::NtpotSent => "ntpot_sent",
            Self::NtpotWaiting => "ntpot_waiting",
            Self::NtpotDecoding => "ntpot_decoding",
            Self::NtpotWeighted => "ntpot_weighted",
            Self::E2e => "e2e",
            Self::E2eDue => "e2e_due",
            Self::E2eDone => "e2e_done",
            Self::E2eEnd => "e2e_end",
        }
    }

    /// What it is, in the words of `docs/METHOD.md`.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Completed => "successes",
            Self::Failed => "failures of the target",
            Self::ErrorRate => "failures / (failures + successes)",
            Self::RequestedRate => "the rate asked for",
            Self::RequestsPerS => "successes per second",
            Self::OutputTokensPerS => "output tokens per second",
            Self::InputTokensPerS => "input tokens of successes per second",
            Self::Lateness => "begun - due",
            Self::PoolWait => "waiting for a connection",
            Self::Connect => "connected - begun, of new connections",
            Self::Head => "response head - sent",
            Self::Ttfe => "first choice-bearing event - sent",
            Self::Ttft => "first token-bearing event - sent",
            Self::TtftDue => "first token-bearing event - due",
            Self::Ttfo => "first event of the answer (not reasoning) - sent",
            Self::Itl => "gaps between token-bearing events",
            Self::Stall => "a request's longest gap",
            Self::Tpot => "(last - first) / (N - n_first)",
            Self::Ntpot => "(last - due) / N",
            Self::NtpotSent => "(last - sent) / N",
            Self::NtpotWaiting => "(first - due) / N",
            Self::NtpotDecoding => "(last - first) / N",
            Self::NtpotWeighted => "sum of E2E / sum of N",
            Self::E2e => "last token-bearing event - sent",
            Self::E2eDue => "last token-bearing event - due",
            Self::E2eDone => "terminal event - sent",
            Self::E2eEnd => "body's end - sent",
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Completed | Self::Failed => Unit::Count,
            Self::ErrorRate => Unit::Share,
            Self::RequestedRate | Self::RequestsPerS | Self::OutputTokensPerS | Self::InputTokensPerS => {
                Unit::PerS
            }
            _ => Unit::Ns,
        }
    }

    /// Which of two values is better.
    #[must_use]
    pub const fn better(self) -> Better {
        match self {
            Self::Completed | Self::RequestedRate => Better::Neither,
            Self::RequestsPerS | Self::OutputTokensPerS | Self::InputTokensPerS => Better::More,
            _ => Better::Less,
        }
    }

    /// Whether it has one value in a run, and no distribution.
    #[must_use]
    pub const fn is_single(self) -> bool {
        !matches!(self.unit(), Unit::Ns) || matches!(self, Self::NtpotWeighted)
    }
}

/// What of a distribution is told; `Value` = the quantity has one value in a run.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "each name is its own meaning")]
pub enum Statistic {
    Value,
    Mean,
    Sd,
    Min,
    P50,
    P90,
    P95,
    P99,
    P99_9,
    Max,
}

impl Statistic {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 10] = [
        Self::Value,
        Self::Mean,
        Self::Sd,
        Self::Min,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P99_9,
        Self::Max,
    ];

    /// The word that tables use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Value => "",
            Self::Mean => "mean",
            Self::Sd => "sd",
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
            Self::Max => "max",
        }
    }

    /// The one of `p99.9`, `p99_9`, `mean`, ...; none of a word that is none.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let word = word.replace('_', ".");
        Self::ALL.into_iter().find(|one| *one != Self::Value && one.name() == word)
    }
}

/// A span of so many nanoseconds, to the nearest; what no span can hold is the longest one.
#[must_use]
pub fn span(ns: f64) -> Span {
    const MOST: f64 = 9.1e18;
    Span::from_s_f64(ns.clamp(-MOST, MOST) / 1e9)
}
