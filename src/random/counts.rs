//! A distribution of token counts: whole numbers, at least 1.
//! It must not know what is counted, nor cut a draw unless its caller names the cap.

use super::{Law, LawError, Stream};
use std::fmt;
use std::str::FromStr;

/// A law of counts. Draws are rounded to the nearest whole number and clamped into 1..=cap; a uniform one has
/// every whole number from `a` to `b`, both included, equally likely.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Counts(Law);

const ACCEPTED: &str = "N, uniform:a:b, normal:mean:sd, lognormal:mean:sd, exp:mean \
                        (counts of at least 1; mean and sd are those of the count itself)";

/// Larger counts are a slip of the finger: no engine holds a billion tokens of one request.
const LARGEST: f64 = 1e9;

impl Counts {
    /// Always `count`.
    ///
    /// # Panics
    /// When `count` is 0: a request of no tokens cannot be asked for.
    #[must_use]
    pub fn constant(count: u32) -> Self {
        assert!(count > 0, "a count is at least 1");
        Self(Law::Constant(f64::from(count)))
    }

    /// The law behind it.
    #[must_use]
    pub const fn law(self) -> Law {
        self.0
    }

    /// One draw in 1..=cap.
    #[must_use]
    pub fn sample(self, stream: &mut Stream, cap: u32) -> u32 {
        let drawn = match self.0 {
            Law::Uniform(a, b) => a + libm::floor((b - a + 1.0) * stream.uniform()),
            law => libm::round(law.sample(stream)),
        };
        whole(drawn.clamp(1.0, f64::from(cap.max(1))))
    }

    /// The mean of such draws, but for the rounding.
    #[must_use]
    pub fn mean(self, cap: u32) -> f64 {
        self.0.mean_clamped(1.0, f64::from(cap.max(1)))
    }

    /// The one count it always gives, if it is constant.
    #[must_use]
    pub fn always(self) -> Option<u32> {
        match self.0 {
            Law::Constant(v) => Some(whole(v)),
            _ => None,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped into 1..=u32::MAX, and whole"
)]
fn whole(count: f64) -> u32 {
    count as u32
}

impl FromStr for Counts {
    type Err = LawError;

    fn from_str(text: &str) -> Result<Self, LawError> {
        let law = Law::parse(text, ACCEPTED, |part| {
            let plain = part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            match part.parse::<f64>() {
                Ok(n) if plain && n <= LARGEST => Ok(n),
                Ok(n) if plain => Err(format!("holds {n}, above the largest count of 1000000000")),
                _ => Err(format!("holds {part:?}, which is not a count")),
            }
        })?;
        let refuse = |why: &str| Err(LawError(format!("{text:?} {why}; accepted: {ACCEPTED}")));
        match law {
            Law::Constant(v) if v != libm::floor(v) => refuse("is not a whole number"),
            Law::Uniform(a, b) if a != libm::floor(a) || b != libm::floor(b) => {
                refuse("does not have whole numbers as its ends")
            }
            law if law.mean() < 1.0 || matches!(law, Law::Uniform(a, _) if a < 1.0) => {
                refuse("asks for less than one")
            }
            law => Ok(Self(law)),
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, |f, n| write!(f, "{n}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Purpose;
    use super::*;
    use proptest::prelude::*;

    fn draws(text: &str, n: usize, cap: u32) -> Vec<u32> {
        let counts: Counts = text.parse().unwrap();
        let mut stream = Stream::new(7, Purpose::named("draws"), 0);
        (0..n).map(|_| counts.sample(&mut stream, cap)).collect()
    }

    #[test]
    fn a_bare_number_is_always_that_number() {
        assert_eq!(draws("128", 3, 4096), [128, 128, 128]);
        assert_eq!("128".parse::<Counts>().unwrap().always(), Some(128));
        assert_eq!("exp:128".parse::<Counts>().unwrap().always(), None);
    }

    #[test]
    fn uniform_counts_include_both_ends_and_favour_none() {
        let mut seen = [0_u32; 4];
        for count in draws("uniform:3:6", 40_000, 4096) {
            seen[usize::try_from(count - 3).unwrap()] += 1;
        }
        // 10,000 each; a binomial's deviation is 87, five of them 433.
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 433), "{seen:?}");
    }

    #[test]
    fn draws_stay_between_one_and_the_cap() {
        let drawn = draws("normal:20:40", 10_000, 50);
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&1), Some(&50)));
    }

    #[test]
    fn what_is_refused_says_what_is_accepted() {
        for text in [
            "",
            "0",
            "-5",
            "1.5",
            "abc",
            "uniform:1",
            "uniform:9:3",
            "uniform:0:3",
            "uniform:1.5:3",
            "normal:5",
            "normal:5:-1",
            "lognormal:0:1",
            "lognormal:1:2:3",
            "exp:",
            "exp:1:2",
            "gamma:1:2",
            "1e3",
            "inf",
            "nan",
            "99999999999",
            "+5",
            "exp:0.5",
            "128 tokens",
        ] {
            let error = text.parse::<Counts>().expect_err(text).to_string();
            assert!(error.contains("accepted: N, uniform:a:b"), "{error}");
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn the_text_form_reads_back_as_itself(kind in 0..5_u8, a in 1..2000_u32, b in 0..500_u32, tenth in 0..10_u32) {
            let text = match kind {
                0 => format!("{a}"),
                1 => format!("uniform:{a}:{}", a + b),
                2 => format!("normal:{a}.{tenth}:{b}"),
                3 => format!("lognormal:{a}:{b}.{tenth}"),
                _ => format!("exp:{a}"),
            };
            let counts: Counts = text.parse().unwrap();
            prop_assert_eq!(counts.to_string().parse::<Counts>().unwrap(), counts);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,24}") {
            let _ = text.parse::<Counts>();
        }
    }
}
