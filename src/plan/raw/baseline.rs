//! The options of `lowrho baseline`, each declared once: flag and help; decides nothing.

use super::Text;
use clap::Args;

/// What `lowrho baseline` can be asked for. It has no config file: what differs between the sides must be seen at a glance.
#[derive(Args, Clone, PartialEq, Debug, Default)]
pub struct BaselineOptions {
    /// The tool to stand beside: k6, oha, wrk
    #[arg(value_name = "TOOL", required = true)]
    pub tool: Option<Text>,
    /// Its program [default: the one in PATH]
    #[arg(long, value_name = "PATH", help_heading = "Sides")]
    pub binary: Option<Text>,
    /// lowrho's coalescing windows, a side each (--coalesce of lowrho run)
    #[arg(long, value_name = "LIST", help_heading = "Sides")]
    pub windows: Option<Text>,
    /// CPUs of both clients in turn, such as 0,2-5 [default: all allowed but the server's]
    #[arg(long, value_name = "LIST", help_heading = "Sides")]
    pub client_cpus: Option<Text>,
    /// CPUs of the simulator, one shard each [default: one, the last allowed]
    #[arg(long, value_name = "LIST", help_heading = "Sides")]
    pub server_cpus: Option<Text>,
    /// Connections of each client: a number, or auto (what the load is expected to need, at least 50)
    #[arg(long, value_name = "N", help_heading = "Sides")]
    pub connections: Option<Text>,
    /// Requests per second, constant gaps; not with wrk, which drives a closed loop
    #[arg(short, long, value_name = "PER_S", help_heading = "Load")]
    pub rate: Option<Text>,
    /// A lower rate, for what a request costs without start-up; 0 = none [default: half of --rate]
    #[arg(long, value_name = "PER_S", help_heading = "Load")]
    pub second_rate: Option<Text>,
    /// With wrk: requests in flight, each on a connection of its own
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub concurrency: Option<Text>,
    /// How long each run sends
    #[arg(short, long, value_name = "SPAN", help_heading = "Load")]
    pub duration: Option<Text>,
    /// Rounds: each side once at each rate, the order turned round from one to the next
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub pairs: Option<Text>,
    /// Search each side's highest rate that it sends in full, some ten shorter runs a side; not with --url
    #[arg(long, value_name = "BOOL", help_heading = "Load")]
    pub search: Option<bool>,
    /// Tokens of each answer
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub output_tokens: Option<Text>,
    /// Tokens of each prompt
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub input_tokens: Option<Text>,
    /// The simulator's time to the first token, a span or a distribution
    #[arg(long, value_name = "DELAY", help_heading = "Server")]
    pub ttft: Option<Text>,
    /// The simulator's time between tokens, a span or a distribution
    #[arg(long, value_name = "DELAY", help_heading = "Server")]
    pub itl: Option<Text>,
    /// Another server to drive, http only; it keeps no log of the truth, so that those figures are n/a
    #[arg(long, value_name = "URL", help_heading = "Server")]
    pub url: Option<Text>,
    /// With --url: the model to ask for
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub model: Option<Text>,
    /// Write all that was measured as JSON to FILE, which must not exist
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<Text>,
    /// Keep the files of every run below this directory, new or empty [default: they are thrown away]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<Text>,
    /// No progress on stderr
    #[arg(short, long, value_name = "BOOL", help_heading = "Output")]
    pub quiet: Option<bool>,
}

impl BaselineOptions {
    /// Every default as (flag, text), for the help.
    #[must_use]
    pub fn default_flags() -> Vec<(String, String)> {
        [
            ("--windows", "auto,0"),
            ("--connections", "auto"),
            ("--rate", "1000"),
            ("--concurrency", "50"),
            ("--duration", "8s"),
            ("--pairs", "5"),
            ("--output-tokens", "8"),
            ("--input-tokens", "128"),
            ("--ttft", "0s"),
            ("--itl", "0s"),
        ]
        .map(|(flag, text)| (flag.to_owned(), text.to_owned()))
        .into()
    }
}
