//! What ends a sweep: the opposites of service levels, such as `error_rate>20%` or `ttft_p99>10s`, and whether one came true.
//!
//! It must not count requests against a bound of its own: histograms know values to three digits, which is enough to give up by.

use super::{Slo, Statistic, Term, TermError, What};
use crate::analysis::Throughput;
use crate::record::{Stage, quantile_rank};

impl Slo {
    /// Reads what is not to come true: each term is kept as the service level that it breaks, under the text that was written.
    ///
    /// # Errors
    /// What is no term with its sign turned round.
    pub fn of_limits(text: &str) -> Result<Self, TermError> {
        let turned = |part: &str| {
            let term: Result<Term, TermError> = opposite(part).parse();
            match term {
                Ok(term) => Ok(Term { text: part.chars().filter(|c| !c.is_whitespace()).collect(), ..term }),
                Err(error) => Err(TermError {
                    part: if error.unknown.is_some() { error.part } else { part.to_owned() },
                    accepted: swapped(&error.accepted),
                    unknown: error.unknown,
                }),
            }
        };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let terms = parts.map(turned).collect::<Result<Vec<Term>, _>>()?;
        match terms.is_empty() {
            true => turned(text).map(|term| Self { terms: vec![term] }),
            false => Ok(Self { terms }),
        }
    }

    /// The first of these limits that `stage` crossed, as it was written.
    #[must_use]
    pub fn crossed_by(&self, stage: &Stage, throughput: &Throughput) -> Option<&str> {
        self.terms.iter().find(|term| is_crossed(term, stage, throughput)).map(Term::text)
    }
}

/// Failures are infinite latencies, as everywhere; of nothing nothing is said.
fn is_crossed(term: &Term, stage: &Stage, throughput: &Throughput) -> bool {
    let failed: u64 = stage.failed_by_block.iter().sum();
    match *term.what() {
        What::Latency { bound, statistic } => {
            let values = stage.tally(bound.metric).values();
            let most = u128::try_from(bound.most.as_ns()).unwrap_or(0);
            let all = values.count() + failed;
            match statistic {
                _ if all == 0 => false,
                Statistic::Quantile(q) => {
                    let rank = quantile_rank(q, all);
                    rank > values.count() || u128::from(values.at_rank(rank)) > most
                }
                Statistic::Mean => failed > 0 || values.sum() > most * u128::from(values.count()),
            }
        }
        What::ErrorRate { most, below } => {
            let all = stage.population.completed + failed;
            #[expect(clippy::cast_precision_loss, reason = "a share of requests")]
            let share = failed as f64 / all as f64;
            all > 0 && if below { share >= most } else { share > most }
        }
        What::Throughput { of, least, above } => {
            let rate = of.of(throughput);
            rate.is_some_and(|rate| if above { rate <= least } else { rate < least })
        }
    }
}

/// The term that holds exactly where this one does not.
fn opposite(text: &str) -> String {
    for (sign, turned) in [(">=", "<"), ("<=", ">"), (">", "<="), ("<", ">=")] {
        if let Some((name, bound)) = text.split_once(sign) {
            return format!("{name}{turned}{bound}");
        }
    }
    text.to_owned()
}

/// What is accepted of a service level, said of its opposite.
fn swapped(accepted: &str) -> String {
    accepted
        .chars()
        .map(|c| match c {
            '<' => '>',
            '>' => '<',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Flowing;
    use crate::record::{Bound, Metric};
    use crate::time::Span;
    use proptest::prelude::*;

    fn only(text: &str) -> Term {
        Slo::of_limits(text).unwrap().terms()[0].clone()
    }

    #[test]
    fn a_limit_is_kept_as_the_level_that_it_breaks() {
        let term = only("ttft_p99 > 2s");
        assert_eq!(term.text(), "ttft_p99>2s");
        let bound = Bound { metric: Metric::Ttft, most: Span::from_s(2) };
        assert_eq!(*term.what(), What::Latency { bound, statistic: Statistic::Quantile(0.99) });
        assert_eq!(*only("error_rate>=20%").what(), What::ErrorRate { most: 0.2, below: true });
        let flow = What::Throughput { of: Flowing::OutputTokens, least: 100.0, above: false };
        assert_eq!(*only("output_tokens_per_s<100").what(), flow);
        assert_eq!(Slo::of_limits("error_rate>20%,e2e_mean>5s").unwrap().terms().len(), 2);
    }

    #[test]
    fn what_is_no_limit_is_refused_with_the_sign_of_one() {
        for (text, accepted) in [
            ("", "error_rate>SHARE%"),
            ("ttft_p99<2s", "ttft_p99>SPAN"),
            ("error_rate<20%", "error_rate>SHARE"),
            ("output_tokens_per_s>5", "output_tokens_per_s<NUMBER"),
            ("ttft>2s", "ttft_p50 to ttft_p99.9"),
            ("tttft_p99>2s", "one of lateness, ttft,"),
        ] {
            let error = Slo::of_limits(text).expect_err(text);
            assert!(error.accepted.contains(accepted), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_taken_as_both_a_level_and_a_limit(text in "(ttft_p99|error_rate|requests_per_s)[<>]=?[0-9]{1,2}(ms|%|)") {
            prop_assert!(text.parse::<Slo>().is_err() || Slo::of_limits(&text).is_err());
        }
    }
}
