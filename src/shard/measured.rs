//! What a shard counts once the run has started: its requests to come, its statistics, its audit.
//!
//! It must not be made before the run's zero is known: every window lies on the clock.

use super::client::Orders;
use super::source::Source;
use crate::record::{Audit, Interval, Recorder, Window};
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
        let schedule = orders.schedule.starting_at(start);
        let windows = windows(&schedule);
        Self {
            source: Source::new(&schedule, shard, orders.shards),
            recorders: orders.targets.iter().map(|_| Recorder::judging(&windows, &orders.bounds)).collect(),
            audit: Audit::new(&windows),
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

    /// When the interval that is going on ends.
    #[must_use]
    pub fn interval_ends(&self) -> Instant {
        self.start + INTERVAL * (i64::from(self.intervals) + 1)
    }

    /// What finished since the last call, and the number of the interval (from 0) that it belongs to.
    pub fn take_interval(&mut self) -> (u32, Interval) {
        let mut interval = Interval::default();
        let (first, others) = self.recorders.split_first_mut().expect("there is a server");
        first.exchange_interval(&mut interval);
        for other in others {
            let mut more = Interval::default();
            other.exchange_interval(&mut more);
            interval.merge(&more);
        }
        self.intervals += 1;
        (self.intervals - 1, interval)
    }
}

/// The windows of a schedule's stages, on the schedule's clock.
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
