//! Numbers as people read them: three significant digits, a unit, nothing more.
//!
//! It rounds for the eye only; what is computed or kept stays in whole nanoseconds.

/// What stands for an undefined figure.
pub const UNDEFINED: &str = "-";

/// What stands for a figure that failures have made infinite.
pub const INFINITE: &str = "inf";

/// A time: `350 ns`, `20.1 us`, `1.20 ms`, `41.0 s`.
#[must_use]
pub fn time(ns: i64) -> String {
    let (number, unit) = time_parts(ns);
    format!("{number} {unit}")
}

/// A time that may be undefined.
#[must_use]
pub fn maybe_time(ns: Option<i64>) -> String {
    ns.map_or_else(|| UNDEFINED.into(), time)
}

/// An interval, its unit said once where both ends share it: `19.8-20.4 ms`.
#[must_use]
pub fn interval(low_ns: i64, high_ns: i64) -> String {
    let ((low, low_unit), (high, high_unit)) = (time_parts(low_ns), time_parts(high_ns));
    if low_unit == high_unit {
        format!("{low}-{high} {high_unit}")
    } else {
        format!("{low} {low_unit}-{high} {high_unit}")
    }
}

fn time_parts(ns: i64) -> (String, &'static str) {
    /// Each unit with its size and the value from which its three digits would round up to the next unit.
    const UNITS: [(&str, f64, f64); 3] = [("ns", 1.0, 999.5), ("us", 1e3, 999.5e3), ("ms", 1e6, 999.5e6)];
    let ns = precise(i128::from(ns));
    let (unit, size) = UNITS
        .into_iter()
        .find(|(_, _, next)| ns.abs() < *next)
        .map_or(("s", 1e9), |(unit, size, _)| (unit, size));
    if unit == "ns" { (format!("{ns:.0}"), unit) } else { (three_digits(ns / size), unit) }
}

/// Three significant digits; thousands apart where there are more before the point.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    if size < 9.995 {
        format!("{value:.2}")
    } else if size < 99.95 {
        format!("{value:.1}")
    } else if size < 1e15 {
        grouped(&format!("{value:.0}"))
    } else {
        format!("{value:.2e}")
    }
}

/// A count, thousands apart: `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A count that may be undefined.
#[must_use]
pub fn maybe_count(n: Option<u64>) -> String {
    n.map_or_else(|| UNDEFINED.into(), count)
}

/// A rate, to a tenth from 100 on, finer below: `1,003.2`, `41.07`, `0.250`.
#[must_use]
pub fn rate(per_s: Option<f64>) -> String {
    match per_s {
        None => UNDEFINED.into(),
        Some(r) if r.abs() < 9.9995 => format!("{r:.3}"),
        Some(r) if r.abs() < 99.995 => format!("{r:.2}"),
        Some(r) if r.abs() < 1e12 => grouped(&format!("{r:.1}")),
        Some(r) => format!("{r:.2e}"),
    }
}

/// A large rate, to the unit: `128,000`.
#[must_use]
pub fn whole_rate(per_s: Option<f64>) -> String {
    match per_s {
        Some(r) if r.abs() >= 99.5 && r.abs() < 1e12 => grouped(&format!("{r:.0}")),
        other => rate(other),
    }
}

/// A plain number such as rho: `0.212`.
#[must_use]
pub fn plain(value: Option<f64>) -> String {
    match value {
        None => UNDEFINED.into(),
        Some(v) if v != 0.0 && (v.abs() < 5e-4 || v.abs() >= 1e9) => format!("{v:.2e}"),
        Some(v) if v.abs() < 9.9995 => format!("{v:.3}"),
        Some(v) => three_digits(v),
    }
}

/// A share as a percentage: `99.98 %`.
#[must_use]
pub fn percent(share: Option<f64>) -> String {
    match share {
        None => UNDEFINED.into(),
        // Nearly all is not all: rounding must not hide a loss.
        Some(s) if s < 1.0 && s > 0.999_95 => "99.99+ %".into(),
        Some(s) if s.abs() < 0.01 || (0.99..1.0).contains(&s) => format!("{:.2} %", s * 100.0),
        Some(s) if s.abs() < 10.0 => format!("{:.1} %", s * 100.0),
        Some(s) => format!("{:.2e} %", s * 100.0),
    }
}

/// A rate of bytes in decimal units: `2.10 MB/s`.
#[must_use]
pub fn byte_rate(per_s: Option<f64>) -> String {
    let Some(rate) = per_s else { return UNDEFINED.into() };
    let (size, unit) = match rate.abs() {
        r if r < 999.5 => return format!("{rate:.0} B/s"),
        r if r < 999.5e3 => (1e3, "kB/s"),
        r if r < 999.5e6 => (1e6, "MB/s"),
        _ => (1e9, "GB/s"),
    };
    format!("{} {unit}", three_digits(rate / size))
}

/// Puts a comma between thousands of the digits before the point.
fn grouped(number: &str) -> String {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut text = String::with_capacity(number.len() + whole / 3);
    text.push_str(&number[..number.len() - digits.len()]);
    for (n, c) in digits.chars().enumerate() {
        if n > 0 && n < whole && (whole - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
const fn precise(n: i128) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_the_unit_that_fits() {
        for (ns, text) in [
            (0, "0 ns"),
            (350, "350 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (20_060, "20.1 us"),
            (999_499, "999 us"),
            (999_500, "1.00 ms"),
            (9_994_999, "9.99 ms"),
            (9_995_000, "10.0 ms"),
            (99_950_000, "100 ms"),
            (1_234_567_890, "1.23 s"),
            (-41_000_000, "-41.0 ms"),
            (3_600_000_000_000, "3,600 s"),
            (i64::MIN, "-9,223,372,037 s"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn an_interval_says_its_unit_once_where_it_can() {
        assert_eq!(interval(19_800_000, 20_400_000), "19.8-20.4 ms");
        assert_eq!(interval(900_000, 1_200_000), "900 us-1.20 ms");
    }

    #[test]
    fn a_share_just_below_all_is_not_rounded_up_to_all() {
        assert_eq!(percent(Some(1.0)), "100.0 %");
        assert_eq!(percent(Some(0.999_99)), "99.99+ %");
        assert_eq!(percent(Some(0.9995)), "99.95 %");
        assert_eq!(percent(Some(0.5)), "50.0 %");
        assert_eq!(percent(Some(0.0002)), "0.02 %");
        assert_eq!(percent(None), "-");
    }

    #[test]
    fn rates_keep_what_tells_them_from_the_asked_one() {
        assert_eq!(rate(Some(1003.24)), "1,003.2");
        assert_eq!(rate(Some(41.07)), "41.07");
        assert_eq!(rate(Some(0.25)), "0.250");
        assert_eq!(rate(Some(1e300)), "1.00e300");
        assert_eq!(whole_rate(Some(128_000.4)), "128,000");
        assert_eq!(byte_rate(Some(2_100_000.0)), "2.10 MB/s");
        assert_eq!(byte_rate(Some(7.0)), "7 B/s");
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }
}
