//! The axes of a chart: where its ticks stand and what they say.
//!
//! Values are placed on a straight line here, so that one kind of chart draws linear, logarithmic and percentile axes.

use crate::report::figures;

/// An axis: its ends, its ticks, and what it counts.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Axis {
    /// The least and the greatest place.
    pub(super) ends: (f64, f64),
    /// Places with their labels, ascending.
    pub(super) ticks: Vec<(f64, String)>,
    /// What it counts, with its unit.
    pub(super) title: String,
    scale: Scale,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Scale {
    Linear,
    Logarithmic,
    Tail,
}

/// About so many ticks are read without counting.
const TICKS: f64 = 6.0;

/// Values within such a factor of each other have too few ticks on a logarithmic axis: they lie on a linear one.
const NARROW: f64 = 3.0;

/// So many steps of ten make an axis of quantiles a long one.
const LONG_TAIL: f64 = 3.5;

impl Axis {
    /// From 0, or from the least value where that is negative, to the greatest of `values`; labels by `label`.
    pub(super) fn linear(
        title: &str,
        values: impl IntoIterator<Item = f64>,
        label: impl Fn(f64) -> String,
    ) -> Self {
        let (low, high) = values.into_iter().filter(|v| v.is_finite()).fold((0.0_f64, 0.0_f64), span);
        let high = if high > low { high } else { low + 1.0 };
        let step = round_step((high - low) / TICKS);
        let first = libm::floor(low / step);
        let last = libm::ceil(high / step);
        let ticks = counting(first, last).map(|n| (n * step, label(n * step))).collect();
        Self { ends: (first * step, last * step), ticks, title: title.into(), scale: Scale::Linear }
    }

