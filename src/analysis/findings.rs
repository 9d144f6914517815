//! What a run found: each stage, and all stages together, from the shards' recorders and audits.
//!
//! It must not format: reports do.

use super::load::{load, throughput, window_length};
use super::verdict::Verdict;
use super::{
    Bias, Blame, BusyCourse, Distribution, Facts, HeldBack, Level, Load, NtpotSplit, OtherClients,
    ServerState, ShardQueue, SloFindings, StageFacts, Stolen, Thresholds, Throughput, Trend, alive, examine,
    hindrance,
};
use crate::record::{
    Audit, BLOCKS, Failures, Imagined, Metric, Population, Queue, Recorder, Silence, Slowest, Stage,
    TokenSums,
};
use crate::time::{Instant, Span};

/// The findings of one stage, or of all together.
#[derive(Clone, PartialEq, Debug)]
pub struct StageFindings {
    /// The window's first instant.
    pub from: Instant,
    /// The window's length.
    pub length: Span,
    /// Load asked, scheduled, sent, achieved.
    pub load: Load,
    /// Every metric, in the order of [`Metric::ALL`].
    latency: Vec<Distribution>,
    /// The parts of NTPOT.
    pub ntpot: NtpotSplit,
    /// Successes completed within each twentieth of the window, where its end is fixed.
    pub completed_by_part: [u64; BLOCKS],
    /// What was stamped inside the window.
    pub throughput: Throughput,
    /// What it made of the service levels, where some were asked for.
    pub slo: Option<SloFindings>,
    /// The first limit crossed of those that end a sweep, as it was written.
    pub aborts: Option<String>,
    /// Fates and classes of failure.
    pub population: Population,
    /// Tokens.
    pub tokens: TokenSums,
    /// Bias bounds.
    pub bias: Bias,
    /// Each shard as a queue.
    pub shards: Vec<ShardQueue>,
    /// The client's verdict on itself.
    pub verdict: Verdict,
    /// The server's state.
    pub server: ServerState,
    /// The slowest successes.
    pub slowest: Slowest,
}

impl StageFindings {
    /// The distribution of one metric.
    #[must_use]
    pub fn latency(&self, metric: Metric) -> &Distribution {
        &self.latency[metric.index()]
    }

    /// The token-weighted NTPOT: sum of E2E / sum of tokens.
    #[must_use]
    pub fn weighted_ntpot(&self) -> Option<Span> {
        let mean = self.tokens.e2e_ns.checked_div(i128::from(self.tokens.weighted))?;
        Some(Span::from_ns(i64::try_from(mean).expect("a mean E2E is a span")))
    }

    /// Output tokens delivered / asked, where a length was asked for.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share of a few digits")]
    pub fn delivered_share(&self) -> Option<f64> {
        (self.tokens.asked > 0).then(|| self.tokens.delivered as f64 / self.tokens.asked as f64)
    }
}

/// The findings of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Findings {
    /// Each stage, in order.
    pub stages: Vec<StageFindings>,
    /// All measured stages together; its verdict is the run's.
    pub total: StageFindings,
    /// How busy each shard was over the run, in their order.
    pub busy: Vec<BusyCourse>,
    /// Whose the tail of TTFT is; `None` where the tail is undefined.
    pub blame: Option<Blame>,
    /// What other clients would have said, where they were imagined.
    pub others: Option<OtherClients>,
    /// Failures of measured requests by their words.
    pub failures: Failures,
    /// The silence of the server at the end of what was heard.
    pub silence: Silence,
    /// Each server over all measured stages, in the order of its number. The client is one for all: its shards and its
    /// verdict are told with `total` alone.
    pub targets: Vec<StageFindings>,
    /// The silence of each server, in the same order.
    pub silences: Vec<Silence>,
}

