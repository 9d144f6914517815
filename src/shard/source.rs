//! Which request is due next on this shard: the schedule's own sequence, or the slots of a closed loop.
//!
//! It must not send, and it reads no clock.

use super::slots::Slots;
use crate::schedule::{Arrivals, Due, Extent, Schedule, share};
use crate::time::{Instant, Phase};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How many requests are known ahead of their due instants, so that their bytes are ready: a burst of a Poisson
/// process at 10,000/s rarely has more within a millisecond.
pub const AHEAD: usize = 16;

/// A request that is due.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Ask {
    /// What and when.
    pub due: Due,
    /// The closed loop's slot that asks; 0 in an open loop.
    pub slot: u32,
}

/// Where a shard's requests come from.
pub enum Source {
    /// Due whatever the server does.
    Open(Open),
    /// Due when the slot's last answer is complete.
    Closed(Closed),
}

impl Source {
    /// The requests of `shard` of `shards`, on the schedule's own clock.
    pub fn new(schedule: &Schedule, shard: u16, shards: u16) -> Self {
        if schedule.is_open() {
            Self::Open(Open::new(schedule.arrivals(shard, shards)))
        } else {
            Self::Closed(Closed::new(schedule.clone(), shard, shards))
        }
    }

    /// When the next request is due; `None` while none is to come (a closed loop may have more after an answer).
    pub fn next_due(&self) -> Option<Instant> {
        match self {
            Self::Open(open) => open.ahead.front().map(|due| due.due),
            Self::Closed(closed) => closed.ready.peek().map(|Reverse((at, _))| *at),
        }
    }

    /// Takes the next request when it is due at `now`.
    pub fn take(&mut self, now: Instant) -> Option<Ask> {
        if self.next_due()? > now {
            return None;
        }
        match self {
            Self::Open(open) => open.take(),
            Self::Closed(closed) => closed.take(),
        }
    }

    /// The index of the `nth` request from now, as far as it is known.
    pub fn upcoming(&self, nth: usize) -> Option<u64> {
        match self {
            Self::Open(open) => open.ahead.get(nth).map(|due| due.index),
            Self::Closed(closed) => closed.upcoming(nth),
        }
    }

    /// The request of `ask` was answered, or failed, at `at`; `turned_away`: its connection was refused or lost before a
    /// byte of an answer, and a closed loop's slot does not ask again at once.
    pub fn over(&mut self, ask: Ask, at: Instant, turned_away: bool) {
        if let Self::Closed(closed) = self {
            let think = closed.schedule.think(ask.due.stage, ask.due.index);
            let again = at + think + closed.slots.pause(ask.slot, turned_away);
            closed.open(ask.slot, again);
        }
    }

    /// How many slots of a closed loop have not begun a request yet.
    pub fn slots_to_begin(&self) -> usize {
        match self {
            Self::Open(_) => 0,
            Self::Closed(closed) => closed.slots.waiting_to_begin(),
        }
    }

    /// Nothing more will be due.
    pub fn stop(&mut self) {
        match self {
            Self::Open(open) => *open = Open { arrivals: None, ahead: VecDeque::new() },
            Self::Closed(closed) => closed.stop(),
        }
    }

    /// Whether no measured request will be due any more, at `now` or later.
    pub fn measured_over(&self, now: Instant) -> bool {
        match self {
            Self::Open(open) => open.ahead.front().is_none_or(|due| due.phase == Phase::Cooldown),
            Self::Closed(closed) => closed.measured_over(now),
        }
    }
}

/// An open loop.
pub struct Open {
    arrivals: Option<Arrivals>,
    ahead: VecDeque<Due>,
}

impl Open {
    fn new(arrivals: Arrivals) -> Self {
        let mut open = Self { arrivals: Some(arrivals), ahead: VecDeque::with_capacity(AHEAD) };
        open.fill();
        open
    }

    fn fill(&mut self) {
        while let Some(arrivals) = &mut self.arrivals
            && self.ahead.len() < AHEAD
        {
            match arrivals.next() {
                Some(due) => self.ahead.push_back(due),
                None => self.arrivals = None,
            }
        }
    }

