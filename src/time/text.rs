//! The text form of a span: a number and its unit (`250ms`, `2m`), never a bare number.

use super::Span;
use std::fmt;

/// Why a text is not a span; its words tell the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanError(String);

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpanError {}

const UNITS: [(&str, f64); 6] =
    [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// The longest span a user may ask for: a year, far from the ends of the clock.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// Reads `10s`, `1.5ms`, `250us`, `2m`, `1h`, and their sums (`1m30s`). Zero needs a unit too (`0s`).
///
/// # Errors
/// A bare number, an unknown unit, a negative or endless value: the message says what is accepted.
pub fn parse_span(text: &str) -> Result<Span, SpanError> {
    let mut rest = text.trim();
    if rest.starts_with('-') {
        return Err(SpanError(format!("{text:?} is negative: a duration is 0s or more")));
    }
    if rest.is_empty() {
        return Err(SpanError("an empty duration: write a number and a unit, such as 10s or 250ms".into()));
    }
    let mut total_s = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let value: f64 = number.parse().map_err(|_| {
            SpanError(format!("{text:?} is not a duration: write a number and a unit, such as 10s or 250ms"))
        })?;
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        if unit.is_empty() {
            return Err(SpanError(format!("{text:?} has no unit: write {number}s or {number}ms")));
        }
        let Some((_, unit_s)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(SpanError(format!("{unit:?} is not a unit of time: use ns, us, ms, s, m or h")));
        };
        total_s += value * unit_s;
        rest = tail;
    }
    if total_s > LONGEST_S {
        return Err(SpanError(format!("{text:?} is longer than a year")));
    }
    Ok(Span::from_s_f64(total_s))
}

/// The shortest text that [`parse_span`] reads back as the same span (a sign aside).
#[must_use]
pub fn format_span(span: Span) -> String {
    let ns = span.as_ns();
    let (sign, ns) = if ns < 0 { ("-", ns.unsigned_abs()) } else { ("", ns.unsigned_abs()) };
    let exact = [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ];
    if ns == 0 {
        return "0s".into();
    }
    for (unit, size) in exact {
        if ns % size == 0 {
            return format!("{sign}{}{unit}", ns / size);
        }
    }
    format!("{sign}{ns}ns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_its_unit_is_read() {
        for (text, ns) in [
            ("10s", 10_000_000_000),
            ("250ms", 250_000_000),
            ("2m", 120_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5us", 1_500),
            ("0s", 0),
            ("7ns", 7),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(parse_span(text).map(Span::as_ns), Ok(ns), "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_refused_with_the_remedy() {
        let error = parse_span("10").expect_err("no unit");
        assert!(error.to_string().contains("write 10s"), "{error}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "s", "-1s", "1 s", "1parsec", "1e3s", "1..5s", "inf", "nans", "1000000h"] {
            assert!(parse_span(text).is_err(), "{text:?} was read");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for ns in [0, 1, 999, 1_000, 1_500, 1_000_000, 90_000_000_000, 3_600_000_000_000, 123_456_789] {
            let span = Span::from_ns(ns);
            assert_eq!(parse_span(&format_span(span)), Ok(span));
        }
    }
}
