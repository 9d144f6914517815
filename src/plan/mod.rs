//! The validated run: what was asked, in flags or in TOML, checked once against what this machine allows.
//!
//! Pure: no file, no environment, no clock. What the machine allows comes in as [`Limits`]; after a [`Plan`] exists
//! nothing checks again, and no key of it is defaulted anywhere else.

mod baseline;
mod card;
mod check;
mod client;
mod cost;
mod cpus;
mod doctor;
mod engine;
mod expected;
mod floor;
mod gpus;
mod limits;
mod listen;
mod load;
mod mistake;
mod mlperf;
mod payload;
mod pool;
mod raw;
mod reading;
mod requests;
mod secrets;
mod sim;
mod slo;
mod sources;
mod stages;
mod sweep;
mod target;
#[cfg(test)]
mod tests;
mod thresholds;
mod validated;
mod waiting;
mod ways;

pub use baseline::{BaselinePlan, BaselineSim, MOST_BASELINE_RATE, Offered, Peer};
pub use card::{CARD_VERSION, Card, CardHost, CardRefusal};
pub use client::Client;
pub use cost::{Cost, CostSource};
pub use cpus::{format_cpus, parse_cpus};
pub use doctor::{Finding, Health, Machine, judge};
pub use engine::{Engine, SHARD_LOCKED_BYTES};
pub use expected::{EASY_RHO, EVENT_COST, GUESSED_E2E};
pub use floor::{Answers, FloorPlan, Ladder, Rung};
pub use gpus::Gpus;
pub use limits::Limits;
pub use listen::Listen;
pub use load::Load;
pub use mistake::{Key, Mistake, PlanError};
pub use payload::{Payload, PromptAs, Prompts};
pub use raw::{
    BaselineOptions, ConfigError, FloorOptions, Raw, SimOptions, StageOptions, SweepOptions, Text, nearest,
};
pub use secrets::{REDACTED, is_secret};
pub use sim::{SIM_LISTEN, SimIdentity, SimPlan, SimTls};
pub use sweep::{Goal, Level, SWEEP_RECORDS, SweepPlan};
pub use target::{Balance, Endpoint, Header, MOST_TARGETS, Retry, Target, Timeouts, Tls};
pub use validated::{Output, Plan, Records, Require};
pub use waiting::{LONGEST_WINDOW, Waiting};
