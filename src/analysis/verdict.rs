//! Whether the client can be trusted: the checks of docs/METHOD.md, "Verdict", their reasons in words, and what to do about them.
//!
//! It must not measure: what it compares is handed in. The server's state is said apart from it.

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
        Self { name, state, value, unit, valid, invalid: Some(invalid) }
    }

    /// A ratio that is better the higher it is.
    pub(super) fn at_least(name: &'static str, value: Option<f64>, valid: f64, invalid: Option<f64>) -> Self {
        let state = match (value, invalid) {
            (Some(value), Some(invalid)) if value < invalid => State::Invalid,
            (Some(value), _) if value < valid => State::Suspect,
            _ => State::Valid,
        };
        Self { name, state, value, unit: "ratio", valid, invalid }
    }
}

/// Why the verdict is not valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// How bad it is: suspect or invalid.
    pub state: State,
    /// The check it comes from.
    pub check: &'static str,
    /// What is wrong, with its numbers.
    pub words: String,
    /// What to do about it.
    pub remedy: String,
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
            self.reason(Reason { state: check.state, check: check.name, words, remedy });
        }
        self.checks.push(check);
    }

    /// Adds a reason, after those that are as bad.
    pub(super) fn reason(&mut self, reason: Reason) {
        self.state = self.state.max(reason.state);
        let place = self.reasons.partition_point(|other| other.state >= reason.state);
        self.reasons.insert(place, reason);
    }

    /// Takes over another verdict's reasons and caveats, each led in by `label`, and the worse of each check.
    pub(super) fn absorb(&mut self, other: &Self, label: &str) {
        for reason in &other.reasons {
            self.reason(Reason { words: format!("{label}{}", reason.words), ..reason.clone() });
        }
        self.caveats.extend(other.caveats.iter().map(|caveat| format!("{label}{caveat}")));
        for check in &other.checks {
            match self.checks.iter_mut().find(|mine| mine.name == check.name) {
                Some(mine) if mine.state < check.state || mine.value.is_none() => *mine = check.clone(),
                Some(_) => {}
                None => self.checks.push(check.clone()),
            }
        }
    }
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

    #[test]
    fn the_worst_reason_comes_first_and_decides() {
        let mut verdict = Verdict::default();
        let reason =
            |state, words: &str| Reason { state, check: "x", words: words.into(), remedy: String::new() };
        verdict.reason(reason(State::Suspect, "a"));
        verdict.reason(reason(State::Invalid, "b"));
        verdict.reason(reason(State::Suspect, "c"));
        assert_eq!(verdict.state, State::Invalid);
        let words: Vec<_> = verdict.reasons.iter().map(|r| r.words.as_str()).collect();
        assert_eq!(words, ["b", "a", "c"]);
    }
}
