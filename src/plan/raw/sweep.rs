//! The options of a sweep, beside those of the runs it makes; decides nothing.

use super::Text;
use clap::Args;
use serde::{Deserialize, Serialize};

/// What a sweep looks for, and how long it may take. Section `[sweep]`; a single run passes it over.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Sweep")]
pub struct SweepOptions {
    /// Find the stability limit, and with --slo the capacity under it; excludes --from
    #[arg(long, value_name = "BOOL")]
    pub auto: Option<bool>,
    /// Profile: the first load, in requests/s (--over rate) or in flight (--over concurrency)
    #[arg(long, value_name = "LOAD")]
    pub from: Option<Text>,
    /// Profile: the last load
    #[arg(long, value_name = "LOAD")]
    pub to: Option<Text>,
    /// Profile: how many loads, both ends included [default: 8]
    #[arg(long, value_name = "N")]
    pub steps: Option<Text>,
    /// Profile: how the loads lie between the ends: geometric, linear [default: geometric]
    #[arg(long, value_name = "SCALE")]
    pub scale: Option<Text>,
    /// Profile: what is varied: rate, concurrency [default: rate]
    #[arg(long, value_name = "WHAT")]
    pub over: Option<Text>,
    /// --auto: the bounds of the capacity end at most this far apart, such as 5% [default: 5%]
    #[arg(long, value_name = "SHARE")]
    pub tolerance: Option<Text>,
    /// --auto: longest window that an undecided trial is doubled to [default: 10m, or four windows if less; at least two]
    #[arg(long, value_name = "SPAN")]
    pub max_trial: Option<Text>,
    /// Begin no trial that would end after this time
    #[arg(long, value_name = "SPAN")]
    pub budget: Option<Text>,
    /// End the sweep after a trial of which one of these is true, such as 'error_rate>20%,ttft_p99>10s'
    #[arg(long, value_name = "TERMS")]
    pub abort_on: Option<Text>,
    /// --auto: service levels and lengths of an MLPerf Inference scenario, such as llama2-70b-server
    #[arg(long, value_name = "PRESET")]
    pub mlperf: Option<Text>,
}
