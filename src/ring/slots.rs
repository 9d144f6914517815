//! Slots with generations: a name outlives what it named, and is then harmless.
//!
//! It must not know what lies in a slot.

use super::token::Token;

/// A dense slab; a slot that is vacated is taken again by the next to come, under a new generation.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    vacant: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slots<T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), vacant: Vec::new() }
    }

    /// Puts `value` in a slot; gives the slot and its generation.
    pub(super) fn insert(&mut self, value: T) -> (u32, u32) {
        if let Some(index) = self.vacant.pop() {
            let slot = self.at(index).expect("vacant slots exist");
            slot.value = Some(value);
            return (index, slot.generation);
        }
        let index = u32::try_from(self.slots.len()).expect("files are fewer than 2^32");
        self.slots.push(Slot { generation: 0, value: Some(value) });
        (index, 0)
    }

    /// Vacates the slot, if the name is still good.
    pub(super) fn remove(&mut self, index: u32, generation: u32) -> Option<T> {
        let slot = self.at(index).filter(|slot| slot.generation == generation)?;
        let value = slot.value.take()?;
        slot.generation = if generation == Token::MOST_GENERATION { 0 } else { generation + 1 };
        self.vacant.push(index);
        Some(value)
    }

    pub(super) fn get(&self, index: u32, generation: u32) -> Option<&T> {
        let slot = self.slots.get(usize::try_from(index).expect("a 64-bit host"))?;
        slot.value.as_ref().filter(|_| slot.generation == generation)
    }

    pub(super) fn get_mut(&mut self, index: u32, generation: u32) -> Option<&mut T> {
        let slot = self.at(index)?;
        if slot.generation == generation { slot.value.as_mut() } else { None }
    }

    /// What is in the slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }

    /// How many slots are taken.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    fn at(&mut self, index: u32) -> Option<&mut Slot<T>> {
        self.slots.get_mut(usize::try_from(index).expect("a 64-bit host"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn a_slot_is_taken_again_and_its_old_name_is_dead() {
        let mut slots = Slots::new();
        let (a, first) = slots.insert('a');
        assert_eq!(slots.remove(a, first), Some('a'));
        let (b, second) = slots.insert('b');
        assert_eq!((a, slots.get(b, second)), (b, Some(&'b')));
        assert_eq!(slots.get(a, first), None);
        assert_eq!(slots.remove(a, first), None);
        assert_eq!(slots.get_mut(7, 0), None);
    }

    #[test]
    fn generations_wrap_within_their_bits() {
        let mut slots = Slots { slots: Vec::new(), vacant: Vec::new() };
        slots.slots.push(Slot { generation: Token::MOST_GENERATION, value: Some(()) });
        assert_eq!(slots.remove(0, Token::MOST_GENERATION), Some(()));
        assert_eq!(slots.insert(()), (0, 0));
    }

    proptest! {
        #[test]
        fn every_living_name_finds_its_own_and_no_dead_one_finds_any(steps in prop::collection::vec(any::<(bool, u16)>(), 1..200)) {
            let mut slots = Slots::new();
            let mut alive: HashMap<(u32, u32), u16> = HashMap::new();
            let mut dead = Vec::new();
            for (insert, value) in steps {
                if insert || alive.is_empty() {
                    let name = slots.insert(value);
                    prop_assert!(alive.insert(name, value).is_none());
                } else {
                    let name = *alive.keys().nth(usize::from(value) % alive.len()).expect("not empty");
                    prop_assert_eq!(slots.remove(name.0, name.1), alive.remove(&name));
                    dead.push(name);
                }
                prop_assert_eq!(slots.len(), alive.len());
                for (name, value) in &alive {
                    prop_assert_eq!(slots.get(name.0, name.1), Some(value));
                }
                for name in &dead {
                    prop_assert_eq!(slots.get(name.0, name.1), None);
                }
            }
        }
    }
}
