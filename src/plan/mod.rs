//! The validated run: what was asked, in flags or in TOML, checked once against what this machine allows.
//!
//! Pure: no file, no environment, no clock. What the machine allows comes in as [`Limits`]; after a [`Plan`] exists
//! nothing checks again, and no key of it is defaulted anywhere else.

mod limits;
mod load;
mod raw;
mod target;
mod validated;

pub use raw::{ConfigError, Raw, StageOptions, Text, nearest};
pub use limits::Limits;
pub use load::{Extent, Load, Offered, Shape, Stage};
pub use target::{Endpoint, Header, Target, Timeouts};
pub use validated::{Client, Output, Payload, Plan, PromptAs, Records, Require, SimPlan};
