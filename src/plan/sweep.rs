//! The options of a sweep to its plan: a run without a load of its own, and what is looked for with it; runs nothing.

use super::load::{PAUSE, RATE, SLOTS, WINDOW};
use super::mistake::{Key, PlanError};
use super::raw::{Raw, SweepOptions, Text, nearest};
use super::reading::{Bounds, Given, Place, Reading};
use super::secrets::redacted;
use super::{Limits, Plan, mlperf, slo};
use crate::analysis::Slo;
use crate::random::Delays;
use crate::schedule::{Extent, Load, Process, Ramp, Stage};
use crate::time::{Span, format_span};

/// The requests of a sweep's trials that get a row, where nothing is said: rows of all would fill a disk that nobody reads.
pub const SWEEP_RECORDS: &str = "failed";

/// A sweep, every bound of which has been checked.
#[derive(Clone, PartialEq, Debug)]
pub struct SweepPlan {
    /// The runs it makes, but for their load.
    pub plan: Plan,
    /// What it looks for.
    pub goal: Goal,
    /// The warm-up of each trial; `None` = by how long the idle server takes.
    pub warmup: Option<Span>,
    /// The window of each trial; `None` = by how long the idle server takes.
    pub window: Option<Span>,
    /// The time that it may take.
    pub budget: Option<Span>,
    /// The results directory that it goes on with.
    pub resume: Option<String>,
    /// What was asked for, the defaults filled in: what its config is written from.
    options: SweepOptions,
}

/// What a sweep looks for.
#[derive(Clone, PartialEq, Debug)]
pub enum Goal {
    /// A trial at each of these loads, in order.
    Profile(Vec<Level>),
    /// The limits.
    Limits {
        /// High / low - 1 of the capacity, at most.
        tolerance: f64,
        /// The longest window; `None` = the usual one.
        max_trial: Option<Span>,
        /// The chance of a wrong judgement.
        alpha: f64,
        /// The MLPerf preset asked for.
        mlperf: Option<String>,
    },
}

/// One load.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Level {
    /// Open loop: requests per second.
    Rate(f64),
    /// Closed loop: slots.
    Slots(u32),
}

/// Stands for the load that is looked for where the pool and the shards are sized.
const GUESSED_RATE: &str = "500";

/// How many loads a profile has where none are said.
const STEPS: &str = "8";

/// How near the bounds of a capacity end where nothing is said.
const TOLERANCE: &str = "5%";

/// A doubtful trial costs a wrong capacity.
const ALPHA: f64 = 0.05;

impl SweepPlan {
    /// The sweep that `asked` means on a machine with these `limits`.
    ///
    /// # Errors
    /// Every mistake found, each with its flag, its value, what is accepted and what to do.
    pub fn new(mut asked: Raw, limits: &Limits) -> Result<Self, PlanError> {
        let options = std::mem::take(&mut asked.sweep);
        let mut reading = Reading::default();
        let r = &mut reading;
        for (given, name) in
            [(asked.load.rate.take(), "rate"), (asked.load.concurrency.take(), "concurrency")]
        {
            if given.is_some() {
                r.refuse(
                    of_load(name, given.as_ref()),
                    "a sweep chooses its loads",
                    "leave it out, or use run",
                );
            }
        }
        // A saved config says 1.
        if asked.load.repeat.as_ref().is_some_and(|repeat| repeat.as_str() != "1") {
            let remedy = "leave it out: a profile may name a load more than once, and --auto repeats what is undecided";
            r.refuse(of_load("repeat", asked.load.repeat.as_ref()), "a sweep makes its own runs", remedy);
            asked.load.repeat = None;
        }
        if !asked.stage.is_empty() {
            r.note(Place::Whole("[[stage]]"), None, "a sweep chooses its loads", "leave the stages out");
        }
        let (mut warmup, mut window) = (asked.load.warmup.take(), asked.load.duration.take());
        let requests = asked.load.requests.take();
        let goal = goal(r, &options, &mut asked, &mut window);
        let requests = r.count(of_load("requests", requests.as_ref()), 1..=1_000_000_000_u64);
        let lengths = |r: &mut Reading, text: &mut Option<Text>, name, bounds| {
            r.span(of_load(name, text.take().as_ref()), bounds)
        };
        let warmup = lengths(r, &mut warmup, "warmup", PAUSE);
        let window = lengths(r, &mut window, "duration", WINDOW);
        let window = match (requests, &goal) {
            (Some(requests), Goal::Profile(levels)) => lasting(r, requests, levels).or(window),
            (Some(requests), Goal::Limits { .. }) => {
                let given = Text(requests.to_string());
                r.refuse(of_load("requests", Some(&given)), "for a profile of rates only", "say --duration");
                window
            }
            (None, _) => window,
        };
        let budget =
            r.span(own("budget", options.budget.as_ref()), Span::from_s(1)..=Span::from_s(7 * 86_400));
        let abort_on = slo::read_limits(r, own("abort_on", options.abort_on.as_ref()));
        asked.load.rate = Some(match &goal {
            Goal::Profile(levels) => {
                Text(levels.iter().map(|level| level.rate_at_most()).fold(1.0, f64::max).to_string())
            }
            Goal::Limits { .. } => GUESSED_RATE.into(),
        });
        asked.output.records.get_or_insert(SWEEP_RECORDS.into());
        let (reading, plan) = (reading.done(()), Plan::new(asked, limits));
        match (reading, plan) {
            (Ok(()), Ok(mut plan)) => {
                plan.abort_on = abort_on;
                let options = filled(options, &goal);
                Ok(Self { plan, goal, warmup, window, budget, resume: None, options })
            }
            (Err(mut mine), plan) => {
                mine.mistakes.extend(plan.err().into_iter().flat_map(|error| error.mistakes));
                Err(mine)
            }
            (Ok(()), Err(error)) => Err(error),
        }
    }

