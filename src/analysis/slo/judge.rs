//! What a window made of the terms: the value beside each bound, whether it held, and how sure that is.
//!
//! It must not decide what follows from a crossed term.

use super::{Flowing, Slo, Statistic, Sureness, Term, Trials, What};
use crate::analysis::{Tail, Throughput};
use crate::random::{Purpose, Stream};
use crate::record::{Held, Histogram, Stage, Tally, quantile_rank};
use crate::time::Span;

/// The terms, and goodput: requests that kept the bound of every latency term.
#[derive(Clone, PartialEq, Debug)]
pub struct SloFindings {
    /// Each term, in its order.
    pub terms: Vec<TermFindings>,
    /// Requests due in the window that succeeded within every bound.
    pub good: u64,
    /// Requests that could be judged: failures of the target are misses, those of our own making are left out.
    pub judged: u64,
    /// Good requests per second of the window.
    pub goodput_per_s: Option<f64>,
}

/// One term.
#[derive(Clone, PartialEq, Debug)]
pub struct TermFindings {
    /// The term.
    pub term: Term,
    /// The value that it bounds.
    pub made: Made,
    /// Whether it held.
    pub state: TermState,
    /// The values held to it, where it bounds a share of them.
    pub trials: Option<Trials>,
    /// The same by block: over the bound, and all; empty where it bounds no share.
    pub by_block: [Vec<u64>; 2],
    /// Requests behind the values.
    pub requests: u64,
    /// Of a mean, its 95 % interval.
    pub interval: Option<[Span; 2]>,
    /// Whether what is said of it is proved at 95 %; `None` where that is not known.
    pub is_sure: Option<bool>,
}

/// A value beside a bound.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Made {
    /// A latency.
    Latency(Tail),
    /// A share; `None` of nothing.
    Share(Option<f64>),
    /// Per second; `None` without a window.
    PerS(Option<f64>),
}

/// Whether a term held.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TermState {
    /// What was measured keeps it.
    Held,
    /// What was measured crosses it.
    Crossed,
    /// Nothing was measured that could tell.
    Untold,
}

/// Up to this chance of error something is called sure.
const ALPHA: f64 = 0.05;

impl SloFindings {
    /// What `stage`, whose window has this length, made of `slo`; `None` where nothing was asked for.
    ///
    /// # Panics
    /// When the stage was not held to the bounds of `slo`: both are made from one plan.
    #[must_use]
    pub fn of(slo: &Slo, stage: &Stage, length: Span, throughput: &Throughput) -> Option<Self> {
        if slo.is_empty() {
            return None;
        }
        let mut held = stage.judged.held().iter();
        let terms = slo.terms().iter().map(|term| match *term.what() {
            What::Latency { bound, statistic } => {
                let held = held.next().expect("requests were held to every latency term");
                latency(term, stage.tally(bound.metric), held, bound.most, statistic)
            }
            What::ErrorRate { most, below } => errors(term, stage, most, below),
            What::Throughput { of, least, above } => flow(term, throughput, of, least, above),
        });
        let terms = terms.collect();
        let good = stage.judged.good().iter().sum();
        Some(Self {
            terms,
            good,
            judged: stage.judged.judged().iter().sum(),
            goodput_per_s: (length > Span::ZERO).then(|| float(good) / length.as_s_f64()),
        })
    }

    /// Whether no term is crossed.
    #[must_use]
    pub fn held(&self) -> bool {
        self.terms.iter().all(|term| term.state != TermState::Crossed)
    }
}

/// A latency over successes, with every failure as infinite.
fn latency(term: &Term, tally: &Tally, held: &Held, most: Span, statistic: Statistic) -> TermFindings {
    let values = tally.values();
    let (of, over) = (held.of.iter().sum::<u64>(), held.over.iter().sum::<u64>());
    // What is not among the values is a failure, or was cancelled over the bound already.
    let infinite = of.saturating_sub(values.count());
    let requests = tally.requests() + infinite;
    let trials = Trials::new(&held.over, &held.of, requests);
    let most_ns = u64::try_from(most.as_ns()).unwrap_or(0);
    match statistic {
        Statistic::Quantile(q) => {
            // The least rank that the quantile may have lies within the bound, or it does not: by exact counts.
            let keeps = of > 0 && of - over >= quantile_rank(q, of);
            let made = match (of > 0).then(|| quantile_rank(q, of)) {
                None => Tail::Undefined,
                Some(rank) if rank > values.count() => Tail::Infinite,
                // The histogram knows it to three digits, the counts on which side of the bound it lies.
                Some(rank) if keeps => Tail::Finite(span(values.at_rank(rank).min(most_ns))),
                Some(rank) => Tail::Finite(span(values.at_rank(rank).max(most_ns + 1))),
            };
            let state = state((of > 0).then_some(keeps));
            TermFindings {
                made: Made::Latency(made),
                is_sure: sure(trials, state, 1.0 - q),
                state,
                trials,
                by_block: [held.over.to_vec(), held.of.to_vec()],
                requests,
                interval: None,
                term: term.clone(),
            }
        }
        Statistic::Mean => {
            let mean = mean(values.sum(), values.count());
            let made = match mean {
                _ if infinite > 0 => Tail::Infinite,
                Some(mean) => Tail::Finite(mean),
                None => Tail::Undefined,
            };
            let keeps = match made {
                Tail::Undefined => None,
                Tail::Infinite => Some(false),
                Tail::Finite(mean) => Some(mean <= most),
            };
            let interval = mean_interval(tally.blocks()).filter(|_| infinite == 0);
            let outside =
                interval.map(|[low, high]| if keeps == Some(true) { high <= most } else { low > most });
            TermFindings {
                made: Made::Latency(made),
                state: state(keeps),
                trials: None,
                by_block: [Vec::new(), Vec::new()],
                requests,
                interval,
                is_sure: if infinite > 0 { Some(true) } else { outside },
                term: term.clone(),
            }
        }
    }
}

