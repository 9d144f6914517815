//! The slots of a closed loop: which have begun at all, and which were turned away and wait before they ask again.
//!
//! It must not know when a slot is due: the schedule and the answers decide, this adds a pause.

use crate::time::Span;

/// The pause after a first request that was turned away: a hundred a second and slot, where a dead server on loopback
/// could be asked ten thousand times.
const FIRST_PAUSE: Span = Span::from_ms(10);

/// The longest pause: a server that comes back is noticed within a second.
const LONGEST_PAUSE: Span = Span::from_s(1);

#[derive(Copy, Clone, Default, Debug)]
struct Slot {
    begun: bool,
    /// Requests turned away in a row.
    turned_away: u8,
}

/// The slots of one shard: those with `slot % shards == shard`.
#[derive(Debug)]
pub struct Slots {
    slots: Vec<Slot>,
    shards: u32,
    waiting_to_begin: usize,
}

impl Slots {
    /// `count` slots of one of `shards` shards, none of which has begun.
    pub fn new(count: usize, shards: u16) -> Self {
        Self { slots: vec![Slot::default(); count], shards: shards.into(), waiting_to_begin: count }
    }

    /// `slot` begins a request.
    pub fn begin(&mut self, slot: u32) {
        let slot = self.of(slot);
        let first = !std::mem::replace(&mut slot.begun, true);
        self.waiting_to_begin -= usize::from(first);
    }

    /// The pause before `slot` asks again: none, but after requests in a row that were turned away
    /// (docs/METHOD.md, "Load").
    pub fn pause(&mut self, slot: u32, turned_away: bool) -> Span {
        let slot = self.of(slot);
        if !turned_away {
            slot.turned_away = 0;
            return Span::ZERO;
        }
        let doubled = (0..slot.turned_away).fold(FIRST_PAUSE, |pause, _| (pause * 2).min(LONGEST_PAUSE));
        slot.turned_away = slot.turned_away.saturating_add(1);
        doubled
    }

    /// How many have not begun a request yet.
    pub const fn waiting_to_begin(&self) -> usize {
        self.waiting_to_begin
    }

    fn of(&mut self, slot: u32) -> &mut Slot {
        let nth = usize::try_from(slot / self.shards).expect("a slot's number is small");
        &mut self.slots[nth]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_is_turned_away_again_and_again_waits_longer_and_longer_up_to_a_second() {
        let mut slots = Slots::new(2, 4);
        let pauses: Vec<i64> = (0..300).map(|_| slots.pause(7, true).as_ns() / 1_000_000).collect();
        assert_eq!(pauses[..9], [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert!(pauses[9..].iter().all(|ms| *ms == 1000));
        assert_eq!(slots.pause(3, true), FIRST_PAUSE, "another slot of the shard has its own");
        assert_eq!(slots.pause(7, false), Span::ZERO);
        assert_eq!(slots.pause(7, true), FIRST_PAUSE, "an answer begins it anew");
    }

    #[test]
    fn a_slot_begins_once() {
        let mut slots = Slots::new(3, 1);
        for slot in [0, 2, 0, 0] {
            slots.begin(slot);
        }
        assert_eq!(slots.waiting_to_begin(), 1);
    }
}
