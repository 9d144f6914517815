//! The story of a floor: short runs up a ladder of rates until a gate breaks, or one way of waiting after another.
//!
//! It must not extrapolate: a rate that was not measured is not told.

mod parse;
mod rung;
mod truth;

use super::{Interrupts, RunError};
use crate::clock;
use crate::host::Facts;
use crate::plan::{FloorPlan, Ladder, Rung};
use crate::report::{FLOOR_VERSION, Floor, Host, Over, RungFound, Verdict};
use std::path::{Path, PathBuf};

/// Measures the floor of `plan` on `host`, whose `facts` are these; `say` is told of each rung as it is done.
///
/// # Errors
/// A run measured nothing: the target cannot be driven, or we cannot drive it.
pub fn floor(
    plan: &FloorPlan,
    host: &Host,
    facts: &Facts,
    interrupts: &Interrupts,
    mut say: impl FnMut(&RungFound),
) -> Result<Floor, RunError> {
    let mut floor = Floor {
        floor_version: FLOOR_VERSION,
        lowrho: env!("CARGO_PKG_VERSION").into(),
        start_unix_ns: clock::unix_ns(),
        host: host.clone(),
        target: plan.target.clone(),
        tokens: plan.tokens,
        compares: plan.compares,
        ..Floor::default()
    };
    let folder = Folder::new(plan.out.as_deref())?;
    let mut climb = Climb { folder: &folder, host, facts, interrupts, runs: 0 };
    for ladder in &plan.ladders {
        let end = if plan.compares {
            climb.compare(ladder, plan.rounds, &mut floor.rungs, &mut say)
        } else {
            climb.ladder(ladder, &mut floor.rungs, &mut say)
        };
        match end {
            Ok(end) => floor.ends.extend(end),
            Err(RunError::Interrupted) if !floor.rungs.is_empty() => {
                floor.ends.push("interrupted: what was measured until then is told".into());
                break;
            }
            Err(error) => return Err(error),
        }
    }
    if !plan.compares {
        floor.parse_event_ns = Some(parse::event_cost().as_ns());
        floor.conclude();
    }
    Ok(floor)
}

/// Makes the runs.
struct Climb<'a> {
    folder: &'a Folder,
    host: &'a Host,
    facts: &'a Facts,
    interrupts: &'a Interrupts,
    /// Runs made so far: each has a folder of its own.
    runs: u32,
}

impl Climb<'_> {
    /// Climbs until a gate breaks; gives why it ended, in words.
    fn ladder(
        &mut self,
        ladder: &Ladder,
        rungs: &mut Vec<RungFound>,
        say: &mut impl FnMut(&RungFound),
    ) -> Result<Option<String>, RunError> {
        let name = format!(
            "{} shard{}, {}",
            ladder.shards,
            if ladder.shards == 1 { "" } else { "s" },
            rung::came(ladder.answers).1
        );
        for rung in &ladder.rungs {
            let mut found = self.run(ladder, rung)?;
            if found.verdict != Verdict::Valid {
                // A neighbour's burst on a shared machine is no gate: what breaks twice is.
                found = RungFound { tries: 2, ..self.run(ladder, rung)? };
            }
            say(&found);
            let end = broken(&found);
            rungs.push(found);
            if let Some(end) = end {
                return Ok(Some(format!("{name}: at {} requests/s, {end}", rung.rate_per_s)));
            }
        }
        Ok(Some(format!("{name}: no gate broke, the rates were used up (--rates goes on)")))
    }

    /// Every way of waiting in turn, for several rounds; the median of each figure.
    fn compare(
        &mut self,
        ladder: &Ladder,
        rounds: u32,
        rungs: &mut Vec<RungFound>,
        say: &mut impl FnMut(&RungFound),
    ) -> Result<Option<String>, RunError> {
        let mut all: Vec<Vec<RungFound>> = ladder.rungs.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (rung, found) in ladder.rungs.iter().zip(&mut all) {
                let one = self.run(ladder, rung)?;
                say(&one);
                found.push(one);
            }
        }
        rungs.extend(all.into_iter().map(middle));
        Ok(None)
    }

    fn run(&mut self, ladder: &Ladder, rung: &Rung) -> Result<RungFound, RunError> {
        if self.interrupts.count() > 0 {
            return Err(RunError::Interrupted);
        }
        self.runs += 1;
        let folder = self.folder.path.join(format!("{:03}", self.runs));
        let found = rung::run(ladder, rung, &folder, (self.host, self.facts), self.interrupts)?;
        if self.interrupts.count() > 0 {
            return Err(RunError::Interrupted);
        }
        if self.folder.is_temporary {
            // Files of one run at a time: a ladder's would fill a small disk.
            let _ = std::fs::remove_dir_all(&folder);
            let _ = std::fs::remove_file(rung::log_of(&folder));
        }
        Ok(found)
    }
}

/// The share of the requests sent below which a server whose requests in flight grow has been left behind.
const KEPT_UP: f64 = 0.95;

