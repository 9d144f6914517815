//! What a shard counts once the run has started: its requests to come, its statistics, its audit.
//!
//! It must not be made before the run's zero is known: every window lies on the clock.

use super::client::Orders;
use super::source::Source;
use crate::record::{Audit, Finished, Interval, Recorder, Window};
use crate::schedule::{Extent, Schedule};
use crate::time::{Instant, Phase, Span};

/// The intervals of the histogram log.
pub const INTERVAL: Span = Span::from_s(1);

/// The measured part of a client.
pub struct Measured {
    /// What is due.
    pub source: Source,
    /// Statistics of finished requests, of each server.
    pub recorders: Vec<Recorder>,
    /// The shard as a queue.
    pub audit: Audit,
    start: Instant,
    /// Intervals given away.
    intervals: u32,
}

impl Measured {
    /// For `shard` of those that `orders` are for, of a run that starts at `start`.
    pub fn new(orders: &Orders, start: Instant, shard: u16) -> Self {
        let Orders { schedule, windows, bounds, shards, .. } = orders;
        let windows = placed(schedule, windows, start);
        Self {
            source: Source::new(&schedule.starting_at(start), shard, *shards),
            recorders: orders.targets.iter().map(|_| Recorder::judging(&windows, bounds)).collect(),
            audit: Audit::new(&windows).starting_at(start),
            start,
            intervals: 0,
        }
    }

    /// The statistics of one server.
    ///
    /// # Panics
    /// When there is no such server.
    pub fn recorder(&mut self, target: u16) -> &mut Recorder {
        &mut self.recorders[usize::from(target)]
    }

    /// Looks at what a request will be counted in (see [`Recorder::glance`]).
    pub fn glance(&self, finished: &Finished) -> u32 {
        self.recorders[usize::from(finished.record().target)].glance(finished)
    }

    /// The run is cut short at `at`: what is stamped later is in no rate, and of turns that end later none is audited, but for what
    /// an interrupted one had before.
    pub fn cut(&mut self, at: Instant) {
        self.recorders.iter_mut().for_each(|recorder| recorder.cut(at));
        self.audit.cut(at);
    }

    /// When the interval that is going on ends.
    #[must_use]
    pub fn interval_ends(&self) -> Instant {
        self.start + INTERVAL * (i64::from(self.intervals) + 1)
    }

    /// Ends the interval that is going on: its number, from 0, and what was counted up to its end.
    pub fn end_interval(&mut self) -> (u32, Interval) {
        let (first, others) = self.recorders.split_first().expect("there is a server");
        let mut counted = first.counted();
        others.iter().for_each(|other| counted.merge(&other.counted()));
        self.intervals += 1;
        (self.intervals - 1, counted)
    }
}

/// The windows that [`windows`] found for a schedule as it is, of a run that starts at `start`. They are found before the
/// start, since that can mean to walk a long warm-up.
fn placed(schedule: &Schedule, windows: &[Window], start: Instant) -> Vec<Window> {
    let by = start - schedule.start();
    windows.iter().map(|window| window.shifted(by)).collect()
}

/// The windows of a schedule's stages, on the schedule's clock. With a number of requests in an open loop it walks the
/// warm-up, some 20 ns a request.
#[must_use]
pub fn windows(schedule: &Schedule) -> Vec<Window> {
    let placed = schedule.stages().iter().zip(schedule.timetable().windows());
    let window = |(stage, window): (&crate::schedule::Stage, &crate::schedule::Window)| {
        let (from, until) = (window.measured_from, window.measured_until);
        match stage.extent {
            Extent::Duration(_) => Window::of_time(from, until),
            Extent::Requests(count) if schedule.is_open() => {
                let warm_ups = schedule.arrivals(0, 1).take_while(|due| due.phase == Phase::Warmup).count();
                Window::of_requests(from, Some(until), warm_ups as u64, count)
            }
            // The measured requests of a closed loop are numbered from 0 (see `Source`).
            Extent::Requests(count) => Window::of_requests(from, None, 0, count),
        }
    };
    placed.map(window).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Load, Process, Ramp, Stage};

    #[test]
    fn the_windows_found_before_the_start_are_taken_as_they_are() {
        let load = Load::Open { rate_per_s: Ramp::Flat(1000.0), process: Process::Poisson };
        let stage = Stage { load, extent: Extent::Requests(50), warmup: Span::from_s(2) };
        let schedule = Schedule::new(vec![stage], Span::ZERO, 0).unwrap();
        let [mut window] = windows(&schedule)[..] else { panic!("one stage has one window") };
        // No walk after the start could find this index.
        window.blocks = crate::record::Blocks::Requests { first: 1_000_000, count: 50 };
        let start = Instant::from_ns(7_000_000_000);
        assert_eq!(placed(&schedule, &[window], start), [window.shifted(start - Instant::ZERO)]);
        assert_eq!(placed(&schedule, &windows(&schedule), start)[0].from, start + Span::from_s(2));
    }

    #[test]
    fn windows_of_requests_are_numbered_after_the_warm_up() {
        let load = Load::Open { rate_per_s: Ramp::Flat(1000.0), process: Process::Constant };
        let stage = Stage { load, extent: Extent::Requests(50), warmup: Span::from_s(2) };
        let schedule = Schedule::new(vec![stage], Span::ZERO, 0).unwrap();
        let found = windows(&schedule);
        assert_eq!(found[0].blocks, crate::record::Blocks::Requests { first: 2000, count: 50 });
    }
}
