//! The plan of `lowrho floor`: a ladder of short runs, each a plan of its own; runs none of them.

use super::raw::{FloorOptions, Raw, SimOptions, Text};
use super::reading::{Reading, option};
use super::{Limits, Plan, PlanError, Waiting, cpus, format_cpus};
use crate::time::{Span, format_span};

/// Shards, sizes and rates to measure, or ways of waiting to compare.
#[derive(Clone, PartialEq, Debug)]
pub struct FloorPlan {
    /// The ladders, one after another; where ways of waiting are compared, one for each rate.
    pub ladders: Vec<Ladder>,
    /// Whether the rungs are ways of waiting to be compared; all of them are then measured.
    pub compares: bool,
    /// Rounds of a comparison.
    pub rounds: u32,
    /// Tokens of each answer.
    pub tokens: u32,
    /// What is driven, in words.
    pub target: String,
    /// Where the capacity card goes; `None` = where it usually lies.
    pub card: Option<String>,
    /// Directory to keep the runs in.
    pub out: Option<String>,
    /// Whether stdout gets JSON.
    pub json: bool,
    /// No progress on stderr.
    pub quiet: bool,
}

/// Rungs that are climbed until a gate breaks.
#[derive(Clone, PartialEq, Debug)]
pub struct Ladder {
    /// How the answers come.
    pub answers: Answers,
    /// Number of shards.
    pub shards: usize,
    /// Its rungs, lowest first.
    pub rungs: Vec<Rung>,
}

/// How the answers come.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Answers {
    /// The whole answer at once.
    Whole,
    /// A token at a time.
    Streamed,
    /// As a server that is not ours likes.
    Foreign,
}

/// One short run.
#[derive(Clone, PartialEq, Debug)]
pub struct Rung {
    /// Requests per second.
    pub rate_per_s: f64,
    /// How its shards wait.
    pub waiting: Waiting,
    /// The run; where its results go is still to be said.
    pub plan: Plan,
}

/// Load before each rung's window: connections are up and caches warm.
const WARM_UP: &str = "300ms";

/// The ways of waiting that are compared: none, windows around the adaptive one's longest, one that no valid verdict
/// allows for fast streams, and polling.
const WAYS: [&str; 7] = ["0", "100us", "auto", "250us", "500us", "1ms", "busy-poll"];

/// The most rates of one ladder: whoever wants more makes two.
const MOST_RATES: usize = 100;

impl FloorPlan {
    /// The floor that `asked` means on a machine with these `limits`.
    ///
    /// # Errors
    /// Every mistake found in the options; else those of the first run that cannot be.
    pub fn new(asked: &FloorOptions, limits: &Limits) -> Result<Self, PlanError> {
        let mut asked = asked.clone();
        let compares = asked.compare_waiting == Some(true);
        let usual_rates = if compares { FloorOptions::COMPARED_RATE } else { FloorOptions::RATES };
        asked.rates.get_or_insert(usual_rates.into());
        for (flag, text) in FloorOptions::default_flags() {
            let place = match flag.as_str() {
                "--api" => &mut asked.api,
                "--rung" => &mut asked.rung,
                "--output-tokens" => &mut asked.output_tokens,
                "--itl" => &mut asked.itl,
                "--repeat" if compares => &mut asked.repeat,
                _ => continue,
            };
            place.get_or_insert(Text(text));
        }
        let mut reading = Reading::without_a_file();
        let read = Read::of(&mut reading, &Asked { floor: asked }, limits, compares);
        let read = reading.done(read)?;
        read.plan(limits, compares)
    }
}

/// The options as the reader of options wants them: a section with fields.
struct Asked {
    floor: FloorOptions,
}

/// The options, read.
struct Read {
    asked: FloorOptions,
    rates: Vec<f64>,
    rung: Span,
    tokens: u32,
    itl: Span,
    shards: Vec<usize>,
    rounds: u32,
}

