//! The laws a quantity can follow, their text form, and their means; what the numbers count is the caller's affair.
//! It must not know of tokens or nanoseconds: see [`super::Counts`] and [`super::Delays`].

use super::Stream;
use std::fmt;

/// A law of a non-negative quantity. Text form: `N`, `uniform:a:b`, `normal:m:s`, `lognormal:m:s`, `exp:m`.
///
/// `m` and `s` are the mean and the standard deviation of the quantity itself, for the lognormal too (not of its logarithm).
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Law {
    /// Always this.
    Constant(f64),
    /// Anything from the first to the second, each as likely.
    Uniform(f64, f64),
    /// Gaussian: mean, standard deviation. Draws below zero happen; the users clamp them.
    Normal(f64, f64),
    /// Lognormal: mean, standard deviation of the quantity itself.
    LogNormal(f64, f64),
    /// Exponential: mean.
    Exponential(f64),
}

/// Why a text is not a law; its words tell what is accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LawError(pub(super) String);

impl fmt::Display for LawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LawError {}

impl Law {
    /// Reads the text form; `number` reads one number with its unit, if it has one.
    pub(super) fn parse(
        text: &str,
        accepted: &str,
        number: impl Fn(&str) -> Result<f64, String>,
    ) -> Result<Self, LawError> {
        let refuse = |why: &str| LawError(format!("{text:?} {why}; accepted: {accepted}"));
        let read = |part: &str| number(part.trim()).map_err(|why| refuse(&why));
        let parts: Vec<&str> = text.trim().split(':').collect();
        let law = match parts.as_slice() {
            [""] => return Err(refuse("is empty")),
            [only] => Self::Constant(read(only)?),
            ["uniform", a, b] => Self::Uniform(read(a)?, read(b)?),
            ["normal", m, s] => Self::Normal(read(m)?, read(s)?),
            ["lognormal", m, s] => Self::LogNormal(read(m)?, read(s)?),
            ["exp", m] => Self::Exponential(read(m)?),
            [name @ ("uniform" | "normal" | "lognormal"), ..] => {
                return Err(refuse(&format!("is not a {name} distribution: it takes two numbers")));
            }
            ["exp", ..] => return Err(refuse("is not an exp distribution: it takes one number")),
            _ => return Err(refuse("is not a distribution")),
        };
        match law {
            Self::Uniform(a, b) if a > b => Err(refuse("has its ends the wrong way round")),
            Self::LogNormal(m, _) if m <= 0.0 => Err(refuse("has a mean that is not above zero")),
            law => Ok(law),
        }
    }

    /// Writes the text form; `number` writes one number with its unit, if it has one.
    pub(super) fn write(
        self,
        f: &mut fmt::Formatter<'_>,
        number: impl Fn(&mut fmt::Formatter<'_>, f64) -> fmt::Result,
    ) -> fmt::Result {
        let (name, first, second) = match self {
            Self::Constant(v) => ("", v, None),
            Self::Uniform(a, b) => ("uniform:", a, Some(b)),
            Self::Normal(m, s) => ("normal:", m, Some(s)),
            Self::LogNormal(m, s) => ("lognormal:", m, Some(s)),
            Self::Exponential(m) => ("exp:", m, None),
        };
        f.write_str(name)?;
        number(f, first)?;
        if let Some(second) = second {
            f.write_str(":")?;
            number(f, second)?;
        }
        Ok(())
    }

    /// One draw; a normal one may be negative.
    #[must_use]
    pub fn sample(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant(v) => v,
            Self::Uniform(a, b) => a + (b - a) * stream.uniform(),
            Self::Normal(m, s) => m + s * stream.normal(),
            Self::LogNormal(m, s) => {
                let (mu, sigma) = logarithm(m, s);
                libm::exp(mu + sigma * stream.normal())
            }
            Self::Exponential(m) => m * stream.exponential(),
        }
    }

    /// The law's own mean, nothing clamped.
    #[must_use]
    pub fn mean(self) -> f64 {
        match self {
            Self::Constant(m) | Self::Normal(m, _) | Self::LogNormal(m, _) | Self::Exponential(m) => m,
            Self::Uniform(a, b) => f64::midpoint(a, b),
        }
    }

