//! Requests that are over and not counted yet: they wait for a quiet moment and are counted together.
//!
//! It must not keep one for long, and it counts nothing itself.
//!
//! To count a request touches some hundred histograms. A core that sleeps between two requests has none of them in its caches,
//! and counting them one by one then costs ten times what it costs side by side.

use crate::record::Finished;
use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// So many are worth a job of their own: some tens of microseconds.
const BATCH: usize = 16;

/// A shard that finds no quiet moment counts them in the way of other work, before they take more memory than this.
const MOST: usize = 64;

/// The longest that one waits while the shard has nothing better to do: less than a row waits for its writer.
const LONGEST: Span = Span::from_ms(20);

/// The requests that wait, in the order in which they ended.
#[derive(Default)]
pub struct Recording {
    waiting: VecDeque<Finished>,
    since: Option<Instant>,
}

impl Recording {
    /// One more is over at `now`; answers whether there is no room for another.
    pub fn add(&mut self, finished: Finished, now: Instant) -> bool {
        self.since.get_or_insert(now);
        self.waiting.push_back(finished);
        self.waiting.len() >= MOST
    }

    /// Whether they are to be counted, if nothing else is to be done at `now`.
    pub fn is_due(&self, now: Instant) -> bool {
        self.waiting.len() >= BATCH || self.since.is_some_and(|since| now >= since + LONGEST)
    }

    /// Those that wait.
    pub fn waiting(&self) -> impl Iterator<Item = &Finished> {
        self.waiting.iter()
    }

    /// The one that waited longest.
    pub fn take(&mut self) -> Option<Finished> {
        self.since = None;
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Asked, Timeline};
    use crate::time::Phase;
    use crate::wire::{ErrorClass, Reply};

    const START: Instant = Instant::from_ns(1_000_000_000);

    fn over(index: u64) -> Finished {
        let asked = Asked {
            index,
            shard: 0,
            target: 0,
            stage: 0,
            phase: Phase::Measured,
            due: START,
            asked_output_tokens: None,
            choices: 1,
        };
        Timeline::new(asked, Vec::new()).finish(Reply::unanswered(ErrorClass::Connect, None), START)
    }

    #[test]
    fn a_few_wait_for_company_and_not_for_long() {
        let mut recording = Recording::default();
        assert!(!recording.is_due(START));
        assert!(!recording.add(over(0), START));
        assert!(!recording.add(over(1), START + Span::from_ms(15)));
        assert!(!recording.is_due(START + Span::from_ms(19)));
        assert!(recording.is_due(START + Span::from_ms(20)), "the first has waited long enough");
        assert_eq!(std::iter::from_fn(|| recording.take()).count(), 2);
        assert!(!recording.is_due(START + Span::from_s(1)), "nothing waits");
    }

    #[test]
    fn many_are_due_at_once_and_leave_in_order() {
        let mut recording = Recording::default();
        let full: Vec<bool> = (0..MOST as u64).map(|index| recording.add(over(index), START)).collect();
        assert!(recording.is_due(START));
        assert_eq!(full.iter().position(|full| *full), Some(MOST - 1));
        let left: Vec<u64> =
            std::iter::from_fn(|| recording.take()).map(|finished| finished.record().index).collect();
        assert_eq!(left, (0..MOST as u64).collect::<Vec<_>>());
    }
}
