//! What NTPOT is made of, beyond the two distributions that add up to it.

use super::findings::whole;
use crate::analysis;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Waiting split into queue and prefill, and NTPOT by class of output length (`docs/METHOD.md`, "Metrics of one request").
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ntpot {
    /// Queue, network and fixed cost: what is left of the mean waiting; null where it cannot be told from prefill.
    pub queue_ns: Option<Estimate>,
    /// Prefill: the part of the mean waiting that grows with the uncached input.
    pub prefill_ns: Option<Estimate>,
    /// Prefill of one uncached input token: the slope of least squares of first - due on uncached input tokens.
    pub prefill_per_input_token_ns: Option<Estimate>,
    /// Requests behind the three.
    pub split_count: u64,
    /// Why the three are null.
    pub unsplit_because: Option<String>,
    /// NTPOT by class of output length, shortest first; classes without an answer are left out.
    pub by_output_tokens: Vec<LengthClass>,
}

/// An estimate with its 95 % interval.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate.
    pub mean: i64,
    /// Low, high.
    pub ci: [i64; 2],
}

/// NTPOT of the answers whose output length lies in a class. `null` = too few observations.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LengthClass {
    /// The least output length of the class, in tokens.
    pub from: u64,
    /// The greatest; null where there is none.
    pub to: Option<u64>,
    /// Answers.
    pub count: u64,
    /// Their mean NTPOT.
    pub mean_ns: Option<i64>,
    /// The median.
    pub p50_ns: Option<i64>,
    /// The 0.90 quantile.
    pub p90_ns: Option<i64>,
    /// The 0.95 quantile.
    pub p95_ns: Option<i64>,
    /// The 0.99 quantile.
    pub p99_ns: Option<i64>,
    /// The 0.999 quantile.
    pub p99_9_ns: Option<i64>,
}

impl From<&analysis::NtpotSplit> for Ntpot {
    fn from(found: &analysis::NtpotSplit) -> Self {
        let by_output_tokens = found.classes.iter().map(Into::into).collect();
        let mut ntpot = Self { by_output_tokens, ..Self::default() };
        match &found.waiting {
            Ok(parts) => {
                ntpot.queue_ns = estimate(&parts.queue);
                ntpot.prefill_ns = estimate(&parts.prefill);
                ntpot.prefill_per_input_token_ns = estimate(&parts.prefill_per_input_token);
                ntpot.split_count = parts.count;
            }
            Err(why) => ntpot.unsplit_because = Some(why.clone()),
        }
        ntpot
    }
}

fn estimate(found: &analysis::Part) -> Option<Estimate> {
    let [low, high] = found.interval_ns.map(Some);
    Some(Estimate { mean: whole(Some(found.mean_ns))?, ci: [whole(low)?, whole(high)?] })
}

impl From<&analysis::LengthClass> for LengthClass {
    fn from(found: &analysis::LengthClass) -> Self {
        let [p50_ns, p90_ns, p95_ns, p99_ns, p99_9_ns] =
            found.quantiles.map(|quantile| quantile.map(|quantile| quantile.value.as_ns()));
        Self {
            from: found.least,
            to: found.most,
            count: found.count,
            mean_ns: found.mean.map(Span::as_ns),
            p50_ns,
            p90_ns,
            p95_ns,
            p99_ns,
            p99_9_ns,
        }
    }
}
