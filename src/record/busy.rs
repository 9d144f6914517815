//! When a shard was busy: the time it did not wait, by equal stretches of the whole run, whatever its stages are.
//!
//! It must not divide: the analysis does. Its memory does not grow with the run, and booking allocates nothing.

use crate::time::{Instant, Span};

/// The most stretches: 2 kB a shard, and about as many as a chart has room for.
const MOST: usize = 240;

/// The length of a stretch in the first minute of a run. One that is longer makes one stretch of each two, as often as it
/// has to: 1 s in the fourth minute, 16 s in the first hour.
const SHORTEST: Span = Span::from_ms(250);

/// The busy time of one shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BusyTime {
    start: Instant,
    step_ns: u64,
    busy_ns: [u64; MOST],
    /// The stretch that was booked in last, and its ends from the start: nearly always the next one too.
    at: usize,
    begins_ns: u64,
    ends_ns: u64,
    /// Up to here the shard's time is accounted for.
    until_ns: u64,
}

impl BusyTime {
    /// Of a run that starts at `start`.
    #[must_use]
    pub fn new(start: Instant) -> Self {
        let step_ns = SHORTEST.as_ns().unsigned_abs();
        Self { start, step_ns, busy_ns: [0; MOST], at: 0, begins_ns: 0, ends_ns: step_ns, until_ns: 0 }
    }

    /// The length of a stretch.
    #[must_use]
    pub fn step(&self) -> Span {
        span(self.step_ns)
    }

    /// The stretches in order from the start: how long the shard was busy in each, and how much of it is accounted for,
    /// which is all but of the last.
    pub fn stretches(&self) -> impl Iterator<Item = (Span, Span)> {
        let begins = (0..).map(|nth| self.step_ns * nth);
        let begun = self.busy_ns.iter().zip(begins).take_while(|(_, begins)| *begins < self.until_ns);
        begun.map(|(busy, begins)| (span(*busy), span(self.step_ns.min(self.until_ns - begins))))
    }

    /// The shard was busy for so long until `until`. Each stretch has the part that lies in it; what lies before the start
    /// is left out, and so is what ran backwards: the queue counts that.
    pub fn busy(&mut self, long: Span, until: Instant) {
        let from = until.as_ns().saturating_sub(u64::try_from(long.as_ns()).unwrap_or(0));
        let since_start = |ns: u64| ns.saturating_sub(self.start.as_ns());
        let (from, until) = (since_start(from), since_start(until.as_ns()));
        if from >= self.begins_ns && until <= self.ends_ns {
            self.busy_ns[self.at] += until - from;
        } else {
            self.spread(from, until);
        }
        self.until_ns = self.until_ns.max(until);
    }

    /// Books over the edges of stretches.
    #[cold]
    fn spread(&mut self, from: u64, until: u64) {
        while until / self.step_ns >= MOST as u64 {
            self.double();
        }
        let mut from = from;
        loop {
            let nth = from / self.step_ns;
            self.at = usize::try_from(nth).expect("it is below the most");
            self.begins_ns = nth * self.step_ns;
            self.ends_ns = self.begins_ns + self.step_ns;
            self.busy_ns[self.at] += until.min(self.ends_ns) - from;
            if until <= self.ends_ns {
                return;
            }
            from = self.ends_ns;
        }
    }

    /// Each two stretches become one.
    fn double(&mut self) {
        for nth in 0..MOST {
            let pair = self.busy_ns.get(2 * nth..2 * nth + 2);
            self.busy_ns[nth] = pair.map_or(0, |pair| pair.iter().sum());
        }
        self.step_ns *= 2;
    }
}