    fn take(&mut self) -> Option<Ask> {
        let due = self.ahead.pop_front()?;
        self.fill();
        Some(Ask { due, slot: 0 })
    }
}

/// A closed loop.
pub struct Closed {
    schedule: Schedule,
    ready: BinaryHeap<Reverse<(Instant, u32)>>,
    slots: Slots,
    shard: u64,
    shards: u64,
    /// With a number of requests: how many are left to this shard, and where the indexes of its warm-up begin.
    counted: Option<Counted>,
    begun: u64,
    stopped: bool,
}

/// A run of `--requests N`: the measured requests are numbered from 0 to N - 1, those of the warm-up from N on, since
/// nobody knows beforehand how many there will be.
struct Counted {
    left: u64,
    warmup_from: u64,
    warmups: u64,
}

impl Closed {
    fn new(schedule: Schedule, shard: u16, shards: u16) -> Self {
        let counted = match schedule.stages() {
            [stage] => match stage.extent {
                Extent::Requests(n) => {
                    let warmup_from = n.next_multiple_of(u64::from(shards));
                    Some(Counted { left: share(n, shard, shards), warmup_from, warmups: 0 })
                }
                Extent::Duration(_) => None,
            },
            _ => None,
        };
        let slots: Vec<u32> = schedule.slots(shard, shards).collect();
        let start = schedule.start();
        let mut closed = Self {
            schedule,
            ready: BinaryHeap::with_capacity(slots.len()),
            slots: Slots::new(slots.len(), shards),
            shard: u64::from(shard),
            shards: u64::from(shards),
            counted,
            begun: 0,
            stopped: false,
        };
        for slot in slots {
            closed.open(slot, start);
        }
        closed
    }

    fn open(&mut self, slot: u32, at: Instant) {
        if self.stopped || self.counted.as_ref().is_some_and(|counted| counted.left == 0) {
            return;
        }
        if let Some(opens) = self.schedule.slot_opens(slot, at) {
            self.ready.push(Reverse((opens, slot)));
        }
    }

    fn take(&mut self) -> Option<Ask> {
        let Reverse((due, slot)) = self.ready.pop()?;
        let (stage, phase) = self.schedule.timetable().place(due)?;
        self.slots.begin(slot);
        let index = match (&mut self.counted, phase) {
            (Some(counted), Phase::Warmup) => {
                counted.warmups += 1;
                counted.warmup_from + (counted.warmups - 1) * self.shards + self.shard
            }
            (counted, _) => {
                if let Some(counted) = counted {
                    counted.left -= 1;
                    if counted.left == 0 {
                        self.ready.clear();
                    }
                }
                self.begun += 1;
                (self.begun - 1) * self.shards + self.shard
            }
        };
        Some(Ask { due: Due { index, due, stage, phase }, slot })
    }

    /// The next index, guessing that the phase stays what it is: a wrong guess costs one body prepared in vain.
    fn upcoming(&self, nth: usize) -> Option<u64> {
        if self.stopped {
            return None;
        }
        let from = self.counted.as_ref().filter(|_| self.begun == 0).map_or((0, self.begun), |counted| {
            let warming = self.ready.peek().is_some_and(|Reverse((at, _))| {
                self.schedule.timetable().place(*at).is_some_and(|(_, phase)| phase == Phase::Warmup)
            });
            if warming { (counted.warmup_from, counted.warmups) } else { (0, 0) }
        });
        Some(from.0 + (from.1 + nth as u64) * self.shards + self.shard)
    }

    fn stop(&mut self) {
        self.stopped = true;
        self.ready.clear();
    }

    fn measured_over(&self, now: Instant) -> bool {
        let windows = self.schedule.timetable().windows();
        let last = windows.last().expect("a schedule has a window");
        self.stopped || self.counted.as_ref().is_some_and(|c| c.left == 0) || now >= last.measured_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Load, Process, Ramp, Stage};
    use crate::time::Span;

    fn at_ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn closed(slots: f64, extent: Extent, warmup: Span) -> Schedule {
        let load = Load::Closed { slots: Ramp::Flat(slots), ramp: Span::ZERO, think: "0s".parse().unwrap() };
        Schedule::new(vec![Stage { load, extent, warmup }], Span::ZERO, 0).unwrap()
    }

