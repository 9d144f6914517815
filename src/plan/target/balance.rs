//! How requests are shared among several servers: weights and the way to choose; sends nothing.

use super::{Balance, Endpoint};
use crate::plan::raw::Raw;
use crate::plan::reading::{Reading, option};

const BALANCES: [(&str, Balance); 2] = [("round-robin", Balance::RoundRobin), ("sticky", Balance::Sticky)];

/// Larger shares than this tell the servers apart no better.
const MOST_WEIGHT: u32 = 1000;

/// Reads `--balance` and `--weights`; the weights go to the endpoints in their order.
pub(super) fn read(r: &mut Reading, raw: &Raw, endpoints: &mut [Endpoint]) -> Balance {
    let (balance, weights) = (option!(raw.target.balance), option!(raw.target.weights));
    if raw.target.url.len() < 2 {
        for given in [balance, weights].into_iter().filter(|given| given.value.is_some()) {
            r.refuse(given, "for several --url only", "leave it out");
        }
        return Balance::RoundRobin;
    }
    // Where a URL was refused, that is the mistake.
    if let Some(text) = weights.value.filter(|_| endpoints.len() == raw.target.url.len()) {
        let read = text.as_str().split(',').map(|share| share.trim().parse::<u32>().ok());
        let read: Option<Vec<u32>> =
            read.map(|share| share.filter(|share| (1..=MOST_WEIGHT).contains(share))).collect();
        match read.filter(|shares| shares.len() == endpoints.len()) {
            Some(shares) => {
                endpoints.iter_mut().zip(shares).for_each(|(endpoint, share)| endpoint.weight = share);
            }
            None => {
                let accepted = format!(
                    "{} whole numbers from 1 to {MOST_WEIGHT} with commas, one for each --url",
                    endpoints.len()
                );
                r.refuse(weights, accepted, "");
            }
        }
    }
    r.word(balance, &BALANCES).unwrap_or(Balance::RoundRobin)
}
