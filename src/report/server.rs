//! The server's state, said apart from the client's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the server kept up with the load, and how that is known.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// False when requests in flight grew through the window, more than half of the requests failed, or the server went away;
    /// null when that cannot be told, as where more than 1 % failed.
    pub kept_up: Option<bool>,
    /// Growth of the requests in flight, in requests per second (least squares on 20 block means).
    pub in_flight_slope: Option<f64>,
    /// Mean of the requests in flight over the window.
    pub in_flight_mean: Option<f64>,
    /// What there is to say about it, in words.
    pub reasons: Vec<String>,
    /// That nothing came from it any more, if so; of all stages together, and of each server, only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub went_away: Option<WentAway>,
    /// The embedded simulator's own audit, when it was the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulator: Option<Simulator>,
}

/// A server from which nothing came any more until the run's end.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WentAway {
    /// The last byte that came from it, from the run's start; null if none ever came.
    pub since_ns: Option<i64>,
    /// Requests, of any phase, that failed after it without a byte of an answer.
    pub failed: u64,
}

/// How well the embedded simulator kept its own script.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Simulator {
    /// Share of wall time not waiting, of its busiest shard.
    pub rho_busy: Option<f64>,
    /// Median of (sent - planned).
    pub lateness_p50_ns: Option<i64>,
    /// 0.99 quantile of (sent - planned).
    pub lateness_p99_ns: Option<i64>,
    /// Accepts that failed, for want of files or memory: their clients waited.
    #[serde(default)]
    pub accepts_failed: u64,
    /// Whether that makes the server the limit of this run's accuracy.
    pub was_the_limit: bool,
}
