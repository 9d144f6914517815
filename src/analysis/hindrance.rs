//! What kept the shards from their work, in words: who shared their CPUs, what was stolen, what the kernel dropped.
//!
//! It must not judge by itself: where the client kept within its bounds these are notes, where it did not they are why.

use super::verdict::{Reason, State, Verdict};
use super::words::{say_share, say_span, say_times};
use super::{Facts, LostTurns, Neighbour, ShardFacts, ShardQueue};
use crate::time::Span;

/// Checks that interruptions make fail.
const HARMED: [&str; 3] = ["on_schedule", "bias_ttft_p99", "bias_itl_p99"];

/// Interruptions that took less than this share of a shard's time are not worth a word.
const WORTH_A_WORD: f64 = 0.001;

/// A neighbour is named when it used this share of the shard's time.
const WORTH_NAMING: f64 = 0.005;

/// Adds what interrupted the shards, and what the host did to the network, to the verdict on all stages.
pub(super) fn hindrances(verdict: &mut Verdict, shards: &[ShardQueue], facts: &Facts) {
    let harm = verdict.worst_of(&HARMED);
    for (number, (queue, facts)) in shards.iter().zip(&facts.shards).enumerate() {
        for (lost, words, remedy) in interruptions(number, queue, facts) {
            if harm > State::Valid {
                verdict.reason(Reason {
                    state: harm,
                    check: "interruptions",
                    words,
                    remedy,
                    shard: Some(number),
                    badness: lost.as_s_f64(),
                });
            } else {
                verdict.caveats.push(format!("{words}; {remedy}"));
            }
        }
    }
    if facts.tcp.retransmits > 0 {
        verdict.caveats.push(format!(
            "TCP sent {} segments of ours again, on {} connections: the network or the server lost them, and that is part of \
             the latencies",
            facts.tcp.retransmits, facts.tcp.connections
        ));
    }
    let host = &facts.host;
    if let Some(dropped) = host.softnet_dropped.filter(|dropped| *dropped > 0) {
        verdict.caveats.push(format!(
            "the kernel dropped {dropped} packets before they reached a socket: they were sent again, and that is part of \
             the latencies; raise net.core.netdev_max_backlog, or spread the card's interrupts over more CPUs"
        ));
    }
}

/// Time lost, words and remedy for each way in which a shard was interrupted.
fn interruptions(number: usize, queue: &ShardQueue, facts: &ShardFacts) -> Vec<(Span, String, String)> {
    let worth = |lost: &LostTurns| lost.lost.as_s_f64() > WORTH_A_WORD * queue.wall.as_s_f64();
    let cpu = facts.say_cpu();
    let mut said = Vec::new();
    if worth(&queue.preempted) {
        let shared = neighbours(&facts.neighbours);
        let why = if shared.is_empty() {
            format!("others had {cpu}")
        } else {
            format!("{cpu} is shared with {shared}")
        };
        said.push((
            queue.preempted.lost,
            format!("shard {number} was descheduled for {}: {why}", amount(&queue.preempted)),
            "use --cpus to choose CPUs that are free, keep others off them (isolcpus, cpusets), stop what shares them, or let \
             lowrho go first (chrt -f 10 lowrho ...)"
                .into(),
        ));
    }
    if worth(&queue.off_cpu) {
        let (why, remedy) = off_cpu(&cpu, facts.steal, queue.off_cpu.lost);
        said.push((
            queue.off_cpu.lost,
            format!(
                "shard {number} was neither running nor queued to run for {}: {why}",
                amount(&queue.off_cpu)
            ),
            remedy.into(),
        ));
    }
    said
}

/// Only what its counter shows is called steal.
fn off_cpu(cpu: &str, steal: Option<Span>, lost: Span) -> (String, &'static str) {
    match steal {
        Some(steal) if steal >= lost / 2 => (
            format!("the hypervisor stole {} from {cpu}", say_span(steal)),
            "use a machine whose CPUs are its own (dedicated vCPUs), or fewer guests on its host",
        ),
        Some(steal) if steal > Span::ZERO => (
            format!("the hypervisor stole {} from {cpu}, and the rest has no counter", say_span(steal)),
            "use a machine whose CPUs are its own; see what else stops the process (a signal, a debugger, a paused guest, swapping)",
        ),
        Some(_) => (
            "no steal was counted, so the thread was stopped, or waited in the kernel".into(),
            "see what stops the process: a signal, a debugger, a paused guest, swapping",
        ),
        None => (
            "steal was not read, so whether its CPU was stolen is not known".into(),
            "see whether the machine is shared, and what stops the process (a signal, a debugger, swapping)",
        ),
    }
}

fn amount(lost: &LostTurns) -> String {
    say_times(lost.lost, lost.turns, lost.longest)
}