impl Findings {
    /// Analyses a run. `recorders` and `audits` are the shards', in order.
    ///
    /// # Panics
    /// When there is no recorder or no stage, or stages differ between the parts: all are made from one plan.
    #[must_use]
    pub fn of(recorders: &[Recorder], audits: &[Audit], facts: &Facts, thresholds: &Thresholds) -> Self {
        let (first, others) = recorders.split_first().expect("a run has a shard");
        let mut merged = first.clone();
        others.iter().for_each(|other| merged.merge(other));
        let stages = merged.stages();
        assert!(!stages.is_empty(), "a run has a stage");
        assert_eq!(stages.len(), facts.stages.len(), "every stage has its facts");
        let found: Vec<StageFindings> = stages
            .iter()
            .enumerate()
            .map(|(number, stage)| {
                let asked = facts.stages[number];
                let queues: Vec<&Queue> = audits.iter().map(|audit| &audit.queues()[number]).collect();
                let length = window_length(stage, facts.interrupted);
                let load = load(stage, length, asked.requested_rate, asked.due);
                let mut found = figures(stage, length, load, &queues, facts, asked.stolen);
                found.server = state(stage, &asked, facts);
                found.verdict = examine::stage(stage, &found, facts, thresholds);
                found
            })
            .collect();
        let mut total = match found.as_slice() {
            [only] => only.clone(),
            several => together(stages, several, audits, facts),
        };
        let jobs = audits.iter().flat_map(|audit| audit.queues()).map(|queue| queue.all().count).sum();
        let rows = total.load.due;
        examine::surroundings(&mut total.verdict, facts, jobs, rows, thresholds);
        hindrance::hindrances(&mut total.verdict, &total.shards, facts);
        alive::shards_alive(&mut total.verdict, facts, total.length, thresholds);
        let p99 = total.latency(Metric::Ttft).quantile(Level::P99).map(|quantile| quantile.value);
        let bound = total.bias.get(Metric::Ttft)[Level::P99.index()];
        let blame =
            p99.zip(bound).map(|(p99, bound)| Blame::of(p99, bound, facts.tcp.min_rtt, facts.idle_ttft));
        let (failures, silence) = (merged.failures().clone(), *merged.silence());
        Self {
            stages: found,
            total,
            busy: audits.iter().map(|audit| BusyCourse::of(audit.busy())).collect(),
            blame,
            failures,
            silence,
            others: None,
            targets: Vec::new(),
            silences: Vec::new(),
        }
    }

    /// The same with what imagined clients say of all stages.
    #[must_use]
    pub fn beside(mut self, imagined: &Imagined) -> Self {
        self.others = Some(OtherClients::of(imagined, &self.total));
        self
    }

    /// Adds what is told of each server. `recorders` are the servers', in order, each merged over the shards.
    ///
    /// # Panics
    /// When stages differ between the parts: all are made from one plan.
    #[must_use]
    pub fn with_targets(mut self, recorders: &[Recorder], facts: &Facts) -> Self {
        let length = self.stages.iter().map(|stage| stage.length).sum();
        let stolen = stolen_of_all(&self.stages, &facts.stages, length);
        let target = |recorder: &Recorder| {
            let stages = recorder.stages();
            assert_eq!(stages.len(), facts.stages.len(), "every stage has its facts");
            let mut all = stages[0].clone();
            stages[1..].iter().for_each(|stage| all.merge(stage));
            let mut found = figures(&all, length, load(&all, length, None, None), &[], facts, stolen);
            let states: Vec<ServerState> =
                stages.iter().zip(&facts.stages).map(|(stage, asked)| state(stage, asked, facts)).collect();
            found.server = match states.as_slice() {
                [only] => only.clone(),
                several => ServerState::over(several.iter()),
            };
            found
        };
        self.targets = recorders.iter().map(target).collect();
        self.silences = recorders.iter().map(|recorder| *recorder.silence()).collect();
        self
    }
}

