//! The text of terms: `ttft_p99<500ms,error_rate<1%,output_tokens_per_s>900`.
//!
//! It must not guess: what is not a term is refused with what would be one.

use super::{Flowing, Slo, Statistic, Term, What};
use crate::record::{Bound, Metric};
use crate::time::{Span, parse_span};
use std::fmt;
use std::str::FromStr;

/// Why a text is no term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TermError {
    /// The part of the text that is wrong.
    pub part: String,
    /// What is accepted in its place.
    pub accepted: String,
    /// The name that is not known, if that is what is wrong, and those that are.
    pub unknown: Option<(String, Vec<&'static str>)>,
}

impl fmt::Display for TermError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no term; accepted: {}", self.part, self.accepted)
    }
}

impl std::error::Error for TermError {}

const FORMS: &str = "METRIC_QUANTILE<SPAN, METRIC_mean<SPAN, error_rate<SHARE% or RATE>NUMBER, such as \
                     ttft_p99<500ms,tpot_mean<50ms,error_rate<1%,output_tokens_per_s>900";

/// The lowest and the highest quantile that a term may name.
const QUANTILES: std::ops::RangeInclusive<f64> = 0.5..=0.999;

const ERROR_RATE: &str = "error_rate";

impl FromStr for Slo {
    type Err = TermError;

    fn from_str(text: &str) -> Result<Self, TermError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let terms = parts.map(str::parse).collect::<Result<Vec<Term>, _>>()?;
        if terms.is_empty() {
            return Err(TermError { part: text.into(), accepted: FORMS.into(), unknown: None });
        }
        Ok(Self { terms })
    }
}

impl FromStr for Term {
    type Err = TermError;

    fn from_str(text: &str) -> Result<Self, TermError> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let refuse =
            |accepted: &str| TermError { part: text.clone(), accepted: accepted.into(), unknown: None };
        let Some(at) = text.find(['<', '>']) else { return Err(refuse(FORMS)) };
        let (name, less, rest) = (&text[..at], text[at..].starts_with('<'), &text[at + 1..]);
        let (strict, value) = rest.strip_prefix('=').map_or((true, rest), |value| (false, value));
        let what = if name == ERROR_RATE {
            let most = share(value).filter(|_| less);
            let most =
                most.ok_or_else(|| refuse("error_rate<SHARE, such as error_rate<1% or error_rate<0.01"))?;
            What::ErrorRate { most, below: strict }
        } else if let Some(of) = Flowing::ALL.into_iter().find(|of| of.name() == name) {
            let least = value.parse::<f64>().ok().filter(|least| !less && least.is_finite() && *least >= 0.0);
            let accepted = || format!("{name}>NUMBER, per second, such as {name}>100");
            What::Throughput { of, least: least.ok_or_else(|| refuse(&accepted()))?, above: strict }
        } else {
            let (metric, statistic) = metric(name).ok_or_else(|| unknown(name))?;
            let statistic = statistic.ok_or_else(|| {
                let metric = metric.name();
                refuse(&format!("{metric}_p50 to {metric}_p99.9, or {metric}_mean"))
            })?;
            let accepted = |why: String| format!("{name}<SPAN, such as {name}<500ms{why}");
            let most = parse_span(value).map_err(|why| refuse(&accepted(format!(" ({why})"))))?;
            if !less || most <= Span::ZERO {
                return Err(refuse(&accepted(String::new())));
            }
            // In whole nanoseconds, less than a bound is at most the one below it.
            let most = if strict { most - Span::from_ns(1) } else { most };
            What::Latency { bound: Bound { metric, most }, statistic }
        };
        Ok(Self { text, what })
    }
}

/// `1%` or `0.01`, from 0 to 1.
fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// The metric of a name such as `ttft_due_p99`, and its statistic; no statistic where there is none, or none that can be.
fn metric(name: &str) -> Option<(Metric, Option<Statistic>)> {
    let named = |name: &str| Metric::ALL.into_iter().find(|metric| metric.name() == name);
    if let Some(metric) = named(name) {
        return Some((metric, None));
    }
    if let Some(metric) = name.strip_suffix("_mean").and_then(named) {
        return Some((metric, Some(Statistic::Mean)));
    }
    let (before, level) = name.rsplit_once("_p")?;
    Some((named(before)?, quantile(level)))
}

