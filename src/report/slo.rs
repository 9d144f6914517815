//! Service levels: goodput, and each term beside what was made of it.
//!
//! Keys are those of `docs/RESULTS.md`; nothing here computes but what turns findings into keys.

use super::Unit;
use super::figures::{UNDEFINED, count, percent, rate, time};
use crate::analysis::{Made, SloFindings, Tail, TermFindings, TermState, What};
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The service levels of `--slo`.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Slo {
    /// Whether no term is crossed.
    pub held: bool,
    /// Requests due in the window that succeeded within the bound of every latency term.
    pub good: u64,
    /// Requests that could be judged; failures are misses, those of our own making are left out.
    pub judged: u64,
    /// Good / judged.
    pub good_share: Option<f64>,
    /// Good / window.
    pub goodput_per_s: Option<f64>,
    /// Each term, in the order it was given.
    pub terms: Vec<Term>,
}

/// One term.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Term {
    /// The term as it was written.
    pub term: String,
    /// Whether it held.
    pub state: Held,
    /// What it bounds came to; null if that is infinite, or nothing was measured.
    pub value: Option<f64>,
    /// The most that keeps it, or the least of a rate.
    pub bound: f64,
    /// The unit of both.
    pub unit: Unit,
    /// Whether the value is infinite: too many requests failed.
    pub infinite: bool,
    /// Values held to the bound (gaps for itl, else requests); null where the term bounds no share of them.
    pub of: Option<u64>,
    /// Values over the bound, failures among them.
    pub over: Option<u64>,
    /// Independent values that they are worth.
    pub n_eff: Option<f64>,
    /// The 95 % interval of a mean: low, high.
    pub ci: Option<[i64; 2]>,
    /// Whether the state is proved at 95 %; null where that is not known.
    pub sure: Option<bool>,
}

/// Whether a term held.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// What was measured keeps it.
    Held,
    /// What was measured crosses it.
    Crossed,
    /// Nothing was measured that could tell.
    Untold,
}

impl Term {
    /// What it came to, to put behind its state: `, 412 ms; 63 of 9,985 over it (n_eff 1,204), proved at 95 %`.
    pub(super) fn made(&self) -> String {
        if self.state == Held::Untold {
            return String::new();
        }
        let value = match (self.unit, self.value) {
            _ if self.infinite => "infinite, by failures".into(),
            (_, None) => UNDEFINED.into(),
            (Unit::Ns, Some(ns)) => time(whole(ns)),
            (Unit::Ratio, value) => percent(value),
            (Unit::PerS, value) => format!("{}/s", rate(value)),
        };
        let over = match (self.over, self.of, self.n_eff) {
            (Some(over), Some(of), Some(n_eff)) => {
                format!("; {} of {} over it (n_eff {})", count(over), count(of), rate(Some(n_eff)))
            }
            _ => String::new(),
        };
        let interval =
            self.ci.map_or(String::new(), |[low, high]| format!(" ({} to {})", time(low), time(high)));
        let sure = match self.sure {
            Some(true) => ", proved at 95 %",
            Some(false) => ", not proved",
            None => "",
        };
        format!(", {value}{interval}{over}{sure}")
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
fn whole(ns: f64) -> i64 {
    ns as i64
}

impl From<&SloFindings> for Slo {
    fn from(found: &SloFindings) -> Self {
        Self {
            held: found.held(),
            good: found.good,
            judged: found.judged,
            good_share: super::findings::share(found.good, found.judged),
            goodput_per_s: found.goodput_per_s.filter(|rate| rate.is_finite()),
            terms: found.terms.iter().map(Term::from).collect(),
        }
    }
}

impl From<&TermFindings> for Term {
    fn from(found: &TermFindings) -> Self {
        let (bound, unit) = match *found.term.what() {
            What::Latency { bound, .. } => (float(bound.most), Unit::Ns),
            What::ErrorRate { most, .. } => (most, Unit::Ratio),
            What::Throughput { least, .. } => (least, Unit::PerS),
        };
        let value = match found.made {
            Made::Latency(Tail::Finite(span)) => Some(float(span)),
            Made::Latency(Tail::Infinite | Tail::Undefined) => None,
            Made::Share(value) | Made::PerS(value) => value,
        };
        Self {
            term: found.term.text().to_owned(),
            state: match found.state {
                TermState::Held => Held::Held,
                TermState::Crossed => Held::Crossed,
                TermState::Untold => Held::Untold,
            },
            value: value.filter(|value| value.is_finite()),
            bound,
            unit,
            infinite: found.made == Made::Latency(Tail::Infinite),
            of: found.trials.map(|trials| trials.of),
            over: found.trials.map(|trials| trials.missed),
            n_eff: found.trials.map(|trials| trials.n_eff).filter(|n| n.is_finite()),
            ci: found.interval.map(|interval| interval.map(Span::as_ns)),
            sure: found.is_sure,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days: finer than any latency")]
fn float(span: Span) -> f64 {
    span.as_ns() as f64
}
