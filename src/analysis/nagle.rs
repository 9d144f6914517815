//! The mark of Nagle's algorithm at the server: gaps of nothing and of 40 ms, and none between.
//!
//! It must not blame: it says what the pattern looks like and how to be sure.
//!
//! A server that writes small events and leaves Nagle's algorithm on (no `TCP_NODELAY`) holds each back until what it
//! sent before is acknowledged. Linux delays the acknowledgement of such a small segment by 40 ms (`TCP_DELACK_MIN`), so
//! the events of 40 ms arrive together: RFC 896, RFC 1122 (4.2.3.2 and 4.2.3.4).

use super::words::{say_number, say_share};
use crate::record::Histogram;
use crate::time::Span;

/// `TCP_DELACK_MIN` of Linux: the delay of an acknowledgement when the peer sends little.
const DELAYED_ACK: Span = Span::from_ms(40);

/// How far a gap may lie from that: the kernel's timer has ticks of up to 4 ms, and never fires early.
const EARLY: Span = Span::from_ms(1);
const LATE: Span = Span::from_ms(6);

/// Gaps this short are events that arrived together.
const TOGETHER: Span = Span::from_ms(1);

/// At least so many gaps of 40 ms: fewer are chance.
const LEAST_GAPS: f64 = 20.0;

/// The share of gaps that are one or the other. A connection begins with some 16 segments that are acknowledged at once, so
/// not all gaps of a short stream are.
const LEAST_SHARE: f64 = 0.8;

/// What the gaps between tokens look like.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct HeldBack {
    /// Share of gaps near 40 ms and the round trip.
    pub held: f64,
    /// Share of gaps of nearly nothing.
    pub together: f64,
}

impl HeldBack {
    /// Looks for the pattern in the gaps of a run over connections of this round trip.
    #[must_use]
    pub fn in_gaps(gaps: &Histogram, round_trip: Span) -> Option<Self> {
        // The acknowledgement takes half a round trip back, and what it frees another half to come.
        let expected = DELAYED_ACK + round_trip.max(Span::ZERO);
        let above = |span: Span| gaps.above(u64::try_from(span.as_ns()).unwrap_or(0));
        let near = |from: Span, to: Span| above(from) - above(to);
        let count = whole(gaps.count());
        let held = near(expected - EARLY, expected + LATE);
        let together = count - above(TOGETHER);
        let width = EARLY + LATE;
        // A peak: as wide a stretch on either side holds little beside it.
        let beside = near(expected - EARLY - width, expected - EARLY)
            .max(near(expected + LATE, expected + LATE + width));
        let is_peak = held >= LEAST_GAPS && 5.0 * beside <= held;
        // Where tokens come slower than that, there is nothing to hold back.
        let is_both = together >= held && held + together >= LEAST_SHARE * count;
        (is_peak && is_both).then(|| Self { held: held / count, together: together / count })
    }

    /// The finding, with what to do about it.
    #[must_use]
    pub fn words(&self, round_trip: Span) -> String {
        let at = (DELAYED_ACK + round_trip.max(Span::ZERO)).as_s_f64() * 1e3;
        format!(
            "{} of the gaps between tokens are {} ms and {} are nothing: the server seems to hold small writes back until they \
             are acknowledged (Nagle's algorithm with delayed acknowledgements); set TCP_NODELAY there; a run with \
             --quickack that does not show it proves it",
            say_share(self.held),
            say_number(at),
            say_share(self.together)
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of a few digits")]
fn whole(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(of: &[(u64, u64)]) -> Histogram {
        let mut all = Histogram::published();
        for &(us, count) in of {
            // A little jitter, as real ones have.
            (0..count).for_each(|n| all.record(us * 1_000 + n % 7 * 30_000));
        }
        all
    }

    fn is_seen(of: &[(u64, u64)]) -> bool {
        HeldBack::in_gaps(&gaps(of), Span::from_us(50)).is_some()
    }

    #[test]
    fn seven_gaps_of_nothing_and_one_of_40_ms_are_nagles_mark() {
        // A token every 5 ms, held back.
        let found = HeldBack::in_gaps(&gaps(&[(0, 700), (40_100, 100)]), Span::from_us(50)).unwrap();
        assert!((found.held - 0.125).abs() < 1e-9 && (found.together - 0.875).abs() < 1e-9, "{found:?}");
        let words = found.words(Span::from_us(50));
        assert!(
            words.contains("12.5 %") && words.contains("TCP_NODELAY") && words.contains("--quickack"),
            "{words}"
        );
        // Begun with some that were acknowledged at once; and a timer of 4 ms.
        assert!(is_seen(&[(0, 700), (40_100, 60), (43_900, 40), (5_000, 150)]));
    }

    #[test]
    fn the_round_trip_moves_the_mark() {
        let far = gaps(&[(0, 700), (70_100, 100)]);
        assert!(HeldBack::in_gaps(&far, Span::from_ms(30)).is_some());
        assert!(HeldBack::in_gaps(&far, Span::from_us(50)).is_none());
    }

    #[test]
    fn usual_streams_do_not_bear_it() {
        assert!(!is_seen(&[]), "none at all");
        assert!(!is_seen(&[(5_000, 10_000)]), "a token every 5 ms");
        assert!(!is_seen(&[(40_500, 10_000)]), "a token every 40 ms");
        assert!(!is_seen(&[(0, 700), (25_000, 100)]), "bundles every 25 ms");
        assert!(!is_seen(&[(0, 700), (40_100, 3)]), "chance");
        let wide: Vec<(u64, u64)> = (20..60).map(|ms| (ms * 1_000, 100)).chain([(0, 4_000)]).collect();
        assert!(!is_seen(&wide), "bundles at any time");
        assert!(!is_seen(&[(0, 700), (5_000, 800), (40_100, 100)]), "hiccups of a steady stream");
    }
}
