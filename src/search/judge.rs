//! Whether trials at one rate prove that the service levels hold there, or that they do not.
//!
//! It must not choose the next trial. A pass needs every term proved; a failure one of them; and a server that falls behind
//! never passes, whatever its latencies were so far.

use super::settings::Settings;
use super::trial::{Ask, Ended, Outcome, Purpose};
use crate::analysis::{Slo, Sureness, Term, Trials, What};

/// What the looks at one rate came to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// Every term holds, and requests in flight did not grow.
    Pass,
    /// A term is crossed, or the server fell behind.
    Fail,
    /// Neither is proved: look longer.
    Open,
}

/// Judges the looks taken so far at one rate, in order, of `looks` at most.
///
/// # Panics
/// When there is no look.
#[must_use]
pub fn judge(taken: &[&Outcome], settings: &Settings, looks: u32) -> Judgement {
    let latest = taken.last().expect("a trial was looked at");
    if taken.iter().any(|outcome| outcome.ended != Ended::Whole) {
        return Judgement::Fail;
    }
    // Each look may err with its share of alpha; so the chance of any wrong answer stays below alpha.
    let alpha = settings.alpha / f64::from(looks.max(1));
    let proved: Vec<Sureness> =
        (0..settings.slo.terms().len()).map(|term| prove(taken, settings, term, alpha)).collect();
    if proved.contains(&Sureness::Above) {
        return Judgement::Fail;
    }
    let behind = taken.iter().filter(|outcome| outcome.grew).count();
    if latest.grew {
        // Once may be chance: growth through one window is seen now and then near saturation. Twice running is not.
        let again = taken.len() >= 2 && taken[taken.len() - 2].grew;
        return if again && behind >= 2 { Judgement::Fail } else { Judgement::Open };
    }
    if proved.iter().all(|proved| *proved == Sureness::Below) { Judgement::Pass } else { Judgement::Open }
}

/// What the looks together prove of one term.
fn prove(taken: &[&Outcome], settings: &Settings, term: usize, alpha: f64) -> Sureness {
    let terms = settings.slo.terms();
    let Some(may_miss) = terms[term].may_miss() else {
        // A mean or a throughput has no share to test: each look stands for itself, and the latest is the longest.
        return match taken.last().and_then(|outcome| outcome.terms.get(term)).and_then(|term| term.crossed) {
            Some(true) => Sureness::Above,
            Some(false) => Sureness::Below,
            None => Sureness::Open,
        };
    };
    // Only one of several terms needs to err for a failure to be wrong; for a pass to be wrong all must hold, so none is split.
    let each = alpha / f64::from(u32::try_from(terms.len()).unwrap_or(u32::MAX)).max(1.0);
    let Some(trials) = pooled(taken, term) else { return Sureness::Open };
    match trials.prove(may_miss, alpha) {
        Sureness::Above => trials.prove(may_miss, each),
        proved => proved,
    }
}

/// The trials of one term over all looks: in blocks of the longest look's length, since shorter ones would hide how alike
/// neighbours in time are.
fn pooled(taken: &[&Outcome], term: usize) -> Option<Trials> {
    let longest = taken.iter().map(|outcome| outcome.window).max()?.as_s_f64();
    let (mut missed, mut of, mut requests) = (Vec::new(), Vec::new(), 0);
    for outcome in taken {
        let seen = outcome.terms.get(term)?;
        let times = (longest / outcome.window.as_s_f64()).clamp(1.0, 20.0);
        let width = whole(libm::round(times));
        missed.extend(seen.missed.chunks(width).map(|blocks| blocks.iter().sum::<u64>()));
        of.extend(seen.of.chunks(width).map(|blocks| blocks.iter().sum::<u64>()));
        requests += seen.requests;
    }
    Trials::new(&missed, &of, requests)
}

/// How many requests may miss, of those that `ask` has in its window, before it can only lose; `None` where it is not to be
/// stopped early. So many misses leave some term with four times its share over the bound, however well the rest goes: each
/// miss is one under some term.
#[must_use]
pub fn lost_from(ask: &Ask, slo: &Slo) -> Option<u64> {
    /// Misses come in bursts: even four times the share may be one long queue, if it is of so few.
    const LEAST: f64 = 100.0;
    let rate = ask.offer.rate().filter(|_| ask.purpose == Purpose::Level)?;
    // Gaps are counted one by one and requests as a whole, so that a share of gaps says nothing of requests.
    let gaps = slo.terms().iter().any(|term| term.text().starts_with("itl_"));
    let shares: Option<Vec<f64>> = slo
        .terms()
        .iter()
        .filter(|term| !matches!(term.what(), What::Throughput { .. }))
        .map(Term::may_miss)
        .collect();
    let may_miss: f64 = shares.filter(|shares| !gaps && !shares.is_empty())?.iter().sum();
    let planned = rate * ask.window.as_s_f64();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates")]
    let lost = libm::ceil((4.0 * may_miss * planned).max(LEAST)) as u64;
    Some(lost)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 20, and whole")]
fn whole(times: f64) -> usize {
    times as usize
}
