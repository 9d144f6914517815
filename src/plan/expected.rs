//! What a plan is expected to ask of this host, by Little's law and a cost per event; measures nothing.

use super::cost::{Cost, Demand};
use super::{Load, Payload, Prompts};
use crate::schedule;
use crate::time::Span;
use crate::workload::{LONGEST_INPUT, LONGEST_OUTPUT};

/// CPU time of a shard for one streamed event, its part of the request included, until this host's own is measured by
/// `lowrho floor`: prototypes of the receive path came to 5 to 8 us.
pub const EVENT_COST: Span = Span::from_us(8);

/// The utilization that `--shards auto` stays below: at 0.3 the mean wait of an event is a fifth of its service time
/// (M/D/1: rho / (2 (1 - rho))).
pub const EASY_RHO: f64 = 0.3;

/// Time between the tokens of a stream where nothing is known: a fast server's, so that a guess of events errs upwards,
/// and one of requests in flight downwards.
const FAST_ITL: Span = Span::from_ms(5);

/// Time a request takes where nothing is known.
pub const GUESSED_E2E: Span = Span::from_s(1);

/// Requests and streamed events per second at the load's peak. A closed loop's rate is its server's to decide: `itl` is
/// the time between tokens, where known.
pub(super) fn demand(load: &Load, payload: &Payload, itl: Option<Span>) -> Demand {
    let choices = f64::from(payload.choices);
    let peak = |load: &schedule::Load| match load {
        schedule::Load::Open { rate_per_s, .. } => rate_per_s.peak() * payload.mean_output_tokens() * choices,
        // No server of today emits a stream's tokens faster than one in a tenth of a millisecond.
        schedule::Load::Closed { slots, .. } => {
            slots.peak() * choices / itl.unwrap_or(FAST_ITL).max(Span::from_us(100)).as_s_f64()
        }
    };
    let events_per_s = load.stages.iter().map(|stage| peak(&stage.load)).fold(0.0, f64::max);
    // Every answer has as many events as tokens: servers of today send each token in one.
    let events_per_request = (payload.mean_output_tokens() * choices).max(1.0);
    Demand { requests_per_s: events_per_s / events_per_request, events_per_s }
}

/// The utilization of each of `shards` shards: the partition law.
pub(super) fn rho(demand: Demand, cost: &Cost, shards: usize) -> f64 {
    cost.rho(demand) / whole_f64(shards)
}

/// The fewest shards with an expected rho of at most [`EASY_RHO`], from 1 to `most`.
pub(super) fn shards(demand: Demand, cost: &Cost, most: usize) -> usize {
    (1..most).find(|shards| rho(demand, cost, *shards) <= EASY_RHO).unwrap_or(most.max(1))
}

impl Load {
    /// The highest rate of an open loop, in requests per second; `None` for a closed one.
    #[must_use]
    pub fn peak_rate_per_s(&self) -> Option<f64> {
        let rates = self.stages.iter().filter_map(|stage| match stage.load {
            schedule::Load::Open { rate_per_s, .. } => Some(rate_per_s.peak()),
            schedule::Load::Closed { .. } => None,
        });
        rates.reduce(f64::max)
    }

    /// The most slots of a closed loop; `None` for an open one.
    #[must_use]
    pub fn slots(&self) -> Option<usize> {
        let slots = self.stages.iter().filter_map(|stage| match stage.load {
            schedule::Load::Closed { slots, .. } => Some(slots.peak()),
            schedule::Load::Open { .. } => None,
        });
        slots.reduce(f64::max).map(ceiling)
    }

    /// The most requests in flight that the plan itself sets: slots of a closed loop, the cap of an open one.
    #[must_use]
    pub fn most_in_flight(&self) -> Option<usize> {
        self.slots().or(self.max_concurrency.and_then(|cap| usize::try_from(cap).ok()))
    }

    /// Requests in flight when each takes `e2e`: the mean, by Little's law (rate x E2E), and a count that is hardly
    /// ever exceeded: in an M/G/infinity system the number is Poisson, so four deviations above the mean.
    #[must_use]
    pub fn expected_in_flight(&self, e2e: Span) -> (f64, usize) {
        let Some(per_s) = self.peak_rate_per_s() else {
            let slots = self.slots().unwrap_or(1);
            return (whole_f64(slots), slots);
        };
        let mean = per_s * e2e.as_s_f64();
        let high = mean + 4.0 * libm::sqrt(mean) + 1.0;
        (mean, ceiling(high.min(self.max_concurrency.map_or(f64::INFINITY, f64::from))))
    }
}

impl Payload {
    /// The mean number of prompt tokens, where the plan knows it.
    #[must_use]
    pub fn mean_input_tokens(&self) -> Option<f64> {
        match &self.prompts {
            Prompts::Synthetic(counts) => Some(f64::from(self.prefix_tokens) + counts.mean(LONGEST_INPUT)),
            Prompts::File(_) => None,
        }
    }

    /// The mean number of tokens asked of an answer.
    #[must_use]
    pub fn mean_output_tokens(&self) -> f64 {
        self.output_tokens.mean(LONGEST_OUTPUT)
    }

    /// The time that a request takes on a fast server.
    pub(super) fn fast_e2e(&self) -> Span {
        Span::from_s_f64(self.mean_output_tokens() * FAST_ITL.as_s_f64())
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate of load")]
pub(super) fn whole_f64(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and an estimate above usize is one above every limit"
)]
fn ceiling(count: f64) -> usize {
    libm::ceil(count) as usize
}
