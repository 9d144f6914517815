//! The capacity between a rate that passes and one that fails: the next rate to try, from those that were judged.
//!
//! It must not know what passing means. Near the capacity judgements contradict each other, so they are counted: the cut between
//! passing and failing rates is where the fewest of them are on the wrong side.

use super::judge::Judgement;

/// What was judged at one rate.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Judged {
    /// Requests per second.
    pub rate: f64,
    /// What the looks at it came to.
    pub judgement: Judgement,
}

/// Judgements at one rate.
#[derive(Copy, Clone, PartialEq, Debug)]
struct Tried {
    rate: f64,
    passes: u32,
    fails: u32,
    open: u32,
}

/// What to do next.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Next {
    /// Try this rate.
    Try(f64),
    /// Both bounds are confirmed.
    Found(Bounds),
    /// Even the lowest rate worth trying fails.
    Nowhere,
}

/// Two rates around the capacity, in requests per second, and what speaks for them.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Bounds {
    /// The highest rate that passes.
    pub low: f64,
    /// The lowest rate that fails.
    pub high: f64,
    /// How often the low one passed, of how many trials.
    pub passed: (u32, u32),
    /// How often the high one failed, of how many; (0, 0): it is the stability limit itself, beyond which nothing can pass.
    pub failed: (u32, u32),
}

/// The share of the stability limit at which the bisection begins below.
pub const BEGIN: f64 = 0.7;

/// Below this share of the stability limit no capacity is looked for.
const LEAST: f64 = 0.05;

/// Passes that confirm the low bound, and failures that confirm the high one.
const CONFIRM: (u32, u32) = (3, 2);

/// Two rates this near are one.
const SAME: f64 = 1e-6;

/// The next rate to try, `limit` being the stability limit and high / low - 1 to come to `tolerance` at most.
#[must_use]
pub fn next(judged: &[Judged], limit: f64, tolerance: f64) -> Next {
    let tried = tried(judged);
    let (low, high) = bounds(&tried);
    let step = libm::sqrt(1.0 + tolerance);
    let low_rate = low.map_or(BEGIN * limit, |low| low.rate);
    if let (None, Some(lowest)) = (low, tried.first())
        && lowest.rate <= low_rate * (1.0 + SAME)
    {
        // The begin was assumed to pass, and does not.
        let lower = if lowest.fails_mostly() { lowest.rate * BEGIN } else { lowest.rate / step };
        return if lower < LEAST * limit { Next::Nowhere } else { Next::Try(lower) };
    }
    let high_rate = high.map_or(limit, |high| high.rate).max(low_rate);
    // Rates between the bounds that could not be decided: the capacity is about there, and is closed in from both sides.
    let between = |rate: &&Tried| rate.rate > low_rate * (1.0 + SAME) && rate.rate < high_rate * (1.0 - SAME);
    let open = || tried.iter().filter(between);
    if let (Some(first), Some(last)) = (open().next(), open().next_back()) {
        let (below, above) = (first.rate / step, last.rate * step);
        if low_rate < below * (1.0 - SAME) {
            return Next::Try(below);
        }
        if high_rate > above * (1.0 + SAME) {
            return Next::Try(above);
        }
    } else if high_rate / low_rate > 1.0 + tolerance + SAME {
        return Next::Try(libm::sqrt(low_rate * high_rate));
    }
    let Some(low) = low else { return Next::Try(low_rate) };
    let low_wants = low.passes < CONFIRM.0;
    let high_wants = high.is_some_and(|high| high.fails < CONFIRM.1);
    let latest = judged.last().map_or(0.0, |latest| latest.rate);
    let low_was_latest = (latest / low.rate - 1.0).abs() < SAME;
    match (low_wants, high_wants) {
        (true, true) if low_was_latest => Next::Try(high_rate),
        (true, _) => Next::Try(low.rate),
        (false, true) => Next::Try(high_rate),
        (false, false) => Next::Found(Bounds {
            low: low.rate,
            high: high_rate,
            passed: (low.passes, low.all()),
            failed: high.map_or((0, 0), |high| (high.fails, high.all())),
        }),
    }
}

/// The bounds as far as they are known, for a search that ends before they are confirmed.
#[must_use]
pub fn so_far(judged: &[Judged]) -> (Option<f64>, Option<f64>) {
    let (low, high) = bounds(&tried(judged));
    (low.map(|low| low.rate), high.map(|high| high.rate))
}

impl Tried {
    const fn all(&self) -> u32 {
        self.passes + self.fails + self.open
    }

    const fn passes_mostly(&self) -> bool {
        self.passes > self.fails + self.open
    }

    const fn fails_mostly(&self) -> bool {
        self.fails > self.passes + self.open
    }
}

