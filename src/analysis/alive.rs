//! Shards that failed, or that showed no sign of life for a while: why, and what to do about it.
//!
//! It must not watch them: that was done from outside while they ran.

use super::verdict::{Reason, State, Verdict};
use super::words::{say_span, say_times};
use super::{Facts, MissedBeats, ShardFacts, Thresholds};
use crate::time::Span;

/// Checks that a silent shard makes fail.
const HARMED: [&str; 4] = ["begun", "on_schedule", "bias_ttft_p99", "bias_itl_p99"];

/// Adds what became of the shards over windows of this length to the verdict on all stages, before what follows from it.
pub(super) fn shards_alive(verdict: &mut Verdict, facts: &Facts, length: Span, thresholds: &Thresholds) {
    let silence = verdict.worst_of(&HARMED).max(silence(&facts.shards, length, thresholds));
    // Each goes before those that are as bad: the last one first, so that they are told in order.
    for (shard, facts) in facts.shards.iter().enumerate().rev() {
        let Some((state, words, remedy)) = ailment(shard, facts, silence) else { continue };
        let silent = facts.stuck.unwrap_or(facts.missed_beats.total);
        let badness = silent.as_s_f64();
        verdict.cause(Reason { state, check: "shards_alive", words, remedy, shard: Some(shard), badness });
    }
}

/// How bad the shards' silences are by themselves. In a closed loop nothing falls due on a shard that asks for nothing, so no
/// other check misses what it did not do: where they took a larger share of the time than may be off schedule, it is too much.
fn silence(shards: &[ShardFacts], length: Span, thresholds: &Thresholds) -> State {
    let silent: f64 = shards.iter().map(|shard| shard.missed_beats.total.as_s_f64()).sum();
    let time = length.as_s_f64() * f64::from(u32::try_from(shards.len()).expect("shards are few"));
    if silent > (1.0 - thresholds.on_schedule_invalid) * time { State::Invalid } else { State::Suspect }
}

/// What ails a shard, how bad it is and what to do; a silence that ended is as bad as `silence`.
fn ailment(shard: usize, facts: &ShardFacts, silence: State) -> Option<(State, String, String)> {
    let keeps_off = || {
        format!(
            "see what keeps its thread from {} (a real-time process, a debugger, a frozen cgroup), or give it another (--cpus); \
             if nothing does, this is a defect of lowrho: please report it",
            facts.say_cpu()
        )
    };
    if let Some(silent) = facts.stuck {
        let words = format!(
            "shard {shard} stopped beating and did not end: it had been silent for {} when the others reported; what it counted \
             is in no figure here, and of what it had given away before there are seconds in histograms.hlog, and rows where \
             rows are kept",
            say_span(silent)
        );
        return Some((State::Invalid, words, keeps_off()));
    }
    if let Some(why) = &facts.failed {
        let remedy = "this is a defect of lowrho: please report it with these words".into();
        return Some((State::Invalid, format!("shard {shard} failed: {why}"), remedy));
    }
    let MissedBeats { times, total, longest } = facts.missed_beats;
    (times > 0).then(|| {
        let silent = say_times(total, times, longest);
        let words = format!(
            "shard {shard} showed no sign of life for {silent}: meanwhile it began nothing and read nothing"
        );
        (silence, words, keeps_off())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::verdict::Check;

    fn silent(times: u64, total: i64, longest: i64) -> ShardFacts {
        let missed_beats = MissedBeats { times, total: Span::from_s(total), longest: Span::from_s(longest) };
        ShardFacts { cpu: Some(3), missed_beats, ..ShardFacts::default() }
    }

    /// The verdict on shards with a window of 100 s, of whose requests this share was begun.
    fn told(begun: f64, shards: Vec<ShardFacts>) -> Verdict {
        let mut verdict = Verdict::default();
        let check = Check::at_least("begun", Some(begun), 1.0, Some(0.99));
        verdict.check(check, || ("too few".into(), "fewer".into()));
        let facts = Facts { shards, ..Facts::default() };
        shards_alive(&mut verdict, &facts, Span::from_s(100), &Thresholds::default());
        verdict
    }

    #[test]
    fn a_silence_that_ended_is_told_before_what_it_did_and_is_as_bad() {
        let told = told(0.3, vec![silent(0, 0, 0), silent(1, 7, 7), silent(3, 5, 2)]);
        let words: Vec<_> = told.reasons.iter().map(|reason| reason.words.as_str()).collect();
        assert_eq!(
            words,
            [
                "shard 1 showed no sign of life for 7 s (once, 7 s at most): meanwhile it began nothing and read nothing",
                "shard 2 showed no sign of life for 5 s (3 times, 2 s at most): meanwhile it began nothing and read nothing",
                "too few"
            ]
        );
        assert!(told.reasons.iter().all(|reason| reason.state == State::Invalid), "{told:?}");
        assert!(told.reasons[0].remedy.contains("from cpu 3"), "{}", told.reasons[0].remedy);
    }

    #[test]
    fn a_silence_that_no_check_shows_is_as_bad_as_the_share_of_time_it_took() {
        for (total, state) in
            [(0, State::Valid), (2, State::Suspect), (10, State::Suspect), (11, State::Invalid)]
        {
            let told = told(1.0, vec![silent(u64::from(total > 0), total, total), silent(0, 0, 0)]);
            assert_eq!((told.state, told.reasons.len()), (state, usize::from(total > 0)), "{total} s");
        }
    }

    #[test]
    fn one_that_was_given_up_is_told_once_and_what_it_counted_is_missed() {
        let stuck =
            ShardFacts { stuck: Some(Span::from_s(12)), failed: Some("gone".into()), ..silent(1, 12, 12) };
        let told = told(1.0, vec![stuck]);
        let [reason] = told.reasons.as_slice() else { panic!("{told:?}") };
        assert!(reason.words.contains("silent for 12 s when the others reported"), "{}", reason.words);
        assert_eq!((reason.state, reason.check), (State::Invalid, "shards_alive"));
    }
}
