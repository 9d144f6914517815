//! The end of a run: what the shards left is merged, analysed, written and handed over, whatever became of each.
//!
//! It must not lose what was measured: a failure here becomes words beside the numbers.

use super::fleet::CUT_LEAD;
use super::histograms::Histograms;
use super::imagination::{Imagination, Told};
use super::left::{Left, Missing};
use super::surroundings::Seen;
use super::target::Target;
use super::{Interrupts, certificates, simulator};
use crate::analysis::{Facts, Findings, ShardFacts, StageFacts, Stolen, TcpFacts};
use crate::plan::Plan;
use crate::record::{Audit, Recorder};
use crate::report::{self, About, AboutShard, AboutStage, Ended, RingAudit, Stamps, Summary, html};
use crate::ring::{Counters, Paths};
use crate::schedule::{Extent, Load};
use crate::shard::{Handshakes, Measured, Orders};
use crate::sim::SimHandle;
use crate::store::{MOST_ROWS, Results, RowWriter, RowsWritten, StoreError};
use crate::time::{Instant, Span};
use std::path::PathBuf;

/// What a run leaves.
#[derive(Debug)]
pub struct Done {
    /// What was found.
    pub summary: Summary,
    /// The same, as it was found.
    pub findings: Findings,
    /// Whether it was ended because enough was seen.
    pub was_cut: bool,
    /// Where it was written.
    pub dir: PathBuf,
    /// What went wrong on our own side, in words: a shard that failed, rows or files that could not be written.
    pub failures: Vec<String>,
}

/// What is known of a run when its shards have ended.
pub struct Story<'a> {
    pub plan: &'a Plan,
    pub host: &'a report::Host,
    pub id: String,
    pub target: &'a Target,
    /// Whether it was ended because enough was seen.
    pub was_cut: bool,
    pub orders: &'a Orders,
    pub start: Instant,
    pub start_unix_ns: u64,
    pub ended: Instant,
    /// What was seen of the host beside it.
    pub seen: Seen,
}

/// The threads that took what the shards gave away.
pub struct Gatherers {
    pub histograms: Histograms,
    pub writer: RowWriter,
    pub imagination: Imagination,
}

/// The shards' own, in order, one place for each kind.
#[derive(Default)]
struct Merged {
    recorders: Vec<Recorder>,
    /// Of each server, over the shards so far.
    targets: Vec<Recorder>,
    audits: Vec<Audit>,
    facts: Vec<ShardFacts>,
    about: Vec<AboutShard>,
    clock_bound: Span,
    clock_steps: u64,
    stamps: Stamps,
    tcp: TcpFacts,
    handshakes: Handshakes,
}