/// `nginx (pid 71, 12 % of the time) and cc1 (pid 90, 3 %)`: those that used most, three at the most.
fn neighbours(neighbours: &[Neighbour]) -> String {
    let share = |neighbour: &Neighbour| neighbour.used.as_s_f64() / neighbour.watched.as_s_f64();
    let named: Vec<String> = neighbours
        .iter()
        .filter(|neighbour| neighbour.watched > Span::ZERO && share(neighbour) >= WORTH_NAMING)
        .take(3)
        .map(|neighbour| {
            format!("{} (pid {}, {} of the time)", neighbour.name, neighbour.pid, say_share(share(neighbour)))
        })
        .collect();
    named.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::verdict::Check;
    use crate::analysis::{HostFacts, Thresholds};
    use crate::record::Queue;

    fn queue(preempted_ms: i64, off_cpu_ms: i64) -> ShardQueue {
        let lost = |ms: i64| LostTurns {
            turns: u64::from(ms > 0) * 12,
            lost: Span::from_ms(ms),
            longest: Span::from_ms(ms / 4),
        };
        ShardQueue {
            wall: Span::from_s(10),
            preempted: lost(preempted_ms),
            off_cpu: lost(off_cpu_ms),
            ..ShardQueue::of(&Queue::default())
        }
    }

    fn facts(steal: Option<Span>) -> Facts {
        let nginx = Neighbour {
            name: "nginx".into(),
            pid: 71,
            used: Span::from_ms(1_200),
            watched: Span::from_s(10),
        };
        let idle =
            Neighbour { name: "sshd".into(), pid: 5, used: Span::from_ms(1), watched: Span::from_s(10) };
        let shard =
            ShardFacts { cpu: Some(3), steal, neighbours: vec![nginx, idle], ..ShardFacts::default() };
        Facts { shards: vec![shard], ..Facts::default() }
    }

    fn verdict(state: State) -> Verdict {
        let share = match state {
            State::Valid => 1.0,
            State::Suspect => 0.97,
            State::Invalid => 0.5,
        };
        let thresholds = Thresholds::default();
        let check = Check::at_least(
            "on_schedule",
            Some(share),
            thresholds.on_schedule_valid,
            Some(thresholds.on_schedule_invalid),
        );
        Verdict { state, checks: vec![check], ..Verdict::default() }
    }

    #[test]
    fn who_shares_the_core_is_named_with_a_remedy_where_it_did_harm() {
        let mut verdict = verdict(State::Suspect);
        hindrances(&mut verdict, &[queue(41, 0)], &facts(Some(Span::ZERO)));
        let [reason] = verdict.reasons.as_slice() else { panic!("{verdict:?}") };
        assert_eq!(
            reason.words,
            "shard 0 was descheduled for 41 ms (12 times, 10 ms at most): cpu 3 is shared with nginx (pid 71, 12 % of the time)"
        );
        assert_eq!((reason.state, reason.check), (State::Suspect, "interruptions"));
        assert!(reason.remedy.contains("--cpus") && reason.remedy.contains("isolcpus"), "{}", reason.remedy);
    }

    #[test]
    fn what_did_no_harm_is_a_note_and_what_is_negligible_is_not_even_that() {
        let mut noted = verdict(State::Valid);
        hindrances(&mut noted, &[queue(41, 0)], &facts(None));
        assert!(noted.reasons.is_empty() && noted.state == State::Valid);
        assert!(noted.caveats[0].contains("descheduled for 41 ms"), "{:?}", noted.caveats);
        let mut quiet = verdict(State::Valid);
        hindrances(&mut quiet, &[queue(4, 4)], &facts(None));
        assert!(quiet.caveats.is_empty() && quiet.reasons.is_empty(), "{quiet:?}");
    }

    #[test]
    fn only_what_the_counter_shows_is_called_steal() {
        for (steal, said) in [
            (Some(Span::from_ms(60)), "the hypervisor stole 60 ms from cpu 3"),
            (Some(Span::from_ms(10)), "the hypervisor stole 10 ms from cpu 3, and the rest has no counter"),
            (Some(Span::ZERO), "no steal was counted"),
            (None, "steal was not read"),
        ] {
            let mut verdict = verdict(State::Invalid);
            hindrances(&mut verdict, &[queue(0, 52)], &facts(steal));
            assert!(
                verdict.reasons[0].words.ends_with(said) || verdict.reasons[0].words.contains(said),
                "{steal:?}: {verdict:?}"
            );
            assert_eq!(verdict.reasons[0].state, State::Invalid);
        }
    }

    #[test]
    fn packets_that_the_kernel_dropped_are_told_and_unread_counters_are_not() {
        let said = |softnet_dropped| {
            let mut verdict = verdict(State::Valid);
            let host = HostFacts { softnet_dropped, ..HostFacts::default() };
            hindrances(&mut verdict, &[], &Facts { host, ..Facts::default() });
            verdict.caveats
        };
        assert!(said(Some(7))[0].contains("dropped 7 packets"));
        assert!(said(Some(0)).is_empty() && said(None).is_empty());
    }
}
