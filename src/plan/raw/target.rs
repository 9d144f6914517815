//! The options of the target, each declared once: flag, key and help; decides nothing.

use super::Text;
use clap::Args;
use serde::{Deserialize, Serialize};

/// Who is driven. Section `[target]`.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Target")]
pub struct TargetOptions {
    /// Server to drive: http[s]://host:port[/base], the full URL of the API, or unix:PATH[:/base]; may be given again
    ///
    /// A base that ends in /v1 is not doubled, and a URL that ends in the API's own path is used as it is. The final
    /// URL is printed. User info before the host is sent as basic authorization, and hidden in everything written.
    /// A name with several addresses is driven at all that answer.
    #[arg(long, value_name = "URL")]
    #[serde(with = "super::one_or_many")]
    pub url: Vec<Text>,
    /// Which of several URLs gets a request: round-robin, or sticky (the same prompt or session always the same one)
    #[arg(long, value_name = "HOW")]
    pub balance: Option<Text>,
    /// Shares of several URLs in their order, such as 3,1 [default: all alike]
    #[arg(long, value_name = "LIST")]
    pub weights: Option<Text>,
    /// Drive the embedded simulator, started in this process on its own core
    #[arg(long, value_name = "BOOL")]
    pub sim: Option<bool>,
    /// Dialect of the API: chat, completions
    #[arg(long, value_name = "API")]
    pub api: Option<Text>,
    /// Model to ask for; when left out, the first of /v1/models
    #[arg(long, value_name = "NAME")]
    pub model: Option<Text>,
    /// Header added to every request; may be given again
    #[arg(long, value_name = "K:V")]
    pub header: Vec<Text>,
    /// Header whose value is *** in everything written; may be given again
    ///
    /// Authorization, Proxy-Authorization, X-API-Key, Api-Key and Cookie are hidden without being named.
    #[arg(long, value_name = "NAME")]
    pub secret_header: Vec<Text>,
    /// Sent as Authorization: Bearer KEY; the environment's OPENAI_API_KEY when left out
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<Text>,
    /// JSON object merged into the body of every request; its keys win
    #[arg(long, value_name = "JSON")]
    pub extra_body: Option<Text>,
    /// Trust the authorities of this PEM file, instead of those that this host trusts, to name an https server
    #[arg(long, value_name = "FILE")]
    pub ca_cert: Option<Text>,
    /// Show this certificate (PEM) to servers that want to know their clients
    #[arg(long, value_name = "FILE")]
    pub client_cert: Option<Text>,
    /// Its private key (PEM, not encrypted) [default: in the certificate's own file]
    #[arg(long, value_name = "FILE")]
    pub client_key: Option<Text>,
    /// Believe whoever answers to be the https server; the report says so
    #[arg(long, value_name = "BOOL")]
    pub insecure: Option<bool>,
    /// Wait this long for the server to answer before anything is sent, such as 60s
    #[arg(long, value_name = "SPAN")]
    pub wait_ready: Option<Text>,
    /// A request may take this long in all
    #[arg(long, value_name = "SPAN")]
    pub timeout: Option<Text>,
    /// A connection may take this long to come up
    #[arg(long, value_name = "SPAN")]
    pub timeout_connect: Option<Text>,
    /// Longest wait for the first byte of a response [default: off]
    #[arg(long, value_name = "SPAN")]
    pub timeout_first_byte: Option<Text>,
    /// Longest wait for the first token [default: off]
    #[arg(long, value_name = "SPAN")]
    pub timeout_first_token: Option<Text>,
    /// Longest silence inside a response [default: off]
    #[arg(long, value_name = "SPAN")]
    pub timeout_idle: Option<Text>,
    /// Send a request again that was refused (429, 503, no connection), up to so many times, after Retry-After or 0.5 s and
    /// more; it is timed from its first attempt
    #[arg(long, value_name = "N")]
    pub retry: Option<Text>,
    /// GPUs behind the servers together: tells output tokens per second for each
    #[arg(long, value_name = "N")]
    pub gpus: Option<Text>,
    /// Dollars that one GPU costs an hour: tells the price of a million output tokens
    #[arg(long, value_name = "DOLLARS")]
    pub price: Option<Text>,
    /// Send nothing before the run: what the server does is then unknown
    #[arg(long, value_name = "BOOL")]
    pub no_probe: Option<bool>,
}
