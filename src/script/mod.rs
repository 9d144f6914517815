//! What the simulator will send and when: requests in, timed bytes out, in virtual time.
//!
//! No clock and no socket: every instant is handed in, and [`crate::sim`] carries the bytes.

mod answer;
mod ask;
mod batching;
mod drip;
mod engine;
mod faults;
mod inbound;
mod kind;
mod latencies;
mod meter;
mod prefix;
mod reply;
mod server;
mod serving;
mod settings;
mod step;
mod stream;
mod words;

pub use ask::{Ask, BadAsk, read_ask};
pub use batching::Batching;
pub use engine::{Burst, Engine, Ticket, Work};
pub use faults::{DRIP_GAP_NS, Fault, FaultError, FaultRule, Faults, Place, Whom};
pub use inbound::{Inbound, Request};
pub use kind::{BATCH_RUNNING, EngineError, EngineKind, StepCosts};
pub use latencies::{Latencies, LatencyError};
pub use meter::Meter;
pub use prefix::{BLOCK_TOKENS, PrefixCache};
pub use server::{Seat, Server};
pub use serving::Serving;
pub use settings::Script;
pub use step::{Mark, Said, Step, Then};
pub use stream::{Identity, Phrases, Tokens};
