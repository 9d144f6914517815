//! What `lowrho floor` measured: its JSON, and what its tables are printed from.
//!
//! It holds what was measured and extrapolates nothing; times are integer nanoseconds, null = not measured.

use super::{Host, Verdict};
use crate::plan::EASY_RHO;
use serde::{Deserialize, Serialize};

/// The version of the floor's JSON.
pub const FLOOR_VERSION: u32 = 1;

/// A floor.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Floor {
    /// Of this format: [`FLOOR_VERSION`].
    pub floor_version: u32,
    /// The lowrho that was measured.
    pub lowrho: String,
    /// When it began, since 1970.
    pub start_unix_ns: u64,
    /// The machine.
    pub host: Host,
    /// What was driven, in words.
    pub target: String,
    /// Tokens of each answer.
    pub tokens: u32,
    /// Whether ways of waiting were compared, not rates.
    pub compares: bool,
    /// Every rung measured, in order.
    pub rungs: Vec<RungFound>,
    /// Why each ladder ended, in words.
    pub ends: Vec<String>,
    /// The highest rates measured with a valid verdict, for each number of shards.
    pub highest: Vec<Highest>,
    /// What a request and an event cost a shard, where both kinds of answers were measured.
    pub costs: Option<Costs>,
    /// What parsing alone takes, on this host.
    pub parse_event_ns: Option<i64>,
    /// Where the capacity card was written.
    pub card: Option<String>,
}

/// How the answers of a rung came.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Came {
    /// The whole answer in one send: zero delay.
    Whole,
    /// A token at a time.
    Streamed,
    /// As a server that is not ours sent them.
    #[default]
    Foreign,
}

/// One rung.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct RungFound {
    /// How the answers came.
    pub answers: Came,
    /// Number of shards.
    pub shards: u64,
    /// How they waited.
    pub waiting: String,
    /// Requests due per second.
    pub asked_rate: f64,
    /// Requests sent per second in the window.
    pub sent_rate: Option<f64>,
    /// Successes completed per second in the window.
    pub achieved_rate: Option<f64>,
    /// False when requests in flight grew through the window; null when that cannot be told.
    pub server_kept_up: Option<bool>,
    /// Token-bearing events stamped per second in the window.
    pub events_per_s: Option<f64>,
    /// Requests of the window.
    pub requests: u64,
    /// Those that failed.
    pub failed: u64,
    /// The verdict on the client.
    pub verdict: Verdict,
    /// Why it is not valid, in words.
    pub reasons: Vec<String>,
    /// Runs it took: one that was not valid is tried once more.
    pub tries: u32,
    /// TTFT: reported less true by the simulator's log; of a foreign server as reported.
    pub ttft_over_ns: Over,
    /// E2E, likewise.
    pub e2e_over_ns: Over,
    /// Requests compared with the simulator's log.
    pub compared: u64,
    /// CPU seconds of the shards' threads for 1,000 requests, kernel included, warm-up and drain too.
    pub cpu_s_per_1k_requests: Option<f64>,
    /// The same for 1,000 token-bearing events.
    pub cpu_s_per_1k_events: Option<f64>,
    /// The kernel's share of that CPU time, by its own accounting in ticks.
    pub kernel_share: Option<f64>,
    /// Time to count one request that is over, in the shards' statistics.
    pub recording_per_request_ns: Option<i64>,
    /// E\[S\] of a job, of the shard with the highest.
    pub service_mean_ns: Option<i64>,
    /// rho_busy of the busiest shard.
    pub rho: Option<f64>,
    /// Busy time of all shards for one request of the window.
    pub busy_per_request_ns: Option<i64>,
    /// Begun - due, of the latest shard.
    pub lateness_p50_ns: Option<i64>,
    /// The same.
    pub lateness_p99_ns: Option<i64>,
    /// Share of reads in which a token met a later event.
    pub coalesced: Option<f64>,
    /// Bias bound of the p99 of ITL.
    pub bias_itl_p99_ns: Option<i64>,
    /// The simulator's own rho.
    pub sim_rho: Option<f64>,
    /// The simulator's own lateness at p99.
    pub sim_lateness_p99_ns: Option<i64>,
    /// Whether that made the simulator the limit of the rung's accuracy.
    pub sim_was_the_limit: bool,
}

/// A difference's quantiles.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the quantiles themselves")]
pub struct Over {
    pub p50: Option<i64>,
    pub p99: Option<i64>,
}

/// The most that was measured with a valid verdict.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Highest {
    /// Number of shards.
    pub shards: u64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Token-bearing events per second, of streamed answers where there are some.
    pub events_per_s: Option<f64>,
}

/// What a request and an event cost.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// Busy time of a shard for a request beside its events.
    pub request_ns: i64,
    /// Busy time of a shard for a streamed event.
    pub event_ns: i64,
}

impl Floor {
    /// The text of `lowrho floor --json`, indented, with a newline at its end.
    ///
    /// # Panics
    /// Never: every key of a floor is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key of a floor is a string");
        text.push('\n');
        text
    }

    /// Takes from its rungs the highest rates that were valid, and what a request and an event cost.
    pub fn conclude(&mut self) {
        let mut shards: Vec<u64> = self.rungs.iter().map(|rung| rung.shards).collect();
        shards.dedup();
        self.highest = shards.iter().filter_map(|shards| highest(&self.rungs, *shards)).collect();
        self.costs = costs(&self.rungs, self.tokens);
    }
}