/// The gate that a rung broke, in words.
fn broken(found: &RungFound) -> Option<String> {
    if found.failed > 0 {
        return Some(format!("{} of {} requests failed", found.failed, found.requests));
    }
    if let Some((sent, achieved)) = found.sent_rate.zip(found.achieved_rate)
        && found.server_kept_up == Some(false)
        && achieved < sent * KEPT_UP
    {
        return Some(format!("the server answered {achieved:.0} of {sent:.0} requests/s: it was the limit"));
    }
    if found.verdict != Verdict::Valid {
        let why = found.reasons.first().map_or("", String::as_str);
        return Some(format!("the client's verdict is {}: {why}", found.verdict.name()));
    }
    None
}

/// The medians of several rounds of one rung; the worst verdict with its reasons.
fn middle(rounds: Vec<RungFound>) -> RungFound {
    let worst = rounds.iter().max_by_key(|round| round.verdict).cloned().unwrap_or_default();
    let ratio = |of: fn(&RungFound) -> Option<f64>| {
        let mut values: Vec<f64> = rounds.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let span = |of: fn(&RungFound) -> Option<i64>| {
        let mut values: Vec<i64> = rounds.iter().filter_map(of).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    RungFound {
        sent_rate: ratio(|round| round.sent_rate),
        achieved_rate: ratio(|round| round.achieved_rate),
        events_per_s: ratio(|round| round.events_per_s),
        ttft_over_ns: Over {
            p50: span(|round| round.ttft_over_ns.p50),
            p99: span(|round| round.ttft_over_ns.p99),
        },
        e2e_over_ns: Over {
            p50: span(|round| round.e2e_over_ns.p50),
            p99: span(|round| round.e2e_over_ns.p99),
        },
        cpu_s_per_1k_requests: ratio(|round| round.cpu_s_per_1k_requests),
        cpu_s_per_1k_events: ratio(|round| round.cpu_s_per_1k_events),
        kernel_share: ratio(|round| round.kernel_share),
        recording_per_request_ns: span(|round| round.recording_per_request_ns),
        service_mean_ns: span(|round| round.service_mean_ns),
        rho: ratio(|round| round.rho),
        busy_per_request_ns: span(|round| round.busy_per_request_ns),
        lateness_p50_ns: span(|round| round.lateness_p50_ns),
        lateness_p99_ns: span(|round| round.lateness_p99_ns),
        coalesced: ratio(|round| round.coalesced),
        bias_itl_p99_ns: span(|round| round.bias_itl_p99_ns),
        sim_rho: ratio(|round| round.sim_rho),
        sim_lateness_p99_ns: span(|round| round.sim_lateness_p99_ns),
        tries: u32::try_from(rounds.len()).unwrap_or(u32::MAX),
        ..worst
    }
}

/// Where the runs go: a directory that is asked for stays, a temporary one is gone with its owner.
struct Folder {
    path: PathBuf,
    is_temporary: bool,
}

impl Folder {
    fn new(asked: Option<&str>) -> Result<Self, RunError> {
        let path = match asked {
            Some(path) => PathBuf::from(path),
            None => std::env::temp_dir().join(format!("lowrho-floor-{}", std::process::id())),
        };
        let refuse =
            |error: std::io::Error| RunError::Own(format!("cannot create {}: {error}", path.display()));
        std::fs::create_dir_all(&path).map_err(refuse)?;
        Ok(Self { path: absolute(&path), is_temporary: asked.is_none() })
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rho: f64, verdict: Verdict) -> RungFound {
        RungFound { rho: Some(rho), verdict, requests: 100, ..RungFound::default() }
    }

    #[test]
    fn a_gate_breaks_by_failures_or_by_the_verdict() {
        assert_eq!(broken(&found(0.2, Verdict::Valid)), None);
        let failed = RungFound { failed: 3, ..found(0.2, Verdict::Valid) };
        assert_eq!(broken(&failed).as_deref(), Some("3 of 100 requests failed"));
        let behind = RungFound {
            sent_rate: Some(100.0),
            achieved_rate: Some(90.0),
            server_kept_up: Some(false),
            ..found(0.2, Verdict::Valid)
        };
        assert!(broken(&behind).is_some_and(|why| why.contains("the server answered 90 of 100")));
        let suspect = RungFound { reasons: vec!["late".into()], ..found(0.6, Verdict::Suspect) };
        assert_eq!(broken(&suspect).as_deref(), Some("the client's verdict is suspect: late"));
    }

    #[test]
    fn rounds_are_told_by_their_medians_and_their_worst_verdict() {
        let rounds = [(0.3, Verdict::Valid), (0.1, Verdict::Suspect), (0.2, Verdict::Valid)];
        let middle = middle(rounds.map(|(rho, verdict)| found(rho, verdict)).into());
        assert_eq!((middle.rho, middle.verdict, middle.tries), (Some(0.2), Verdict::Suspect, 3));
        assert_eq!(middle.lateness_p99_ns, None, "what no round knows stays unknown");
    }
}