/// What the load of one stage did to a server. Of a load that changes or was cut short, requests in flight tell nothing.
fn state(stage: &Stage, asked: &StageFacts, facts: &Facts) -> ServerState {
    // A run that was cut after this window has left it whole.
    let is_cut = facts.interrupted.is_some_and(|at| stage.window().until.is_none_or(|until| at < until));
    let steady = !asked.is_ramp && !is_cut;
    let parts = stage.window().part_lengths().filter(|_| steady);
    let trend = parts.map(|parts| Trend::of(&stage.in_flight_ns, &parts));
    let mut state = ServerState::of(trend, asked.requested_rate.is_some());
    let population = &stage.population;
    state.failing(examine::ratio(population.failed - population.ours, population.begun.max(1)));
    state.partly_counted(facts.has_lost_counts());
    state.held_back(examine::ratio(stage.tally(Metric::PoolWait).requests(), population.completed.max(1)));
    if let Some(round_trip) = facts.delayed_acks
        && let Some(found) = HeldBack::in_gaps(stage.tally(Metric::Itl).values(), round_trip)
    {
        state.words.push(found.words(round_trip));
    }
    if population.told_to_wait > 0 {
        state.words.push(format!(
            "{} refusals said when to ask again (Retry-After, at most {} s)",
            population.told_to_wait, population.longest_wait_s
        ));
    }
    state
}

/// All stages together. Rates are over the sum of the windows; the verdict and the server's state are those of the stages.
fn together(stages: &[Stage], found: &[StageFindings], audits: &[Audit], facts: &Facts) -> StageFindings {
    let mut all = stages[0].clone();
    stages[1..].iter().for_each(|stage| all.merge(stage));
    let length = found.iter().map(|stage| stage.length).sum();
    let due = found.iter().map(|stage| stage.load.due).sum();
    let queues: Vec<Queue> = audits
        .iter()
        .map(|audit| {
            let mut queue = Queue::default();
            audit.queues().iter().for_each(|other| queue.merge(other));
            queue
        })
        .collect();
    let queues: Vec<&Queue> = queues.iter().collect();
    let stolen = stolen_of_all(found, &facts.stages, length);
    let mut total = figures(&all, length, load(&all, length, None, Some(due)), &queues, facts, stolen);
    total.server = ServerState::over(found.iter().map(|stage| &stage.server));
    total.verdict = Verdict::over(found.iter().map(|stage| &stage.verdict));
    total
}

/// The stolen stretches of all stages, as a part of their windows together.
fn stolen_of_all(found: &[StageFindings], facts: &[StageFacts], length: Span) -> Option<Stolen> {
    let parts = found.iter().zip(facts).filter_map(|(stage, facts)| Some((stage.length, facts.stolen?)));
    parts.fold(None, |all, (of, stolen)| {
        let all = all.unwrap_or(Stolen::default());
        let share = all.share + stolen.share * of.as_s_f64() / length.as_s_f64();
        Some(Stolen { share, longest: all.longest.max(stolen.longest) })
    })
}

/// What follows from the sums alone; verdict and server are still to be told.
fn figures(
    stage: &Stage,
    length: Span,
    load: Load,
    queues: &[&Queue],
    facts: &Facts,
    stolen: Option<Stolen>,
) -> StageFindings {
    let throughput = throughput(stage, length);
    StageFindings {
        from: stage.window().from,
        length,
        latency: Metric::ALL
            .into_iter()
            .map(|metric| {
                // Lateness is of all requests that were begun: no failure takes its value away.
                let none = [0; BLOCKS];
                let failures = if metric == Metric::Lateness { &none } else { &stage.failed_by_block };
                Distribution::of(stage.tally(metric), failures)
            })
            .collect(),
        ntpot: NtpotSplit::of(&stage.split),
        slo: SloFindings::of(&facts.slo, stage, length, &throughput),
        aborts: facts.abort_on.crossed_by(stage, &throughput).map(str::to_owned),
        completed_by_part: stage.completed_by_part,
        throughput,
        load,
        population: stage.population.clone(),
        tokens: stage.tokens,
        bias: Bias::of(stage, facts.stamps, facts.clock_bound, stolen),
        shards: queues.iter().map(|queue| ShardQueue::of(queue)).collect(),
        verdict: Verdict::default(),
        server: ServerState::default(),
        slowest: stage.slowest.clone(),
    }
}
