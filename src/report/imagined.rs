//! The same traffic through other clients, and through this one had it stamped events when it processed them.

use crate::analysis;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The published quantiles of one metric; null where the metric's own is.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the same keys as `Distribution`")]
pub struct Quantiles {
    pub p50: Option<i64>,
    pub p90: Option<i64>,
    pub p95: Option<i64>,
    pub p99: Option<i64>,
    pub p99_9: Option<i64>,
}

/// What a client would have reported of this run's traffic (`docs/METHOD.md`, "Bias removed").
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the same keys as `Latency`")]
pub struct Reported {
    pub ttft_ns: Quantiles,
    pub itl_ns: Quantiles,
    pub tpot_ns: Quantiles,
    pub e2e_ns: Quantiles,
}

/// A client that is not there, on the traffic that was.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImaginedClient {
    /// What each send and each token-bearing event costs it.
    pub service_ns: i64,
    /// How many processes share its requests, each with a queue of its own.
    pub processes: u64,
    /// The share of its time that each process needs: lambda / (k mu).
    pub rho: Option<f64>,
    /// Whether it needs more time than there is: its latencies grow for as long as the run lasts.
    pub saturated: bool,
    /// What it would have reported.
    #[serde(flatten)]
    pub reported: Reported,
    /// How long its sends wait for their process.
    pub send_wait_ns: Quantiles,
}

impl From<&analysis::Quantiles> for Quantiles {
    fn from(found: &analysis::Quantiles) -> Self {
        let [p50, p90, p95, p99, p99_9] = found.map(|quantile| quantile.map(Span::as_ns));
        Self { p50, p90, p95, p99, p99_9 }
    }
}

impl From<&analysis::Latencies> for Reported {
    fn from(found: &analysis::Latencies) -> Self {
        Self {
            ttft_ns: (&found.ttft).into(),
            itl_ns: (&found.itl).into(),
            tpot_ns: (&found.tpot).into(),
            e2e_ns: (&found.e2e).into(),
        }
    }
}

impl From<&analysis::ImaginedClient> for ImaginedClient {
    fn from(found: &analysis::ImaginedClient) -> Self {
        Self {
            service_ns: found.service.as_ns(),
            processes: found.processes.into(),
            // JSON has no infinity.
            rho: found.rho.filter(|rho| rho.is_finite()),
            saturated: found.saturated,
            reported: (&found.latency).into(),
            send_wait_ns: (&found.send_wait).into(),
        }
    }
}
