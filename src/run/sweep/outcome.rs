//! What was found of a trial's run to what a search needs of it.
//!
//! It must not judge.

use crate::analysis::{Level, StageFindings, State, Tail, TermState};
use crate::record::Metric;
use crate::search::{Ended, Outcome, Shown, TermOutcome, Trust};
use crate::time::Span;

/// The latencies that a profile shows.
const SHOWN: [Metric; 8] = [
    Metric::Ttft,
    Metric::TtftDue,
    Metric::Itl,
    Metric::Tpot,
    Metric::Ntpot,
    Metric::NtpotWaiting,
    Metric::NtpotDecoding,
    Metric::E2e,
];

/// The outcome of a trial.
pub fn outcome(found: &StageFindings, ended: Ended) -> Outcome {
    let client = match found.verdict.state {
        State::Valid => Trust::Valid,
        State::Suspect => Trust::Suspect,
        State::Invalid => Trust::Invalid,
    };
    let trend = found.server.trend.as_ref();
    let terms = found.slo.iter().flat_map(|slo| &slo.terms).map(|term| {
        let [missed, of] = term.by_block.clone();
        let crossed = match term.state {
            TermState::Held => Some(false),
            TermState::Crossed => Some(true),
            TermState::Untold => None,
        };
        TermOutcome { missed, of, requests: term.requests, crossed }
    });
    let load = &found.load;
    Outcome {
        client,
        ended,
        window: found.length,
        completed: found.completed_by_part.to_vec(),
        in_flight: trend.map_or_else(Vec::new, |trend| trend.means.to_vec()),
        // A closed loop grows to its size and tells nothing by that.
        grew: load.requested_rate.is_some() && trend.is_some_and(|trend| trend.grew),
        detectable_per_s: trend.map_or(0.0, |trend| trend.detectable_per_s),
        terms: terms.collect(),
        goodput_per_s: found.slo.as_ref().and_then(|slo| slo.goodput_per_s),
        succeeded: load.completed,
        failed: load.failed.saturating_sub(load.ours),
        output_tokens_per_s: found.throughput.output_tokens_per_s,
        shown: SHOWN.map(|metric| shown(found, metric)).to_vec(),
    }
}

fn shown(found: &StageFindings, metric: Metric) -> Shown {
    let latency = found.latency(metric);
    let quantile = |level: Level| match latency.with_failures[level.index()] {
        Tail::Finite(span) => Some(span.as_ns()),
        Tail::Infinite | Tail::Undefined => None,
    };
    let interval = |level: Level| Some(latency.quantile(level)?.interval.map(Span::as_ns));
    Shown {
        metric: metric.name().to_owned(),
        mean_ns: latency.mean.map(Span::as_ns),
        p50_ns: quantile(Level::P50),
        p95_ns: quantile(Level::P95),
        p99_ns: quantile(Level::P99),
        p50_ci: interval(Level::P50),
        p99_ci: interval(Level::P99),
    }
}