    /// The run of the `nth` trial (from 0): one stage, with arrivals and prompts of its own, into `dir`.
    #[must_use]
    pub fn trial(
        &self,
        nth: u32,
        level: Level,
        warmup: Span,
        window: Span,
        cooldown: Span,
        dir: String,
    ) -> Plan {
        let mut plan = self.plan.clone();
        let process = match plan.load.stages.first().map(|stage| stage.load) {
            Some(Load::Open { process, .. }) => process,
            _ => Process::Poisson,
        };
        let load = match level {
            Level::Rate(rate) => {
                Load::Open { rate_per_s: Ramp::Flat(rate.clamp(RATE.least, RATE.most)), process }
            }
            Level::Slots(slots) => {
                Load::Closed { slots: Ramp::Flat(slots.into()), ramp: Span::ZERO, think: Delays::ZERO }
            }
        };
        plan.load.stages = vec![Stage { load, extent: Extent::Duration(window), warmup }];
        plan.load.cooldown = cooldown;
        plan.be_the_nth(nth);
        plan.output.dir = Some(dir);
        plan.be_asked(level, warmup, window, cooldown);
        plan
    }

    /// The effective config in its TOML form: that of the runs but for their load, with the lengths that its trials have, and what
    /// is looked for; every secret hidden. `lowrho sweep -c` repeats the sweep with it.
    #[must_use]
    pub fn effective_toml(&self, warmup: Span, window: Span, max_trial: Option<Span>) -> String {
        let span = |span| Some(Text(format_span(span)));
        let mut raw = self.plan.asked.0.clone();
        raw.sweep = SweepOptions { max_trial: max_trial.and_then(span), ..self.options.clone() };
        (raw.load.rate, raw.load.concurrency, raw.load.requests) = (None, None, None);
        (raw.load.warmup, raw.load.duration) = (span(warmup), span(window));
        if raw.sweep.mlperf.is_some() {
            // The preset says them.
            raw.verdict.slo = None;
        }
        redacted(raw).to_toml()
    }

    /// The service levels.
    #[must_use]
    pub const fn slo(&self) -> &Slo {
        &self.plan.slo
    }
}

impl Level {
    /// For sizing: a slot has about one request a second.
    fn rate_at_most(self) -> f64 {
        match self {
            Self::Rate(rate) => rate,
            Self::Slots(slots) => slots.into(),
        }
    }
}

/// What was asked for with the defaults of what is looked for.
fn filled(mut options: SweepOptions, goal: &Goal) -> SweepOptions {
    let or = |option: &mut Option<Text>, default: &str| {
        option.get_or_insert_with(|| default.into());
    };
    match goal {
        Goal::Profile(_) => {
            or(&mut options.steps, STEPS);
            or(&mut options.scale, "geometric");
            or(&mut options.over, "rate");
        }
        Goal::Limits { .. } => {
            options.auto = Some(true);
            or(&mut options.tolerance, TOLERANCE);
        }
    }
    options
}

/// An option of the sweep's own.
const fn own<'a>(name: &'static str, value: Option<&'a Text>) -> Given<'a> {
    Given { place: Place::Option(Key::new("sweep", name)), value }
}

/// An option of the runs' load.
const fn of_load<'a>(name: &'static str, value: Option<&'a Text>) -> Given<'a> {
    Given { place: Place::Option(Key::new("load", name)), value }
}

fn goal(r: &mut Reading, options: &SweepOptions, asked: &mut Raw, window: &mut Option<Text>) -> Goal {
    let profile = [
        ("from", &options.from),
        ("to", &options.to),
        ("steps", &options.steps),
        ("scale", &options.scale),
        ("over", &options.over),
    ];
    let search =
        [("tolerance", &options.tolerance), ("max_trial", &options.max_trial), ("mlperf", &options.mlperf)];
    let auto = options.auto == Some(true) || options.mlperf.is_some();
    if !auto && options.from.is_none() {
        r.refuse(
            own("from", None),
            "--from and --to, or --auto",
            "say what to sweep: --from 1 --to 64, or --auto",
        );
    }
    let (others, why) =
        if auto { (&profile[..], "a profile (without --auto) only") } else { (&search[..], "--auto only") };
    for (name, given) in others {
        if given.is_some() {
            r.refuse(own(name, given.as_ref()), format!("for {why}"), "leave it out");
        }
    }
    if auto { limits(r, options, asked, window) } else { levels(r, options) }
}

