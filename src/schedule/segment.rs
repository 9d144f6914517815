//! One unbroken piece of an open loop's schedule (a warm-up, a window, a cool-down), and the walk along its arrivals.
//! It must not know which shard walks: all see every arrival.

use super::{Process, Ramp};
use crate::random::{Purpose, Stream};
use crate::time::Phase;

/// A piece of the schedule with one rate profile and one stream of its own.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) struct Segment {
    pub(super) stage: u16,
    pub(super) phase: Phase,
    /// From the run's start.
    pub(super) start_ns: u64,
    pub(super) length: Length,
    pub(super) rate_per_s: Ramp,
    pub(super) process: Process,
}

/// Where a segment ends.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Length {
    Ns(u64),
    Requests(u64),
}

/// Nanoseconds of a second, and requests per second to nine decimals.
const BILLION: f64 = 1e9;

impl Segment {
    /// Its arrivals, as nanoseconds from its own start, in order.
    ///
    /// What is drawn depends on (seed, stage, phase) alone: a longer warm-up or another stage changes nothing here.
    pub(super) fn walk(&self, seed: u64) -> Walk {
        let purpose = match self.phase {
            Phase::Warmup => const { Purpose::named("arrivals: warm-up") },
            Phase::Measured => const { Purpose::named("arrivals: window") },
            Phase::Cooldown => const { Purpose::named("arrivals: cool-down") },
        };
        let mut stream = Stream::new(seed, purpose, u64::from(self.stage));
        let (end_ns, end_count) = match self.length {
            Length::Ns(ns) => (ns, u64::MAX),
            Length::Requests(n) => (u64::MAX, n),
        };
        let pace = match (self.rate_per_s, self.process) {
            (ramp, _) if ramp.peak() == 0.0 => Pace::Never,
            (Ramp::Flat(rate), Process::Constant) => Pace::Even { rate_per_gs: per_gs(rate) },
            (Ramp::Flat(rate), _) => Pace::Flat { gap_ns: BILLION / rate },
            (ramp, _) => Pace::Ramp { ramp, length_s: seconds(end_ns) },
        };
        let area = self.process.first(&mut stream);
        Walk { process: self.process, pace, stream, area, count: 0, last_ns: 0, end_ns, end_count }
    }

    /// Requests that a segment of this length has on average.
    pub(super) fn expected(&self) -> f64 {
        match self.length {
            Length::Ns(ns) => self.rate_per_s.integral(seconds(ns), seconds(ns)),
            Length::Requests(n) => precise(n),
        }
    }
}

/// How unit-rate time becomes nanoseconds.
#[derive(Clone, Debug)]
enum Pace {
    /// A rate of zero.
    Never,
    /// Equal gaps in whole numbers: requests per 10^9 seconds.
    Even { rate_per_gs: u64 },
    /// One rate.
    Flat { gap_ns: f64 },
    /// A rate that changes.
    Ramp { ramp: Ramp, length_s: f64 },
}

/// A walk along the arrivals of one segment.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    process: Process,
    pace: Pace,
    stream: Stream,
    /// The next arrival in unit-rate time.
    area: f64,
    count: u64,
    last_ns: u64,
    end_ns: u64,
    end_count: u64,
}

impl Walk {
    /// Where the next arrival is, past the segment's end too; `None` when there is none at all.
    #[inline]
    pub(super) fn peek_ns(&self) -> Option<u64> {
        let ns = match self.pace {
            Pace::Never => return None,
            // due = floor(i 1e9 / rate) of METHOD.md, "Load": no gap is ever added up.
            Pace::Even { rate_per_gs } => {
                let ns = u128::from(self.count) * 1_000_000_000_000_000_000 / u128::from(rate_per_gs);
                return u64::try_from(ns).ok();
            }
            Pace::Flat { gap_ns } => self.area * gap_ns,
            Pace::Ramp { ramp, length_s } => ramp.inverse(self.area, length_s) * BILLION,
        };
        // Rounding may set two arrivals of a ramp back by a nanosecond; time does not run backwards.
        whole_ns(ns).map(|ns| ns.max(self.last_ns))
    }
}

#[cfg(test)]
impl Walk {
    pub(super) fn skipped_to(mut self, nth: u64) -> Self {
        self.count = nth;
        self
    }
}

impl Iterator for Walk {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.count == self.end_count {
            return None;
        }
        let ns = self.peek_ns()?;
        if ns >= self.end_ns {
            return None;
        }
        self.count += 1;
        self.last_ns = ns;
        self.area += self.process.gap(&mut self.stream);
        Some(ns)
    }
}

/// Whole nanoseconds, rounded down; `None` beyond any run.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be within the range")]
fn whole_ns(ns: f64) -> Option<u64> {
    (ns < 9.2e18).then_some(ns as u64)
}

/// Requests per 10^9 seconds: exact for every rate that is written with up to nine decimals.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are checked to be below 1e7"
)]
fn per_gs(rate_per_s: f64) -> u64 {
    libm::round(rate_per_s * BILLION) as u64
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / BILLION
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(super) fn precise(count: u64) -> f64 {
    count as f64
}
