//! Where the simulator listens and runs, and why it cannot.
//!
//! It must not hold what the server plays: that is the script.

use crate::ring::{Address, CoreError, Engine, RingConfig, RingError};
use crate::script::Script;
use crate::tls::ServerSide;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// A simulator to start.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// What it plays.
    pub script: Script,
    /// Where it listens, at least one; port 0 = any free one.
    pub addresses: Vec<Address>,
    /// The CPU of each shard; empty = one shard that is pinned nowhere.
    pub cpus: Vec<usize>,
    /// How it speaks TLS; `None` = in the clear.
    pub secure: Option<ServerSide>,
    /// File for the log of the truth.
    pub log: Option<PathBuf>,
    /// By which system calls it drives its sockets.
    pub engine: Engine,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            script: Script::default(),
            addresses: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()],
            cpus: Vec::new(),
            secure: None,
            log: None,
            engine: Engine::default(),
        }
    }
}

impl SimConfig {
    pub(super) fn shards(&self) -> usize {
        self.cpus.len().max(1)
    }

    pub(super) fn check(&self) -> Result<(), SimError> {
        let wrong = |why: String| Err(SimError::Config(why));
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        if let Some(twice) = cpus.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(format!("--cpus names cpu {} twice: each shard has its own", twice[0]));
        }
        if self.shards() > 1 && self.script.engine.is_one_queue() {
            return wrong(format!(
                "the simulator's engine {} is one queue: give it one CPU",
                self.script.engine
            ));
        }
        if self.addresses.is_empty() {
            return wrong("--listen names no address: one at least".into());
        }
        let local = self.addresses.iter().find(|address| address.path().is_some());
        if let Some(local) = local.filter(|_| self.shards() > 1) {
            // The kernel spreads the connections of a port over its listeners, and those of a path over none.
            return wrong(format!("--listen {local} is served by one shard: give one of --cpus, or a port"));
        }
        let shards = u32::try_from(self.shards()).unwrap_or(u32::MAX);
        if let Some(places) = self.script.max_running.filter(|places| *places < shards) {
            return wrong(format!(
                "--max-running {places} is fewer than its {shards} shards: each needs a place"
            ));
        }
        Ok(())
    }

    pub(super) fn ring(&self) -> RingConfig {
        RingConfig {
            engine: self.engine,
            // A logged send has an enter of its own: its instant is then known to that enter's length.
            sends_per_enter: if self.log.is_some() { 1 } else { SENDS_PER_ENTER },
            ..RingConfig::default()
        }
    }
}

/// Sends of one enter when nobody asks for the instant of each: beyond this little is saved.
const SENDS_PER_ENTER: u32 = 16;

/// Why a simulator cannot start.
#[derive(Debug)]
pub enum SimError {
    /// A setting that cannot be.
    Config(String),
    /// The log cannot be written.
    Log(PathBuf, std::io::Error),
    /// A shard's core cannot be had.
    Core(CoreError),
    /// The address cannot be listened on.
    Listen(RingError),
    /// A thread cannot be had, or ended before it listened.
    Thread(String),
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(why) => f.write_str(why),
            Self::Log(path, error) => write!(f, "--log {}: {error}", path.display()),
            Self::Core(error) => write!(f, "the simulator's core: {error}"),
            Self::Listen(error) => write!(f, "the simulator cannot listen: {error}"),
            Self::Thread(why) => write!(f, "the simulator's thread: {why}"),
        }
    }
}

impl std::error::Error for SimError {}
