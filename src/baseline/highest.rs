//! The highest rate that a side sends in full: doubled until it fails, then closed in from both sides.
//!
//! It must not know what sending in full means. On a shared machine a neighbour's burst is no limit: what fails twice is.

/// Rates this near are one: the highest that is kept and the lowest that is not.
const TOLERANCE: f64 = 0.05;

/// The lowest rate that is tried.
const LEAST: u32 = 1;

/// A search, between trials.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Search {
    /// The highest rate that was kept.
    pub(super) kept: Option<u32>,
    /// The lowest rate that failed twice, or cannot be asked for.
    pub(super) lost: Option<u32>,
    /// Trials so far.
    pub(super) trials: u32,
    next: Option<u32>,
    failed_once: bool,
    most: u32,
}

impl Search {
    /// A search that begins at `first` and goes no higher than `most`, requests per second.
    pub(super) fn new(first: u32, most: u32) -> Self {
        let next = Some(first.clamp(LEAST, most));
        Self { kept: None, lost: None, trials: 0, next, failed_once: false, most }
    }

    /// The same search where `kept` is known to be kept: it goes on above, and finds nothing below.
    pub(super) fn above(mut self, kept: Option<u32>) -> Self {
        if kept.is_some() {
            self.kept = kept;
            self.go_on();
        }
        self
    }

    /// The rate to try; none when the search is over.
    pub(super) const fn next(&self) -> Option<u32> {
        self.next
    }

    /// Takes the outcome of that trial.
    pub(super) fn told(&mut self, is_kept: bool) {
        let Some(rate) = self.next else { return };
        self.trials += 1;
        if !is_kept && !self.failed_once {
            self.failed_once = true;
            return;
        }
        if is_kept {
            self.kept = Some(rate)
        } else {
            self.lost = Some(rate)
        }
        self.go_on();
    }

    /// That rate cannot be asked for here, which no second trial would change: it is lost without one.
    pub(super) fn impossible(&mut self) {
        self.lost = self.next;
        self.go_on();
    }

    fn go_on(&mut self) {
        self.failed_once = false;
        self.next = match (self.kept, self.lost) {
            (Some(kept), None) => Some(kept.saturating_mul(2).min(self.most)).filter(|next| *next > kept),
            (None, Some(lost)) => Some(lost / 2).filter(|next| *next >= LEAST),
            (Some(kept), Some(lost)) => between(kept, lost),
            (None, None) => None,
        };
    }
}

/// The middle of two rates that are not yet one.
fn between(kept: u32, lost: u32) -> Option<u32> {
    let middle = kept + (lost - kept) / 2;
    let near = f64::from(lost) <= f64::from(kept) * (1.0 + TOLERANCE);
    (!near && middle > kept).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a side that keeps up to `capacity`, but for the trials at which a neighbour disturbs it.
    fn search(first: u32, capacity: u32, disturbed: &[u32]) -> Search {
        let mut search = Search::new(first, 1_000_000);
        while let Some(rate) = search.next() {
            assert!(search.trials < 200, "no end: {search:?}");
            let is_kept = rate <= capacity && !disturbed.contains(&search.trials);
            search.told(is_kept);
        }
        search
    }

    #[test]
    fn a_planted_capacity_is_closed_in_from_both_sides() {
        for capacity in [1, 7, 90, 999, 1_000, 5_300, 77_000] {
            let found = search(1_000, capacity, &[]);
            let (kept, lost) = (found.kept.unwrap(), found.lost.unwrap());
            assert!(kept <= capacity && capacity < lost, "{capacity}: {found:?}");
            assert!(f64::from(lost) <= f64::from(kept) * 1.05 || lost == kept + 1, "{capacity}: {found:?}");
            assert!(found.trials <= 30, "{capacity}: {found:?}");
        }
    }

    #[test]
    fn what_was_kept_before_is_never_found_lost() {
        let mut search = Search::new(1_000, 1_000_000).above(Some(1_000));
        assert_eq!(search.next(), Some(2_000));
        while search.next().is_some() {
            search.told(false);
        }
        assert_eq!(search.kept, Some(1_000));
        assert!(search.lost.is_some_and(|lost| lost > 1_000 && lost <= 1_050), "{search:?}");
        assert_eq!(Search::new(7, 9).above(None).next(), Some(7));
        assert_eq!(Search::new(9, 9).above(Some(9)).next(), None);
    }

    #[test]
    fn one_disturbed_trial_is_no_limit() {
        assert_eq!(search(1_000, 5_300, &[0, 2, 4]).kept, search(1_000, 5_300, &[]).kept);
    }

    #[test]
    fn a_rate_that_cannot_be_asked_for_is_lost_without_a_trial() {
        let mut search = Search::new(1_000, 1_000_000);
        search.told(true);
        assert_eq!(search.next(), Some(2_000));
        search.impossible();
        assert_eq!((search.kept, search.lost, search.trials), (Some(1_000), Some(2_000), 1));
        assert_eq!(search.next(), Some(1_500), "it goes on below");
    }

    #[test]
    fn a_side_that_keeps_nothing_and_one_that_keeps_all_end_the_search() {
        let nothing = search(1_000, 0, &[]);
        assert_eq!((nothing.kept, nothing.lost), (None, Some(1)));
        let all = search(1_000, u32::MAX, &[]);
        assert_eq!((all.kept, all.lost), (Some(1_000_000), None));
    }
}
