//! Findings to text: the summary (`summary.json`, with its schema) and the terminal report.
//!
//! Opens no file, reads no clock, decides no number: what is undefined stays undefined.

mod about;
mod audit;
mod client;
pub mod csv;
mod distribution;
pub mod figures;
mod findings;
pub mod html;
mod schema;
mod section;
mod server;
mod summary;
pub mod terminal;

pub use about::{About, AboutShard, AboutStage};
pub use audit::{JobAudit, Lateness, ShardAudit, Share, Wait, Waits};
pub use client::{Bias, BiasBound, Check, Client, Good, Reason, Stamps, Unit, Verdict};
pub use distribution::{Distribution, Quantile, WithFailures};
pub use schema::{SCHEMA_VERSION, summary_schema};
pub use section::{Latency, Load, Section, Slow, Stage, Throughput, TokenSources, Tokens};
pub use server::{Server, Simulator};
pub use summary::{Ended, Host, Run, Summary, SummaryError, Target};
