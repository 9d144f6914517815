//! Findings to summary: each figure to its key.
//!
//! It rounds to whole nanoseconds and decides nothing; what is undefined stays undefined.

use super::{
    About, Bias, BiasBound, Blame, Check, Client, Distribution, Failure, Good, JobAudit, Latency, Lateness,
    Load, LostTurns, Neighbour, Quantile, Reason, SCHEMA_VERSION, Section, Server, ShardAudit, Share,
    Simulator, Slow, Stage, Summary, Surroundings, TargetSection, Tcp, Throughput, TokenSources, Tokens,
    Unit, Verdict, Wait, Waits, WentAway, WithFailures,
};
use crate::analysis::{
    self, Facts, Findings, FormulaWait, Level, ServerState, ShardFacts, ShardQueue, StageFindings, State,
    Tail,
};
use crate::record::{self, Histogram, Metric, Recorder, Silence};
use crate::time::{Instant, Span};

impl Summary {
    /// The summary of a run. `recorders` are the shards' own, in order: what is told of single shards comes from them.
    ///
    /// # Panics
    /// When stages or shards differ between the parts: all are made from one plan.
    #[must_use]
    pub fn of(findings: &Findings, recorders: &[Recorder], facts: &Facts, about: About) -> Self {
        assert_eq!(findings.stages.len(), about.stages.len(), "every stage is told about");
        assert_eq!(findings.targets.len(), about.targets.len(), "every target is told about");
        let start = Instant::from_ns(about.run.start_mono_ns);
        let total = &findings.total;
        let stages = findings.stages.iter().zip(&about.stages).map(|(found, asked)| {
            let mut section = section(found);
            section.load.requested_concurrency = asked.requested_concurrency;
            Stage {
                name: asked.name.clone(),
                arrival: asked.arrival.clone(),
                start_ns: (found.from - start).as_ns(),
                window_ns: found.length.as_ns(),
                section,
                server: server(&found.server),
            }
        });
        let stages: Vec<Stage> = stages.collect();
        let mut all = section(total);
        if let [only] = about.stages.as_slice() {
            all.load.requested_concurrency = only.requested_concurrency;
        }
        let mut client = client(findings, recorders, facts, &about);
        if let Some(others) = &findings.others {
            client.bias_removed = Some((&others.as_processed).into());
            client.imagined = others.clients.iter().map(Into::into).collect();
        }
        let each = findings.targets.iter().zip(&findings.silences).zip(&about.targets);
        let targets = each.map(|((found, silence), target)| TargetSection {
            target: target.clone(),
            section: section(found),
            server: after(silence, server(&found.server), start),
        });
        let targets: Vec<TargetSection> = targets.collect();
        let mut run = about.run;
        run.window_ns = total.length.as_ns();
        Self {
            schema_version: SCHEMA_VERSION,
            run,
            config: about.config,
            host: about.host,
            target: about.target,
            server: whole_server(findings, about.simulator, &targets, start),
            targets,
            stages,
            gpus: about.gpus.map(|gpus| gpus.of(&all)),
            total: all,
            failures: findings.failures.by_count().into_iter().take(MOST_FAILURES).map(failure).collect(),
            slowest: total.slowest.by_e2e().iter().filter_map(|slow| slow_one(slow, start)).collect(),
            blame: findings.blame.as_ref().map(blame),
            client,
        }
    }
}

/// As many kinds of failure as a reader takes in.
const MOST_FAILURES: usize = 10;

/// So many requests in a row that got not a byte are more than a bad moment.
const ABSENCE: u64 = 5;

fn failure(found: &record::Failure) -> Failure {
    Failure {
        class: found.class.name().into(),
        status: found.status,
        detail: found.detail.as_deref().map(Into::into),
        count: found.count,
    }
}