/// The quantile of `99`, `99.9` or `99_9`.
fn quantile(level: &str) -> Option<Statistic> {
    let digits = level.replace('_', ".");
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let percent = digits.parse::<f64>().ok().filter(|_| plain)?;
    // 99.9 / 100 is a hair above 0.999 in binary.
    let q = libm::round(percent * 1e6) / 1e8;
    QUANTILES.contains(&q).then_some(Statistic::Quantile(q))
}

fn unknown(name: &str) -> TermError {
    let known: Vec<&'static str> = Metric::ALL
        .into_iter()
        .map(Metric::name)
        .chain(Flowing::ALL.into_iter().map(Flowing::name))
        .chain([ERROR_RATE])
        .collect();
    let bare = name.strip_suffix("_mean").or_else(|| Some(name.rsplit_once("_p")?.0)).unwrap_or(name);
    let accepted = format!("one of {}", known.join(", "));
    TermError { part: name.into(), accepted, unknown: Some((bare.into(), known)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn what(text: &str) -> What {
        *text.parse::<Term>().unwrap_or_else(|error| panic!("{text}: {error}")).what()
    }

    fn latency(metric: Metric, statistic: Statistic, ns: i64) -> What {
        What::Latency { bound: Bound { metric, most: Span::from_ns(ns) }, statistic }
    }

    #[test]
    fn every_metric_and_statistic_can_be_asked_for() {
        for metric in Metric::ALL {
            for (level, q) in [
                ("p50", 0.5),
                ("p95", 0.95),
                ("p99", 0.99),
                ("p99.9", 0.999),
                ("p99_9", 0.999),
                ("p97.5", 0.975),
            ] {
                let text = format!("{}_{level}<5ms", metric.name());
                assert_eq!(what(&text), latency(metric, Statistic::Quantile(q), 4_999_999), "{text}");
            }
            let text = format!("{}_mean<=5ms", metric.name());
            assert_eq!(what(&text), latency(metric, Statistic::Mean, 5_000_000), "{text}");
        }
    }

    #[test]
    fn errors_are_bounded_from_above_and_throughput_from_below() {
        assert_eq!(what("error_rate<1%"), What::ErrorRate { most: 0.01, below: true });
        assert_eq!(what("error_rate <= 0.5"), What::ErrorRate { most: 0.5, below: false });
        assert_eq!(
            what("output_tokens_per_s>900"),
            What::Throughput { of: Flowing::OutputTokens, least: 900.0, above: true }
        );
    }

    #[test]
    fn several_terms_keep_their_order_and_bound_each_request() {
        let slo: Slo = "ttft_p99<500ms, tpot_p99<50ms,error_rate<1%,ntpot_p95<60ms".parse().unwrap();
        let metrics: Vec<_> = slo.bounds().iter().map(|bound| bound.metric).collect();
        assert_eq!(metrics, [Metric::Ttft, Metric::Tpot, Metric::Ntpot]);
        assert_eq!(slo.terms()[1].text(), "tpot_p99<50ms");
    }

    #[test]
    fn what_is_no_term_is_refused_with_what_would_be_one() {
        for (text, accepted) in [
            ("", "METRIC_QUANTILE<SPAN"),
            ("ttft_p99", "METRIC_QUANTILE<SPAN"),
            ("ttft<500ms", "ttft_p50 to ttft_p99.9, or ttft_mean"),
            ("ttft_p30<500ms", "ttft_p50 to ttft_p99.9"),
            ("ttft_p99.99<500ms", "ttft_p50 to ttft_p99.9"),
            ("ttft_p+99<500ms", "ttft_p50 to ttft_p99.9"),
            ("ttft_p99>500ms", "ttft_p99<SPAN"),
            ("ttft_p99<500", "write 500ms or 500s"),
            ("ttft_p99<0s", "ttft_p99<SPAN"),
            ("error_rate<101%", "error_rate<SHARE"),
            ("error_rate>1%", "error_rate<SHARE"),
            ("requests_per_s<5", "requests_per_s>NUMBER"),
            ("tttft_p99<1s", "one of lateness, ttft,"),
        ] {
            let error = text.parse::<Slo>().expect_err(text);
            assert!(error.to_string().contains(accepted) || accepted.starts_with("write"), "{text}: {error}");
        }
        let error = "tttft_p99<1s".parse::<Slo>().expect_err("unknown");
        assert_eq!(error.unknown.map(|(name, _)| name).as_deref(), Some("tttft"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z_0-9<>=%.,]{0,40}") {
            let _ = text.parse::<Slo>();
        }
    }
}
