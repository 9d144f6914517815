//! Whether the client can be trusted: the checks of docs/METHOD.md, "Verdict", their reasons in words, and what to do about them.
//!
//! It must not measure: what it compares is handed in. The server's state is said apart from it.

use super::stages::Stages;

/// Trust in the client's numbers, from best to worst.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Every check passed.
    Valid,
    /// Some check lies between its thresholds.
    Suspect,
    /// Some check failed outright.
    Invalid,
}

impl State {
    /// The word that reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

/// Which side of a threshold is the good one.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Good {
    /// Up to the threshold.
    AtMost,
    /// From the threshold on.
    AtLeast,
}

/// One row of the verdict's table.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What it came to.
    pub state: State,
    /// The value found; `None` where there was nothing to measure.
    pub value: Option<f64>,
    /// The value's unit: `ratio` or `ns`.
    pub unit: &'static str,
    /// Which side of `valid` is the good one.
    pub good: Good,
    /// Valid up to here, or from here.
    pub valid: f64,
    /// Invalid beyond here; `None` where it never is.
    pub invalid: Option<f64>,
}

impl Check {
    /// A value that is better the lower it is.
    pub(super) fn at_most(
        name: &'static str,
        unit: &'static str,
        value: Option<f64>,
        valid: f64,
        invalid: f64,
    ) -> Self {
        let state = match value {
            Some(value) if value > invalid => State::Invalid,
            Some(value) if value > valid => State::Suspect,
            _ => State::Valid,
        };
        Self { name, state, value, unit, good: Good::AtMost, valid, invalid: Some(invalid) }
    }

    /// A ratio that is better the higher it is.
    pub(super) fn at_least(name: &'static str, value: Option<f64>, valid: f64, invalid: Option<f64>) -> Self {
        let state = match (value, invalid) {
            (Some(value), Some(invalid)) if value < invalid => State::Invalid,
            (Some(value), _) if value < valid => State::Suspect,
            _ => State::Valid,
        };
        Self { name, state, value, unit: "ratio", good: Good::AtLeast, valid, invalid }
    }

    /// How bad the value is, by its own threshold of validity: more is worse. Compared between checks of one name alone.
    pub(super) fn badness(&self) -> f64 {
        let Some(value) = self.value else { return f64::NEG_INFINITY };
        let part = if self.valid > 0.0 { value / self.valid } else { value };
        match self.good {
            Good::AtMost => part,
            Good::AtLeast => -part,
        }
    }

    fn is_worse_than(&self, other: &Self) -> bool {
        (self.state, self.badness()) > (other.state, other.badness())
    }
}

/// Why the verdict is not valid.
#[derive(Clone, PartialEq, Debug)]
pub struct Reason {
    /// How bad it is: suspect or invalid.
    pub state: State,
    /// The check it comes from.
    pub check: &'static str,
    /// What is wrong, with its numbers.
    pub words: String,
    /// What to do about it.
    pub remedy: String,
    /// The shard it is about, where it is about one.
    pub shard: Option<usize>,
    /// How bad it is among reasons of the same check.
    pub badness: f64,
}

/// The client's verdict on itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The worst of the checks.
    pub state: State,
    /// Why it is not valid, worst first.
    pub reasons: Vec<Reason>,
    /// Every check.
    pub checks: Vec<Check>,
    /// What a reader should know that does not change the verdict.
    pub caveats: Vec<String>,
}

impl Default for Verdict {
    fn default() -> Self {
        Self { state: State::Valid, reasons: Vec::new(), checks: Vec::new(), caveats: Vec::new() }
    }
}

impl Verdict {
    /// Adds a check; `reason` gives the words and the remedy when it did not pass.
    pub(super) fn check(&mut self, check: Check, reason: impl FnOnce() -> (String, String)) {
        if check.state > State::Valid {
            let (words, remedy) = reason();
            self.reason(Reason {
                state: check.state,
                check: check.name,
                words,
                remedy,
                shard: None,
                badness: check.badness(),
            });
        }
        self.checks.push(check);
    }

    /// Adds a reason, after those that are as bad.
    pub(super) fn reason(&mut self, reason: Reason) {
        self.state = self.state.max(reason.state);
        let place = self.reasons.partition_point(|other| other.state >= reason.state);
        self.reasons.insert(place, reason);
    }

    /// The worst that these checks came to; valid where there are none.
    pub(super) fn worst_of(&self, names: &[&str]) -> State {
        let named = self.checks.iter().filter(|check| names.contains(&check.name));
        named.map(|check| check.state).max().unwrap_or(State::Valid)
    }

    /// Adds a reason from which others can follow, before those that are as bad.
    pub(super) fn cause(&mut self, reason: Reason) {
        self.state = self.state.max(reason.state);
        let place = self.reasons.partition_point(|other| other.state > reason.state);
        self.reasons.insert(place, reason);
    }

    /// The verdict on several stages. What ails some of them alike is told once, in the words of the worst; of each check the
    /// worst value is kept.
    pub(super) fn over<'a>(stages: impl Iterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        let mut reasons: Vec<(Reason, Stages)> = Vec::new();
        let mut caveats: Vec<(String, Stages)> = Vec::new();
        for (number, stage) in stages.enumerate() {
            for reason in &stage.reasons {
                let alike = |(other, _): &&mut (Reason, Stages)| other.is_like(reason);
                match reasons.iter_mut().find(alike) {
                    None => reasons.push((reason.clone(), Stages::of(number))),
                    Some((worst, stages)) => {
                        stages.add(number, worst.words == reason.words, reason.badness > worst.badness);
                        if reason.badness > worst.badness {
                            *worst = reason.clone();
                        }
                    }
                }
            }
            for caveat in &stage.caveats {
                match caveats.iter_mut().find(|(other, _)| without_numbers(other).eq(without_numbers(caveat)))
                {
                    None => caveats.push((caveat.clone(), Stages::of(number))),
                    Some((first, stages)) => stages.add(number, first == caveat, false),
                }
            }
            for check in &stage.checks {
                match all.checks.iter_mut().find(|mine| mine.name == check.name) {
                    None => all.checks.push(check.clone()),
                    Some(mine) if check.is_worse_than(mine) => *mine = check.clone(),
                    Some(_) => {}
                }
            }
        }
        for (reason, stages) in reasons {
            all.reason(Reason { words: format!("{stages}: {}", reason.words), ..reason });
        }
        let told =
            caveats.into_iter().map(|(words, stages)| format!("{}: {words}", stages.as_in_the_first()));
        all.caveats = told.collect();
        all
    }
}

