//! The socket ring and its pump: io_uring with provided buffers, or epoll; receive stamps. The only room with `unsafe`.
//!
//! It must not know what the bytes mean, nor who runs it: a [`Handler`] does.

mod address;
mod buffers;
mod coalesce;
mod collect;
mod completions;
mod config;
mod control;
mod core_thread;
mod counters;
mod edge;
mod engine;
mod error;
mod handler;
mod harvest;
mod kernel_cost;
mod listens;
mod news;
mod nic;
mod paths;
mod payloads;
mod poller;
mod pump;
mod queue;
mod slots;
mod socket;
mod sockets;
mod token;
mod trial;
mod uring;

pub use address::Address;
pub use coalesce::Coalesce;
pub use config::{PortUse, RingConfig, Stamps};
pub use core_thread::{Core, CoreError};
pub use counters::Counters;
pub use engine::Engine;
pub use error::RingError;
pub use handler::{Conn, Departure, End, Handler, Job, JobClass, Pass, Payload, Read, Task};
pub use nic::{Card, CardStamps};
pub use paths::Paths;
pub use pump::{Pump, PumpConfig};
pub use sockets::Ring;
pub use trial::RingFeatures;
