//! From options to a plan: the defaults filled in, every option read, what excludes what; each bound once.

use super::mistake::PlanError;
use super::raw::{Raw, SweepOptions, Text};
use super::reading::{Place, Reading, option};
use super::secrets::redacted;
use super::{
    Level, Limits, Output, Plan, Records, Require, client, load, payload, sim, slo, target, thresholds,
    validated::Asked,
};
use crate::analysis::Slo;
use crate::schedule::Schedule;
use crate::time::{Span, format_span};

impl Plan {
    /// The plan that `asked` means on a machine with these `limits`.
    ///
    /// # Errors
    /// Every mistake found, each with its flag, its value, what is accepted and what to do.
    pub fn new(asked: Raw, limits: &Limits) -> Result<Self, PlanError> {
        let mut raw = filled(asked);
        let sweeping = std::mem::take(&mut raw.sweep) != SweepOptions::default();
        let mut reading = Reading::default();
        let r = &mut reading;
        let target = target::read(r, &raw);
        let load = load::read(r, &raw);
        let payload = payload::read(r, &raw);
        let mut sim = sim::read(r, &raw, limits);
        let output = output(r, &raw);
        let require = r.word(option!(raw.verdict.require), &REQUIRE).unwrap_or(Require::Suspect);
        let thresholds = thresholds::read(r, &raw);
        let slo = slo::read(r, option!(raw.verdict.slo));
        let max_error_share = share(r, &raw);
        // Whether the load fits the machine can only be asked of a load that is well.
        let (client, mut caveats) = if reading.is_clean() {
            client::read(&mut reading, &raw, limits, &target, &load, &payload, sim.as_ref())
        } else {
            Default::default()
        };
        if target.tls.insecure {
            caveats.push(
                "--insecure: no server had to prove who it is, so these are the numbers of whoever answered"
                    .into(),
            );
        }
        if let Some(sim) = &mut sim {
            sim.engine.get_or_insert(client.engine);
        }
        if sweeping {
            caveats.push("[sweep] of the file is for lowrho sweep: this is one run".into());
        }
        let plan = Self {
            target,
            load,
            payload,
            client,
            output,
            sim,
            require,
            thresholds,
            slo,
            abort_on: Slo::default(),
            max_error_share,
            caveats,
            asked: Asked(raw),
        };
        if reading.is_clean() {
            plan.try_requests(&mut reading);
        }
        reading.done(plan)
    }

    /// Asks the workload, since it has the last word on lengths and on what a body may hold.
    fn try_requests(&self, r: &mut Reading) {
        let model = self.target.model.as_deref().unwrap_or("model");
        let heads: Result<Vec<_>, _> =
            self.target.endpoints.iter().map(|endpoint| self.head(endpoint, "run")).collect();
        match heads {
            Err(fault) => r.note(Place::Whole("the requests' head"), Some(fault.to_string()), "", ""),
            Ok(heads) => {
                let tried = heads.into_iter().next().map(|head| self.check_workload(model, head));
                if let Some(Err(why)) = tried {
                    r.note(Place::Whole("the payload"), Some(why.to_string()), "", "");
                }
            }
        }
    }

    /// The schedule of one run, from instant zero.
    ///
    /// # Panics
    /// Never: a plan's schedule was made once to check it.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        self.load.schedule().expect("the schedule of a plan was checked")
    }

    /// Becomes the `nth` (from 0) of the runs that it asks for: one run, with arrivals, prompts and a directory of its own.
    pub fn be_the_nth(&mut self, nth: u32) {
        self.output.nth = (self.load.repeat > 1).then_some(nth + 1);
        self.load.seed = self.load.seed.wrapping_add(u64::from(nth));
        self.load.repeat = 1;
        self.asked.0.load.seed = Some(Text(self.load.seed.to_string()));
        self.asked.0.load.repeat = Some(Text("1".into()));
    }

    /// Writes down that this load was asked for, so that the config of a sweep's trial repeats it.
    pub(super) fn be_asked(&mut self, level: Level, warmup: Span, window: Span, cooldown: Span) {
        let load = &mut self.asked.0.load;
        let span = |span| Some(Text(format_span(span)));
        (load.rate, load.concurrency) = match level {
            Level::Rate(rate) => (Some(Text(rate.to_string())), None),
            Level::Slots(slots) => (None, Some(Text(slots.to_string()))),
        };
        if load.concurrency.is_some() {
            (load.arrival, load.max_concurrency) = (None, None);
        }
        (load.warmup, load.duration, load.cooldown) = (span(warmup), span(window), span(cooldown));
    }

    /// The effective config in its TOML form, every default written out and every secret hidden.
    #[must_use]
    pub fn effective_toml(&self) -> String {
        redacted(self.asked.0.clone()).to_toml()
    }
}