impl Reason {
    /// Whether another stage's reason says the same of the same, but for its numbers.
    fn is_like(&self, other: &Self) -> bool {
        let of = |reason: &Self| (reason.state, reason.check, reason.shard);
        of(self) == of(other) && self.remedy == other.remedy
    }
}

/// What a caveat says, whatever its numbers, but for a shard's: those that differ in nothing else are one.
fn without_numbers(words: &str) -> impl Iterator<Item = &str> {
    let mut before = "";
    words.split(' ').map(move |word| {
        let names_a_shard = std::mem::replace(&mut before, word) == "shard";
        if names_a_shard { word } else { word.trim_matches(|c: char| c.is_ascii_digit() || c == '.') }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_its_thresholds_a_check_is_suspect() {
        let at_most = |value| Check::at_most("x", "ratio", Some(value), 0.5, 0.9).state;
        assert_eq!(
            [0.5, 0.51, 0.9, 0.91].map(at_most),
            [State::Valid, State::Suspect, State::Suspect, State::Invalid]
        );
        let at_least = |value| Check::at_least("x", Some(value), 0.99, Some(0.95)).state;
        assert_eq!(
            [0.99, 0.98, 0.95, 0.94].map(at_least),
            [State::Valid, State::Suspect, State::Suspect, State::Invalid]
        );
        assert_eq!(Check::at_least("x", Some(0.0), 0.99, None).state, State::Suspect);
        assert_eq!(Check::at_least("x", None, 0.99, Some(0.95)).state, State::Valid);
    }

    fn reason(state: State, words: &str, badness: f64) -> Reason {
        Reason { state, check: "x", words: words.into(), remedy: "rest".into(), shard: None, badness }
    }

    #[test]
    fn the_worst_reason_comes_first_and_decides() {
        let mut verdict = Verdict::default();
        verdict.reason(reason(State::Suspect, "a", 0.0));
        verdict.reason(reason(State::Invalid, "b", 0.0));
        verdict.reason(reason(State::Suspect, "c", 0.0));
        assert_eq!(verdict.state, State::Invalid);
        let words: Vec<_> = verdict.reasons.iter().map(|r| r.words.as_str()).collect();
        assert_eq!(words, ["b", "a", "c"]);
    }

    #[test]
    fn what_ails_several_stages_alike_is_told_once_by_the_worst() {
        let stages = [
            vec![],
            vec![reason(State::Suspect, "3 late", 3.0)],
            vec![reason(State::Suspect, "7 late", 7.0), reason(State::Invalid, "down", 1.0)],
            vec![reason(State::Suspect, "5 late", 5.0)],
            vec![reason(State::Invalid, "down", 1.0)],
        ]
        .map(|reasons| {
            let mut verdict = Verdict::default();
            reasons.into_iter().for_each(|reason| verdict.reason(reason));
            verdict.caveats.push("two CPUs".into());
            verdict
        });
        let all = Verdict::over(stages.iter());
        let words: Vec<_> = all.reasons.iter().map(|r| r.words.as_str()).collect();
        assert_eq!(words, ["stages 3, 5: down", "stages 2-4 (worst: 3): 7 late"]);
        assert_eq!((all.state, all.caveats), (State::Invalid, vec!["stages 1-5: two CPUs".to_owned()]));
    }

    #[test]
    fn caveats_that_differ_in_their_numbers_alone_are_one() {
        let stages = ["7 of 20 waited", "12.5 of 30 waited", "the clock was set"]
            .map(|caveat| Verdict { caveats: vec![caveat.into()], ..Verdict::default() });
        let caveats = Verdict::over(stages.iter()).caveats;
        assert_eq!(caveats, ["stages 1-2, as in 1: 7 of 20 waited", "stage 3: the clock was set"]);
    }

    #[test]
    fn over_several_stages_a_check_shows_its_worst_value_not_its_first() {
        let of = |values: [Option<f64>; 3], check: fn(Option<f64>) -> Check| {
            let stages = values.map(|value| Verdict { checks: vec![check(value)], ..Verdict::default() });
            Verdict::over(stages.iter()).checks[0].value
        };
        let at_most = |value| Check::at_most("x", "ratio", value, 0.5, 0.9);
        let at_least = |value| Check::at_least("x", value, 0.99, Some(0.95));
        assert_eq!(of([Some(0.6), Some(0.8), Some(0.7)], at_most), Some(0.8));
        assert_eq!(of([Some(0.1), None, Some(0.3)], at_most), Some(0.3));
        assert_eq!(of([Some(0.97), Some(0.96), Some(1.0)], at_least), Some(0.96));
        assert_eq!(of([None, None, None], at_least), None);
    }

    #[test]
    fn a_check_knows_its_good_side_whatever_its_thresholds() {
        assert_eq!(Check::at_most("x", "ratio", None, 0.0, 0.0).good, Good::AtMost);
        assert_eq!(Check::at_least("x", None, 0.99, None).good, Good::AtLeast);
    }
}