/// The server's state over the whole run; of several, one that went away is named.
fn whole_server(
    findings: &Findings,
    simulator: Option<Simulator>,
    targets: &[TargetSection],
    start: Instant,
) -> Server {
    let mut told = after(&findings.silence, server(&findings.total.server), start);
    if targets.len() > 1 && told.went_away.is_none() {
        for (nth, target) in
            targets.iter().enumerate().filter(|(_, target)| target.server.went_away.is_some())
        {
            told.kept_up = Some(false);
            told.reasons.push(format!("target {nth} went away: {}", target.target.url));
        }
    }
    Server { simulator, ..told }
}

/// What is to be said of a server that ended in this silence: one that went away has not kept up.
fn after(silence: &Silence, told: Server, start: Instant) -> Server {
    let went_away = (silence.failed() >= ABSENCE).then(|| WentAway {
        since_ns: silence.since().map(|since| (since - start).as_ns()),
        failed: silence.failed(),
    });
    let kept_up = if went_away.is_some() { Some(false) } else { told.kept_up };
    Server { kept_up, went_away, ..told }
}

fn section(found: &StageFindings) -> Section {
    let of = |metric| distribution(found.latency(metric));
    let (load, throughput, tokens) = (&found.load, &found.throughput, &found.tokens);
    let [usage, token_ids, logprobs, events] = tokens.sources;
    Section {
        load: Load {
            requested_rate: finite(load.requested_rate),
            scheduled_rate: finite(load.scheduled_rate),
            sent_rate: finite(load.sent_rate),
            achieved_rate: finite(load.achieved_rate),
            requested_concurrency: None,
            due: load.due,
            begun: load.begun,
            completed: load.completed,
            failed: load.failed,
            failed_by_us: load.ours,
            cancelled: load.cancelled,
            retried: found.population.retried,
            lateness_ns: of(Metric::Lateness),
        },
        latency: Latency {
            ttft_ns: of(Metric::Ttft),
            ttft_due_ns: of(Metric::TtftDue),
            ttfe_ns: of(Metric::Ttfe),
            ttfo_ns: of(Metric::Ttfo),
            itl_ns: of(Metric::Itl),
            stall_ns: of(Metric::Stall),
            tpot_ns: of(Metric::Tpot),
            ntpot_ns: of(Metric::Ntpot),
            ntpot_sent_ns: of(Metric::NtpotSent),
            ntpot_waiting_ns: of(Metric::NtpotWaiting),
            ntpot_decoding_ns: of(Metric::NtpotDecoding),
            e2e_ns: of(Metric::E2e),
            e2e_due_ns: of(Metric::E2eDue),
            e2e_done_ns: of(Metric::E2eDone),
            e2e_end_ns: of(Metric::E2eEnd),
            head_ns: of(Metric::Head),
            connect_ns: of(Metric::Connect),
            handshake_ns: of(Metric::Handshake),
            pool_wait_ns: of(Metric::PoolWait),
        },
        ntpot: (&found.ntpot).into(),
        throughput: Throughput {
            requests_per_s: finite(throughput.requests_per_s),
            output_tokens_per_s: finite(throughput.output_tokens_per_s),
            input_tokens_per_s: finite(throughput.input_tokens_per_s),
            events_per_s: finite(throughput.events_per_s),
            bytes_per_s: finite(throughput.bytes_per_s),
        },
        tokens: Tokens {
            input: (tokens.input_known > 0).then_some(tokens.input),
            cached_input: (tokens.input_known > 0).then_some(tokens.cached),
            output: tokens.output,
            reasoning: (usage > 0).then_some(tokens.reasoning),
            partial_output: tokens.partial_output,
            asked_output: (tokens.asked > 0).then_some(tokens.asked),
            delivered_share: finite(found.delivered_share()),
            events: tokens.events,
            per_event: share(tokens.output, tokens.events),
            weighted_ntpot_ns: found.weighted_ntpot().map(Span::as_ns),
            sources: TokenSources { usage, token_ids, logprobs, events },
        },
        slo: found.slo.as_ref().map(Into::into),
        tolerated: found.population.tolerated.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
        errors: found.population.errors.iter().map(|(class, n)| (class.name().to_owned(), *n)).collect(),
    }
}