/// Judgements by rate, ascending.
fn tried(judged: &[Judged]) -> Vec<Tried> {
    let mut sorted = judged.to_vec();
    sorted.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let mut tried: Vec<Tried> = Vec::new();
    for Judged { rate, judgement } in sorted {
        if tried.last().is_none_or(|last| rate / last.rate - 1.0 > SAME) {
            tried.push(Tried { rate, passes: 0, fails: 0, open: 0 });
        }
        let last = tried.last_mut().expect("one was pushed");
        match judgement {
            Judgement::Pass => last.passes += 1,
            Judgement::Fail => last.fails += 1,
            Judgement::Open => last.open += 1,
        }
    }
    tried
}

/// The highest rate below the cut that passes mostly, and the lowest above it that fails mostly.
fn bounds(tried: &[Tried]) -> (Option<Tried>, Option<Tried>) {
    let wrong = |cut: usize| {
        let below: u32 = tried[..cut].iter().map(|rate| rate.fails).sum();
        let above: u32 = tried[cut..].iter().map(|rate| rate.passes).sum();
        below + above
    };
    // Of cuts that are as good, the lowest: a capacity that is promised must be there.
    let cut = (0..=tried.len()).min_by_key(|cut| wrong(*cut)).expect("there is a cut below all");
    let low = tried[..cut].iter().rev().find(|rate| rate.passes_mostly()).copied();
    let high = tried[cut..].iter().find(|rate| rate.fails_mostly()).copied();
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches for a capacity with a judge; gives the bounds and the number of trials.
    fn search(limit: f64, tolerance: f64, mut judge: impl FnMut(f64) -> Judgement) -> (Next, usize) {
        let mut judged = Vec::new();
        for trials in 0..200 {
            match next(&judged, limit, tolerance) {
                Next::Try(rate) => judged.push(Judged { rate, judgement: judge(rate) }),
                end => return (end, trials),
            }
        }
        panic!("no end: {:?}", &judged[..20]);
    }

    fn exactly(capacity: f64) -> impl FnMut(f64) -> Judgement {
        move |rate| if rate <= capacity { Judgement::Pass } else { Judgement::Fail }
    }

    #[test]
    fn a_judge_who_is_never_wrong_is_asked_seldom() {
        for capacity in [705.0, 800.0, 850.0, 920.0, 970.0, 999.0] {
            let (end, trials) = search(1_000.0, 0.05, exactly(capacity));
            let Next::Found(bounds) = end else { panic!("{capacity}: {end:?}") };
            assert!(bounds.low <= capacity && capacity <= bounds.high, "{capacity}: {bounds:?}");
            assert!(bounds.high / bounds.low <= 1.050_001, "{bounds:?}");
            assert!(trials <= 8, "{capacity} took {trials} trials");
            assert_eq!(bounds.passed, (3, 3));
            assert!(
                bounds.failed == (2, 2) || (bounds.high == 1_000.0 && bounds.failed == (0, 0)),
                "{bounds:?}"
            );
        }
    }

    #[test]
    fn a_capacity_far_below_the_limit_is_found_too() {
        for capacity in [69.0, 300.0, 650.0] {
            let (end, trials) = search(1_000.0, 0.05, exactly(capacity));
            let Next::Found(bounds) = end else { panic!("{capacity}: {end:?}") };
            assert!(bounds.low <= capacity && capacity <= bounds.high, "{capacity}: {bounds:?}");
            assert!(trials <= 20, "{capacity} took {trials} trials");
        }
        assert_eq!(search(1_000.0, 0.05, exactly(20.0)).0, Next::Nowhere);
    }

    #[test]
    fn bounds_are_confirmed_in_turn() {
        let mut rates = Vec::new();
        search(1_000.0, 0.05, |rate| {
            rates.push(rate);
            exactly(850.0)(rate)
        });
        let confirming = &rates[rates.len() - 3..];
        assert!(confirming[0] != confirming[1] && confirming[1] != confirming[2], "{rates:?}");
    }

    #[test]
    fn rates_that_cannot_be_decided_widen_the_interval_and_lie_in_it() {
        let (end, _) = search(1_000.0, 0.05, |rate| match rate {
            rate if rate < 820.0 => Judgement::Pass,
            rate if rate > 860.0 => Judgement::Fail,
            _ => Judgement::Open,
        });
        let Next::Found(bounds) = end else { panic!("{end:?}") };
        assert!(bounds.low < 840.0 && bounds.high > 840.0 && bounds.high / bounds.low < 1.12, "{bounds:?}");
    }

    #[test]
    fn one_wrong_judgement_does_not_lead_astray() {
        for wrong in 0..6 {
            let mut asked = 0;
            let (end, trials) = search(1_000.0, 0.05, |rate| {
                asked += 1;
                match (exactly(850.0)(rate), asked - 1 == wrong) {
                    (Judgement::Pass, true) => Judgement::Fail,
                    (_, true) => Judgement::Pass,
                    (right, false) => right,
                }
            });
            let Next::Found(bounds) = end else { panic!("{end:?}") };
            let estimate = libm::sqrt(bounds.low * bounds.high);
            assert!((estimate / 850.0 - 1.0).abs() < 0.05, "wrong at {wrong}: {bounds:?} after {trials}");
        }
    }
}