impl Read {
    fn of(r: &mut Reading, asked: &Asked, limits: &Limits, compares: bool) -> Self {
        let rates = rates(r, asked);
        let rung = r.span(option!(asked.floor.rung), Span::from_ms(100)..=Span::from_s(600));
        let tokens = r.count(option!(asked.floor.output_tokens), 1..=100_000_u32);
        let itl = r.span(option!(asked.floor.itl), Span::from_us(10)..=Span::from_s(1));
        let rounds = option!(asked.floor.repeat);
        if !compares && rounds.value.is_some() {
            r.refuse(rounds, "with --compare-waiting only", "a ladder is climbed once");
        }
        let rounds = r.count(rounds, 1..=1_000_u32);
        trust(r, asked);
        Self {
            asked: asked.floor.clone(),
            rates,
            rung: rung.unwrap_or_default(),
            tokens: tokens.unwrap_or(1),
            itl: itl.unwrap_or_default(),
            shards: shards(r, asked, limits, compares),
            rounds: rounds.unwrap_or(1),
        }
    }

    fn plan(self, limits: &Limits, compares: bool) -> Result<FloorPlan, PlanError> {
        let answers: &[Answers] = match (&self.asked.url, compares) {
            (Some(_), _) => &[Answers::Foreign],
            (None, true) => &[Answers::Streamed],
            (None, false) => &[Answers::Whole, Answers::Streamed],
        };
        let mut ladders = Vec::new();
        for shards in &self.shards {
            for answers in answers {
                if compares {
                    for rate in &self.rates {
                        let ways = WAYS.iter().map(|way| self.rung(*rate, *answers, *shards, way, limits));
                        let rungs = ways.collect::<Result<_, _>>()?;
                        ladders.push(Ladder { answers: *answers, shards: *shards, rungs });
                    }
                } else {
                    let rungs =
                        self.rates.iter().map(|rate| self.rung(*rate, *answers, *shards, "auto", limits));
                    let rungs = rungs.collect::<Result<_, _>>()?;
                    ladders.push(Ladder { answers: *answers, shards: *shards, rungs });
                }
            }
        }
        let first = &ladders[0].rungs[0].plan;
        let target = match &first.sim {
            Some(sim) => format!("the embedded simulator on CPU {}", super::format_cpus(&sim.cpus)),
            None => first.target.endpoints[0].url(),
        };
        let Self { asked, tokens, rounds, .. } = self;
        Ok(FloorPlan {
            compares,
            rounds,
            tokens,
            target,
            card: asked.card.map(|text| text.0),
            out: asked.out.map(|text| text.0),
            json: asked.json == Some(true),
            quiet: asked.quiet == Some(true),
            ladders,
        })
    }

    fn rung(
        &self,
        rate: f64,
        answers: Answers,
        shards: usize,
        way: &str,
        limits: &Limits,
    ) -> Result<Rung, PlanError> {
        let asked = &self.asked;
        let mut raw = Raw::default();
        raw.target.url = asked.url.clone().into_iter().collect();
        raw.target.ca_cert = asked.ca_cert.clone();
        raw.target.client_cert = asked.client_cert.clone();
        raw.target.client_key = asked.client_key.clone();
        raw.target.insecure = asked.insecure;
        raw.target.api = asked.api.clone();
        raw.target.model = asked.model.clone();
        raw.load.rate = Some(Text(rate.to_string()));
        raw.load.duration = Some(Text(format_span(self.rung)));
        raw.load.warmup = Some(WARM_UP.into());
        raw.payload.output_tokens = Some(Text(self.tokens.to_string()));
        raw.client.shards = Some(Text(shards.to_string()));
        raw.client.cpus = asked.cpus.clone();
        raw.client.engine = asked.engine.clone();
        if way == "busy-poll" {
            raw.client.busy_poll = Some(true);
        } else {
            raw.client.coalesce = Some(way.into());
        }
        if answers != Answers::Foreign {
            raw.target.sim = Some(true);
            let gap = if answers == Answers::Whole { Span::ZERO } else { self.itl };
            raw.sim = SimOptions {
                cpus: asked.sim_cpus.clone(),
                ttft: Some("0s".into()),
                itl: Some(Text(format_span(gap))),
                ..SimOptions::default()
            };
        }
        let plan = Plan::new(raw, limits)?;
        Ok(Rung { rate_per_s: rate, waiting: plan.client.waiting, plan })
    }
}

