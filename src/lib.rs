//! lowrho: a load generator for LLM inference servers that reports what reached this host.
//!
//! A trace of (nanoseconds, bytes) decides the report: nearly every room of this crate is pure and
//! is tested by replaying traces; [`ring`], [`shard`] and [`sim`] alone talk to the kernel's sockets.
//! `docs/ARCHITECTURE.md` is the map, `docs/METHOD.md` the contract of every number.

pub mod analysis;
pub mod baseline;
pub mod cli;
pub mod clock;
pub mod foreign;
pub mod host;
pub mod plan;
pub mod random;
pub mod record;
pub mod report;
pub mod ring;
pub mod run;
pub mod schedule;
pub mod script;
pub mod search;
pub mod shard;
pub mod sim;
pub mod store;
pub mod time;
pub mod tls;
pub mod watch;
pub mod wire;
pub mod workload;
