//! Whether a text is one whole result: a tool prints each of its parts once.
//!
//! It must not read a figure.

use super::ForeignError;

/// A part that a tool always prints: how it is told to people, and how its line is told from others.
pub(super) type Part = (&'static str, fn(&str) -> bool);

/// Refuses a text of `tool` that lacks one of `parts`, or holds one more than once.
///
/// # Errors
/// It is cut, or holds several runs.
pub(super) fn one_run(tool: &str, text: &str, parts: &[Part]) -> Result<(), ForeignError> {
    let count = |is: fn(&str) -> bool| text.lines().filter(|line| is(line)).count();
    let counts: Vec<(&str, usize)> = parts.iter().map(|(name, is)| (*name, count(*is))).collect();
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most > 1 {
        return Err(wrong(tool, format!("holds {most} runs: give each its own file")));
    }
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((name, _)) => Err(cut(tool, &format!("it has no {name}"))),
        None => Ok(()),
    }
}

/// A text of `tool` is not whole; `why` says what shows it.
pub(super) fn cut(tool: &str, why: &str) -> ForeignError {
    wrong(tool, format!("is cut: {why}; give all that the tool printed"))
}

fn wrong(tool: &str, why: String) -> ForeignError {
    ForeignError::Wrong { place: format!("the text of {tool}"), why }
}