fn distribution(found: &analysis::Distribution) -> Distribution {
    let value = |level| found.quantile(level).map(|quantile| quantile.value.as_ns());
    let [p50, p90, p95, p99, p99_9] = Level::ALL.map(value);
    let bounds = |span: Span| found.is_at_least(span);
    let p99_ci = found.quantile(Level::P99).map(|quantile| quantile.interval.map(Span::as_ns));
    Distribution {
        count: found.count,
        mean: found.mean.map(Span::as_ns),
        sd: found.sd.map(Span::as_ns),
        min: found.min.map(Span::as_ns),
        max: found.max.map(Span::as_ns),
        p50,
        p90,
        p95,
        p99,
        p99_9,
        p99_ci,
        at_least: those(|level| found.quantile(level).is_some_and(|quantile| bounds(quantile.value))),
        with_failures: with_failures(&found.with_failures, bounds),
    }
}

fn with_failures(tails: &[Tail; Level::ALL.len()], bounds: impl Fn(Span) -> bool) -> WithFailures {
    let [p50, p90, p95, p99, p99_9] = tails.map(|tail| match tail {
        Tail::Finite(span) => Some(span.as_ns()),
        Tail::Infinite | Tail::Undefined => None,
    });
    WithFailures {
        p50,
        p90,
        p95,
        p99,
        p99_9,
        undefined: those(|level| tails[level.index()] == Tail::Undefined),
        at_least: those(|level| matches!(tails[level.index()], Tail::Finite(span) if bounds(span))),
    }
}

/// The names of the levels for which something is true.
fn those(is: impl Fn(Level) -> bool) -> Vec<Quantile> {
    Level::ALL.into_iter().zip(Quantile::ALL).filter(|(level, _)| is(*level)).map(|(_, name)| name).collect()
}

fn slow_one(slow: &record::Slow, start: Instant) -> Option<Slow> {
    Some(Slow {
        index: slow.index,
        shard: slow.shard.into(),
        stage: slow.stage.into(),
        due_ns: (slow.due - start).as_ns(),
        e2e_due_ns: slow.e2e_due?.as_ns(),
        before_sent_ns: (slow.sent? - slow.due).as_ns(),
        ttft_ns: slow.ttft.map(Span::as_ns),
        decode_ns: slow.streaming.map(Span::as_ns),
        output_tokens: slow.output_tokens,
        stall_ns: slow.stall.map(Span::as_ns),
    })
}

fn client(findings: &Findings, recorders: &[Recorder], facts: &Facts, about: &About) -> Client {
    let (total, busy) = (&findings.total, &findings.busy);
    let shards = &total.shards;
    let told = [recorders.len(), facts.shards.len(), about.shards.len(), busy.len()];
    assert!(told.iter().all(|told| *told == shards.len()), "every shard is told about");
    let found = &total.verdict;
    let mut stamps = about.stamps.clone();
    stamps.lost = facts.shards.iter().map(|shard| shard.lost_stamps).sum();
    stamps.clock_bound_ns = Some(facts.clock_bound.as_ns());
    let parts = shards.iter().zip(recorders).zip(&facts.shards).zip(&about.shards).zip(busy).enumerate();
    Client {
        verdict: verdict(found.state),
        reasons: found.reasons.iter().map(reason).collect(),
        checks: found.checks.iter().map(check).collect(),
        caveats: about.caveats.iter().chain(&found.caveats).cloned().collect(),
        bias: bias(&total.bias),
        engine: about.engine.clone(),
        stamps,
        tls: about.tls.clone(),
        surroundings: surroundings(facts),
        bias_removed: None,
        imagined: Vec::new(),
        shards: parts
            .map(|(number, ((((queue, recorder), facts), about), busy))| ShardAudit {
                shard: number.try_into().expect("a number of shards fits 64 bits"),
                cpu_time_ns: about.cpu_time_ns,
                kernel_share: about.kernel_share,
                buffer_shortages: about.buffer_shortages,
                ring: about.ring,
                over_time: busy.into(),
                ..shard(queue, recorder, facts)
            })
            .collect(),
    }
}

