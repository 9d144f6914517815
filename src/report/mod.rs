//! Findings to text: the summary (`summary.json`, with its schema) and the terminal report.
//!
//! Opens no file, reads no clock, decides no number: what is undefined stays undefined.

mod about;
mod audit;
mod baseline;
mod client;
pub mod csv;
mod distribution;
mod doctor;
pub mod figures;
mod findings;
mod floor;
mod gpus;
pub mod html;
mod imagined;
mod ntpot;
mod repeats;
mod schema;
mod section;
mod server;
mod slo;
mod summary;
mod sweep;
pub mod terminal;
mod tls;

pub use about::{About, AboutShard, AboutStage};
pub use audit::{
    BusyOverTime, JobAudit, Lateness, LostTurns, Neighbour, RingAudit, ShardAudit, Share, Wait, Waits,
};
pub use baseline::{
    BASELINE_VERSION, Baseline, BaselineRatio, BaselineRun, BaselineSide, HighestRate, MEASURES, Measure,
    MeasureUnit, Ranged, SLOPES, SlopeMeasure, Told,
};
pub use client::{
    Bias, BiasBound, Blame, Check, Client, Good, Reason, Stamps, Surroundings, Tcp, Unit, Verdict,
};
pub use distribution::{Distribution, Quantile, WithFailures};
pub use doctor::{Doctor, DoctorFinding};
pub use findings::share;
pub use floor::{Came, Costs, FLOOR_VERSION, Floor, Highest, Over, RungFound};
pub use gpus::{GpuCost, PerGpu, per_user};
pub use imagined::{ImaginedClient, Quantiles, Reported};
pub use ntpot::{Estimate, LengthClass, Ntpot};
pub use repeats::{Middle, Repeat, Repeats, Spread, whole};
pub use schema::{SCHEMA_VERSION, summary_schema, sweep_schema};
pub use section::{
    Failure, Latency, Load, Section, Slow, Stage, TargetSection, Throughput, TokenSources, Tokens,
};
pub use server::{Server, Simulator, WentAway};
pub use slo::{Held, Slo, Term as SloTerm};
pub use summary::{Ended, Host, Run, Summary, SummaryError, Target};
pub use sweep::{SWEEP_VERSION, Sweep, SweepTrial};
pub use tls::Tls;