fn limits(r: &mut Reading, options: &SweepOptions, asked: &mut Raw, window: &mut Option<Text>) -> Goal {
    let usual = Text::from(TOLERANCE);
    let given = own("tolerance", Some(options.tolerance.as_ref().unwrap_or(&usual)));
    let share = |text: &str| match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse::<f64>().ok(),
    };
    let tolerance = given.value.map(|text| {
        share(text.as_str()).filter(|share| (0.01..=0.5).contains(share)).unwrap_or_else(|| {
            r.refuse(given, "a share from 1% to 50%", "");
            0.05
        })
    });
    let max_trial = r.span(own("max_trial", options.max_trial.as_ref()), WINDOW);
    let given = own("mlperf", options.mlperf.as_ref());
    let mut alpha = ALPHA;
    if let Some(preset) = given.value {
        match mlperf::terms(preset.as_str()) {
            Some(terms) if asked.verdict.slo.is_none() => asked.verdict.slo = Some(Text(terms)),
            Some(_) => {
                r.refuse(given, "--mlperf or --slo", "a preset says its own service levels: leave one out")
            }
            None => {
                let presets = mlperf::presets();
                let near = nearest(preset.as_str(), presets.iter().copied());
                let near = near.map_or(String::new(), |near| format!("did you mean {near}?"));
                r.refuse(given, presets.join(", "), near);
            }
        }
        alpha = mlperf::ALPHA;
        window.get_or_insert(Text(format_span(mlperf::DURATION)));
    }
    let mlperf = options.mlperf.as_ref().map(|preset| preset.0.clone());
    Goal::Limits { tolerance: tolerance.unwrap_or(0.05), max_trial, alpha, mlperf }
}

#[derive(Copy, Clone, PartialEq)]
enum Scale {
    Linear,
    Geometric,
}

fn levels(r: &mut Reading, options: &SweepOptions) -> Goal {
    let over = r.word(own("over", options.over.as_ref()), &[("rate", false), ("concurrency", true)]);
    let slots = over == Some(true);
    let bounds = if slots {
        Bounds { least: f64::from(*SLOTS.start()), most: f64::from(*SLOTS.end()), unit: "in flight" }
    } else {
        RATE
    };
    let from = r.number(own("from", options.from.as_ref()), &bounds).unwrap_or(bounds.least);
    let given = own("to", options.to.as_ref());
    let to = r.number(given, &bounds);
    let to = to.filter(|to| *to >= from).unwrap_or_else(|| {
        if given.value.is_none() || to.is_some() {
            r.refuse(given, "at least --from", "say where the sweep ends");
        }
        from
    });
    let steps = options.steps.clone().unwrap_or(STEPS.into());
    let steps = r.count(own("steps", Some(&steps)), 2..=1_000_u32).unwrap_or(2);
    let scales = [("geometric", Scale::Geometric), ("linear", Scale::Linear)];
    let scale = r.word(own("scale", options.scale.as_ref()), &scales).unwrap_or(Scale::Geometric);
    let place = |step: u32| {
        let share = f64::from(step) / f64::from(steps - 1);
        match scale {
            Scale::Linear => from + (to - from) * share,
            Scale::Geometric => from * libm::pow(to / from, share),
        }
    };
    let mut levels: Vec<Level> = (0..steps)
        .map(
            |step| {
                if slots { Level::Slots(whole(libm::round(place(step)))) } else { Level::Rate(place(step)) }
            },
        )
        .collect();
    // Few slots between the ends make fewer steps.
    levels.dedup();
    Goal::Profile(levels)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: from 1 to a million")]
fn whole(slots: f64) -> u32 {
    slots as u32
}

/// The window in which the lowest rate has so many requests: every step then has at least as many.
fn lasting(r: &mut Reading, requests: u64, levels: &[Level]) -> Option<Span> {
    let lowest = levels.iter().map(|level| level.rate_at_most()).fold(f64::INFINITY, f64::min);
    let given = Text(requests.to_string());
    let given = of_load("requests", Some(&given));
    if levels.iter().any(|level| matches!(level, Level::Slots(_))) {
        r.refuse(given, "for a profile of rates only", "say --duration");
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 10^9")]
    let seconds = requests as f64 / lowest;
    if seconds > WINDOW.end().as_s_f64() {
        r.refuse(given, "at most a week of the lowest rate", "");
        return None;
    }
    Some(Span::from_s_f64(seconds).max(*WINDOW.start()))
}
