//! The options of what is written and what decides the exit status, each declared once: flag, key and help; decides nothing.

use super::Text;
use clap::Args;
use serde::{Deserialize, Serialize};

/// What is written and where. Section `[output]`.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Results directory; it must be new or empty [default: results/TIME-MODEL]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<Text>,
    /// Requests that get a row in records.jsonl: none, failed, all
    #[arg(long, value_name = "WHICH")]
    pub records: Option<Text>,
    /// Write every gap between tokens, and how sure each arrival is, into the records
    #[arg(long, value_name = "BOOL")]
    pub record_gaps: Option<bool>,
    /// Kept with the results; may be given again
    #[arg(long, value_name = "K=V")]
    pub tag: Vec<Text>,
    /// Print summary.json on stdout instead of the report
    #[arg(long, value_name = "BOOL")]
    pub json: Option<bool>,
    /// No progress on stderr
    #[arg(short, long, value_name = "BOOL")]
    pub quiet: Option<bool>,
    /// Show every latency, shard and class of job in the report
    #[arg(short, long, value_name = "BOOL")]
    pub verbose: Option<bool>,
}

/// What decides the exit status. Section `[verdict]`.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictOptions {
    /// Worst verdict on the client that still exits with 0: valid, suspect, any
    #[arg(long, value_name = "VERDICT")]
    pub require: Option<Text>,
    /// Share of failed requests, 0 to 1, above which the target has failed (exit 4)
    #[arg(long, value_name = "SHARE")]
    pub max_error_share: Option<Text>,
    /// Service levels, such as 'ttft_p99<500ms,tpot_p99<50ms,error_rate<1%'; exit 99 when one is crossed
    #[arg(long, value_name = "TERMS")]
    pub slo: Option<Text>,
    /// Hold the client to another bound of the verdict, such as rho-valid=0.6; may be given again
    #[arg(long, value_name = "NAME=VALUE")]
    pub threshold: Vec<Text>,
}