fn highest(rungs: &[RungFound], shards: u64) -> Option<Highest> {
    let valid = || rungs.iter().filter(move |rung| rung.shards == shards && rung.verdict == Verdict::Valid);
    let requests_per_s = valid().filter_map(|rung| rung.sent_rate).reduce(f64::max)?;
    // Events that came in one send are no proof that as many can be received one by one.
    let one_by_one = valid().filter(|rung| rung.answers != Came::Whole);
    let events_per_s = one_by_one.filter_map(|rung| rung.events_per_s).reduce(f64::max);
    Some(Highest { shards, requests_per_s, events_per_s })
}

/// The same rate with whole and with streamed answers differs by all events but the first. Of the rungs of one shard that
/// were valid, those whose load is nearest to what plans are made for: costs fall with the load, because wake-ups are
/// shared, and those of a shard that mostly wakes for single arrivals do not add up.
fn costs(rungs: &[RungFound], tokens: u32) -> Option<Costs> {
    if tokens < 2 {
        return None;
    }
    let valid = |rung: &&RungFound| rung.shards == 1 && rung.verdict == Verdict::Valid;
    let of = |came: Came| rungs.iter().filter(valid).filter(move |rung| rung.answers == came);
    let mut nearest: Option<(f64, Costs)> = None;
    for streamed in of(Came::Streamed) {
        for whole in of(Came::Whole).filter(|whole| whole.asked_rate == streamed.asked_rate) {
            let (Some(whole), Some(all)) = (whole.busy_per_request_ns, streamed.busy_per_request_ns) else {
                continue;
            };
            let event_ns = (all - whole) / i64::from(tokens - 1);
            let request_ns = (all - i64::from(tokens) * event_ns).max(0);
            let off = (streamed.rho.unwrap_or(0.0) - EASY_RHO).abs();
            if event_ns > 0 && nearest.is_none_or(|(least, _)| off < least) {
                nearest = Some((off, Costs { request_ns, event_ns }));
            }
        }
    }
    nearest.map(|(_, costs)| costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(answers: Came, rate: f64, rho: f64, busy_us: i64, verdict: Verdict) -> RungFound {
        RungFound {
            answers,
            shards: 1,
            asked_rate: rate,
            sent_rate: Some(rate),
            events_per_s: Some(rate * 8.0),
            rho: Some(rho),
            busy_per_request_ns: Some(busy_us * 1_000),
            verdict,
            ..RungFound::default()
        }
    }

    fn concluded(rungs: Vec<RungFound>) -> Floor {
        let mut floor = Floor { tokens: 8, rungs, ..Floor::default() };
        floor.conclude();
        floor
    }

    #[test]
    fn the_highest_rate_is_one_that_was_measured_and_valid() {
        let floor = concluded(vec![
            rung(Came::Whole, 1_000.0, 0.1, 20, Verdict::Valid),
            rung(Came::Whole, 4_000.0, 0.3, 20, Verdict::Valid),
            rung(Came::Whole, 8_000.0, 0.7, 20, Verdict::Suspect),
            rung(Came::Streamed, 1_000.0, 0.1, 50, Verdict::Valid),
            rung(Came::Streamed, 2_000.0, 0.2, 50, Verdict::Invalid),
        ]);
        assert_eq!(
            floor.highest,
            [Highest { shards: 1, requests_per_s: 4_000.0, events_per_s: Some(8_000.0) }]
        );
        let none = concluded(vec![rung(Came::Whole, 1_000.0, 0.1, 20, Verdict::Suspect)]);
        assert_eq!((none.highest, none.costs), (vec![], None));
    }

    #[test]
    fn an_event_costs_what_streaming_adds_and_a_request_the_rest() {
        // 10 us a request and 4 us an event: the whole answer is one event.
        let floor = concluded(vec![
            rung(Came::Whole, 500.0, 0.01, 90, Verdict::Valid),
            rung(Came::Whole, 4_000.0, 0.06, 14, Verdict::Valid),
            rung(Came::Streamed, 500.0, 0.05, 190, Verdict::Valid),
            rung(Came::Streamed, 4_000.0, 0.17, 42, Verdict::Valid),
        ]);
        assert_eq!(floor.costs, Some(Costs { request_ns: 10_000, event_ns: 4_000 }));
    }

    #[test]
    fn of_several_loads_the_one_that_plans_are_made_for_tells_the_costs() {
        // 25 us a request and 5 us an event while every arrival wakes the shard, 10 and 4 near the load that is easy, 8 and
        // 3 beyond it.
        let all = [
            rung(Came::Whole, 500.0, 0.01, 30, Verdict::Valid),
            rung(Came::Streamed, 500.0, 0.03, 65, Verdict::Valid),
            rung(Came::Whole, 6_000.0, 0.09, 14, Verdict::Valid),
            rung(Came::Streamed, 6_000.0, 0.26, 42, Verdict::Valid),
            rung(Came::Whole, 14_000.0, 0.16, 11, Verdict::Valid),
            rung(Came::Streamed, 14_000.0, 0.45, 32, Verdict::Valid),
        ];
        assert_eq!(concluded(all.to_vec()).costs, Some(Costs { request_ns: 10_000, event_ns: 4_000 }));
        let quiet = concluded(all[..2].to_vec());
        assert_eq!(quiet.costs, Some(Costs { request_ns: 25_000, event_ns: 5_000 }), "none is busy");
    }

    #[test]
    fn costs_that_cannot_be_are_no_costs() {
        let noise = concluded(vec![
            rung(Came::Whole, 500.0, 0.2, 60, Verdict::Valid),
            rung(Came::Streamed, 500.0, 0.2, 50, Verdict::Valid),
        ]);
        assert_eq!(noise.costs, None);
    }
}
