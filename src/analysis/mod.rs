//! Merged statistics to findings: quantiles with intervals, rates, the client as a queue, bias bounds, the verdict, the server's state.
//!
//! Pure: it reads no row, no clock and no file, and formats nothing but the words of a reason. Definitions are those of
//! `docs/METHOD.md`.

mod alive;
mod bias;
mod binomial;
mod blame;
mod busy;
mod course;
mod distribution;
mod examine;
mod facts;
mod findings;
mod hindrance;
mod imagined;
mod level;
mod load;
mod nagle;
mod quantile;
mod queueing;
mod remeasured;
mod server;
mod slo;
mod split;
mod stages;
mod student;
mod thresholds;
mod trend;
mod verdict;
mod words;

pub use bias::{Bias, BiasBound};
pub use binomial::{at_least, at_most};
pub use blame::Blame;
pub use busy::BusyCourse;
pub use course::{Course, Moment};
pub use distribution::{Distribution, Tail};
pub use facts::{Facts, HostFacts, MissedBeats, Neighbour, ShardFacts, StageFacts, Stolen, TcpFacts};
pub use findings::{Findings, StageFindings};
pub use imagined::{ImaginedClient, Latencies, OtherClients, Quantiles};
pub use level::Level;
pub use load::{Load, Throughput, window_length};
pub use nagle::HeldBack;
pub use quantile::{CONFIDENCE, Quantile};
pub use queueing::{ClassAudit, FormulaWait, LostTurns, Service, ShardQueue, wait_batch, wait_m_g_1};
pub use remeasured::Remeasured;
pub use server::ServerState;
pub use slo::{
    Flowing, Made, Slo, SloFindings, Statistic, Sureness, Term, TermError, TermFindings, TermState, Trials,
    What,
};
pub use split::{LengthClass, NtpotSplit, Part, Waiting};
pub use student::two_sided;
pub use thresholds::Thresholds;
pub use trend::Trend;
pub use verdict::{Check, Good, Reason, State, Verdict};
