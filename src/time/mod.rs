//! Instants and spans as plain nanoseconds, and what is known of the moment some bytes arrived.
//!
//! This room reads no clock: an instant is always handed in.

mod arrival;
mod instant;
mod phase;
mod span;
mod text;

pub use arrival::{Arrival, StampClass};
pub use instant::Instant;
pub use phase::Phase;
pub use span::Span;
pub use text::{SpanError, format_span, parse_span};