const fn verdict(state: State) -> Verdict {
    match state {
        State::Valid => Verdict::Valid,
        State::Suspect => Verdict::Suspect,
        State::Invalid => Verdict::Invalid,
    }
}

fn reason(found: &analysis::Reason) -> Reason {
    Reason {
        verdict: verdict(found.state),
        check: found.check.into(),
        words: found.words.clone(),
        remedy: found.remedy.clone(),
    }
}

fn check(found: &analysis::Check) -> Check {
    Check {
        name: found.name.into(),
        verdict: verdict(found.state),
        value: finite(found.value),
        unit: if found.unit == "ns" { Unit::Ns } else { Unit::Ratio },
        good: match found.good {
            analysis::Good::AtMost => Good::AtMost,
            analysis::Good::AtLeast => Good::AtLeast,
        },
        valid: finite(Some(found.valid)),
        invalid: finite(found.invalid),
    }
}

fn bias(found: &analysis::Bias) -> Bias {
    let of = |metric| {
        let [p50, p90, p95, p99, p99_9] = found.get(metric).map(|bound| bound.map(Span::as_ns));
        BiasBound { p50, p90, p95, p99, p99_9 }
    };
    Bias {
        ttft_ns: of(Metric::Ttft),
        itl_ns: of(Metric::Itl),
        tpot_ns: of(Metric::Tpot),
        ntpot_ns: of(Metric::Ntpot),
        e2e_ns: of(Metric::E2e),
    }
}

/// What the statistics tell of one shard; its surroundings are still to be told.
fn shard(queue: &ShardQueue, recorder: &Recorder, facts: &ShardFacts) -> ShardAudit {
    let service = queue.service.as_ref();
    ShardAudit {
        wall_ns: queue.wall.as_ns(),
        rho_busy: finite(queue.rho_busy),
        busy: Share {
            jobs: finite(queue.share_jobs),
            empty_wakes: finite(queue.share_empty),
            between_turns: finite(queue.share_rest),
        },
        rho_calc: finite(queue.rho_calc),
        rho_agree: queue.rho_agree,
        lambda_per_s: finite(queue.lambda_per_s),
        service_mean_ns: whole(service.map(|service| service.mean_ns)),
        service_sd_ns: whole(service.map(analysis::Service::sd_ns)),
        service_cv2: finite(service.map(analysis::Service::cv2)),
        dispersion: queue.dispersion.map(finite),
        burst_mean: finite(queue.burst_mean),
        burst_max: queue.burst_max,
        jobs: queue.classes.iter().map(job).collect(),
        waits: Waits {
            observed_ns: whole(queue.observed_ns),
            observed_p99_ns: queue.wait_p99.map(Span::as_ns),
            hold_ns: whole(queue.hold_ns),
            lindley_ns: whole(queue.lindley_ns),
            pollaczek_khinchine: wait(&queue.pollaczek_khinchine),
            batch: wait(&queue.batch),
            in_batches: queue.in_batches,
            unexplained_ns: whole(queue.unexplained_ns),
        },
        lateness_ns: lateness(recorder),
        interruptions: queue.interruptions,
        interrupted_ns: (queue.preempted.lost + queue.off_cpu.lost).as_ns(),
        preempted: lost(&queue.preempted),
        off_cpu: lost(&queue.off_cpu),
        run_delay_ns: queue.run_delay.map(Span::as_ns),
        voluntary_switches: queue.switches.map(|switches| switches.voluntary),
        involuntary_switches: queue.switches.map(|switches| switches.involuntary),
        cpu: facts.cpu.map(|cpu| cpu as u64),
        steal_ns: facts.steal.map(Span::as_ns),
        neighbours: facts.neighbours.iter().map(neighbour).collect(),
        turns: queue.turns,
        empty_turns: queue.empty_turns,
        reads: facts.reads,
        coalesced_reads: recorder.stages().iter().map(|stage| stage.tokens.coalesced_reads).sum(),
        lost_stamps: facts.lost_stamps,
        queue_overflows: facts.queue_overflows,
        rows_dropped: facts.rows_dropped,
        negative_spans: queue.backward_waits.count + queue.backward_services.count,
        failed: facts.failed.clone(),
        ..ShardAudit::default()
    }
}