/// What is said of TLS is said of a server of the user's; whether that speaks it, each rung's own plan sees.
fn trust(r: &mut Reading, asked: &Asked) {
    if asked.floor.url.is_some() {
        return;
    }
    let (accepted, remedy) =
        ("with --url https://... only", "the embedded simulator is driven without TLS here");
    for given in
        [option!(asked.floor.ca_cert), option!(asked.floor.client_cert), option!(asked.floor.client_key)]
    {
        if given.value.is_some() {
            r.refuse(given, accepted, remedy);
        }
    }
    if asked.floor.insecure == Some(true) {
        r.note(option!(@place floor.insecure), Some("true".into()), accepted, remedy);
    }
}

fn rates(r: &mut Reading, asked: &Asked) -> Vec<f64> {
    let given = option!(asked.floor.rates);
    let text = given.value.map_or("", Text::as_str);
    let rates: Option<Vec<f64>> = text.split(',').map(|rate| rate.trim().parse().ok()).collect();
    let fits = |rates: &Vec<f64>| {
        let bounded = rates.iter().all(|rate| (1.0..=10_000_000.0).contains(rate));
        bounded && rates.len() <= MOST_RATES && rates.windows(2).all(|pair| pair[0] < pair[1])
    };
    rates.filter(fits).unwrap_or_else(|| {
        let accepted = format!("1 to {MOST_RATES} rates from 1 to 10000000 requests/s, ascending");
        r.refuse(given, accepted, "such as 500,1000,2000");
        Vec::new()
    })
}

/// The numbers of shards to measure: the one asked for, or one and all that there are; a comparison wants one only.
fn shards(r: &mut Reading, asked: &Asked, limits: &Limits, compares: bool) -> Vec<usize> {
    let simulated = asked.floor.url.is_none();
    for given in [option!(asked.floor.itl), option!(asked.floor.sim_cpus)] {
        let is_usual = given.value == Some(&Text("1ms".into()));
        if !simulated && given.value.is_some() && !is_usual {
            r.refuse(given, "without --url only", "it is the embedded simulator's");
        }
    }
    let mut free = limits.cpus.clone();
    let given = option!(asked.floor.cpus);
    if given.value.is_some() {
        free = cpus::read(r, given, &limits.cpus);
    }
    if simulated {
        let given = option!(asked.floor.sim_cpus);
        let taken = match given.value {
            Some(_) => cpus::read(r, given, &limits.cpus),
            None => vec![*limits.cpus.last().expect("a process may run somewhere")],
        };
        let beside: Vec<usize> = free.iter().copied().filter(|cpu| !taken.contains(cpu)).collect();
        if !beside.is_empty() {
            free = beside;
        }
    }
    let all = free.len();
    let given = option!(asked.floor.shards);
    if let Some(text) = given.value {
        let shards = text.as_str().parse().ok().filter(|shards| (1..=all).contains(shards));
        if shards.is_none() {
            let others = if simulated { ", beside the simulator (--sim-cpus)" } else { "" };
            let remedy = format!(
                "a shard has a CPU of its own, and for shards there are {}{others}",
                format_cpus(&free)
            );
            r.refuse(given, format!("a whole number from 1 to {all}"), remedy);
        }
        return shards.into_iter().collect();
    }
    if compares || all == 1 { vec![1] } else { vec![1, all] }
}
