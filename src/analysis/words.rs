//! Numbers as a reason says them: three digits and a unit.
//!
//! It must not be read back by anything: machines have the numbers themselves.

use crate::time::Span;

/// `12.3 ms`, `850 us`.
pub(super) fn say_span(span: Span) -> String {
    let ns = span.as_s_f64() * 1e9;
    let (value, unit) = match ns.abs() {
        size if size >= 1e9 => (ns / 1e9, "s"),
        size if size >= 1e6 => (ns / 1e6, "ms"),
        size if size >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    format!("{} {unit}", say_number(value))
}

/// `41 ms (12 times, 9.8 ms at most)`.
pub(super) fn say_times(total: Span, times: u64, longest: Span) -> String {
    let often = if times == 1 { "once".into() } else { format!("{times} times") };
    format!("{} ({often}, {} at most)", say_span(total), say_span(longest))
}

/// `63 %`, `0.12 %`.
pub(super) fn say_share(share: f64) -> String {
    format!("{} %", say_number(share * 100.0))
}

/// Three significant digits, without needless zeros.
pub(super) fn say_number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_no_needless_zeros() {
        assert_eq!(say_span(Span::from_us(12_345)), "12.3 ms");
        assert_eq!(say_span(Span::from_ns(850_000)), "850 us");
        assert_eq!(say_span(Span::from_s(2)), "2 s");
        assert_eq!(say_span(Span::from_ns(-7)), "-7 ns");
        assert_eq!(
            say_times(Span::from_ms(41), 12, Span::from_us(9_800)),
            "41 ms (12 times, 9.8 ms at most)"
        );
        assert_eq!(say_times(Span::from_s(4), 1, Span::from_s(4)), "4 s (once, 4 s at most)");
        assert_eq!(say_share(0.63), "63 %");
        assert_eq!(say_share(0.001_2), "0.12 %");
        assert_eq!(say_number(31.0), "31");
    }
}
