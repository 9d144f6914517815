//! The options of `lowrho floor`, each declared once: flag and help; decides nothing.

use super::Text;
use clap::Args;

/// What `lowrho floor` can be asked for. It has no config file: a floor is measured the same way by everybody.
#[derive(Args, Clone, PartialEq, Debug, Default)]
pub struct FloorOptions {
    /// Server to drive: one that answers at once [default: the embedded simulator, without delays]
    #[arg(long, value_name = "URL")]
    pub url: Option<Text>,
    /// Trust the authorities of this PEM file, instead of those that this host trusts, to name an https server
    #[arg(long, value_name = "FILE")]
    pub ca_cert: Option<Text>,
    /// Show this certificate (PEM) to a server that wants to know its clients
    #[arg(long, value_name = "FILE")]
    pub client_cert: Option<Text>,
    /// Its private key (PEM, not encrypted) [default: in the certificate's own file]
    #[arg(long, value_name = "FILE")]
    pub client_key: Option<Text>,
    /// Believe whoever answers to be the https server
    #[arg(long, value_name = "BOOL")]
    pub insecure: Option<bool>,
    /// Dialect of the API: chat, completions
    #[arg(long, value_name = "API")]
    pub api: Option<Text>,
    /// Model to ask for; when left out, the first of /v1/models
    #[arg(long, value_name = "NAME")]
    pub model: Option<Text>,
    /// Rates to try, in requests per second, ascending, such as 500,1000,2000; the first that breaks a gate is the last
    #[arg(long, value_name = "LIST")]
    pub rates: Option<Text>,
    /// How long each rate is measured
    #[arg(long, value_name = "SPAN")]
    pub rung: Option<Text>,
    /// Tokens of each answer
    #[arg(long, value_name = "N")]
    pub output_tokens: Option<Text>,
    /// Time between the tokens of the simulator's streamed answers
    #[arg(long, value_name = "SPAN")]
    pub itl: Option<Text>,
    /// Cores to drive with; when left out, one and then all
    #[arg(long, value_name = "N")]
    pub shards: Option<Text>,
    /// CPUs the shards may be pinned to, such as 0,2-5 [default: those this process may run on]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Text>,
    /// CPUs of the simulator, one shard each [default: one, the last allowed]
    #[arg(long, value_name = "LIST")]
    pub sim_cpus: Option<Text>,
    /// By which system calls sockets are driven: auto, uring, epoll
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<Text>,
    /// Compare the ways of waiting (--coalesce, --busy-poll of lowrho run) instead, at each rate
    #[arg(long, value_name = "BOOL")]
    pub compare_waiting: Option<bool>,
    /// With --compare-waiting: rounds, in turn; the median of each figure is told
    #[arg(long, value_name = "K")]
    pub repeat: Option<Text>,
    /// File for the capacity card, or none [default: $XDG_CONFIG_HOME/lowrho/capacity.json]
    #[arg(long, value_name = "FILE")]
    pub card: Option<Text>,
    /// Keep the results of every run below this directory, new or empty [default: they are thrown away]
    #[arg(long, value_name = "DIR")]
    pub out: Option<Text>,
    /// Print JSON on stdout instead of the tables
    #[arg(long, value_name = "BOOL")]
    pub json: Option<bool>,
    /// No progress on stderr
    #[arg(short, long, value_name = "BOOL")]
    pub quiet: Option<bool>,
}

impl FloorOptions {
    /// The usual rates of a ladder.
    pub const RATES: &str = "500,1000,2000,3000,4000,6000,8000,12000,16000";
    /// The usual rate of a comparison: enough to queue, little enough to be kept by every way.
    pub const COMPARED_RATE: &str = "2000";

    /// Every default as (flag, text), for the help.
    #[must_use]
    pub fn default_flags() -> Vec<(String, String)> {
        let rates = format!("{}; with --compare-waiting {}", Self::RATES, Self::COMPARED_RATE);
        [
            ("--api", "chat"),
            ("--rates", rates.as_str()),
            ("--rung", "2s"),
            ("--output-tokens", "8"),
            ("--itl", "1ms"),
            ("--repeat", "1"),
        ]
        .map(|(flag, text)| (flag.to_owned(), text.to_owned()))
        .into()
    }
}
