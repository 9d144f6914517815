//! The options of the load, each declared once: flag, key and help; decides nothing.

use super::Text;
use clap::Args;
use serde::{Deserialize, Serialize};

/// How much and when. Section `[load]`.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Load")]
pub struct LoadOptions {
    /// Open loop: requests due per second, whatever the server does
    #[arg(short, long, value_name = "PER_S")]
    pub rate: Option<Text>,
    /// How arrivals follow each other: poisson, constant, gamma:SHAPE (SHAPE below 1 is burstier than poisson)
    #[arg(long, value_name = "PROCESS")]
    pub arrival: Option<Text>,
    /// Closed loop: this many requests in flight, each followed by the next
    #[arg(long, value_name = "N")]
    pub concurrency: Option<Text>,
    /// Most requests in flight of an open loop; one that must wait for it is counted, and the verdict says so
    #[arg(long, value_name = "N")]
    pub max_concurrency: Option<Text>,
    /// Closed loop: spread the first requests over this time
    #[arg(long, value_name = "SPAN")]
    pub ramp: Option<Text>,
    /// Closed loop: pause between an answer and the next request: a span, uniform:a:b, exp:mean, lognormal:mean:sd
    #[arg(long, value_name = "SPAN")]
    pub think_time: Option<Text>,
    /// Length of the measured window; excludes --requests
    #[arg(short, long, value_name = "SPAN")]
    pub duration: Option<Text>,
    /// Measure exactly this many requests; excludes --duration
    #[arg(short = 'n', long, value_name = "N")]
    pub requests: Option<Text>,
    /// Unmeasured load before the window, at its first rate
    #[arg(long, value_name = "SPAN")]
    pub warmup: Option<Text>,
    /// Longest unmeasured load after the window, until the measured requests are finished; 0s = off
    #[arg(long, value_name = "SPAN")]
    pub cooldown: Option<Text>,
    /// Seed of everything random: the same seed gives the same schedule and the same bodies
    #[arg(long, value_name = "N")]
    pub seed: Option<Text>,
    /// Make this many fresh runs, and report their spread
    #[arg(long, value_name = "K")]
    pub repeat: Option<Text>,
}

/// One stage of a run that has several; in the file only. Section `[[stage]]`.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct StageOptions {
    /// Open loop: requests per second at the stage's start.
    pub rate: Option<Text>,
    /// Open loop: requests per second at the stage's end, when it changes.
    pub rate_end: Option<Text>,
    /// Closed loop: requests in flight, at the stage's start.
    pub concurrency: Option<Text>,
    /// Closed loop: requests in flight at the stage's end, when they change.
    pub concurrency_end: Option<Text>,
    /// The way to `rate-end` or `concurrency-end`: linear (the default) or geometric.
    pub shape: Option<Text>,
    /// Unmeasured load before the stage's window, at its first rate, on top of its duration.
    pub warmup: Option<Text>,
    /// How long the stage's window lasts.
    pub duration: Option<Text>,
    /// The stage's own arrival process, when it differs from `load.arrival`.
    pub arrival: Option<Text>,
}
