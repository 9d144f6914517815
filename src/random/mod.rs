//! Seeded streams and distributions, the same to the last bit on every machine and in every version.
//!
//! No state is shared and no entropy is read: what is drawn depends on (seed, purpose, index) alone.

mod counts;
mod delays;
mod law;
mod stream;

pub use counts::Counts;
pub use delays::Delays;
pub use law::{Law, LawError};
pub use stream::{Purpose, Stream};
