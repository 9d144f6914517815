//! A distribution of lengths of time, in nanoseconds, with units in its text form.
//! It must not use `time`, which is none of this room's: nanoseconds are plain numbers here.

use super::{Law, LawError, Stream};
use std::fmt;
use std::str::FromStr;

/// A law of delays. Text form: `20ms`, `uniform:10ms:30ms`, `normal:20ms:5ms`, `lognormal:20ms:5ms`, `exp:20ms`.
/// Draws are rounded to nanoseconds; those below zero are zero.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Delays(Law);

const ACCEPTED: &str = "20ms, uniform:10ms:30ms, normal:mean:sd, lognormal:mean:sd, exp:mean \
                        (numbers with a unit: ns, us, ms, s, m or h; mean and sd are those of the delay itself)";

const UNITS: [(&str, f64); 6] =
    [("h", 3600e9), ("m", 60e9), ("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];

/// The longest delay drawn or asked for: 100 days, far beyond any run, and exact in an `f64` to the nanosecond.
const LONGEST_NS: f64 = 8_640_000e9;

impl Delays {
    /// No delay at all.
    pub const ZERO: Self = Self(Law::Constant(0.0));

    /// Always `ns` nanoseconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
    pub fn constant(ns: u64) -> Self {
        Self(Law::Constant((ns as f64).min(LONGEST_NS)))
    }

    /// The law behind it, in nanoseconds.
    #[must_use]
    pub const fn law(self) -> Law {
        self.0
    }

    /// One draw, in nanoseconds.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped and rounded")]
    pub fn sample_ns(self, stream: &mut Stream) -> u64 {
        libm::round(self.0.sample(stream).clamp(0.0, LONGEST_NS)) as u64
    }

    /// The mean of such draws, in nanoseconds.
    #[must_use]
    pub fn mean_ns(self) -> f64 {
        self.0.mean_clamped(0.0, LONGEST_NS)
    }

    /// Whether every draw is zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == Law::Constant(0.0)
    }
}

/// Reads one number with its unit.
fn nanoseconds(part: &str) -> Result<f64, String> {
    let letters = part.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(part.len());
    let (number, unit) = part.split_at(letters);
    let value: f64 = number.parse().map_err(|_| format!("holds {part:?}, which is not a length of time"))?;
    if unit.is_empty() {
        return Err(format!("holds {part:?} without a unit: write {part}ms or {part}s"));
    }
    let (_, unit_ns) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| format!("holds the unknown unit {unit:?}"))?;
    let ns = libm::round(value * unit_ns);
    if ns > LONGEST_NS { Err(format!("holds {part:?}, longer than 100 days")) } else { Ok(ns) }
}

impl FromStr for Delays {
    type Err = LawError;

    fn from_str(text: &str) -> Result<Self, LawError> {
        Law::parse(text, ACCEPTED, nanoseconds).map(Self)
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, |f, ns| {
            if ns == 0.0 {
                return f.write_str("0s");
            }
            let (unit, size) =
                UNITS.iter().find(|(_, size)| ns % size == 0.0).expect("every number of ns is whole");
            write!(f, "{}{unit}", ns / size)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Purpose;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_read_and_written_in_the_largest_that_fits() {
        for (text, mean_ns, written) in [
            ("20ms", 20e6, "20ms"),
            ("1.5ms", 1.5e6, "1500us"),
            ("uniform:10ms:30ms", 20e6, "uniform:10ms:30ms"),
            ("lognormal:20ms:500us", 20e6, "lognormal:20ms:500us"),
            ("exp:0.1s", 1e8, "exp:100ms"),
            ("0s", 0.0, "0s"),
            ("2m", 120e9, "2m"),
        ] {
            let delays: Delays = text.parse().unwrap();
            assert!((delays.mean_ns() - mean_ns).abs() <= mean_ns * 1e-12, "{text}: {}", delays.mean_ns());
            assert_eq!(delays.to_string(), written);
        }
    }

    #[test]
    fn a_bare_number_is_refused_with_the_remedy() {
        let error = "uniform:10:30ms".parse::<Delays>().expect_err("no unit").to_string();
        assert!(error.contains("write 10ms or 10s") && error.contains("accepted: 20ms"), "{error}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "ms",
            "-1ms",
            "1 parsec",
            "1e3s",
            "normal:1ms",
            "uniform:3s:1s",
            "exp:inf",
            "lognormal:0s:1s",
        ] {
            assert!(text.parse::<Delays>().is_err(), "{text:?} was read");
        }
    }

    #[test]
    fn no_draw_is_negative() {
        let delays: Delays = "normal:1ms:5ms".parse().unwrap();
        let mut stream = Stream::new(3, Purpose::named("draws"), 0);
        let drawn: Vec<u64> = (0..1_000).map(|_| delays.sample_ns(&mut stream)).collect();
        // P(X < 0) = Phi(-0.2) = 0.42: 421 expected, deviation 15.6, five of them 78.
        assert!(drawn.iter().filter(|ns| **ns == 0).count().abs_diff(421) < 78);
        assert!(drawn.iter().all(|ns| *ns < 30_000_000));
    }

    proptest! {
        #[test]
        fn the_text_form_reads_back_as_itself(kind in 0..5_u8, a in 1..9_000_000_000_000_u64, b in 0..9_000_000_000_u64) {
            let text = match kind {
                0 => format!("{a}ns"),
                1 => format!("uniform:{a}ns:{}ns", a + b),
                2 => format!("normal:{a}ns:{b}us"),
                3 => format!("lognormal:{a}ns:{b}ns"),
                _ => format!("exp:{a}ns"),
            };
            let delays: Delays = text.parse().unwrap();
            prop_assert_eq!(delays.to_string().parse::<Delays>().unwrap(), delays);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,24}") {
            let _ = text.parse::<Delays>();
        }
    }
}