const fn lost(found: &analysis::LostTurns) -> LostTurns {
    LostTurns { turns: found.turns, lost_ns: found.lost.as_ns(), longest_ns: found.longest.as_ns() }
}

fn neighbour(found: &analysis::Neighbour) -> Neighbour {
    Neighbour { name: found.name.clone(), pid: found.pid.into(), cpu_time_ns: found.used.as_ns() }
}

fn surroundings(facts: &Facts) -> Surroundings {
    let host = &facts.host;
    let numbers = |cpus: &Vec<usize>| cpus.iter().map(|cpu| *cpu as u64).collect();
    Surroundings {
        interface: host.interface.clone(),
        stamping_cpus: host.stamping_cpus.as_ref().map(numbers),
        interrupt_moderation_ns: host.moderation.map(Span::as_ns),
        steal_ns: host.steal.map(Span::as_ns),
        stamping_steal_ns: host.stamping_steal.map(Span::as_ns),
        softnet_dropped: host.softnet_dropped,
        softnet_squeezed: host.softnet_squeezed,
        clock_steps: facts.clock_steps,
        tcp: Tcp {
            connections: facts.tcp.connections,
            retransmits: facts.tcp.retransmits,
            min_rtt_ns: facts.tcp.min_rtt.map(Span::as_ns),
        },
    }
}

fn blame(found: &analysis::Blame) -> Blame {
    let of = |part: Span| finite(Some(part.as_s_f64() / found.p99.as_s_f64()));
    Blame {
        ttft_p99_ns: found.p99.as_ns(),
        client_ns: found.client.as_ns(),
        client_share: of(found.client),
        network_ns: found.network.map(Span::as_ns),
        network_share: found.network.and_then(of),
        server_ns: found.server.as_ns(),
        server_share: of(found.server),
        server_idle_ns: found.server_idle.map(Span::as_ns),
        server_load_ns: found.server_load().map(Span::as_ns),
    }
}

fn job(found: &analysis::ClassAudit) -> JobAudit {
    let service = found.service.as_ref();
    JobAudit {
        class: found.class.name().into(),
        count: found.count,
        service_mean_ns: whole(service.map(|service| service.mean_ns)),
        service_sd_ns: whole(service.map(analysis::Service::sd_ns)),
        service_max_ns: service.map(|service| service.max.as_ns()),
        wait_mean_ns: whole(found.wait_mean_ns),
        hold_mean_ns: whole(found.hold_mean_ns),
    }
}

fn wait(found: &FormulaWait) -> Wait {
    Wait { mean_ns: whole(found.mean_ns), holds: found.holds }
}

/// Lateness of one shard's requests, over all stages.
fn lateness(recorder: &Recorder) -> Lateness {
    let mut values = Histogram::published();
    for stage in recorder.stages() {
        values.merge(stage.tally(Metric::Lateness).values());
    }
    let ns = |value: Option<u64>| value.and_then(|ns| i64::try_from(ns).ok());
    Lateness {
        p50: ns(values.quantile(0.5)),
        p99: ns(values.quantile(0.99)),
        p99_9: ns(values.quantile(0.999)),
        max: ns(values.max()),
    }
}

fn server(found: &ServerState) -> Server {
    let trend = found.trend.as_ref();
    Server {
        kept_up: found.kept_up,
        in_flight_slope: finite(trend.map(|trend| trend.slope_per_s)),
        in_flight_mean: finite(trend.map(analysis::Trend::mean)),
        reasons: found.words.clone(),
        went_away: None,
        simulator: None,
    }
}

/// JSON has neither infinity nor "not a number".
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// To the nearest nanosecond.
#[expect(clippy::cast_possible_truncation, reason = "checked to be inside the range of i64")]
pub(super) fn whole(ns: Option<f64>) -> Option<i64> {
    ns.filter(|ns| ns.abs() < 9.2e18).map(|ns| libm::round(ns) as i64)
}

/// A share of a whole; `None` of nothing.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a ratio of a few digits")]
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
