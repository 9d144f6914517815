//! Shards that failed, or that showed no sign of life for a while: why, and what to do about it.
//!
//! It must not watch them: that was done from outside while they ran.

use super::verdict::{Reason, State, Verdict};
use super::words::say_span;
use super::{Facts, LostTurns, ShardFacts};

/// Checks that a silent shard makes fail.
const HARMED: [&str; 2] = ["begun", "on_schedule"];

/// Adds what became of the shards to the verdict on all stages, before what follows from it.
pub(super) fn shards_alive(verdict: &mut Verdict, facts: &Facts) {
    let harm = verdict.checks.iter().filter(|check| HARMED.contains(&check.name)).map(|check| check.state);
    let silence = harm.max().unwrap_or(State::Valid).max(State::Suspect);
    // Each goes before those that are as bad: the last one first, so that they are told in order.
    for (shard, facts) in facts.shards.iter().enumerate().rev() {
        let Some((state, words, remedy)) = ailment(shard, facts, silence) else { continue };
        let silent = facts.stuck.unwrap_or(facts.silences.lost);
        let badness = silent.as_s_f64();
        verdict.cause(Reason { state, check: "shards_alive", words, remedy, shard: Some(shard), badness });
    }
}

/// What ails a shard, how bad it is and what to do; a silence that ended is as bad as `silence`.
fn ailment(shard: usize, facts: &ShardFacts, silence: State) -> Option<(State, String, String)> {
    let cpu = facts.cpu.map_or("its cpu".into(), |cpu| format!("cpu {cpu}"));
    let keeps_off = format!(
        "see what keeps its thread from {cpu} (a real-time process, a debugger, a frozen cgroup), or give it another (--cpus); \
         if nothing does, this is a defect of lowrho: please report it"
    );
    if let Some(silent) = facts.stuck {
        let words = format!(
            "shard {shard} stopped beating and did not end: it had been silent for {} when the others reported; what it counted \
             is in no figure here (of what it had given away before, records.jsonl has rows and histograms.hlog has seconds)",
            say_span(silent)
        );
        return Some((State::Invalid, words, keeps_off));
    }
    if let Some(why) = &facts.failed {
        let remedy = "this is a defect of lowrho: please report it with these words".into();
        return Some((State::Invalid, format!("shard {shard} ended early: {why}"), remedy));
    }
    let LostTurns { turns, lost, longest } = facts.silences;
    let times = match turns {
        0 => return None,
        1 => String::new(),
        turns => format!(" ({turns} times, {} at most)", say_span(longest)),
    };
    let words = format!(
        "shard {shard} showed no sign of life for {}{times}: what was due on it meanwhile was begun late or never",
        say_span(lost)
    );
    Some((silence, words, keeps_off))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::verdict::Check;
    use crate::time::Span;

    fn silent(turns: u64, lost: i64, longest: i64) -> ShardFacts {
        let silences = LostTurns { turns, lost: Span::from_s(lost), longest: Span::from_s(longest) };
        ShardFacts { cpu: Some(3), silences, ..ShardFacts::default() }
    }

    /// The verdict on shards of which so many requests were begun.
    fn told(begun: f64, shards: Vec<ShardFacts>) -> Verdict {
        let mut verdict = Verdict::default();
        let check = Check::at_least("begun", Some(begun), 1.0, Some(0.99));
        verdict.check(check, || ("too few".into(), "fewer".into()));
        shards_alive(&mut verdict, &Facts { shards, ..Facts::default() });
        verdict
    }

    #[test]
    fn a_silence_that_ended_is_told_before_what_it_did_and_is_as_bad() {
        let told = told(0.3, vec![silent(0, 0, 0), silent(1, 17, 17), silent(3, 5, 2)]);
        let words: Vec<_> = told.reasons.iter().map(|reason| reason.words.as_str()).collect();
        assert_eq!(
            words,
            [
                "shard 1 showed no sign of life for 17 s: what was due on it meanwhile was begun late or never",
                "shard 2 showed no sign of life for 5 s (3 times, 2 s at most): what was due on it meanwhile was begun late or \
                 never",
                "too few"
            ]
        );
        assert!(told.reasons.iter().all(|reason| reason.state == State::Invalid), "{told:?}");
        assert!(told.reasons[0].remedy.contains("from cpu 3"), "{}", told.reasons[0].remedy);
    }

    #[test]
    fn a_silence_is_suspect_where_nothing_shows_its_harm_and_no_silence_is_nothing() {
        let harmless = told(1.0, vec![silent(1, 2, 2)]);
        assert_eq!((harmless.state, harmless.reasons.len()), (State::Suspect, 1));
        let well = told(1.0, vec![silent(0, 0, 0)]);
        assert_eq!((well.state, well.reasons.len()), (State::Valid, 0));
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
