//! The line of progress: two readings of the gauges to one line of text.
//!
//! Pure: no clock, no terminal. Rates, TTFT and rho are those between the two readings, counts are the run's.

use crate::record::{GaugeReading, TtftCounts};
use crate::report::figures::{UNDEFINED, count, maybe_time, plain, whole_rate};
use crate::time::Span;

/// Every shard's gauge at one moment.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reading {
    /// From the run's start; negative before it.
    pub elapsed: Span,
    /// One for each shard, in order.
    pub shards: Vec<GaugeReading>,
}

impl Reading {
    fn sum(&self, of: impl Fn(&GaugeReading) -> u64) -> u64 {
        self.shards.iter().map(of).sum()
    }

    fn ttft(&self) -> TtftCounts {
        let mut all = TtftCounts::default();
        for shard in &self.shards {
            all.add(&shard.ttft);
        }
        all
    }
}

/// The line, at most `width` characters: what matters least goes first.
///
/// `earlier` is a reading some seconds old, or the first one; `planned` is the run's length where it is known.
#[must_use]
pub fn line(now: &Reading, earlier: &Reading, planned: Option<Span>, width: usize) -> String {
    let per_s = |of: fn(&GaugeReading) -> u64| {
        let passed = now.elapsed - earlier.elapsed;
        (passed > Span::ZERO).then(|| float(now.sum(of).saturating_sub(earlier.sum(of))) / passed.as_s_f64())
    };
    let mut ttft = now.ttft();
    ttft.since(&earlier.ttft());
    if ttft.count() == 0 {
        ttft = now.ttft();
    }
    // As the report has it: three are expected above a quantile that is told.
    let enough = |q: f64| float(ttft.count()) * (1.0 - q) > 2.999;
    let quantile = |q| maybe_time(ttft.quantile(q).filter(|_| enough(q)).map(Span::as_ns));
    let rho = now.shards.iter().enumerate().filter_map(|(n, shard)| shard.rho_since(earlier.shards.get(n)));
    let worst = rho.max_by(f64::total_cmp);
    let failed = now.sum(|shard| shard.failed);
    let elapsed = match planned {
        Some(planned) => format!("{}/{}", clock_face(now.elapsed), clock_face(planned)),
        None => clock_face(now.elapsed),
    };
    let parts = [
        (0, elapsed),
        (5, format!("due {}", count(now.sum(|shard| shard.due)))),
        (6, format!("begun {}", count(now.sum(|shard| shard.begun)))),
        (1, format!("done {}", count(now.sum(|shard| shard.done)))),
        (if failed > 0 { 0 } else { 3 }, format!("failed {}", count(failed))),
        (
            2,
            format!(
                "{}/s",
                per_s(|shard| shard.begun).map_or(UNDEFINED.into(), |rate| whole_rate(Some(rate)))
            ),
        ),
        (4, format!("in flight {}", count(now.sum(GaugeReading::in_flight)))),
        (7, format!("{} tokens/s", whole_rate(per_s(|shard| shard.tokens)))),
        (2, format!("TTFT {} p99 {}", quantile(0.5), quantile(0.99))),
        (3, format!("rho {}", plain(worst))),
    ];
    fit(&parts, width)
}

/// Joins the parts, those of the highest rank left out until the rest fits.
fn fit(parts: &[(u8, String)], width: usize) -> String {
    let mut shown: Vec<&(u8, String)> = parts.iter().collect();
    loop {
        let text = shown.iter().map(|(_, part)| part.as_str()).collect::<Vec<_>>().join("  ");
        if text.chars().count() <= width {
            return text;
        }
        let least = shown.iter().map(|(rank, _)| *rank).max().filter(|rank| *rank > 0);
        match least.and_then(|least| shown.iter().rposition(|(rank, _)| *rank == least)) {
            Some(at) => drop(shown.remove(at)),
            None => return text.chars().take(width).collect(),
        }
    }
}

