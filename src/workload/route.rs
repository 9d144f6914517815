//! Which of several servers gets request `index`: in turn, or always the same one for the same key.
//! It must not know the servers: they are numbers, from 0.

use crate::random::{Purpose, Stream};
use std::sync::Arc;

/// A choice among servers, the same on every shard and machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// One round: each server as often as its weight says, spread as evenly as can be. Empty = there is only one.
    turns: Arc<[u16]>,
    /// The seed of the keys' hash; `None` = in turn.
    sticky: Option<u64>,
}

const TARGET: Purpose = Purpose::named("target");

impl Route {
    /// Every request goes to the one server there is.
    #[must_use]
    pub fn only() -> Self {
        Self { turns: Arc::from([]), sticky: None }
    }

    /// Server after server, in rounds in which each has as many turns as its weight.
    #[must_use]
    pub fn in_turn(weights: &[u32]) -> Self {
        Self { turns: turns(weights), sticky: None }
    }

    /// By the key of a request: a hash of it picks a turn of the round.
    #[must_use]
    pub fn sticky(weights: &[u32], seed: u64) -> Self {
        Self { turns: turns(weights), sticky: Some(seed) }
    }

    /// The server of request `index`, whose key is `key`.
    #[must_use]
    pub fn of(&self, index: u64, key: impl FnOnce() -> u64) -> u16 {
        if self.turns.is_empty() {
            return 0;
        }
        let nth = self.sticky.map_or(index, |seed| Stream::key(seed, TARGET, key()));
        let nth = nth % self.turns.len() as u64;
        self.turns[usize::try_from(nth).expect("below the length of a round")]
    }
}

/// Smooth weighted round robin (nginx, `ngx_http_upstream_round_robin.c`): in every turn each server gains its weight, and
/// the richest is taken and pays the sum.
fn turns(weights: &[u32]) -> Arc<[u16]> {
    assert!(weights.iter().all(|weight| *weight > 0), "every server has a share");
    if weights.len() < 2 {
        return Arc::from([]);
    }
    let divisor = weights.iter().copied().fold(0, greatest_common_divisor);
    let weights: Vec<i64> = weights.iter().map(|weight| i64::from(weight / divisor)).collect();
    let round: i64 = weights.iter().sum();
    let mut credit = vec![0_i64; weights.len()];
    let turn = |_| {
        credit.iter_mut().zip(&weights).for_each(|(credit, weight)| *credit += weight);
        // Of equals the first.
        let richest = (0..credit.len()).rev().max_by_key(|at| credit[*at]).expect("there are servers");
        credit[richest] -= round;
        u16::try_from(richest).expect("servers are few")
    };
    (0..round).map(turn).collect()
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(route: &Route, count: u64) -> Vec<u16> {
        (0..count).map(|index| route.of(index, || index)).collect()
    }

    #[test]
    fn weights_are_spread_over_the_round() {
        assert_eq!(first(&Route::only(), 3), [0, 0, 0]);
        assert_eq!(first(&Route::in_turn(&[7]), 3), [0, 0, 0]);
        assert_eq!(first(&Route::in_turn(&[1, 1, 1]), 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(first(&Route::in_turn(&[5, 1, 1]), 7), [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(first(&Route::in_turn(&[300, 100]), 8), [0, 0, 1, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn a_key_always_has_the_same_server_and_keys_are_shared_by_weight() {
        let route = Route::sticky(&[3, 1], 7);
        assert!((0..100).all(|index| route.of(index, || 42) == route.of(0, || 42)));
        let second = (0..10_000).filter(|key| route.of(0, || *key) == 1).count();
        // Binomial, p = 1/4: a deviation of six standard deviations (43) is one in a thousand million.
        assert!(second.abs_diff(2_500) < 260, "{second}");
        let other = Route::sticky(&[3, 1], 8);
        assert!((0..100).any(|key| route.of(0, || key) != other.of(0, || key)), "the seed counts");
    }

    proptest! {
        #[test]
        fn every_round_gives_each_server_its_weight(weights in prop::collection::vec(1_u32..20, 2..6)) {
            let round = u64::from(weights.iter().sum::<u32>());
            let turns = first(&Route::in_turn(&weights), round);
            for (server, weight) in weights.iter().enumerate() {
                let got = turns.iter().filter(|turn| usize::from(**turn) == server).count();
                prop_assert_eq!(got, usize::try_from(*weight).unwrap());
            }
        }
    }
}
