//! The options of the embedded simulator, each declared once: flag, key and help; decides nothing.

use super::Text;
use clap::Args;
use serde::{Deserialize, Serialize};

/// The embedded simulator. Section `[sim]`; the flags of `lowrho run` start with `--sim-`, those of `lowrho sim` do not.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Simulator")]
pub struct SimOptions {
    /// Addresses to listen on, or unix:PATH, with commas between; port 0 takes a free one
    #[arg(id = "sim-listen", long = "sim-listen", value_name = "ADDR:PORT")]
    pub listen: Option<Text>,
    /// CPUs of the simulator, one shard each, such as 1 or 4-7 [default: one, the last allowed]
    #[arg(id = "sim-cpus", long = "sim-cpus", value_name = "LIST")]
    pub cpus: Option<Text>,
    /// Name of the model it serves
    #[arg(id = "sim-model", long = "sim-model", value_name = "NAME")]
    pub model: Option<Text>,
    /// What makes the tokens: laws (the latencies below, which load does not change), mdc:SERVERS:SERVICE (one queue, each
    /// request the same time), batch:BASE:PER_SEQUENCE:PER_TOKEN, with or without :CHUNK (continuous batching; docs/SIMULATOR.md)
    #[arg(id = "sim-engine", long = "sim-engine", value_name = "ENGINE")]
    pub engine: Option<Text>,
    /// By which system calls it drives its sockets: auto (as the client; alone: io_uring where that can be had), uring, epoll
    #[arg(id = "sim-socket-engine", long = "sim-socket-engine", value_name = "ENGINE")]
    pub socket_engine: Option<Text>,
    /// Time to the first token: a span such as 20ms, or uniform:5ms:20ms, normal:m:s, lognormal:m:s
    #[arg(id = "sim-ttft", long = "sim-ttft", value_name = "SPAN")]
    pub ttft: Option<Text>,
    /// Time between tokens: a span such as 5ms, or a distribution as for ttft
    #[arg(id = "sim-itl", long = "sim-itl", value_name = "SPAN")]
    pub itl: Option<Text>,
    /// Added to the first token's time for every token of the prompt
    #[arg(id = "sim-prefill-per-token", long = "sim-prefill-per-token", value_name = "SPAN")]
    pub prefill_per_token: Option<Text>,
    /// Tokens in one event
    #[arg(id = "sim-tokens-per-event", long = "sim-tokens-per-event", value_name = "N")]
    pub tokens_per_event: Option<Text>,
    /// Most requests answered at once; the others wait [default: no limit; of the batch engine 256]
    #[arg(id = "sim-max-running", long = "sim-max-running", value_name = "N")]
    pub max_running: Option<Text>,
    /// Tokens of prompts that it keeps, in blocks of 16, and need not compute again where a prompt begins alike; the least
    /// recently used go first (engines laws and batch) [default: none]
    #[arg(id = "sim-prefix-cache", long = "sim-prefix-cache", value_name = "TOKENS")]
    pub prefix_cache: Option<Text>,
    /// What goes wrong: KIND[=ARGUMENT]:SHARE or KIND[=ARGUMENT]@INDEX,... with the kinds status=CODE, reset, stall,
    /// truncate, error, drip, comment; may be given again (docs/SIMULATOR.md)
    #[arg(id = "sim-fault", long = "sim-fault", value_name = "FAULT")]
    pub fault: Vec<Text>,
    /// Seed of everything random in the simulator
    #[arg(id = "sim-seed", long = "sim-seed", value_name = "N")]
    pub seed: Option<Text>,
    /// Speak TLS, with a certificate of its own making
    #[arg(id = "sim-tls", long = "sim-tls", value_name = "BOOL")]
    pub tls: Option<bool>,
    /// Write that certificate (PEM) to this file, for clients to trust
    #[arg(id = "sim-tls-cert-out", long = "sim-tls-cert-out", value_name = "FILE")]
    pub tls_cert_out: Option<Text>,
    /// Speak TLS with this certificate (PEM; those that vouch for it behind it)
    #[arg(id = "sim-tls-cert", long = "sim-tls-cert", value_name = "FILE")]
    pub tls_cert: Option<Text>,
    /// Its private key (PEM, not encrypted) [default: in the certificate's own file]
    #[arg(id = "sim-tls-key", long = "sim-tls-key", value_name = "FILE")]
    pub tls_key: Option<Text>,
    /// Serve over TLS only clients that an authority of this PEM file vouches for
    #[arg(id = "sim-tls-client-ca", long = "sim-tls-client-ca", value_name = "FILE")]
    pub tls_client_ca: Option<Text>,
    /// Write the truth about every request to this file, one JSON object a line
    #[arg(id = "sim-log", long = "sim-log", value_name = "FILE")]
    pub log: Option<Text>,
}
