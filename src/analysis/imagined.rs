//! What other clients would have said of the same traffic (docs/METHOD.md, "The client as a queue").
//!
//! It must not judge them: a client that saturates is told with its numbers, which then grow with the run.

use super::{Level, StageFindings};
use crate::record::{Histogram, Imagined, Metric, PROCESSES, Reported, SERVICES};
use crate::time::Span;

/// The quantiles of one metric, in the order of [`Level::ALL`]; `None` where the published one is.
pub type Quantiles = [Option<Span>; Level::ALL.len()];

/// What one client would have reported.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "docs/METHOD.md defines each metric under the same name")]
pub struct Latencies {
    pub ttft: Quantiles,
    pub itl: Quantiles,
    pub tpot: Quantiles,
    pub e2e: Quantiles,
}

/// A client that is not there.
#[derive(Clone, PartialEq, Debug)]
pub struct ImaginedClient {
    /// What a send or a token-bearing event costs it.
    pub service: Span,
    /// How many processes share its requests.
    pub processes: u16,
    /// The share of its time that each process needs: lambda / (k mu).
    pub rho: Option<f64>,
    /// Whether it needs more time than there is: its latencies grow for as long as the run lasts.
    pub saturated: bool,
    /// What it would have reported.
    pub latency: Latencies,
    /// How long its sends wait for their process.
    pub send_wait: Quantiles,
}

/// The same traffic through other clients.
#[derive(Clone, PartialEq, Debug)]
pub struct OtherClients {
    /// This one, had it stamped events when it processed them: the bias that receive stamps remove.
    pub as_processed: Latencies,
    /// Each service on one process, then each on several.
    pub clients: Vec<ImaginedClient>,
}

impl OtherClients {
    /// What `imagined` says, beside the findings over all stages.
    #[must_use]
    pub fn of(imagined: &Imagined, total: &StageFindings) -> Self {
        let client = |service: usize, processes: u16, reported: &Reported| {
            let rho = utilization(imagined.jobs(), SERVICES[service], processes, total.length);
            ImaginedClient {
                service: SERVICES[service],
                processes,
                rho,
                saturated: rho.is_some_and(|rho| rho >= 1.0),
                latency: latencies(reported, total),
                send_wait: quantiles(&reported.send_wait, total, Metric::Ttft),
            }
        };
        let services = 0..SERVICES.len();
        let on_one = services.clone().map(|service| client(service, 1, imagined.on_one(service)));
        let on_several = services.map(|service| client(service, PROCESSES, imagined.on_several(service)));
        Self {
            as_processed: latencies(imagined.as_processed(), total),
            clients: on_one.chain(on_several).collect(),
        }
    }
}

/// rho_k = lambda / (k mu); `None` where the window has no length.
fn utilization(jobs: u64, service: Span, processes: u16, length: Span) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a share of a few digits")]
    let work_s = jobs as f64 * service.as_s_f64();
    (length > Span::ZERO).then(|| work_s / (f64::from(processes) * length.as_s_f64()))
}

fn latencies(reported: &Reported, total: &StageFindings) -> Latencies {
    Latencies {
        ttft: quantiles(&reported.ttft, total, Metric::Ttft),
        itl: quantiles(&reported.itl, total, Metric::Itl),
        tpot: quantiles(&reported.tpot, total, Metric::Tpot),
        e2e: quantiles(&reported.e2e, total, Metric::E2e),
    }
}

/// The quantiles of `values` that are told of the published `metric`.
fn quantiles(values: &Histogram, total: &StageFindings, metric: Metric) -> Quantiles {
    Level::ALL.map(|level| {
        total.latency(metric).quantile(level)?;
        let ns = i64::try_from(values.quantile(level.q())?).expect("recorded from a span");
        Some(Span::from_ns(ns))
    })
}
