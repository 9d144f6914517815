//! The slots of a closed loop: when each may begin its next request.
//! It must not know when a request ends: the slot's owner does, and asks.

use super::schedule::Schedule;
use super::{Load, Ramp};
use crate::random::{Purpose, Stream};
use crate::time::{Instant, Span};

impl Schedule {
    /// The slots of one shard of a closed loop: those with `slot % shards == shard`. Empty for an open loop.
    pub fn slots(&self, shard: u16, shards: u16) -> impl Iterator<Item = u32> + use<> {
        (u32::from(shard)..self.peak_concurrency().unwrap_or(0)).step_by(usize::from(shards))
    }

    /// The earliest instant, `at` or later, at which `slot` may begin a request; `None` when there is none any more.
    ///
    /// It gives a slot's first due instant (asked with the run's start), and after each answer, asked with the
    /// answer's instant plus think time, `at` itself as long as the slot stays open.
    ///
    /// # Panics
    /// For an open loop, which has no slots.
    #[must_use]
    pub fn slot_opens(&self, slot: u32, at: Instant) -> Option<Instant> {
        let level = f64::from(slot);
        let mut before = 0.0;
        for (stage, window) in self.stages().iter().zip(self.timetable().windows()) {
            let Load::Closed { slots, ramp, .. } = stage.load else { panic!("an open loop has no slots") };
            let last = std::ptr::eq(stage, self.stages().last().expect("a schedule has a stage"));
            let until = if last { self.timetable().load_until() } else { window.measured_until };
            // The stage's new slots start one after another over `ramp`.
            let added = if level >= before && level < slots.from() {
                ramp.as_s_f64() * (level - before) / (slots.from() - before)
            } else {
                0.0
            };
            let earliest = at.max(window.start + Span::from_s_f64(added));
            before = slots.to();
            let length_s = window.length().map_or(0.0, Span::as_s_f64);
            let passes = || window.measured_from + Span::from_s_f64(slots.passes(level) * length_s);
            let opens = match slots {
                Ramp::Flat(n) => (level < n).then_some(earliest),
                _ if level < slots.from() && level < slots.to() => Some(earliest),
                _ if level < slots.to() => Some(earliest.max(passes())),
                _ if level < slots.from() => (earliest < passes()).then_some(earliest),
                _ => None,
            };
            if let Some(opens) = opens.filter(|opens| *opens < until) {
                return Some(opens);
            }
        }
        None
    }

    /// The pause before the request that follows request `index` in its slot.
    ///
    /// # Panics
    /// For an open loop, in which nobody thinks.
    #[must_use]
    pub fn think(&self, stage: u16, index: u64) -> Span {
        let Load::Closed { think, .. } = self.stages()[usize::from(stage)].load else {
            panic!("an open loop has no think time")
        };
        if think.is_zero() {
            return Span::ZERO;
        }
        let mut stream = Stream::new(self.seed(), const { Purpose::named("think time") }, index);
        super::arrivals::span(think.sample_ns(&mut stream))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Extent, Stage};
    use super::*;
    use crate::random::Delays;

    fn s(s: u64) -> Instant {
        Instant::from_ns(s * 1_000_000_000)
    }

    fn closed(slots: Ramp, ramp_s: i64, duration_s: i64, warmup_s: i64) -> Stage {
        Stage {
            load: Load::Closed { slots, ramp: Span::from_s(ramp_s), think: Delays::ZERO },
            extent: Extent::Duration(Span::from_s(duration_s)),
            warmup: Span::from_s(warmup_s),
        }
    }

    fn schedule(stages: Vec<Stage>) -> Schedule {
        Schedule::new(stages, Span::from_s(30), 0).unwrap()
    }

    #[test]
    fn starts_are_spread_over_the_ramp() {
        let schedule = schedule(vec![closed(Ramp::Flat(4.0), 8, 60, 10)]);
        let starts: Vec<_> = schedule.slots(0, 1).map(|slot| schedule.slot_opens(slot, s(0))).collect();
        assert_eq!(starts, [Some(s(0)), Some(s(2)), Some(s(4)), Some(s(6))]);
        assert_eq!(schedule.slot_opens(3, s(50)), Some(s(50)), "an open slot goes on at once");
        assert_eq!(schedule.slot_opens(3, s(99)), Some(s(99)), "through the cool-down");
        assert_eq!(schedule.slot_opens(3, s(100)), None, "and not beyond it");
    }

    #[test]
    fn every_slot_has_one_shard() {
        let schedule = schedule(vec![closed(Ramp::Flat(10.0), 0, 60, 0)]);
        let mut all: Vec<u32> = (0..3).flat_map(|shard| schedule.slots(shard, 3)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert_eq!(schedule.slots(2, 3).collect::<Vec<_>>(), [2, 5, 8]);
    }

    #[test]
    fn a_ramp_up_opens_slots_one_by_one_and_a_ramp_down_closes_them() {
        let up = schedule(vec![closed(Ramp::Linear(1.0, 11.0), 0, 100, 0)]);
        assert_eq!(up.slot_opens(0, s(0)), Some(s(0)));
        assert_eq!(up.slot_opens(6, s(0)), Some(s(50)));
        assert_eq!(up.slot_opens(6, s(70)), Some(s(70)));
        assert_eq!(up.slot_opens(10, s(0)), Some(s(90)));
        let down = schedule(vec![closed(Ramp::Linear(11.0, 1.0), 0, 100, 0)]);
        assert_eq!(down.slot_opens(6, s(49)), Some(s(49)));
        assert_eq!(down.slot_opens(6, s(50)), None);
        assert_eq!(down.slot_opens(0, s(120)), Some(s(120)));
    }

    #[test]
    fn a_slot_waits_for_the_next_stage_that_wants_it() {
        let two = [closed(Ramp::Flat(2.0), 0, 10, 0), closed(Ramp::Flat(6.0), 4, 10, 0)];
        let stages = [two[0], two[1], two[0], two[1]];
        let schedule = schedule(stages.to_vec());
        assert_eq!(schedule.slot_opens(1, s(3)), Some(s(3)));
        assert_eq!(schedule.slot_opens(4, s(3)), Some(s(12)), "third of four new ones, over 4 s");
        assert_eq!(schedule.slot_opens(1, s(10)), Some(s(10)), "an old one does not wait");
        assert_eq!(schedule.slot_opens(5, s(25)), Some(s(33)));
    }

    #[test]
    fn a_think_time_is_read_as_a_span_is() {
        for text in ["10s", "250us", "1.5ms", "2m", "1h", "7ns", "0s"] {
            let span = crate::time::parse_span(text).unwrap();
            assert_eq!(
                text.parse::<Delays>().unwrap(),
                Delays::constant(span.as_ns().unsigned_abs()),
                "{text}"
            );
        }
    }

    #[test]
    fn think_time_is_a_function_of_the_request() {
        let mut stage = closed(Ramp::Flat(2.0), 0, 10, 0);
        assert_eq!(schedule(vec![stage]).think(0, 7), Span::ZERO);
        let Load::Closed { think, .. } = &mut stage.load else { unreachable!() };
        *think = "exp:20ms".parse().unwrap();
        let schedule = schedule(vec![stage]);
        assert_eq!(schedule.think(0, 7), schedule.think(0, 7));
        assert_ne!(schedule.think(0, 7), schedule.think(0, 8));
    }
}
