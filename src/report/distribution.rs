//! One metric's distribution as the summary tells it.
//!
//! It holds what the analysis found; it computes no quantile and never fills in one that is undefined.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The quantiles that are published.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quantile {
    /// The median.
    P50,
    /// 0.90.
    P90,
    /// 0.95.
    P95,
    /// 0.99.
    P99,
    /// 0.999.
    #[serde(rename = "p99_9")]
    P99_9,
}

impl Quantile {
    /// Every published quantile, lowest first.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::P99_9];
}

/// A distribution, in the unit its key ends in. `null` = undefined: too few observations, or none.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Observations, successes only.
    pub count: u64,
    /// The arithmetic mean.
    pub mean: Option<i64>,
    /// The standard deviation.
    pub sd: Option<i64>,
    /// The smallest.
    pub min: Option<i64>,
    /// The largest.
    pub max: Option<i64>,
    /// The median.
    pub p50: Option<i64>,
    /// The 0.90 quantile.
    pub p90: Option<i64>,
    /// The 0.95 quantile.
    pub p95: Option<i64>,
    /// The 0.99 quantile.
    pub p99: Option<i64>,
    /// The 0.999 quantile.
    pub p99_9: Option<i64>,
    /// The 95 % interval of p99: low, high.
    pub p99_ci: Option<[i64; 2]>,
    /// Quantiles that are lower bounds, because a request that was cancelled could have ended above; left out when none is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<Quantile>,
    /// The same quantiles with every failure as +infinity.
    pub with_failures: WithFailures,
}

impl Distribution {
    /// A quantile over successes.
    #[must_use]
    pub const fn quantile(&self, quantile: Quantile) -> Option<i64> {
        match quantile {
            Quantile::P50 => self.p50,
            Quantile::P90 => self.p90,
            Quantile::P95 => self.p95,
            Quantile::P99 => self.p99,
            Quantile::P99_9 => self.p99_9,
        }
    }
}

/// Quantiles over every request, a failure counting as +infinity. `null` = infinite, unless listed as undefined.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WithFailures {
    /// The median.
    pub p50: Option<i64>,
    /// The 0.90 quantile.
    pub p90: Option<i64>,
    /// The 0.95 quantile.
    pub p95: Option<i64>,
    /// The 0.99 quantile.
    pub p99: Option<i64>,
    /// The 0.999 quantile.
    pub p99_9: Option<i64>,
    /// Quantiles that are null because there are too few observations; left out when none is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<Quantile>,
    /// Quantiles that are lower bounds, because a request was cancelled below them; left out when none is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<Quantile>,
}

impl WithFailures {
    /// What no observation tells: every quantile null and undefined.
    #[must_use]
    pub fn undefined() -> Self {
        Self { undefined: Quantile::ALL.to_vec(), ..Self::default() }
    }
}