    fn take_all(source: &mut Source, now: Instant) -> Vec<Ask> {
        std::iter::from_fn(|| source.take(now)).collect()
    }

    #[test]
    fn an_open_loop_gives_what_is_due_and_knows_what_comes_next() {
        let load = Load::Open { rate_per_s: Ramp::Flat(1000.0), process: Process::Constant };
        let stage = Stage { load, extent: Extent::Duration(Span::from_ms(100)), warmup: Span::ZERO };
        let schedule = Schedule::new(vec![stage], Span::from_s(1), 0).unwrap();
        let mut source = Source::new(&schedule, 1, 2);
        assert_eq!(source.upcoming(0), Some(1));
        assert_eq!(source.upcoming(1), Some(3));
        let asked: Vec<u64> = take_all(&mut source, at_ms(10)).iter().map(|ask| ask.due.index).collect();
        assert_eq!(asked, [1, 3, 5, 7, 9]);
        assert!(!source.measured_over(at_ms(10)));
        take_all(&mut source, at_ms(100));
        assert!(source.measured_over(at_ms(100)), "only the cool-down is left");
        source.stop();
        assert_eq!((source.next_due(), source.upcoming(0)), (None, None));
    }

    #[test]
    fn a_slot_asks_again_at_the_instant_of_its_answer() {
        let mut source = Source::new(&closed(3.0, Extent::Duration(Span::from_s(1)), Span::ZERO), 0, 1);
        let first = take_all(&mut source, at_ms(0));
        assert_eq!(first.iter().map(|ask| ask.due.index).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(source.next_due(), None);
        source.over(first[1], at_ms(7), false);
        let again = source.take(at_ms(9)).unwrap();
        assert_eq!((again.due.index, again.due.due, again.slot), (3, at_ms(7), first[1].slot));
        assert!(!source.measured_over(at_ms(999)));
        assert!(source.measured_over(at_ms(1000)));
    }

    #[test]
    fn exactly_so_many_requests_follow_the_warm_up_of_a_closed_loop() {
        let schedule = closed(4.0, Extent::Requests(7), Span::from_ms(10));
        let mut measured = Vec::new();
        let mut all = Vec::new();
        for shard in 0..2 {
            let mut source = Source::new(&schedule, shard, 2);
            for ms in 0..100 {
                for ask in take_all(&mut source, at_ms(ms)) {
                    all.push(ask.due.index);
                    if ask.due.phase == Phase::Measured {
                        measured.push(ask.due.index);
                    }
                    source.over(ask, at_ms(ms + 3), false);
                }
            }
            assert!(source.measured_over(at_ms(100)));
        }
        measured.sort_unstable();
        assert_eq!(measured, [0, 1, 2, 3, 4, 5, 6]);
        all.sort_unstable();
        all.dedup();
        // Two shards of two slots, warmed up at 0, 3, 6 and 9 ms.
        assert_eq!(all.len(), 7 + 2 * 2 * 4, "no index is used twice");
    }

    #[test]
    fn a_slot_that_is_turned_away_is_due_again_after_a_pause_and_the_others_at_once() {
        let mut source = Source::new(&closed(2.0, Extent::Duration(Span::from_s(9)), Span::ZERO), 0, 1);
        assert_eq!(source.slots_to_begin(), 2);
        let first = take_all(&mut source, at_ms(0));
        assert_eq!(source.slots_to_begin(), 0);
        source.over(first[0], at_ms(1), true);
        source.over(first[1], at_ms(1), false);
        let answered = source.take(at_ms(1)).unwrap();
        assert_eq!((answered.slot, answered.due.due), (first[1].slot, at_ms(1)));
        assert_eq!(source.next_due(), Some(at_ms(11)));
        let again = source.take(at_ms(11)).unwrap();
        source.over(again, at_ms(12), true);
        assert_eq!(source.next_due(), Some(at_ms(32)));
    }

    #[test]
    fn the_next_index_is_known_before_it_is_due() {
        let schedule = closed(2.0, Extent::Requests(6), Span::from_ms(5));
        let mut source = Source::new(&schedule, 0, 1);
        let guess = source.upcoming(0);
        assert_eq!(guess, Some(source.take(at_ms(0)).unwrap().due.index));
    }
}
