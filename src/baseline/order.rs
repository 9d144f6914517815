//! The order of the runs: ABBA, so that what drifts with time is on neither side.
//!
//! It must not know what the sides are.

/// The sides of one round, in turn: of two sides AB in the first, BA in the second.
pub(super) fn of_round(round: u32, sides: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..sides).collect() } else { (0..sides).rev().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(rounds: u32, sides: usize) -> Vec<usize> {
        (0..rounds).flat_map(|round| of_round(round, sides)).collect()
    }

    #[test]
    fn two_sides_go_abba() {
        assert_eq!(order(4, 2), [0, 1, 1, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn over_two_rounds_every_side_has_the_same_mean_place() {
        for sides in 1..5 {
            let order = order(2, sides);
            let places = |side: usize| -> usize {
                order.iter().enumerate().filter(|(_, one)| **one == side).map(|(at, _)| at).sum()
            };
            assert!((0..sides).all(|side| places(side) == places(0)), "{order:?}");
        }
    }
}