const REQUIRE: [(&str, Require); 3] =
    [("valid", Require::Valid), ("suspect", Require::Suspect), ("any", Require::Any)];

const RECORDS: [(&str, Records); 3] =
    [("none", Records::None), ("failed", Records::Failed), ("all", Records::All)];

/// `asked` over the defaults, less the defaults that what was asked excludes: what is left is what happens.
fn filled(asked: Raw) -> Raw {
    let mut defaults = Raw::defaults();
    if asked.target.sim != Some(true) {
        defaults.sim = Default::default();
    }
    sim::yield_defaults(&mut defaults.sim, &asked.sim);
    if asked.target.url.len() < 2 {
        // Only several servers have it.
        defaults.target.balance = None;
    }
    if asked.load.concurrency.is_none() && asked.stage.is_empty() {
        // Only a closed loop has these; where no load is asked for, that alone is the mistake.
        (defaults.load.ramp, defaults.load.think_time) = (None, None);
    }
    if asked.payload.prompt_as.as_ref().is_none_or(|form| form.as_str() != "ids") {
        defaults.payload.vocab_size = None;
    }
    let mut raw = asked.over(defaults);
    later_of_one_name(&mut raw.target.header, ':');
    later_of_one_name(&mut raw.output.tag, '=');
    later_of_one_name(&mut raw.verdict.threshold, '=');
    raw
}

/// Keeps the last of the entries whose names, before `sign`, are the same.
fn later_of_one_name(entries: &mut Vec<super::Text>, sign: char) {
    let name = |entry: &super::Text| {
        entry.as_str().split(sign).next().map_or(String::new(), |name| name.trim().to_ascii_lowercase())
    };
    let names: Vec<String> = entries.iter().map(name).collect();
    let mut at = 0;
    entries.retain(|_| {
        at += 1;
        !names[at..].contains(&names[at - 1])
    });
}

fn share(r: &mut Reading, raw: &Raw) -> f64 {
    let given = option!(raw.verdict.max_error_share);
    let share = given.value.and_then(|text| text.as_str().parse::<f64>().ok());
    share.filter(|share| (0.0..=1.0).contains(share)).unwrap_or_else(|| {
        r.refuse(given, "a share from 0 to 1", "1 = whatever fails; 0.01 = one request in a hundred");
        1.0
    })
}

fn output(r: &mut Reading, raw: &Raw) -> Output {
    let tags = raw.output.tag.iter().filter_map(|tag| match tag.as_str().split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Some((key.trim().to_owned(), value.to_owned())),
        _ => {
            let place = option!(@place output.tag);
            r.note(place, Some(tag.0.clone()), "KEY=VALUE", "");
            None
        }
    });
    let tags = tags.collect();
    let (quiet, verbose) = (raw.output.quiet == Some(true), raw.output.verbose == Some(true));
    if quiet && verbose {
        r.note(
            option!(@place output.quiet),
            Some("true".into()),
            "quiet or verbose",
            "leave one of them out",
        );
    }
    Output {
        dir: r.text(option!(raw.output.out), "the name of a directory"),
        nth: None,
        records: r.word(option!(raw.output.records), &RECORDS).unwrap_or(Records::All),
        record_gaps: raw.output.record_gaps == Some(true),
        tags,
        json: raw.output.json == Some(true),
        quiet,
        verbose,
    }
}
