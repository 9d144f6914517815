//! The options of our own side, each declared once: flag, key and help; decides nothing.

use super::Text;
use clap::Args;
use serde::{Deserialize, Serialize};

/// Our own side. Section `[client]`.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Client")]
pub struct ClientOptions {
    /// Cores to drive with: a number, or auto (the fewest with an expected rho of at most 0.3)
    #[arg(long, value_name = "N")]
    pub shards: Option<Text>,
    /// Capacity card that tells what requests cost here, or none [default: the one that lowrho floor wrote]
    ///
    /// It gives the expected rho and the number of shards that keeps it at 0.3. A card of another host, kernel,
    /// processor or lowrho is refused. Without one an event is taken to cost 8us.
    #[arg(long, value_name = "FILE")]
    pub card: Option<Text>,
    /// CPUs the shards may be pinned to, such as 0,2-5 [default: those this process may run on]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Text>,
    /// Most connections open at once: a number, or auto (what the load, files and ports allow)
    #[arg(long, value_name = "N")]
    pub connections: Option<Text>,
    /// Addresses of this host to connect from, in turn: 127.0.0.2,127.0.0.4-127.0.0.9 [default: the kernel's choice]
    #[arg(long, value_name = "LIST")]
    pub source_ip: Option<Text>,
    /// Whether requests share connections (reuse) or each has its own, closed after it (new)
    #[arg(long, value_name = "HOW")]
    pub connections_per_request: Option<Text>,
    /// Acknowledge what arrives at once; it hides a server that waits for it (Nagle's algorithm)
    #[arg(long, value_name = "BOOL")]
    pub quickack: Option<bool>,
    /// Open no connection before the first request is due
    #[arg(long, value_name = "BOOL")]
    pub no_preconnect: Option<bool>,
    /// By which system calls sockets are driven: auto (io_uring, or epoll where that cannot be had), uring, epoll
    ///
    /// Both hand out the kernel's receive stamps. Containers often forbid io_uring (docs/ENGINES.md).
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<Text>,
    /// How long arrivals may gather before they are read together: auto, 0, or a window such as 250us
    ///
    /// A window saves wake-ups, and so CPU and rho. Stamps are the kernel's: a late look costs accuracy only where two
    /// events of one stream meet in one read, and those are counted and bounded. 0 wakes for every arrival.
    #[arg(long, value_name = "SPAN")]
    pub coalesce: Option<Text>,
    /// Who stamps what arrives: software (the kernel), hardware (the network card), user (lowrho itself, when it reads)
    ///
    /// A card's stamps need a card that stamps every packet, does so already or may be told to (--enable-hw-stamps), and has
    /// a clock that this user may read (/dev/ptp0).
    /// Stamps of our own make every latency contain the client's own waiting, as other load generators' latencies do.
    #[arg(long, value_name = "CLASS")]
    pub stamps: Option<Text>,
    /// With --stamps hardware: tell the card to stamp while the run lasts (needs CAP_NET_ADMIN)
    #[arg(long, value_name = "BOOL")]
    pub enable_hw_stamps: Option<bool>,
    /// Never sleep: the least lateness, for the whole of every shard's core
    #[arg(long, value_name = "BOOL")]
    pub busy_poll: Option<bool>,
}