impl Story<'_> {
    /// Merges, analyses and writes.
    pub fn conclude(
        mut self,
        left: Vec<Left>,
        gatherers: Gatherers,
        sim: Option<SimHandle>,
        interrupts: &Interrupts,
        results: &Results,
    ) -> Done {
        let Gatherers { histograms, writer, imagination } = gatherers;
        let told = imagination.finish();
        let untold = unimagined(&told, left.iter().all(|left| left.outcome.is_ok()));
        let mut failures = Vec::new();
        let mut merged = Merged::default();
        for left in left {
            merged.add(left, self.orders, self.start, &histograms, &mut failures);
        }
        failures.extend(histograms.finish().err().map(|error| error.to_string()));
        let rows = writer.finish();
        failures.extend(lost_rows(&rows));
        // The queue is one for all shards, and so are the rows it refused.
        if let Some(first) = merged.facts.first_mut() {
            first.rows_dropped = rows.dropped + rows.lost;
        }
        let seen = std::mem::take(&mut self.seen);
        for (facts, (steal, neighbours)) in merged.facts.iter_mut().zip(seen.shards) {
            (facts.steal, facts.neighbours) = (steal, neighbours);
        }
        let interrupted = interrupts.count() > 0;
        let facts = Facts {
            stages: self.stage_facts(&seen.stolen),
            host: seen.host,
            tcp: merged.tcp,
            idle_ttft: self.target.idle_ttft(),
            shards: merged.facts,
            stamps: self.plan.client.stamps,
            clock_bound: merged.clock_bound,
            clock_steps: merged.clock_steps,
            delayed_acks: self.target.round_trip().filter(|_| !self.plan.client.quick_ack),
            interrupted: self.orders.control.cut(),
            slo: self.plan.slo.clone(),
            abort_on: self.plan.abort_on.clone(),
        };
        let mut findings = Findings::of(&merged.recorders, &merged.audits, &facts, &self.plan.thresholds)
            .with_targets(&merged.targets, &facts);
        if untold.is_none() {
            findings = findings.beside(&told.imagined);
        }
        let simulator = sim.and_then(|sim| simulator::end(sim, &mut failures));
        let ended = match (interrupted, failures.is_empty()) {
            (true, _) => Ended::Interrupted,
            (false, false) => Ended::Failed,
            (false, true) => Ended::Complete,
        };
        // The window of a number of requests ends where the next one would have been due: that may be after the last one's end.
        let windows = findings.stages.iter().map(|stage| stage.from + stage.length);
        self.ended = windows.fold(self.ended, Instant::max);
        let was_cut = self.was_cut;
        let tls = certificates::told(self.plan, &merged.handshakes);
        let mut about = About { tls, ..self.about(ended, merged.about, merged.stamps, simulator) };
        about.caveats.extend(untold);
        let summary = Summary::of(&findings, &merged.recorders, &facts, about);
        failures.extend(
            results
                .write_summary(&summary)
                .err()
                .map(|error| format!("{error}; what is printed is all there is of the run's figures")),
        );
        failures.extend(write_page(results).err().map(|error| error.to_string()));
        Done { summary, findings, was_cut, dir: results.dir().to_path_buf(), failures }
    }

    fn stage_facts(&self, stolen: &[Option<Stolen>]) -> Vec<StageFacts> {
        let schedule = &self.orders.schedule;
        // What was due within the lead of a cut may have been begun, or not any more.
        let until = self.orders.control.cut().map_or(Instant::NEVER, |cut| cut - CUT_LEAD);
        let counts =
            if schedule.is_open() { schedule.starting_at(self.start).counts(until) } else { Vec::new() };
        let facts = schedule.stages().iter().enumerate().map(|(nth, stage)| StageFacts {
            requested_rate: match stage.load {
                // Of a ramp that takes one second: its mean.
                Load::Open { rate_per_s, .. } => Some(rate_per_s.integral(1.0, 1.0)),
                Load::Closed { .. } => None,
            },
            is_ramp: match stage.load {
                Load::Open { rate_per_s: level, .. } | Load::Closed { slots: level, .. } => {
                    level.from() != level.to()
                }
            },
            due: counts.get(nth).copied(),
            stolen: stolen.get(nth).copied().flatten(),
        });
        facts.collect()
    }

    fn about(
        self,
        ended: Ended,
        shards: Vec<AboutShard>,
        stamps: Stamps,
        simulator: Option<report::Simulator>,
    ) -> About {
        let plan = self.plan;
        let stages = self.orders.schedule.stages().iter().zip(0..).map(|(stage, nth)| AboutStage {
            name: format!("{nth}"),
            arrival: match stage.load {
                Load::Open { process, .. } => Some(process.to_string()),
                Load::Closed { .. } => None,
            },
            requested_concurrency: match stage.load {
                Load::Open { .. } => plan.load.max_concurrency.map(u64::from),
                Load::Closed { slots, .. } => whole(slots.peak()),
            },
        });
        let mut caveats = plan.caveats.clone();
        if self.was_cut {
            caveats.push("ended before its time: it had missed so often that it could only lose".into());
        }
        if !self.target.workload.input_is_exact() && !self.target.is_calibrated() {
            caveats.push(
                "lengths of prompts are estimates: no tokenizer, and no calibration by the server's counts"
                    .into(),
            );
        }
        let local = self.target.servers.iter().flat_map(|server| &server.addresses);
        if local.into_iter().any(|address| address.path().is_some()) {
            caveats.push(
                "the kernel does not stamp Unix sockets: their instants are our own (user), of when we came to the bytes; the \
                 bias bound tells by how much"
                    .into(),
            );
        }
        if plan.client.quick_ack {
            caveats
                .push("--quickack: arrivals were acknowledged at once, which usual clients do not do".into());
        }
        let counted =
            self.orders.schedule.stages().iter().any(|stage| matches!(stage.extent, Extent::Requests(_)));
        if counted {
            caveats.push(
                "the last of a number of requests ran under falling load (no load follows --requests)".into(),
            );
        }
        About {
            run: report::Run {
                id: self.id.clone(),
                start_unix_ns: self.start_unix_ns,
                start_mono_ns: self.start.as_ns(),
                duration_ns: (self.ended - self.start).as_ns(),
                window_ns: 0,
                version: env!("CARGO_PKG_VERSION").into(),
                seed: plan.load.seed,
                ended,
                tags: plan.output.tags.iter().cloned().collect(),
            },
            config: About::config_of(plan),
            host: report::Host {
                shard_cpus: plan.client.cpus.iter().map(|cpu| *cpu as u64).collect(),
                ..self.host.clone()
            },
            stages: stages.collect(),
            shards,
            caveats,
            engine: plan.client.engine.name().into(),
            stamps,
            tls: None,
            simulator,
            gpus: plan.target.gpus.map(Into::into),
            target: self.target.found(plan),
            targets: self.target.found_of_each(plan),
        }
    }
}

