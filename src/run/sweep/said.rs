//! What is said while a sweep goes on: its plan, and each trial in a line.
//!
//! It must not decide anything.

use super::Story;
use crate::plan::Goal;
use crate::search::{Cost, Ended, Lengths, Offer, Purpose, Trust, reachable};
use crate::time::{Span, format_span};

impl Story {
    pub(super) fn say_plan(&self, say: &mut dyn FnMut(&str)) {
        let Lengths { warmup, window } = self.lengths;
        let one = format!("warm-up {}, window {} ({})", seconds(warmup), seconds(window), self.because);
        let Some(search) = self.course.search() else {
            let levels = self.course.planned();
            let time = (warmup + window) * i64::try_from(levels).unwrap_or(i64::MAX);
            say(&format!("a profile of {levels} loads, about {}; each: {one}", seconds(time)));
            return;
        };
        let settings = search.settings();
        let cost = Cost::expected(settings);
        say(&format!(
            "a search of about {} closed loops, {} overload, {} bisections, {} confirmations and {} points of a profile, \
             about {} when no trial is undecided; each: {one}",
            cost.rungs,
            cost.overloads,
            cost.bisections,
            cost.confirmations,
            cost.profile,
            seconds(cost.time(self.lengths))
        ));
        if let Some(budget) = self.plan.budget {
            let words = match reachable(settings, budget) {
                Some(tolerance) if tolerance > settings.tolerance => format!(
                    "the budget of {} is expected to reach a tolerance of {:.0} %, not {:.0} %",
                    format_span(budget),
                    tolerance * 100.0,
                    settings.tolerance * 100.0
                ),
                Some(_) => format!("the budget of {} is expected to suffice", format_span(budget)),
                None => format!("the budget of {} is expected to find no limit", format_span(budget)),
            };
            say(&words);
        }
    }

    /// What the latest trial came to, in one line.
    pub(super) fn line(&self) -> String {
        let (Some(trial), Some(left)) = (self.course.trials().last(), self.left.last()) else {
            return String::new();
        };
        let offer = match trial.ask.offer {
            Offer::Rate(rate) => format!("{rate:.1}/s"),
            Offer::Slots(slots) => format!("{slots} in flight"),
        };
        let (ask, outcome) = (&trial.ask, &trial.outcome);
        let purpose = match ask.purpose {
            Purpose::Ladder => "closed loop",
            Purpose::Overload => "overload",
            Purpose::Level => "service levels",
            Purpose::Profile => "profile",
        };
        let mut words = vec![format!("done {:.1}/s", outcome.completed_per_s())];
        words.extend(self.course.judgement().map(str::to_owned));
        match outcome.ended {
            Ended::Whole => {}
            Ended::Lost => words.push("stopped early".into()),
            Ended::Failed => words.push(format!("the target failed: {} of the requests", outcome.failed)),
            Ended::Aborted => words.extend(self.crossed.as_ref().map(|limit| format!("crossed {limit}"))),
        }
        if outcome.client == Trust::Invalid {
            let why = if matches!(self.plan.goal, Goal::Limits { .. }) { ", no evidence" } else { "" };
            let first = left.reasons.first().map_or(String::new(), |first| format!(": {}", first.words));
            words.push(format!("INVALID: our own side cannot be trusted{why}{first}"));
        }
        if let (Purpose::Level, Some(rate), false) =
            (ask.purpose, ask.offer.rate(), outcome.in_flight.is_empty())
        {
            let share = outcome.detectable_per_s / rate * 100.0;
            words.push(if outcome.grew {
                "requests in flight grew".into()
            } else {
                format!("an overload of {share:.1} % would have been seen")
            });
        }
        format!("{}: {purpose}, {offer} over {}: {}", left.dir, seconds(ask.window), words.join(", "))
    }
}

/// A length of time as one says it: trials are not told to the nanosecond.
pub(super) fn seconds(span: Span) -> String {
    let s = span.as_s_f64();
    match s {
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s => format!("{:.1} min", s / 60.0),
    }
}
