//! The invariants hold for the cases' bytes after they were maimed: a small, repeatable fuzzer.

use crate::case::{Case, streams};
use crate::invariants;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const MUTATIONS_OF_EACH: usize = 60;

struct Maimer(Xoshiro256PlusPlus);

impl Maimer {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next_u64() % (bound.max(1) as u64)).expect("below a usize")
    }

    fn byte(&mut self) -> u8 {
        // What the formats are made of is worth more than what they are not.
        const WORTHY: &[u8] = b"\r\n\r\n :;{}[]\",\\0159afZ";
        if self.below(3) == 0 { self.below(256).to_le_bytes()[0] } else { WORTHY[self.below(WORTHY.len())] }
    }

    fn maim(&mut self, wire: &mut Vec<u8>, others: &[Case]) {
        let at = self.below(wire.len() + 1);
        let to = (at + self.below(40)).min(wire.len());
        match self.below(6) {
            0 => wire.insert(at, self.byte()),
            1 if at < wire.len() => wire[at] = self.byte(),
            2 => drop(wire.drain(at..to)),
            3 => {
                let twice = wire[at..to].to_vec();
                wire.splice(at..at, twice);
            }
            4 => wire.truncate(at),
            _ => {
                let other = others[self.below(others.len())].wire();
                let from = self.below(other.len() + 1);
                let piece = &other[from..(from + self.below(200)).min(other.len())];
                wire.splice(at..to, piece.iter().copied());
            }
        }
    }
}

#[test]
fn the_invariants_hold_for_maimed_cases() {
    let cases = streams();
    let mut maimer = Maimer(Xoshiro256PlusPlus::seed_from_u64(1));
    for case in cases.iter().filter(|case| case.wire().len() < 4096) {
        for _ in 0..MUTATIONS_OF_EACH {
            let mut wire = case.wire();
            for _ in 0..=maimer.below(4) {
                maimer.maim(&mut wire, &cases);
            }
            let plan = [maimer.below(256).to_le_bytes()[0], maimer.below(64).to_le_bytes()[0]];
            let input = [&plan[..], &wire].concat();
            invariants::response(&input);
            wire.split(|byte| *byte == b'\n')
                .filter_map(|line| line.strip_prefix(b"data: "))
                .for_each(invariants::event);
        }
    }
}
