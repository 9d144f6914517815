//! The search itself: from the trials made so far to the next one, or to the end.
//!
//! It must not make trials, nor read a clock: what follows from the same trials is always the same, so that a search that was
//! broken off goes on from its file.

use super::bracket::{self, Judged};
use super::findings::{Findings, Limit, efficient, interval, proved};
use super::judge::{Judgement, judge};
use super::settings::{Lengths, Settings};
use super::trial::{Ask, Ended, Offer, Outcome, Purpose, Trust};
use super::{collapse, usl};
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A trial that was made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// What was asked.
    pub ask: Ask,
    /// What it came to.
    pub outcome: Outcome,
}

/// A search under way.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    settings: Settings,
    trials: Vec<Trial>,
}

/// What comes next.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Next {
    /// This trial.
    Trial(Ask),
    /// Nothing.
    End(End),
}

/// Why a search is over.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// What was looked for was found.
    Found,
    /// No rate worth trying keeps the service levels.
    Nowhere,
    /// Our own side could not be trusted three times running: the limit found is ours.
    ClientLimit,
    /// The target failed outright.
    TargetFailed,
    /// A limit of the user's (`--abort-on`) was crossed.
    Aborted,
    /// It could not be decided within the trials allowed.
    Undecided,
    /// The server could not be driven beyond its limit.
    NeverOverloaded,
}

/// Throughput that gains less than this by twice the slots gains nothing.
const GAIN: f64 = 1.05;

/// An open loop at this much over the best closed loop overloads the server.
const OVER: f64 = 1.2;

/// Rates tried, each this much over the one before, until the server does not keep up.
const MORE: f64 = 1.25;
const MOST_OVERLOADS: usize = 6;

/// A trial that our own side spoiled is made again so often.
const REPEATS: usize = 2;

