//! What counts of misses by block prove: the exact binomial test, on as many trials as the blocks are worth.
//!
//! It must not know which term it tests.

use crate::analysis::binomial::{at_least, at_most};
use crate::analysis::quantile::{Block, worth};

/// Misses among trials, and how many independent trials these are worth (docs/METHOD.md: n_eff).
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Trials {
    /// Trials that missed.
    pub missed: u64,
    /// Trials.
    pub of: u64,
    /// Independent trials that they are worth, at most `of`.
    pub n_eff: f64,
}

/// What trials prove of the true share of misses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Sureness {
    /// It lies below what may miss.
    Below,
    /// It lies above.
    Above,
    /// It may be either.
    Open,
}

impl Trials {
    /// From `missed` and `of` by block of time, made by `requests` requests; `None` without a trial.
    #[must_use]
    pub fn new(missed: &[u64], of: &[u64], requests: u64) -> Option<Self> {
        let blocks: Vec<Block> =
            missed.iter().zip(of).map(|(missed, of)| Block::counted(*of, *missed)).collect();
        let (missed, of) = (missed.iter().sum(), of.iter().sum());
        (of > 0).then(|| Self { missed, of, n_eff: worth(&blocks, requests.min(of)) })
    }

    /// The share that missed.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share of a few digits")]
    pub fn share(&self) -> f64 {
        self.missed as f64 / self.of as f64
    }

    /// What they prove, each side with an error of at most `alpha`, when the share `may_miss`.
    #[must_use]
    pub fn prove(&self, may_miss: f64, alpha: f64) -> Sureness {
        let k = self.share() * self.n_eff;
        if may_miss <= 0.0 {
            // That none ever misses cannot be proved.
            return if self.missed > 0 { Sureness::Above } else { Sureness::Open };
        }
        if may_miss >= 1.0 || at_most(k, self.n_eff, may_miss) <= alpha {
            Sureness::Below
        } else if at_least(k, self.n_eff, may_miss) <= alpha {
            Sureness::Above
        } else {
            Sureness::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evenly(missed: u64, of: u64) -> Trials {
        let part =
            |n: u64| std::array::from_fn::<u64, 20, _>(|block| n / 20 + u64::from((block as u64) < n % 20));
        Trials::new(&part(missed), &part(of), of).unwrap()
    }

    #[test]
    fn four_hundred_and_fifty_nine_clean_ones_prove_one_percent_and_one_fewer_do_not() {
        assert_eq!(evenly(0, 459).prove(0.01, 0.01), Sureness::Below);
        assert_eq!(evenly(0, 458).prove(0.01, 0.01), Sureness::Open);
        assert_eq!(evenly(40, 2_000).prove(0.01, 0.01), Sureness::Above);
    }

    #[test]
    fn misses_that_come_together_prove_less() {
        let (mut missed, of) = ([0; 20], [100; 20]);
        missed[7] = 40;
        let bunched = Trials::new(&missed, &of, 2_000).unwrap();
        assert!(bunched.n_eff < 60.0, "{bunched:?}");
        assert_eq!(bunched.prove(0.01, 0.05), Sureness::Open);
    }

    #[test]
    fn nothing_may_miss_and_everything_may() {
        assert_eq!(evenly(0, 1_000).prove(0.0, 0.05), Sureness::Open);
        assert_eq!(evenly(1, 1_000).prove(0.0, 0.05), Sureness::Above);
        assert_eq!(evenly(1_000, 1_000).prove(1.0, 0.05), Sureness::Below);
        assert_eq!(Trials::new(&[0; 20], &[0; 20], 0), None);
    }
}
