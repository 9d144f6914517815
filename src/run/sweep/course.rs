//! The trials to come: those of a search, or those of a list.
//!
//! It must not make one.

use crate::plan::{Goal, Level, SweepPlan};
use crate::search::{
    Ask, End, Ended, Findings, Judgement, Lengths, Next, Offer, Outcome, Purpose, Search, Settings, Trial,
};

/// Where the loads come from.
pub(super) enum Course {
    /// A search.
    Search(Box<Search>),
    /// A list.
    Profile {
        /// What is to be offered, in order.
        asks: Vec<Ask>,
        /// What was.
        trials: Vec<Trial>,
    },
}

impl Course {
    /// The course of `plan`, going on from `made`.
    pub(super) fn new(plan: &SweepPlan, lengths: Lengths, made: Vec<Trial>) -> Self {
        match &plan.goal {
            Goal::Profile(levels) => {
                let ask = |level: &Level| Ask {
                    purpose: Purpose::Profile,
                    offer: match level {
                        Level::Rate(rate) => Offer::Rate(*rate),
                        Level::Slots(slots) => Offer::Slots(*slots),
                    },
                    warmup: lengths.warmup,
                    window: lengths.window,
                    look: 0,
                };
                Self::Profile { asks: levels.iter().map(ask).collect(), trials: made }
            }
            Goal::Limits { tolerance, max_trial, alpha, .. } => {
                let usual = Settings::default();
                let settings = Settings {
                    slo: plan.slo().clone(),
                    lengths,
                    tolerance: *tolerance,
                    alpha: *alpha,
                    max_trial: max_trial
                        .unwrap_or(usual.max_trial.min(lengths.window * 4))
                        .max(lengths.window * 2),
                    max_slots: u32::try_from(plan.plan.client.connections)
                        .unwrap_or(u32::MAX)
                        .min(usual.max_slots),
                    ..usual
                };
                Self::Search(Box::new(Search::resumed(settings, made)))
            }
        }
    }

    pub(super) fn next(&self) -> Next {
        match self {
            Self::Search(search) => search.next(),
            Self::Profile { asks, trials } => match trials.last().map(|trial| trial.outcome.ended) {
                Some(Ended::Failed) => Next::End(End::TargetFailed),
                Some(Ended::Aborted) => Next::End(End::Aborted),
                Some(Ended::Whole | Ended::Lost) | None => {
                    asks.get(trials.len()).map_or(Next::End(End::Found), |ask| Next::Trial(*ask))
                }
            },
        }
    }

    pub(super) fn take(&mut self, ask: Ask, outcome: Outcome) {
        match self {
            Self::Search(search) => search.take(ask, outcome),
            Self::Profile { trials, .. } => trials.push(Trial { ask, outcome }),
        }
    }

    pub(super) fn trials(&self) -> &[Trial] {
        match self {
            Self::Search(search) => search.trials(),
            Self::Profile { trials, .. } => trials,
        }
    }

    pub(super) fn search(&self) -> Option<&Search> {
        match self {
            Self::Search(search) => Some(search),
            Self::Profile { .. } => None,
        }
    }

    /// How many loads a profile has.
    pub(super) fn planned(&self) -> usize {
        match self {
            Self::Search(_) => 0,
            Self::Profile { asks, .. } => asks.len(),
        }
    }

    pub(super) fn findings(&self) -> Findings {
        match self {
            Self::Search(search) => search.findings(),
            Self::Profile { trials, .. } => Findings::of_profile(trials),
        }
    }

    /// The trials that decided something, with the word for it.
    pub(super) fn judgements(&self) -> Vec<(usize, &'static str)> {
        let Self::Search(search) = self else { return Vec::new() };
        let word = |judgement| match judgement {
            Judgement::Pass => "passes",
            Judgement::Fail => "fails",
            Judgement::Open => "undecided",
        };
        search.judgements().into_iter().map(|(nth, judged)| (nth, word(judged.judgement))).collect()
    }

    /// What the latest trial decided.
    pub(super) fn judgement(&self) -> Option<&'static str> {
        let latest = self.trials().len().checked_sub(1)?;
        self.judgements().into_iter().find(|(nth, _)| *nth == latest).map(|(_, word)| word)
    }
}