/// Minutes and seconds: `0:07`, `12:30`, `61:00`.
fn clock_face(span: Span) -> String {
    let s = span.as_ns().max(0) / 1_000_000_000;
    format!("{}:{:02}", s / 60, s % 60)
}

#[expect(clippy::cast_precision_loss, reason = "a rate for the eye")]
const fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ShardGauge;
    use proptest::prelude::*;

    fn reading(elapsed: Span, gauges: &[&ShardGauge]) -> Reading {
        Reading { elapsed, shards: gauges.iter().map(|gauge| gauge.read()).collect() }
    }

    /// Two shards after ten and after twelve seconds of a run of thirty.
    fn two_readings() -> (Reading, Reading) {
        let (quiet, busy) = (ShardGauge::new(), ShardGauge::new());
        let requests = |n: u32, ttft: Span| {
            for gauge in [&quiet, &busy] {
                for _ in 0..n {
                    gauge.due(1);
                    gauge.begun();
                    gauge.first(ttft);
                    gauge.tokens(16);
                    gauge.done();
                }
            }
        };
        requests(5_000, Span::from_ms(500));
        busy.beat(Span::from_s(9), Span::from_s(10));
        quiet.beat(Span::from_s(1), Span::from_s(10));
        let earlier = reading(Span::from_s(10), &[&quiet, &busy]);
        requests(1_000, Span::from_ms(20));
        quiet.begun();
        busy.begun();
        busy.failed();
        busy.beat(Span::from_ms(600), Span::from_s(2));
        quiet.beat(Span::from_ms(200), Span::from_s(2));
        (reading(Span::from_s(12), &[&quiet, &busy]), earlier)
    }

    #[test]
    fn counts_are_of_the_run_and_the_rest_is_of_the_last_seconds() {
        let (now, earlier) = two_readings();
        assert_eq!(
            line(&now, &earlier, Some(Span::from_s(30)), 200),
            "0:12/0:30  due 12,000  begun 12,002  done 12,000  failed 1  1,001/s  in flight 1  16,000 tokens/s  \
             TTFT 20.2 ms p99 20.2 ms  rho 0.300"
        );
    }

    #[test]
    fn what_matters_least_goes_first_and_failures_never() {
        let (now, earlier) = two_readings();
        assert_eq!(
            line(&now, &earlier, Some(Span::from_s(30)), 80),
            "0:12/0:30  done 12,000  failed 1  1,001/s  TTFT 20.2 ms p99 20.2 ms  rho 0.300"
        );
        assert_eq!(line(&now, &earlier, Some(Span::from_s(30)), 20), "0:12/0:30  failed 1");
        assert_eq!(line(&now, &earlier, None, 3), "0:1");
    }

    #[test]
    fn the_first_line_of_a_run_has_nothing_to_tell_yet() {
        let first = reading(Span::from_ms(-300), &[&ShardGauge::new()]);
        assert_eq!(
            line(&first, &first, None, 200),
            "0:00  due 0  begun 0  done 0  failed 0  -/s  in flight 0  - tokens/s  TTFT - p99 -  rho -"
        );
    }

    #[test]
    fn a_quantile_is_told_when_three_are_expected_above_it() {
        let gauge = ShardGauge::new();
        let told = |more: u32| {
            for _ in 0..more {
                gauge.first(Span::from_ms(20));
            }
            let now = reading(Span::from_s(1), &[&gauge]);
            let line = line(&now, &now, None, 200);
            let (_, ttft) = line.split_once("TTFT ").unwrap();
            let (median, p99) = ttft.split_once(" p99 ").unwrap();
            [median != "-", !p99.starts_with('-')]
        };
        assert_eq!(told(5), [false, false]);
        assert_eq!(told(1), [true, false]);
        assert_eq!(told(293), [true, false]);
        assert_eq!(told(1), [true, true]);
    }

    proptest! {
        #[test]
        fn the_line_fits_any_terminal(width in 0_usize..150) {
            let (now, earlier) = two_readings();
            prop_assert!(line(&now, &earlier, None, width).chars().count() <= width);
        }
    }
}
