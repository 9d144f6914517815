//! Texts to values, each within its bounds; a mistake is noted and reading goes on, so that all are told at once.

use super::mistake::{Key, Mistake, PlanError};
use super::raw::{Text, nearest};
use crate::time::{Span, format_span, parse_span};
use std::ops::RangeInclusive;

/// One option: how it is called and what was given.
#[derive(Copy, Clone)]
pub(super) struct Given<'a> {
    pub(super) place: Place,
    pub(super) value: Option<&'a Text>,
}

/// Where an option stands.
#[derive(Copy, Clone)]
pub(super) enum Place {
    /// A flag and its key.
    Option(Key),
    /// A key of the stage with this number, counted from 1.
    Stage(usize, &'static str),
    /// Something that no single option says.
    Whole(&'static str),
}

impl Place {
    fn name(self) -> String {
        match self {
            Self::Option(key) => format!("{} ({} in a file)", key.flag(), key.path()),
            Self::Whole(what) => what.to_owned(),
            Self::Stage(n, name) => format!("[[stage]] number {n}, {}", name.replace('_', "-")),
        }
    }
}

/// An option of the flags and the file by its field: `option!(raw.load.rate)`.
macro_rules! option {
    ($raw:ident . $section:ident . $name:ident) => {
        $crate::plan::reading::Given {
            place: option!(@place $section.$name),
            value: $raw.$section.$name.as_ref(),
        }
    };
    (@place $section:ident . $name:ident) => {
        $crate::plan::reading::Place::Option($crate::plan::mistake::Key::new(
            stringify!($section),
            stringify!($name),
        ))
    };
}
pub(super) use option;

/// Bounds of a number, both included.
#[derive(Copy, Clone)]
pub(super) struct Bounds {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) unit: &'static str,
}

/// Notes mistakes as texts are read. What a reader returns beside a mistake never gets out of [`Reading::done`].
#[derive(Default)]
pub(super) struct Reading {
    mistakes: Vec<Mistake>,
    simulator_alone: bool,
    without_a_file: bool,
}

impl Reading {
    /// Reads the flags of `lowrho sim`, which do not say whose they are.
    pub(super) fn of_the_simulator_alone() -> Self {
        Self { simulator_alone: true, ..Self::default() }
    }

    /// Reads flags that are no keys of a file.
    pub(super) fn without_a_file() -> Self {
        Self { without_a_file: true, ..Self::default() }
    }

    /// Refuses what was given.
    pub(super) fn refuse(
        &mut self,
        given: Given<'_>,
        accepted: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.note(given.place, given.value.map(|text| text.0.clone()), accepted, remedy);
    }

    /// Notes a mistake whose value is not the option's own text: a part of it, or one that must not be shown.
    pub(super) fn note(
        &mut self,
        place: Place,
        value: Option<String>,
        accepted: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let place = match place {
            Place::Option(key) if self.simulator_alone || self.without_a_file => key.flag(),
            place => place.name(),
        };
        let [place, accepted, remedy] =
            [place, accepted.into(), remedy.into()].map(|words| self.as_typed(words));
        self.mistakes.push(Mistake { place, value, accepted, remedy });
    }

    /// Flags of the simulator by the names that they have where it is alone.
    fn as_typed(&self, words: String) -> String {
        if self.simulator_alone { words.replace("--sim-", "--") } else { words }
    }

    /// The value, unless a mistake was noted.
    pub(super) fn done<T>(self, value: T) -> Result<T, PlanError> {
        if self.mistakes.is_empty() { Ok(value) } else { Err(PlanError { mistakes: self.mistakes }) }
    }

    /// Whether no mistake was noted so far.
    pub(super) fn is_clean(&self) -> bool {
        self.mistakes.is_empty()
    }

    /// A span such as `250ms`.
    pub(super) fn span(&mut self, given: Given<'_>, accepted: RangeInclusive<Span>) -> Option<Span> {
        let range = format!("{} to {}", format_span(*accepted.start()), format_span(*accepted.end()));
        match parse_span(given.value?.as_str()) {
            Ok(span) if accepted.contains(&span) => Some(span),
            Ok(_) => {
                self.refuse(given, range, "");
                None
            }
            Err(why) => {
                self.refuse(given, range, why.to_string());
                None
            }
        }
    }

    /// A number, whole or not.
    pub(super) fn number(&mut self, given: Given<'_>, bounds: &Bounds) -> Option<f64> {
        let number = given.value?.as_str().parse::<f64>().ok();
        let number = number.filter(|n| (bounds.least..=bounds.most).contains(n));
        if number.is_none() {
            let Bounds { least, most, unit } = bounds;
            self.refuse(given, format!("a number from {least} to {most} {unit}"), "");
        }
        number
    }

    /// A whole number.
    pub(super) fn count<T>(&mut self, given: Given<'_>, accepted: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<u64> + PartialOrd + std::fmt::Display,
    {
        let count = given.value?.as_str().parse::<u64>().ok().and_then(|n| T::try_from(n).ok());
        let count = count.filter(|n| accepted.contains(n));
        if count.is_none() {
            self.refuse(given, format!("a whole number from {} to {}", accepted.start(), accepted.end()), "");
        }
        count
    }

    /// One word of several.
    pub(super) fn word<T: Copy>(&mut self, given: Given<'_>, words: &[(&str, T)]) -> Option<T> {
        let text = given.value?.as_str();
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let names = words.iter().map(|(word, _)| *word);
            let remedy =
                nearest(text, names.clone()).map_or(String::new(), |near| format!("did you mean {near}?"));
            self.refuse(given, names.collect::<Vec<_>>().join(", "), remedy);
        }
        found
    }

    /// What another room reads, by its own words for what it refuses.
    pub(super) fn parsed<T, E: std::fmt::Display>(
        &mut self,
        given: Given<'_>,
        accepted: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        match parse(given.value?.as_str()) {
            Ok(value) => Some(value),
            Err(why) => {
                self.refuse(given, accepted, why.to_string());
                None
            }
        }
    }

    /// A text that is not empty.
    pub(super) fn text(&mut self, given: Given<'_>, what: &str) -> Option<String> {
        let text = given.value?.as_str();
        if text.trim().is_empty() {
            self.refuse(given, what, "");
            return None;
        }
        Some(text.to_owned())
    }
}
