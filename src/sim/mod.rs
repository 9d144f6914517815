//! The embedded server: plays a [`crate::script::Script`] over real sockets, and logs the truth of what it sent when.
//!
//! It must not decide what is said or when: the script does; here is only the carrying.

mod config;
mod host;
mod ledger;
mod lines;
mod report;
mod start;

pub use config::{SimConfig, SimError};
pub use ledger::LedgerReport;
pub use report::{LATENESS_LIMIT, ShardReport, SimReport};
pub use start::{Sim, SimHandle};