/// Writes the page of what was just written: from the files, as `report --html` will.
fn write_page(results: &Results) -> Result<(), StoreError> {
    let told = results.tell(MOST_ROWS)?;
    results.write_page(&html::page(&[told])).map(drop)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of slots is whole and small"
)]
fn whole(slots: f64) -> Option<u64> {
    Some(slots as u64)
}

impl Merged {
    /// Adds what one shard left; what it did not leave is said.
    fn add(
        &mut self,
        left: Left,
        orders: &Orders,
        start: Instant,
        histograms: &Histograms,
        failures: &mut Vec<String>,
    ) {
        let Left { number, cpu, outcome, missed_beats } = left;
        let mut facts = ShardFacts { cpu: Some(cpu), missed_beats, ..ShardFacts::default() };
        let mut about = AboutShard::default();
        let mut measured = None;
        match outcome {
            Err(missing) => {
                facts.failed = Some(missing.to_string());
                if let Missing::Silent(silent) = missing {
                    facts.stuck = Some(silent);
                }
            }
            Ok(outcome) => {
                let counters = outcome.counters;
                facts.reads = counters.reads;
                facts.lost_stamps = counters.stamps_lost;
                facts.queue_overflows = counters.cq_overflows + counters.cq_lost;
                about.ring = ring_audit(&counters);
                facts.failed = outcome.died;
                about.cpu_time_ns = Some(outcome.cpu_time.as_ns());
                about.kernel_share = outcome.cpu_times.and_then(|times| times.kernel_share());
                about.buffer_shortages = counters.enobufs;
                self.stamps.hardware += counters.stamped_by_card;
                self.stamps.software += counters.stamped_by_kernel;
                self.stamps.user += counters.reads - counters.stamped_by_card - counters.stamped_by_kernel;
                let Paths { connections, retransmits, min_rtt } = outcome.paths;
                self.tcp.connections += connections;
                self.tcp.retransmits += retransmits;
                self.tcp.min_rtt = self.tcp.min_rtt.into_iter().chain(min_rtt).min();
                self.handshakes.merge(&outcome.handshakes);
                self.clock_bound = self.clock_bound.max(outcome.clock_bound);
                self.clock_steps = self.clock_steps.max(outcome.clock_steps);
                measured = outcome.measured;
            }
        }
        failures.extend(
            facts.failed.as_ref().map(|why| format!("shard {number} failed: {why}; the others report")),
        );
        if let Some(measured) = &mut measured {
            histograms.last(number, measured.end_interval());
        }
        // A shard that left nothing still has its place, empty, among the others.
        let mut measured = measured.unwrap_or_else(|| Measured::new(orders, start, number));
        // One that had ended before knows of no cut, and the windows of all are the same.
        orders.control.cut().into_iter().for_each(|cut| measured.cut(cut));
        let Measured { recorders, audit, .. } = measured;
        self.recorders.push(merged(&recorders));
        if self.targets.is_empty() {
            self.targets = recorders;
        } else {
            self.targets.iter_mut().zip(&recorders).for_each(|(mine, theirs)| mine.merge(theirs));
        }
        self.audits.push(audit);
        self.facts.push(facts);
        self.about.push(about);
    }
}

