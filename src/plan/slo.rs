//! Service levels as an option: the terms are the analysis' own, the nearest name is added here.
//!
//! It must not judge.

use super::raw::nearest;
use super::reading::{Given, Reading};
use crate::analysis::{Slo, TermError};

/// Reads `--slo`; nothing asked for where it is not given.
pub(super) fn read(r: &mut Reading, given: Given<'_>) -> Slo {
    terms(r, given, str::parse)
}

/// Reads what ends a sweep: terms with their signs turned round.
pub(super) fn read_limits(r: &mut Reading, given: Given<'_>) -> Slo {
    terms(r, given, Slo::of_limits)
}

fn terms(r: &mut Reading, given: Given<'_>, read: fn(&str) -> Result<Slo, TermError>) -> Slo {
    let Some(text) = given.value else { return Slo::default() };
    read(text.as_str()).unwrap_or_else(|TermError { part, accepted, unknown }| {
        let near = unknown.and_then(|(name, known)| Some((name.clone(), nearest_name(&name, &known)?)));
        let remedy = near.map_or(String::new(), |(name, near)| format!("{name}: did you mean {near}?"));
        r.note(given.place, Some(part), accepted, remedy);
        Slo::default()
    })
}

/// The dashes of options are underscores in the names of metrics.
fn nearest_name<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let dashed: Vec<String> = known.iter().map(|name| name.replace('_', "-")).collect();
    let near = nearest(name, dashed.iter().map(String::as_str))?;
    let place = dashed.iter().position(|name| name == near)?;
    known.get(place).copied()
}