    /// The mean of draws clamped into [low, high]: what a run is to expect.
    #[must_use]
    pub fn mean_clamped(self, low: f64, high: f64) -> f64 {
        // E[max(low, min(X, high))] = low + E[min(X, high)] - E[min(X, low)].
        low + self.limited_mean(high) - self.limited_mean(low)
    }

    /// E[min(X, c)], the actuaries' limited expected value (Klugman, Panjer, Willmot, "Loss Models", appendix A).
    fn limited_mean(self, c: f64) -> f64 {
        match self {
            Self::Constant(v) => v.min(c),
            Self::Uniform(a, b) if c <= a || a == b => a.min(c),
            Self::Uniform(a, b) if c >= b => f64::midpoint(a, b),
            Self::Uniform(a, b) => ((c * c - a * a) / 2.0 + c * (b - c)) / (b - a),
            Self::Normal(m, s) | Self::LogNormal(m, s) if s == 0.0 => m.min(c),
            Self::Normal(m, s) => {
                let z = (c - m) / s;
                let density = libm::exp(-z * z / 2.0) / libm::sqrt(2.0 * std::f64::consts::PI);
                m * normal_below(z) - s * density + c * normal_below(-z)
            }
            Self::LogNormal(..) | Self::Exponential(_) if c <= 0.0 => c,
            Self::LogNormal(m, s) => {
                let (mu, sigma) = logarithm(m, s);
                let z = (libm::log(c) - mu) / sigma;
                m * normal_below(z - sigma) + c * normal_below(-z)
            }
            Self::Exponential(0.0) => 0.0,
            Self::Exponential(m) => -m * libm::expm1(-c / m),
        }
    }
}

/// Mean and deviation of ln X from those of X: sigma^2 = ln(1 + s^2/m^2), mu = ln m - sigma^2/2.
fn logarithm(m: f64, s: f64) -> (f64, f64) {
    let variance = libm::log1p((s / m) * (s / m));
    (libm::log(m) - variance / 2.0, libm::sqrt(variance))
}

/// The standard normal's distribution function.
fn normal_below(z: f64) -> f64 {
    libm::erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::super::Purpose;
    use super::*;

    const LAWS: [Law; 7] = [
        Law::Constant(5.0),
        Law::Uniform(2.0, 9.0),
        Law::Normal(5.0, 4.0),
        Law::LogNormal(5.0, 0.5),
        Law::LogNormal(5.0, 20.0),
        Law::Exponential(5.0),
        Law::Normal(5.0, 0.0),
    ];

    /// Mean and variance of `n` draws after `map`.
    fn moments(law: Law, n: u32, map: impl Fn(f64) -> f64) -> (f64, f64) {
        let mut stream = Stream::new(1, Purpose::named("moments"), 0);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = map(law.sample(&mut stream));
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        (mean, squares / f64::from(n) - mean * mean)
    }

    #[test]
    fn the_mean_of_many_draws_is_the_stated_mean_for_every_law() {
        for law in LAWS {
            let (mean, variance) = moments(law, 400_000, |x| x);
            // Five standard errors: one false alarm in 1.7 million.
            let bound = 5.0 * (variance / 400_000.0).sqrt() + 1e-9;
            assert!((mean - law.mean()).abs() <= bound, "{law:?}: {mean} +- {bound}");
        }
    }

    #[test]
    fn the_lognormals_deviation_is_that_of_the_quantity_itself() {
        let (_, variance) = moments(Law::LogNormal(200.0, 80.0), 400_000, |x| x);
        // The sample deviation's relative error is about sqrt((kurtosis - 1) / 4n) = 0.2 %; 1 % is five of those.
        assert!((variance.sqrt() / 80.0 - 1.0).abs() < 0.01, "{}", variance.sqrt());
    }

    #[test]
    fn the_clamped_mean_is_what_clamped_draws_have() {
        for law in LAWS {
            for (low, high) in [(0.0, 1e12), (1.0, 8.0), (4.0, 6.0), (6.0, 7.0), (0.0, 1.0)] {
                let (mean, variance) = moments(law, 400_000, |x| x.clamp(low, high));
                let bound = 5.0 * (variance.max(0.0) / 400_000.0).sqrt() + 1e-6;
                let expected = law.mean_clamped(low, high);
                assert!((mean - expected).abs() <= bound, "{law:?} in {low}..{high}: {mean}, not {expected}");
            }
        }
    }
}