impl Search {
    /// A search that has made no trial.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, trials: Vec::new() }
    }

    /// One that goes on from these trials.
    #[must_use]
    pub const fn resumed(settings: Settings, trials: Vec<Trial>) -> Self {
        Self { settings, trials }
    }

    /// Its settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The lengths of trials, once the idle server has been seen.
    pub fn set_lengths(&mut self, lengths: Lengths) {
        self.settings.lengths = lengths;
    }

    /// The trials made.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Takes the outcome of the trial that [`Search::next`] asked for.
    pub fn take(&mut self, ask: Ask, outcome: Outcome) {
        self.trials.push(Trial { ask, outcome });
    }

    /// The trial to make next.
    #[must_use]
    pub fn next(&self) -> Next {
        if let Some(last) = self.trials.last() {
            match last.outcome.ended {
                Ended::Failed => return Next::End(End::TargetFailed),
                Ended::Aborted => return Next::End(End::Aborted),
                Ended::Whole | Ended::Lost => {}
            }
            if last.outcome.client == Trust::Invalid {
                let spoiled = self
                    .trials
                    .iter()
                    .rev()
                    .take_while(|trial| trial.outcome.client == Trust::Invalid)
                    .count();
                return if spoiled > REPEATS { Next::End(End::ClientLimit) } else { Next::Trial(last.ask) };
            }
        }
        match self.rung() {
            Rung::Next(slots) => return Next::Trial(self.ladder(slots)),
            Rung::Top(best) => match self.overload(best) {
                Overload::Next(rate) => {
                    return Next::Trial(self.ask(Purpose::Overload, Offer::Rate(rate), 0));
                }
                Overload::Never => return Next::End(End::NeverOverloaded),
                Overload::Known => {}
            },
        }
        let limit = self.limit().expect("the server was overloaded");
        let mut end = End::Found;
        let mut base = limit;
        if !self.settings.slo.is_empty() {
            let (judged, open) = self.levels();
            if let Some(ask) = open {
                return Next::Trial(ask);
            }
            match bracket::next(&judged, limit, self.settings.tolerance) {
                bracket::Next::Try(rate) if judged.len() < self.settings.max_trials => {
                    return Next::Trial(self.ask(Purpose::Level, Offer::Rate(rate), 0));
                }
                bracket::Next::Try(_) => {
                    end = End::Undecided;
                    base = bracket::so_far(&judged).0.unwrap_or(limit);
                }
                bracket::Next::Nowhere => end = End::Nowhere,
                bracket::Next::Found(bounds) => base = bounds.low,
            }
        }
        let made = self.of(Purpose::Profile).count();
        match self.settings.profile.get(made) {
            Some(share) => Next::Trial(self.ask(Purpose::Profile, Offer::Rate(share * base), 0)),
            None => Next::End(end),
        }
    }

    /// What is known by now.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let stability = self.stability();
        let (judged, _) = self.levels();
        let limit = stability.as_ref().and_then(|limit| limit.estimate);
        let levels = self.numbers(Purpose::Level);
        let capacity = limit.filter(|_| !self.settings.slo.is_empty()).map(|limit| {
            match bracket::next(&judged, limit, self.settings.tolerance) {
                bracket::Next::Found(bounds) => proved(bounds, levels.clone()),
                _ => {
                    let (low, high) = bracket::so_far(&judged);
                    Limit { estimate: None, low, high, trials: levels.clone(), ..Limit::default() }
                }
            }
        });
        let valid: Vec<&Trial> = self.valid().collect();
        Findings {
            collapse: limit.and_then(|limit| collapse::of(&valid, limit)),
            efficient_rate: efficient(&valid),
            usl: usl::fit(&self.closed()),
            stability_limit: stability,
            slo_capacity: capacity,
        }
    }

    /// How the looks at each rate of service levels were judged, with the number of their last trial; a look still to come is
    /// left out.
    #[must_use]
    pub fn judgements(&self) -> Vec<(usize, Judged)> {
        self.series()
            .into_iter()
            .filter_map(|series| Some((*series.numbers.last()?, series.judged?)))
            .collect()
    }

    fn valid(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| trial.outcome.client != Trust::Invalid)
    }

    fn of(&self, purpose: Purpose) -> impl Iterator<Item = &Trial> {
        self.valid().filter(move |trial| trial.ask.purpose == purpose)
    }

    fn numbers(&self, purpose: Purpose) -> Vec<usize> {
        let valid = |trial: &Trial| trial.ask.purpose == purpose && trial.outcome.client != Trust::Invalid;
        self.trials.iter().enumerate().filter(|(_, trial)| valid(trial)).map(|(number, _)| number).collect()
    }

    /// Lengths for the server as it was seen: below its limit, or the queue would set them.
    fn lengths(&self) -> Lengths {
        let slots: Vec<&Trial> = self.of(Purpose::Ladder).collect();
        let below = slots.split_last().map_or(&slots[..], |(_, below)| below);
        let e2e = below.iter().filter_map(|trial| trial.outcome.shown("e2e")?.p95_ns).max();
        self.settings.lengths.stretched(e2e.map(Span::from_ns))
    }

    fn ask(&self, purpose: Purpose, offer: Offer, look: u32) -> Ask {
        let Lengths { warmup, window } = self.lengths();
        Ask { purpose, offer, warmup, window: window * (1_i64 << look.min(16)), look }
    }

    /// A rung: half as long, since only its throughput is asked for.
    fn ladder(&self, slots: u32) -> Ask {
        let ask = self.ask(Purpose::Ladder, Offer::Slots(slots), 0);
        Ask { warmup: ask.warmup / 2, window: ask.window / 2, ..ask }
    }

    /// (slots, completions per second) of every rung.
    fn closed(&self) -> Vec<(f64, f64)> {
        self.of(Purpose::Ladder)
            .filter_map(|trial| match trial.ask.offer {
                Offer::Slots(slots) => Some((f64::from(slots), trial.outcome.completed_per_s())),
                Offer::Rate(_) => None,
            })
            .collect()
    }

    fn rung(&self) -> Rung {
        let rungs = self.closed();
        let best = rungs.iter().map(|rung| rung.1).fold(0.0, f64::max);
        let slots = self.of(Purpose::Ladder).filter_map(|trial| match trial.ask.offer {
            Offer::Slots(slots) => Some(slots),
            Offer::Rate(_) => None,
        });
        let Some(highest) = slots.max() else { return Rung::Next(1) };
        let gained = match rungs.as_slice() {
            [.., below, last] => last.1 >= GAIN * below.1,
            _ => true,
        };
        match highest.checked_mul(2) {
            Some(more) if gained && more <= self.settings.max_slots => Rung::Next(more),
            _ => Rung::Top(best),
        }
    }

    fn overload(&self, best: f64) -> Overload {
        if self.limit().is_some() {
            return Overload::Known;
        }
        let made = self.of(Purpose::Overload).count();
        if made >= MOST_OVERLOADS || best <= 0.0 {
            return Overload::Never;
        }
        let latest = self.of(Purpose::Overload).filter_map(|trial| trial.ask.offer.rate()).last();
        Overload::Next(latest.map_or(OVER * best, |rate| MORE * rate))
    }

    /// The stability limit: what is completed per second while requests in flight grow.
    fn stability(&self) -> Option<Limit> {
        let overloaded = |trial: &&Trial| trial.ask.purpose == Purpose::Overload && trial.outcome.grew;
        let number = self
            .trials
            .iter()
            .position(|trial| trial.outcome.client != Trust::Invalid && overloaded(&trial))?;
        Some(interval(&self.trials[number].outcome, number))
    }

    fn limit(&self) -> Option<f64> {
        self.stability().and_then(|limit| limit.estimate)
    }

    /// The judged rates of service levels, and the look that an undecided one still needs.
    fn levels(&self) -> (Vec<Judged>, Option<Ask>) {
        let series = self.series();
        let open = series.last().filter(|series| series.judged.is_none()).and_then(|series| {
            let latest = &self.trials[*series.numbers.last()?].ask;
            Some(Ask { window: latest.window * 2, look: latest.look + 1, ..*latest })
        });
        (series.into_iter().filter_map(|series| series.judged).collect(), open)
    }

    /// The looks of service levels, those at one rate together.
    fn series(&self) -> Vec<Series> {
        let mut series: Vec<Vec<usize>> = Vec::new();
        for number in self.numbers(Purpose::Level) {
            match series.last_mut() {
                Some(looks) if self.trials[number].ask.look > 0 => looks.push(number),
                _ => series.push(vec![number]),
            }
        }
        let judged = |numbers: Vec<usize>| {
            let taken: Vec<&Outcome> = numbers.iter().map(|number| &self.trials[*number].outcome).collect();
            let first = &self.trials[numbers[0]].ask;
            let looks = self.settings.looks(first.window);
            let judgement = judge(&taken, &self.settings, looks);
            let is_over =
                judgement != Judgement::Open || taken.len() >= usize::try_from(looks).unwrap_or(usize::MAX);
            let rate = first.offer.rate().expect("a rate is judged");
            Series { numbers, judged: is_over.then_some(Judged { rate, judgement }) }
        };
        series.into_iter().map(judged).collect()
    }
}

struct Series {
    numbers: Vec<usize>,
    judged: Option<Judged>,
}

enum Rung {
    Next(u32),
    Top(f64),
}

enum Overload {
    Next(f64),
    Known,
    Never,
}