    /// Of positive values by their logarithm, 1, 2 and 5 of each decade as ticks.
    pub(super) fn logarithmic(
        title: &str,
        values: impl IntoIterator<Item = f64>,
        label: impl Fn(f64) -> String,
    ) -> Self {
        let positive = values.into_iter().filter(|v| v.is_finite() && *v > 0.0);
        let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), span);
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 10.0) };
        if high < NARROW * low {
            return Self::around(title, low, high, label);
        }
        let all: Vec<f64> =
            counting(libm::floor(libm::log10(low)) - 1.0, libm::ceil(libm::log10(high)) + 1.0)
                .flat_map(|decade| [1.0, 2.0, 5.0].map(|n| n * libm::pow(10.0, decade)))
                .collect();
        let from = all.iter().copied().filter(|t| *t <= low * 1.0001).fold(0.0, f64::max);
        let to = all.iter().copied().filter(|t| *t >= high * 0.9999).fold(f64::INFINITY, f64::min);
        // Over many decades only their beginnings are said, or the labels would run into each other.
        let many = to / from > 2_000.0;
        let said = |t: f64| !many || libm::fabs(libm::log10(t) - libm::round(libm::log10(t))) < 1e-6;
        let ticks = all.into_iter().filter(|t| (from..=to).contains(t) && said(*t));
        let ticks = ticks.map(|t| (libm::log10(t), label(t))).collect();
        let ends = (libm::log10(from), libm::log10(to));
        Self { ends, ticks, title: title.into(), scale: Scale::Logarithmic }
    }

    /// Linear from just below the least to just above the greatest value.
    fn around(title: &str, low: f64, high: f64, label: impl Fn(f64) -> String) -> Self {
        // Finer steps than the three digits of a label would repeat labels.
        let digit = libm::pow(10.0, libm::floor(libm::log10(high)) - 2.0);
        let step = round_step(((high - low) / TICKS).max(digit));
        let (first, last) = (libm::floor(low / step), libm::ceil(high / step));
        let last = last.max(first + 1.0);
        let ticks = counting(first, last).map(|n| (n * step, label(n * step))).collect();
        Self { ends: (first * step, last * step), ticks, title: title.into(), scale: Scale::Linear }
    }

    /// Of quantiles: each step towards 1 that makes the rest ten times rarer is as long as the one before, up to what
    /// `count` observations can tell.
    pub(super) fn tail(count: u64) -> Self {
        let nines =
            [(0.0, "min"), (0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];
        let most = libm::log10(f64::from(u32::try_from(count).unwrap_or(u32::MAX)).max(10.0));
        // On a long axis the median is so near the least that their labels would touch.
        let apart = |at: f64| at > 0.0 || most < LONG_TAIL;
        let ticks: Vec<(f64, String)> = nines
            .iter()
            .map(|(q, label)| (tail(*q), (*label).to_string()))
            .filter(|(at, _)| *at <= most && apart(*at))
            .collect();
        Self { ends: (0.0, most.min(5.0)), ticks, title: "quantile".into(), scale: Scale::Tail }
    }

    /// The same with as few labels left out as it takes for the others to stand beside each other in so many letters.
    pub(super) fn thinned(&self, letters: usize) -> Self {
        let widest = self.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let every = (self.ticks.len() * (widest + 1)).div_ceil(letters.max(1)).max(1);
        let said = |(nth, (at, label)): (usize, &(f64, String))| {
            (*at, if nth % every == 0 { label.clone() } else { String::new() })
        };
        Self { ticks: self.ticks.iter().enumerate().map(said).collect(), ..self.clone() }
    }

    /// The place of a value; `None` where the axis has none for it.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic if value > 0.0 => libm::log10(value),
            Scale::Logarithmic => return None,
            Scale::Tail => tail(value),
        };
        place.is_finite().then(|| place.clamp(self.ends.0, self.ends.1))
    }

    /// The value at a place.
    pub(super) fn value(&self, place: f64) -> f64 {
        match self.scale {
            Scale::Linear => place,
            Scale::Logarithmic => libm::pow(10.0, place),
            Scale::Tail => 1.0 - libm::pow(10.0, -place),
        }
    }

    /// The label of a tick at a place.
    pub(super) fn label(&self, place: f64) -> String {
        let near = |at: f64| (at - place).abs() <= (self.ends.1 - self.ends.0) * 1e-6;
        self.ticks.iter().find(|(at, _)| near(*at)).map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

/// A time in nanoseconds, as a tick says it.
pub(super) fn time_label(ns: f64) -> String {
    if ns <= 0.0 { "0".into() } else { figures::time(whole(ns)).replace(".00 ", " ").replace(".0 ", " ") }
}

/// A plain number, as a tick says it.
pub(super) fn number_label(n: f64) -> String {
    match n.abs() {
        size if size >= 1e6 => format!("{} M", trimmed(n / 1e6)),
        size if size >= 1e4 => format!("{} k", trimmed(n / 1e3)),
        _ => trimmed(n),
    }
}

/// Two digits after the point, and more where a small number would have less than three of its own.
fn trimmed(n: f64) -> String {
    let size = libm::fabs(n);
    let digits = if size > 0.0 { 2.0 - libm::floor(libm::log10(size)) } else { 2.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 2 to 12")]
    let digits = digits.clamp(2.0, 12.0) as usize;
    let text = format!("{n:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[expect(clippy::cast_possible_truncation, reason = "a tick of an axis of times: below 2^53 ns")]
fn whole(ns: f64) -> i64 {
    libm::round(ns) as i64
}

fn tail(q: f64) -> f64 {
    -libm::log10(1.0 - q)
}

fn span((low, high): (f64, f64), value: f64) -> (f64, f64) {
    (low.min(value), high.max(value))
}

/// The next of 1, 2, 5, 10, ... at or above `step`.
fn round_step(step: f64) -> f64 {
    let decade = libm::pow(10.0, libm::floor(libm::log10(step)));
    [1.0, 2.0, 5.0, 10.0].map(|n| n * decade).into_iter().find(|s| *s >= step * 0.9999).unwrap_or(step)
}

/// Whole numbers from the first to the last.
fn counting(first: f64, last: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(first), |n| Some(n + 1.0)).take_while(move |n| *n <= last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn a_linear_axis_ends_on_round_numbers() {
        let axis = Axis::linear("requests/s", [3.0, 987.0], number_label);
        assert_eq!(labels(&axis), ["0", "200", "400", "600", "800", "1000"]);
        assert_eq!(axis.ends, (0.0, 1000.0));
    }

    #[test]
    fn an_axis_of_nothing_still_has_two_ends() {
        assert_eq!(Axis::linear("", [], number_label).ends, (0.0, 1.0));
        let axis = Axis::logarithmic("", [0.0, f64::INFINITY], number_label);
        assert!(axis.ends.0 < axis.ends.1, "{axis:?}");
    }

    #[test]
    fn a_logarithmic_axis_of_times_says_them_as_the_report_does() {
        let axis = Axis::logarithmic("TTFT", [9e6, 61e6], time_label);
        assert_eq!(labels(&axis), ["5 ms", "10 ms", "20 ms", "50 ms", "100 ms"]);
        assert_eq!(axis.place(1e7), Some(7.0));
        assert_eq!(axis.place(0.0), None);
        assert_eq!(axis.value(7.0), 1e7);
    }

    #[test]
    fn values_close_to_each_other_fill_the_axis() {
        let axis = Axis::logarithmic("TTFT", [20.1e6, 25.3e6], time_label);
        assert_eq!(labels(&axis), ["20 ms", "21 ms", "22 ms", "23 ms", "24 ms", "25 ms", "26 ms"]);
        let alone = Axis::logarithmic("TTFT", [5e6], time_label);
        assert!(alone.ends.0 < alone.ends.1 && alone.ends.0 <= 5e6, "{alone:?}");
    }

    #[test]
    fn labels_that_would_run_into_each_other_are_left_out() {
        let axis = Axis::logarithmic("TTFT", [20.1e6, 25.3e6], time_label);
        assert_eq!(labels(&axis.thinned(42)), labels(&axis));
        assert_eq!(labels(&axis.thinned(41)), ["20 ms", "", "22 ms", "", "24 ms", "", "26 ms"]);
        assert_eq!((axis.thinned(41).ends, axis.thinned(0).label(20e6)), (axis.ends, "20 ms".to_owned()));
    }

    #[test]
    fn small_numbers_keep_their_digits() {
        let axis = Axis::linear("$ per million output tokens", [0.0007, 0.0029], number_label);
        assert_eq!(labels(&axis), ["0", "0.0005", "0.001", "0.0015", "0.002", "0.0025", "0.003"]);
    }

    proptest! {
        #[test]
        fn no_axis_says_the_same_twice(low in 1e-3_f64..1e6, over in -6.0_f64..6.0, kind in 0..4_u8) {
            let values = [low, low * (1.0 + libm::pow(10.0, over))];
            // From a microsecond on: nothing is told finer than in whole nanoseconds.
            let times = values.map(|value| value * 1e6);
            let axis = match kind {
                0 => Axis::logarithmic("", values, number_label),
                1 => Axis::logarithmic("", times, time_label),
                2 => Axis::linear("", values, number_label),
                _ => Axis::linear("", times, time_label),
            };
            let mut said = labels(&axis);
            prop_assert!(said.len() > 1, "{:?}", axis);
            said.dedup();
            prop_assert_eq!(said, labels(&axis));
        }
    }

    #[test]
    fn wide_logarithmic_axes_say_decades_only() {
        let axis = Axis::logarithmic("", [1.0, 9e4], number_label);
        assert_eq!(labels(&axis), ["1", "10", "100", "1000", "10 k", "100 k"]);
    }

    #[test]
    fn a_tail_goes_no_further_than_its_observations() {
        assert_eq!(labels(&Axis::tail(2_000)), ["min", "p50", "p90", "p99", "p99.9"]);
        assert_eq!(labels(&Axis::tail(50)), ["min", "p50", "p90"]);
        assert_eq!(labels(&Axis::tail(20_000)), ["p50", "p90", "p99", "p99.9", "p99.99"]);
        let axis = Axis::tail(1_000);
        assert!((axis.place(0.99).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(axis.place(1.0), None);
    }
}
