//! The arrival process of an open loop: how the gaps between requests are drawn, whatever their mean.
//! It must not know the rate: gaps here have mean 1 and are stretched by [`super::Ramp`].

use super::ScheduleError;
use crate::random::Stream;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// An arrival process. Text form: `poisson`, `constant`, `gamma:SHAPE`.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub enum Process {
    /// Independent exponential gaps: many users who know nothing of each other.
    #[default]
    Poisson,
    /// Equal gaps.
    Constant,
    /// Independent gamma gaps of this shape: vLLM's "burstiness". 1 is Poisson, below 1 is burstier, above is smoother;
    /// the gaps' coefficient of variation is 1/sqrt(shape), their mean stays.
    Gamma(f64),
}

/// Beyond these the gaps are, in any run that ends, one burst or constant.
const SHAPES: RangeInclusive<f64> = 0.01..=10_000.0;

impl Process {
    /// The unit-rate instant of the first arrival.
    ///
    /// A constant process begins with a request. A renewal process is joined in the middle of a gap, so that its rate
    /// is right from the first instant on: of a length-biased gap (for a gamma, one of shape + 1) a uniform part is left
    /// (Cox, "Renewal Theory", 1962, section 5.4). For the exponential that is the exponential again.
    pub(super) fn first(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Poisson => stream.exponential(),
            Self::Gamma(shape) => stream.uniform() * stream.gamma(shape + 1.0) / shape,
        }
    }

    /// A gap of mean 1.
    #[inline]
    pub(super) fn gap(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Poisson => stream.exponential(),
            Self::Gamma(shape) => stream.gamma(shape) / shape,
        }
    }

    /// Refuses a shape no run can tell from a simpler process.
    pub(super) fn check(self) -> Result<(), ScheduleError> {
        match self {
            Self::Gamma(shape) if !SHAPES.contains(&shape) => Err(ScheduleError::new(format!(
                "arrival gamma:{shape}: the shape must lie in {} to {} (1 = poisson, smaller = burstier)",
                SHAPES.start(),
                SHAPES.end()
            ))),
            _ => Ok(()),
        }
    }
}

impl FromStr for Process {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let refuse = |why: &str| {
            ScheduleError::new(format!(
                "{text:?} {why}; accepted: poisson, constant, gamma:SHAPE (gamma:0.5)"
            ))
        };
        match text.split_once(':') {
            None if text == "poisson" => Ok(Self::Poisson),
            None if text == "constant" => Ok(Self::Constant),
            None if text == "gamma" => Err(refuse("lacks its shape")),
            Some(("gamma", shape)) => {
                let shape = shape.parse().map_err(|_| refuse("has a shape that is not a number"))?;
                Self::Gamma(shape).check().map(|()| Self::Gamma(shape))
            }
            _ => Err(refuse("is not an arrival process")),
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson => f.write_str("poisson"),
            Self::Constant => f.write_str("constant"),
            Self::Gamma(shape) => write!(f, "gamma:{shape}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_reads_back_as_itself() {
        for text in ["poisson", "constant", "gamma:0.5", "gamma:12"] {
            assert_eq!(text.parse::<Process>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_refused_says_what_is_accepted() {
        for text in ["", "Poisson", "gamma", "gamma:", "gamma:x", "poisson:1", "uniform"] {
            let error = text.parse::<Process>().expect_err(text).to_string();
            assert!(error.contains("accepted: poisson, constant, gamma:SHAPE"), "{error}");
        }
        for text in ["gamma:0", "gamma:-1", "gamma:nan", "gamma:inf", "gamma:1e9"] {
            let error = text.parse::<Process>().expect_err(text).to_string();
            assert!(error.contains("0.01 to 10000"), "{error}");
        }
    }
}