/// What the ring counted, but for what has a place of its own in the shard's audit: reads, lost stamps, want of buffers.
fn ring_audit(counters: &Counters) -> RingAudit {
    // Taken apart by name, so that a new counter cannot be forgotten here.
    let Counters {
        enters,
        reads: _,
        stamps_lost: _,
        stamped_by_card: _,
        stamped_by_kernel: _,
        overtaken,
        enobufs: _,
        rearmed,
        cq_overflows,
        cq_lost,
        // A client listens nowhere.
        accepts_failed: _,
        sends,
        bytes_sent,
        stale,
        open,
    } = *counters;
    RingAudit {
        enters,
        sends,
        bytes_sent,
        receives_rearmed: rearmed,
        reads_overtaken: overtaken,
        stale_completions: stale,
        completions_delayed: cq_overflows,
        completions_lost: cq_lost,
        connections_left: open,
    }
}

/// Why what other clients would have said is not told, if it is not: they had a part of the traffic, or had it in another
/// order. `is_whole` says that every shard has given all of its own.
fn unimagined(told: &Told, is_whole: bool) -> Option<String> {
    let why = match *told {
        Told { lost: 0, late: 0, .. } if is_whole => return None,
        Told { lost: 0, late: 0, .. } => "a shard has not told of its last events".into(),
        Told { lost: 0, late, .. } => {
            format!(
                "{late} of the events came from a silent shard, when later ones of others had been played"
            )
        }
        Told { lost, .. } => format!("{lost} of the events did not reach the thread that plays them"),
    };
    Some(format!("what other clients would have said is not told: {why}"))
}

/// All servers together, as if they were one.
fn merged(recorders: &[Recorder]) -> Recorder {
    let (first, others) = recorders.split_first().expect("there is a server");
    let mut all = first.clone();
    others.iter().for_each(|other| all.merge(other));
    all
}

fn lost_rows(rows: &RowsWritten) -> Option<String> {
    let error = rows.error.as_ref()?;
    Some(format!("{} rows are missing from records.jsonl: {error}; the statistics are whole", rows.lost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Imagined;

    #[test]
    fn other_clients_are_told_where_they_had_all_of_the_traffic_in_its_order() {
        let why = |lost, late, is_whole| {
            unimagined(&Told { imagined: Imagined::new(&[], 1), lost, late }, is_whole)
        };
        assert_eq!(why(0, 0, true), None);
        for (untold, word) in
            [(why(0, 0, false), "last"), (why(0, 3, true), "3 of"), (why(2, 3, false), "2 of")]
        {
            assert!(untold.as_ref().is_some_and(|why| why.contains(word)), "{untold:?}");
        }
    }
}
