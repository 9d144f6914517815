//! How well the simulator kept its own script.
//!
//! It must not judge the client: what it says is about the server alone.

use super::ledger::LedgerReport;
use crate::time::Span;
use hdrhistogram::Histogram;
use std::fmt;

/// When its p99 lateness is above this, the server was the limit of a run's accuracy, not the client.
pub const LATENESS_LIMIT: Span = Span::from_us(200);

/// One shard's own account.
#[derive(Clone, Debug)]
pub struct ShardReport {
    /// Its CPU, where it was pinned.
    pub cpu: Option<usize>,
    /// Generation requests it took.
    pub requests: u64,
    /// Those it ended well.
    pub succeeded: u64,
    /// Those that ended badly: faults of the script, and clients that went.
    pub failed: u64,
    /// Tokens it made.
    pub tokens: u64,
    /// Connections it accepted.
    pub connections: u64,
    /// Accepts that failed, for want of files or memory: their clients waited.
    pub accepts_failed: u64,
    /// Share of wall time its thread was on a CPU, kernel included; null before its first pass.
    pub rho: Option<f64>,
    /// Sent - planned of every send that bears tokens, in nanoseconds.
    pub(super) lateness_ns: Histogram<u64>,
}

/// The whole simulator's account.
#[derive(Clone, Debug)]
pub struct SimReport {
    /// Shard by shard.
    pub shards: Vec<ShardReport>,
    /// Of the log of the truth, if one was asked for.
    pub log: Option<LedgerReport>,
    lateness_ns: Histogram<u64>,
}

impl SimReport {
    pub(super) fn new(shards: Vec<ShardReport>, log: Option<LedgerReport>) -> Self {
        let mut lateness_ns = empty_histogram();
        for shard in &shards {
            lateness_ns.add(&shard.lateness_ns).expect("a growing histogram takes any other");
        }
        Self { shards, log, lateness_ns }
    }

    /// Quantile `q` in [0, 1] of (sent - planned); `None` when nothing was sent.
    #[must_use]
    pub fn lateness(&self, q: f64) -> Option<Span> {
        (!self.lateness_ns.is_empty()).then(|| span(self.lateness_ns.value_at_quantile(q)))
    }

    /// The latest send.
    #[must_use]
    pub fn lateness_max(&self) -> Option<Span> {
        (!self.lateness_ns.is_empty()).then(|| span(self.lateness_ns.max()))
    }

    /// Whether the server was the limit of a run's accuracy: p99 lateness above [`LATENESS_LIMIT`].
    #[must_use]
    pub fn limited(&self) -> bool {
        self.lateness(0.99).is_some_and(|late| late > LATENESS_LIMIT)
    }

    /// The busiest shard's share of wall time on its CPU.
    #[must_use]
    pub fn rho(&self) -> Option<f64> {
        self.shards.iter().filter_map(|shard| shard.rho).reduce(f64::max)
    }

    /// Accepts that failed, for want of files or memory.
    #[must_use]
    pub fn accepts_failed(&self) -> u64 {
        self.shards.iter().map(|shard| shard.accepts_failed).sum()
    }

    /// Generation requests taken.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shards.iter().map(|shard| shard.requests).sum()
    }
}

impl fmt::Display for SimReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: fn(&ShardReport) -> u64| self.shards.iter().map(of).sum::<u64>();
        writeln!(
            f,
            "simulator: {} requests ({} ended well, {} badly), {} tokens, {} connections",
            self.requests(),
            sum(|shard| shard.succeeded),
            sum(|shard| shard.failed),
            sum(|shard| shard.tokens),
            sum(|shard| shard.connections),
        )?;
        if self.accepts_failed() > 0 {
            writeln!(f, "simulator: {} accepts failed, for want of files or memory", self.accepts_failed())?;
        }
        if let (Some(p50), Some(p99), Some(max)) =
            (self.lateness(0.5), self.lateness(0.99), self.lateness_max())
        {
            writeln!(f, "simulator: sent after planned: p50 {}, p99 {}, max {}", us(p50), us(p99), us(max))?;
        }
        for shard in &self.shards {
            if let Some(rho) = shard.rho {
                let cpu = shard.cpu.map_or("any cpu".into(), |cpu| format!("cpu {cpu}"));
                writeln!(f, "simulator: rho {rho:.3} on {cpu}")?;
            }
        }
        if let Some(log) = &self.log {
            writeln!(f, "simulator: log of {} requests, {} dropped", log.written, log.dropped)?;
            if let Some(error) = &log.error {
                writeln!(f, "simulator: the log is incomplete: {error}")?;
            }
        }
        if self.limited() {
            writeln!(f, "simulator: p99 lateness above {}: the server was the limit", us(LATENESS_LIMIT))?;
        }
        Ok(())
    }
}

/// Three significant digits, growing as it needs.
pub(super) fn empty_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are allowed")
}

fn span(ns: u64) -> Span {
    Span::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn us(span: Span) -> String {
    format!("{:.0} us", span.as_s_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(lateness_us: &[u64]) -> ShardReport {
        let mut lateness_ns = empty_histogram();
        for us in lateness_us {
            lateness_ns.record(us * 1_000).unwrap();
        }
        let of_cpu = ShardReport {
            accepts_failed: 0,
            cpu: Some(1),
            requests: 3,
            succeeded: 3,
            failed: 0,
            tokens: 9,
            connections: 1,
            rho: Some(0.25),
            lateness_ns,
        };
        ShardReport { ..of_cpu }
    }

    #[test]
    fn the_server_is_the_limit_when_its_p99_is_above_200_us() {
        let late = |share: usize| {
            let mut us = vec![20; 1_000 - share];
            us.extend(std::iter::repeat_n(5_000, share));
            SimReport::new(vec![shard(&us)], None)
        };
        assert!(!late(5).limited());
        assert!(late(20).limited() && late(20).to_string().contains("the server was the limit"));
    }

    #[test]
    fn shards_are_merged_by_their_counts() {
        let report = SimReport::new(vec![shard(&[10; 300]), shard(&[90; 100])], None);
        let us = |q| report.lateness(q).unwrap().as_ns() / 1_000;
        assert_eq!((us(0.5), us(0.99), report.requests()), (10, 90, 6));
    }

    #[test]
    fn accepts_that_failed_are_told() {
        let starved = ShardReport { accepts_failed: 2, ..shard(&[10]) };
        let report = SimReport::new(vec![shard(&[10]), starved], None);
        assert!(report.to_string().contains("2 accepts failed, for want of files or memory"), "{report}");
        assert!(!SimReport::new(vec![shard(&[10])], None).to_string().contains("accepts"));
    }

    #[test]
    fn a_simulator_that_sent_nothing_has_no_lateness() {
        let report = SimReport::new(vec![shard(&[])], None);
        assert_eq!((report.lateness(0.99), report.lateness_max(), report.limited()), (None, None, false));
    }
}