fn errors(term: &Term, stage: &Stage, most: f64, below: bool) -> TermFindings {
    let (judged, failed) = (stage.judged.judged(), &stage.failed_by_block);
    // Whatever was over a bound when we cancelled it has not failed.
    let population = &stage.population;
    let of = population.completed + failed.iter().sum::<u64>();
    let trials = Trials::new(failed, judged, of);
    let share = (of > 0).then(|| float(failed.iter().sum()) / float(of));
    let state = state(share.map(|share| if below { share < most } else { share <= most }));
    TermFindings {
        made: Made::Share(share),
        is_sure: sure(trials, state, most),
        state,
        trials,
        by_block: [failed.to_vec(), judged.to_vec()],
        requests: of,
        interval: None,
        term: term.clone(),
    }
}

fn flow(term: &Term, throughput: &Throughput, of: Flowing, least: f64, above: bool) -> TermFindings {
    let rate = of.of(throughput);
    let state = state(rate.map(|rate| if above { rate > least } else { rate >= least }));
    TermFindings {
        made: Made::PerS(rate),
        state,
        trials: None,
        by_block: [Vec::new(), Vec::new()],
        requests: 0,
        interval: None,
        is_sure: None,
        term: term.clone(),
    }
}

fn state(keeps: Option<bool>) -> TermState {
    match keeps {
        None => TermState::Untold,
        Some(true) => TermState::Held,
        Some(false) => TermState::Crossed,
    }
}

fn sure(trials: Option<Trials>, state: TermState, may_miss: f64) -> Option<bool> {
    let proved = trials?.prove(may_miss, ALPHA);
    match state {
        TermState::Untold => None,
        TermState::Held => Some(proved == Sureness::Below),
        TermState::Crossed => Some(proved == Sureness::Above),
    }
}

/// The 95 % interval of a mean: a bootstrap over blocks, because neighbours in time are alike (Efron and Tibshirani 1993, ch. 8).
fn mean_interval(blocks: &[Histogram]) -> Option<[Span; 2]> {
    /// The ends are the 25th lowest and the 25th highest of so many.
    const RESAMPLES: usize = 1_000;
    let blocks: Vec<(f64, f64)> =
        blocks.iter().filter(|block| block.count() > 0).map(|b| (sum(b), float(b.count()))).collect();
    let choices = u64::try_from(blocks.len()).ok().filter(|n| *n > 1)?;
    // The same numbers give the same interval: the seed is no one's choice.
    let mut stream = Stream::new(0, Purpose::named("bootstrap of means"), 0);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (mut total, mut count) = (0.0, 0.0);
            for _ in 0..blocks.len() {
                let drawn = usize::try_from(stream.below(choices)).expect("fewer than twenty");
                total += blocks[drawn].0;
                count += blocks[drawn].1;
            }
            total / count
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let end = |rank: usize| Span::from_s_f64(means[rank] / 1e9);
    Some([end(RESAMPLES / 40 - 1), end(RESAMPLES - RESAMPLES / 40)])
}

/// The mean, to the nearest nanosecond.
fn mean(sum: u128, count: u64) -> Option<Span> {
    let n = u128::from(count);
    (n > 0).then(|| span(u64::try_from((sum + n / 2) / n).expect("a mean lies between its values")))
}

#[expect(clippy::cast_precision_loss, reason = "a sum that only an interval is made of")]
fn sum(values: &Histogram) -> f64 {
    values.sum() as f64
}

#[expect(clippy::cast_precision_loss, reason = "a count of requests")]
fn float(count: u64) -> f64 {
    count as f64
}

fn span(ns: u64) -> Span {
    Span::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
}
