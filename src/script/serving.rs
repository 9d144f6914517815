//! The engine of a script, whichever it is: one of two machines behind the same calls.
//!
//! It must not add anything to what they do.

use super::batching::Batching;
use super::engine::{Burst, Engine, Ticket, Work};
use super::kind::{BATCH_RUNNING, EngineKind};
use super::settings::Script;
use crate::time::Instant;

/// An engine.
#[derive(Debug)]
pub enum Serving {
    /// Each request at its own pace.
    Paced(Engine),
    /// All in steps.
    Batching(Batching),
}

impl Serving {
    /// The idle engine of `script` for `shard` among `shards`.
    ///
    /// # Panics
    /// When an engine that is one queue is to be split among shards: the plan refuses that.
    #[must_use]
    pub fn new(script: &Script, shard: usize, shards: usize) -> Self {
        assert!(shards == 1 || !script.engine.is_one_queue(), "one queue is not split among shards");
        let places = |most: u32| usize::try_from(most).expect("a u32 fits");
        match script.engine {
            EngineKind::Laws => Self::Paced(Engine::new(
                script.latencies,
                script.tokens_per_event,
                script.places(shard, shards),
                script.seed,
            )),
            EngineKind::Mdc { servers, service } => Self::Paced(Engine::of_service(
                service,
                script.tokens_per_event,
                places(servers),
                script.seed,
            )),
            EngineKind::Batch(costs) => {
                Self::Batching(Batching::new(costs, places(script.max_running.unwrap_or(BATCH_RUNNING))))
            }
        }
    }

    /// Takes a request that arrived at `at`.
    pub fn arrive(&mut self, work: Work, at: Instant) -> Ticket {
        match self {
            Self::Paced(engine) => engine.arrive(work, at),
            Self::Batching(engine) => engine.arrive(work, at),
        }
    }

    /// When [`Serving::advance`] has something to do next.
    #[must_use]
    pub fn next_due(&mut self) -> Option<Instant> {
        match self {
            Self::Paced(engine) => engine.next_due(),
            Self::Batching(engine) => engine.next_due(),
        }
    }

    /// The earliest burst that is planned at or before `now`; the tokens of each of its events go to `sizes`.
    pub fn advance(&mut self, now: Instant, sizes: &mut Vec<u32>) -> Option<Burst> {
        match self {
            Self::Paced(engine) => engine.advance(now, sizes),
            Self::Batching(engine) => engine.advance(now, sizes),
        }
    }

    /// The burst of `ticket`, if it is planned at or before `by`, out of turn. Steps are never taken out of turn.
    pub fn advance_one(&mut self, ticket: Ticket, by: Instant, sizes: &mut Vec<u32>) -> Option<Burst> {
        match self {
            Self::Paced(engine) => engine.advance_one(ticket, by, sizes),
            Self::Batching(_) => None,
        }
    }

    /// Gives up a request, wherever it stands. `at` is when its place becomes free.
    pub fn cancel(&mut self, ticket: Ticket, at: Instant) {
        match self {
            Self::Paced(engine) => engine.cancel(ticket, at),
            Self::Batching(engine) => engine.cancel(ticket, at),
        }
    }

    /// Lets a running request keep its place and make no more tokens.
    pub fn stick(&mut self, ticket: Ticket) {
        match self {
            Self::Paced(engine) => engine.stick(ticket),
            Self::Batching(engine) => engine.stick(ticket),
        }
    }

    /// Requests that have a place.
    #[must_use]
    pub const fn running(&self) -> usize {
        match self {
            Self::Paced(engine) => engine.running(),
            Self::Batching(engine) => engine.running(),
        }
    }

    /// Requests that wait for one.
    #[must_use]
    pub fn waiting(&self) -> usize {
        match self {
            Self::Paced(engine) => engine.waiting(),
            Self::Batching(engine) => engine.waiting(),
        }
    }
}
