//! What a throughput means for each GPU, for each user and in dollars.
//!
//! It measures nothing: it divides what was found by what the user said of the servers.

use super::Section;
use crate::plan::Gpus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the user said of the servers' GPUs.
#[derive(Copy, Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GpuCost {
    /// How many there are (`--gpus`).
    pub count: u32,
    /// Dollars that one costs an hour (`--price`); null where that was not said.
    pub price_per_hour: Option<f64>,
}

/// Figures per GPU.
#[derive(Copy, Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PerGpu {
    /// What was said of the GPUs.
    #[serde(flatten)]
    pub cost: GpuCost,
    /// Output tokens per second / GPUs.
    pub output_tokens_per_s_per_gpu: Option<f64>,
    /// Output tokens per second that one user sees while an answer runs: 1 / median TPOT.
    pub output_tokens_per_s_per_user: Option<f64>,
    /// Dollars for a million output tokens.
    pub price_per_million_output_tokens: Option<f64>,
}

impl From<Gpus> for GpuCost {
    fn from(gpus: Gpus) -> Self {
        Self { count: gpus.count, price_per_hour: gpus.price_per_hour }
    }
}

impl GpuCost {
    /// The figures of a window with so many output tokens per second and this median TPOT, in nanoseconds.
    #[must_use]
    pub fn figures(self, output_tokens_per_s: Option<f64>, tpot_p50_ns: Option<i64>) -> PerGpu {
        let flow = output_tokens_per_s.filter(|flow| *flow > 0.0);
        let an_hour = self.price_per_hour.map(|price| price * f64::from(self.count));
        PerGpu {
            cost: self,
            output_tokens_per_s_per_gpu: flow.map(|flow| flow / f64::from(self.count.max(1))),
            output_tokens_per_s_per_user: per_user(tpot_p50_ns),
            price_per_million_output_tokens: an_hour
                .zip(flow)
                .map(|(price, flow)| price / 3_600.0 / flow * 1e6),
        }
    }

    /// The figures of what a run found.
    #[must_use]
    pub fn of(self, found: &Section) -> PerGpu {
        self.figures(found.throughput.output_tokens_per_s, found.latency.tpot_ns.p50)
    }
}

/// Output tokens per second that one user sees, by the median TPOT.
#[must_use]
pub fn per_user(tpot_p50_ns: Option<i64>) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a time between two tokens")]
    tpot_p50_ns.filter(|ns| *ns > 0).map(|ns| 1e9 / ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_tokens_cost_what_the_gpus_cost_while_they_make_them() {
        let cost = GpuCost { count: 8, price_per_hour: Some(2.25) };
        let found = cost.figures(Some(5_000.0), Some(20_000_000));
        assert_eq!(found.output_tokens_per_s_per_gpu, Some(625.0));
        assert_eq!(found.output_tokens_per_s_per_user, Some(50.0));
        // 18 dollars an hour; a million tokens take 200 s.
        assert!((found.price_per_million_output_tokens.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_made_has_no_price() {
        let found = GpuCost { count: 1, price_per_hour: Some(1.0) }.figures(Some(0.0), None);
        assert_eq!((found.output_tokens_per_s_per_gpu, found.price_per_million_output_tokens), (None, None));
        let unpaid = GpuCost { count: 1, price_per_hour: None }.figures(Some(1.0), None);
        assert_eq!(unpaid.price_per_million_output_tokens, None);
    }
}