fn span(ns: u64) -> Span {
    Span::from_ns(i64::try_from(ns).expect("a run is shorter than 292 years"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: Instant = Instant::from_ns(7_000_000_000);

    fn at(ms: i64) -> Instant {
        START + Span::from_ms(ms)
    }

    fn of(busy_ms: &[(i64, i64)]) -> BusyTime {
        let mut time = BusyTime::new(START);
        busy_ms.iter().for_each(|(from, until)| time.busy(at(*until) - at(*from), at(*until)));
        time
    }

    /// Busy milliseconds of each stretch, and how many are accounted for.
    fn ms(time: &BusyTime) -> Vec<(i64, i64)> {
        let ms = |span: Span| span.as_ns() / 1_000_000;
        time.stretches().map(|(busy, whole)| (ms(busy), ms(whole))).collect()
    }

    #[test]
    fn busy_time_falls_into_the_stretch_it_lies_in() {
        let time = of(&[(10, 20), (100, 130), (260, 261), (700, 700)]);
        assert_eq!(ms(&time), [(40, 250), (1, 250), (0, 200)]);
        assert_eq!(time.step(), Span::from_ms(250));
    }

    #[test]
    fn work_over_an_edge_is_split_there() {
        assert_eq!(ms(&of(&[(240, 270)])), [(10, 250), (20, 20)]);
        assert_eq!(ms(&of(&[(200, 900)])), [(50, 250), (250, 250), (250, 250), (150, 150)]);
        // What ends on an edge is of the stretch before, and begins no other.
        assert_eq!(ms(&of(&[(240, 250)])), [(10, 250)]);
        assert_eq!(ms(&of(&[(240, 250), (250, 260)])), [(10, 250), (10, 10)]);
    }

    #[test]
    fn what_lies_before_the_start_or_runs_backwards_is_left_out() {
        assert_eq!(ms(&of(&[(-40, -10)])), []);
        assert_eq!(ms(&of(&[(-40, 5)])), [(5, 5)]);
        assert_eq!(ms(&of(&[(30, 20)])), [(0, 20)]);
        assert_eq!(ms(&of(&[(600, 20), (20, 30)])), [(10, 30)]);
    }

    #[test]
    fn a_longer_run_has_longer_stretches_and_keeps_all_it_had() {
        // The first 10 ms of each quarter of a second.
        let minute: Vec<(i64, i64)> = (0..240).map(|nth| (nth * 250, nth * 250 + 10)).collect();
        let mut time = of(&minute);
        assert_eq!(ms(&time).len(), 240);
        time.busy(Span::from_ms(20), at(60_030));
        assert_eq!(time.step(), Span::from_ms(500));
        assert_eq!(ms(&time).len(), 121);
        assert!(ms(&time)[..120].iter().all(|stretch| *stretch == (20, 500)), "{:?}", ms(&time));
        assert_eq!(ms(&time)[120], (20, 30));
        // A machine that slept for days.
        time.busy(at(400_000_000) - at(60_030), at(400_000_000));
        let found = ms(&time);
        assert!((120..=240).contains(&found.len()), "{}", found.len());
        let sum: i64 = found.iter().map(|(busy, _)| busy).sum();
        assert_eq!(sum, 240 * 10 + 20 + 400_000_000 - 60_030);
    }

    proptest! {
        /// Against the same kept without end at one nanosecond's grain: sums over the edges of the stretches there are.
        #[test]
        fn stretches_hold_what_lies_in_them(parts in prop::collection::vec((0..2_000_000_000_i64, 0..3_000_000_000_i64), 0..120)) {
            let (mut time, mut now, mut kept) = (BusyTime::new(START), START, Vec::new());
            for (idle, busy) in parts {
                let from = now + Span::from_ns(idle);
                now = from + Span::from_ns(busy);
                time.busy(now - from, now);
                kept.push((from, now));
            }
            let mut begins = START;
            for (busy, whole) in time.stretches() {
                let ends = begins + time.step();
                let inside = |(from, until): &(Instant, Instant)| ((*until).min(ends) - (*from).max(begins)).max(Span::ZERO);
                let expected = kept.iter().map(inside).fold(Span::ZERO, |sum, part| sum + part);
                prop_assert_eq!(busy, expected);
                prop_assert_eq!(whole, now.min(ends) - begins);
                begins = ends;
            }
            prop_assert!(begins >= now);
        }
    }
}
