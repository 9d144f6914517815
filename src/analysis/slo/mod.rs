//! Service levels asked for: terms such as `ttft_p99<500ms`, and what a run made of each.
//!
//! It must not count: the recorder holds each request to the bounds as it ends, this judges the counts.

mod judge;
mod limits;
mod read;
mod tested;

pub use judge::{Made, SloFindings, TermFindings, TermState};
pub use read::TermError;
pub use tested::{Sureness, Trials};

use super::Throughput;
use crate::record::{Bound, Metric};

/// Terms that are all to hold.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Slo {
    terms: Vec<Term>,
}

/// One term.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    text: String,
    what: What,
}

/// What a term is about.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum What {
    /// A latency: bounds each request, and its statistic bounds the run.
    Latency {
        /// The most that it may be.
        bound: Bound,
        /// Of which statistic.
        statistic: Statistic,
    },
    /// The share of requests that the target failed.
    ErrorRate {
        /// The most that it may be, 0 to 1.
        most: f64,
        /// Whether `most` itself is too much.
        below: bool,
    },
    /// A rate of what was stamped inside the window.
    Throughput {
        /// Of what.
        of: Flowing,
        /// The least that it may be, per second.
        least: f64,
        /// Whether `least` itself is too little.
        above: bool,
    },
}

/// A statistic of a metric, over every request, failures as infinity.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Statistic {
    /// The quantile, 0.5 to 0.999.
    Quantile(f64),
    /// The arithmetic mean.
    Mean,
}

/// Rates that can be asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "docs/METHOD.md defines each under the same name")]
pub enum Flowing {
    Requests,
    OutputTokens,
    InputTokens,
    Events,
    Bytes,
}

impl Flowing {
    /// Every one.
    pub const ALL: [Self; 5] =
        [Self::Requests, Self::OutputTokens, Self::InputTokens, Self::Events, Self::Bytes];

    /// The word that terms and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests_per_s",
            Self::OutputTokens => "output_tokens_per_s",
            Self::InputTokens => "input_tokens_per_s",
            Self::Events => "events_per_s",
            Self::Bytes => "bytes_per_s",
        }
    }

    /// What a window made of it, per second.
    pub(super) const fn of(self, throughput: &Throughput) -> Option<f64> {
        match self {
            Self::Requests => throughput.requests_per_s,
            Self::OutputTokens => throughput.output_tokens_per_s,
            Self::InputTokens => throughput.input_tokens_per_s,
            Self::Events => throughput.events_per_s,
            Self::Bytes => throughput.bytes_per_s,
        }
    }
}

impl Slo {
    /// The terms, in the order they were given.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether nothing was asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The bound of every latency term, in their order: what each request is held to, whatever the term's statistic.
    #[must_use]
    pub fn bounds(&self) -> Vec<Bound> {
        self.terms
            .iter()
            .filter_map(|term| match term.what {
                What::Latency { bound, .. } => Some(bound),
                What::ErrorRate { .. } | What::Throughput { .. } => None,
            })
            .collect()
    }
}

impl Term {
    /// The term as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is about.
    #[must_use]
    pub const fn what(&self) -> &What {
        &self.what
    }

    /// The share of values that may lie over its bound; `None` where it does not bound a share.
    #[must_use]
    pub fn may_miss(&self) -> Option<f64> {
        match self.what {
            What::Latency { statistic: Statistic::Quantile(q), .. } => Some(1.0 - q),
            What::ErrorRate { most, .. } => Some(most),
            What::Latency { statistic: Statistic::Mean, .. } | What::Throughput { .. } => None,
        }
    }

    /// The metric it bounds, if it bounds one.
    #[must_use]
    pub const fn metric(&self) -> Option<Metric> {
        match self.what {
            What::Latency { bound, .. } => Some(bound.metric),
            What::ErrorRate { .. } | What::Throughput { .. } => None,
        }
    }
}
