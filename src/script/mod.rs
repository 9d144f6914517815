//! What the simulator will send and when: requests in, timed bytes out, in virtual time.
//!
//! No clock and no socket: every instant is handed in, and [`crate::sim`] carries the bytes.

mod ask;
mod inbound;

pub use ask::{Ask, BadAsk, read_ask};
pub use inbound::{Inbound, Request, Said};
