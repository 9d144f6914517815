//! When a server that refused wants to be asked again: in so many seconds, or at a date (RFC 9110, 10.2.3).
//!
//! It must not know what time it is: a date is set against the response's own, or left as it is.

use std::time::UNIX_EPOCH;

/// What a `Retry-After` says.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum RetryAfter {
    /// Seconds from the response.
    InS(u32),
    /// Seconds since 1970, where the response has no date of its own.
    AtUnixS(u32),
}

impl RetryAfter {
    /// Reads the value beside the response's `Date`; a date of the past is "at once".
    pub(super) fn read(value: &[u8], date: Option<&[u8]>) -> Option<Self> {
        let small = |seconds: u64| u32::try_from(seconds).unwrap_or(u32::MAX);
        if let Some(seconds) = super::head::decimal(value) {
            return Some(Self::InS(small(seconds)));
        }
        let at = unix_s(value)?;
        Some(match date.and_then(unix_s) {
            Some(date) => Self::InS(small(at.saturating_sub(date))),
            None => Self::AtUnixS(small(at)),
        })
    }

    pub(super) const fn in_s(self) -> Option<u32> {
        if let Self::InS(seconds) = self { Some(seconds) } else { None }
    }

    pub(super) const fn at_unix_s(self) -> Option<u32> {
        if let Self::AtUnixS(seconds) = self { Some(seconds) } else { None }
    }
}

/// A date of HTTP, in any of its three forms, as seconds since 1970.
fn unix_s(date: &[u8]) -> Option<u64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok()?;
    date.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const AT_UNIX_S: u32 = 784_111_777;

    fn read(value: &str, date: Option<&str>) -> Option<RetryAfter> {
        RetryAfter::read(value.as_bytes(), date.map(str::as_bytes))
    }

    #[test]
    fn seconds_are_seconds_whatever_the_date() {
        assert_eq!(read("7", Some(AT)), Some(RetryAfter::InS(7)));
        assert_eq!(read("99999999999", None), Some(RetryAfter::InS(u32::MAX)));
    }

    #[test]
    fn a_date_is_set_against_the_servers_own_clock_where_it_tells_it() {
        assert_eq!(read(AT, Some("Sun, 06 Nov 1994 08:49:07 GMT")), Some(RetryAfter::InS(30)));
        assert_eq!(read(AT, Some("Sun, 06 Nov 1994 08:50:00 GMT")), Some(RetryAfter::InS(0)), "it is over");
        assert_eq!(read(AT, None), Some(RetryAfter::AtUnixS(AT_UNIX_S)));
        assert_eq!(read(AT, Some("today")), Some(RetryAfter::AtUnixS(AT_UNIX_S)));
    }

    #[test]
    fn the_older_forms_of_a_date_are_read_too() {
        for form in ["Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(read(form, None), Some(RetryAfter::AtUnixS(AT_UNIX_S)), "{form}");
        }
    }

    #[test]
    fn what_is_neither_says_nothing() {
        for value in ["", "soon", "-1", "1.5", "Sun, 06 Nov 1994 08:49:37 CET", "\u{e9}"] {
            assert_eq!(read(value, Some(AT)), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(value: Vec<u8>, date: Option<Vec<u8>>) {
            let _ = RetryAfter::read(&value, date.as_deref());
        }

        #[test]
        fn a_date_written_by_anyone_is_read_back(at in 0_u32..4_000_000_000, later in 0_u32..1_000_000) {
            let written = |s: u32| httpdate::fmt_http_date(UNIX_EPOCH + std::time::Duration::from_secs(s.into()));
            prop_assert_eq!(read(&written(at), None), Some(RetryAfter::AtUnixS(at)));
            prop_assert_eq!(read(&written(at + later), Some(&written(at))), Some(RetryAfter::InS(later)));
        }
    }
}
