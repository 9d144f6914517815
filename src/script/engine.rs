//! The inference engine in virtual time: requests in, instants of their token events out.
//!
//! It must not know of connections or bytes, and reads no clock: the caller says how late it is.

use super::Latencies;
use crate::random::{Counts, Purpose, Stream};
use crate::time::{Instant, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Names a request of one engine. A stale name is harmless: its slot's generation has moved on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// What a request asks of the engine.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// The caller's name for it: comes back with every burst.
    pub owner: u32,
    /// Its number in the run: what is drawn for it depends on the seed and this alone.
    pub number: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens to make, at least 1.
    pub output_tokens: u32,
}

/// Token events of one request that are planned for one instant: one, but for gaps of zero.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Burst {
    /// Whose.
    pub ticket: Ticket,
    /// The caller's name for it.
    pub owner: u32,
    /// The planned instant.
    pub due: Instant,
    /// Tokens made before.
    pub first: u32,
    /// Gap since the request's previous event; `None` for its first.
    pub gap: Option<Span>,
    /// How long the request waited for its turn, told with its first event.
    pub waited: Span,
    /// Whether these are the last.
    pub last: bool,
}

/// An engine whose requests do not slow one another: each follows its own pace, at most `max_running` at once.
/// Waiting requests begin in order of arrival, at the planned instant of the last token that frees their place.
#[derive(Debug)]
pub struct Engine {
    pace: Pace,
    tokens_per_event: Counts,
    max_running: usize,
    seed: u64,
    slots: Vec<Slot>,
    free: Vec<u32>,
    waiting: VecDeque<Ticket>,
    running: usize,
    /// (due, order, slot): `order` is the slot's own when the entry is not stale.
    agenda: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    order: u64,
}

/// When the tokens of a request come, once it has a place.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Pace {
    /// First and later ones by laws.
    Laws(Latencies),
    /// Spread evenly over so much time, the last at its end.
    Service(Span),
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    state: State,
    owner: u32,
    /// The agenda's entry that stands.
    order: u64,
    arrived: Instant,
    begun: Instant,
    due: Instant,
    gap: Span,
    waited: Span,
    made: u32,
    /// Tokens of the next event, where its instant depends on them.
    next: u32,
    output_tokens: u32,
    prompt_tokens: u32,
    stream: Stream,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum State {
    Free,
    Waiting,
    Running,
    /// Keeps its place and makes no more tokens.
    Stuck,
}

impl Engine {
    /// An idle engine. `max_running` = `None`: no limit.
    #[must_use]
    pub fn new(
        latencies: Latencies,
        tokens_per_event: Counts,
        max_running: Option<usize>,
        seed: u64,
    ) -> Self {
        Self::paced(Pace::Laws(latencies), tokens_per_event, max_running, seed)
    }

    /// An idle engine of so many servers before one queue; each request keeps one for `service`.
    #[must_use]
    pub fn of_service(service: Span, tokens_per_event: Counts, servers: usize, seed: u64) -> Self {
        Self::paced(Pace::Service(service), tokens_per_event, Some(servers), seed)
    }

    fn paced(pace: Pace, tokens_per_event: Counts, max_running: Option<usize>, seed: u64) -> Self {
        Self {
            pace,
            tokens_per_event,
            max_running: max_running.unwrap_or(usize::MAX),
            seed,
            slots: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            running: 0,
            agenda: BinaryHeap::new(),
            order: 0,
        }
    }

    /// Takes a request that arrived at `at`.
    ///
    /// # Panics
    /// When it asks for no token: the caller refuses such.
    pub fn arrive(&mut self, work: Work, at: Instant) -> Ticket {
        assert!(work.output_tokens >= 1, "a request makes at least one token");
        let fresh = Slot {
            generation: 0,
            state: State::Waiting,
            owner: work.owner,
            order: 0,
            arrived: at,
            begun: at,
            due: at,
            gap: Span::ZERO,
            waited: Span::ZERO,
            made: 0,
            next: 0,
            output_tokens: work.output_tokens,
            prompt_tokens: work.prompt_tokens,
            stream: Stream::new(self.seed, Purpose::named("simulator's latencies"), work.number),
        };
        let slot = if let Some(slot) = self.free.pop() {
            let old = &mut self.slots[index(slot)];
            *old = Slot { generation: old.generation, ..fresh };
            slot
        } else {
            self.slots.push(fresh);
            u32::try_from(self.slots.len() - 1).expect("fewer requests at once than 2^32")
        };
        let ticket = Ticket { slot, generation: self.slots[index(slot)].generation };
        if self.running < self.max_running {
            self.begin(slot, at);
        } else {
            self.waiting.push_back(ticket);
        }
        ticket
    }

    /// When the next event is planned.
    #[must_use]
    pub fn next_due(&mut self) -> Option<Instant> {
        loop {
            let Reverse((due, order, slot)) = *self.agenda.peek()?;
            if self.stands(slot, order) {
                return Some(due);
            }
            self.agenda.pop();
        }
    }

    /// The earliest burst that is planned at or before `now`; the tokens of each of its events go to `sizes`.
    pub fn advance(&mut self, now: Instant, sizes: &mut Vec<u32>) -> Option<Burst> {
        self.next_due().filter(|due| *due <= now)?;
        let Reverse((_, _, slot)) = self.agenda.pop()?;
        Some(self.burst(slot, sizes))
    }

    /// The burst of `ticket`, if it is planned at or before `by`, out of turn.
    pub fn advance_one(&mut self, ticket: Ticket, by: Instant, sizes: &mut Vec<u32>) -> Option<Burst> {
        let slot = self.valid(ticket)?;
        (slot.state == State::Running && slot.due <= by).then(|| self.burst(ticket.slot, sizes))
    }

    /// Gives up a request, wherever it stands. `at` is when its place becomes free.
    pub fn cancel(&mut self, ticket: Ticket, at: Instant) {
        let Some(state) = self.valid(ticket).map(|slot| slot.state) else {
            return;
        };
        match state {
            State::Free => {}
            State::Waiting => {
                self.waiting.retain(|waiting| *waiting != ticket);
                self.release(ticket.slot);
            }
            State::Running | State::Stuck => self.leave(ticket.slot, at),
        }
    }

    /// Lets a running request keep its place and make no more tokens.
    pub fn stick(&mut self, ticket: Ticket) {
        if self.valid(ticket).is_some_and(|slot| slot.state == State::Running) {
            self.slots[index(ticket.slot)].state = State::Stuck;
        }
    }

    /// Requests that have a place.
    #[must_use]
    pub const fn running(&self) -> usize {
        self.running
    }

    /// Requests that wait for one.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn valid(&self, ticket: Ticket) -> Option<&Slot> {
        self.slots.get(index(ticket.slot)).filter(|slot| slot.generation == ticket.generation)
    }

    fn stands(&self, slot: u32, order: u64) -> bool {
        let slot = &self.slots[index(slot)];
        slot.state == State::Running && slot.order == order
    }

    fn begin(&mut self, slot: u32, at: Instant) {
        self.running += 1;
        let it = &mut self.slots[index(slot)];
        it.state = State::Running;
        it.waited = at - it.arrived;
        it.begun = at;
        match self.pace {
            Pace::Laws(laws) => {
                let prefill_ns = laws.prefill_per_token_ns.saturating_mul(u64::from(it.prompt_tokens));
                it.due = at + span(laws.ttft.sample_ns(&mut it.stream)) + span(prefill_ns);
            }
            Pace::Service(service) => it.plan_share(service, &self.tokens_per_event),
        }
        self.enter_agenda(slot);
    }

    fn enter_agenda(&mut self, slot: u32) {
        self.order += 1;
        let it = &mut self.slots[index(slot)];
        it.order = self.order;
        self.agenda.push(Reverse((it.due, it.order, slot)));
    }

    fn burst(&mut self, slot: u32, sizes: &mut Vec<u32>) -> Burst {
        sizes.clear();
        let it = &mut self.slots[index(slot)];
        let (due, first) = (it.due, it.made);
        let gap = (first > 0).then_some(it.gap);
        while it.due == due && it.made < it.output_tokens {
            let size = match self.pace {
                Pace::Laws(_) => self.tokens_per_event.sample(&mut it.stream, it.output_tokens - it.made),
                Pace::Service(_) => it.next,
            };
            sizes.push(size);
            it.made += size;
            if it.made < it.output_tokens {
                // From the planned instant, not from when we came to it: lateness does not add up.
                let before = it.due;
                match self.pace {
                    Pace::Laws(laws) => it.due += span(laws.itl.sample_ns(&mut it.stream)),
                    Pace::Service(service) => it.plan_share(service, &self.tokens_per_event),
                }
                it.gap = it.due - before;
            }
        }
        let last = it.made == it.output_tokens;
        let burst = Burst {
            ticket: Ticket { slot, generation: it.generation },
            owner: it.owner,
            due,
            first,
            gap,
            waited: it.waited,
            last,
        };
        if last {
            self.leave(slot, due);
        } else {
            self.enter_agenda(slot);
        }
        burst
    }

    fn leave(&mut self, slot: u32, at: Instant) {
        self.running -= 1;
        self.release(slot);
        if let Some(next) = self.waiting.pop_front() {
            // Told early by a caller who is behind: it does not begin before it came.
            let at = at.max(self.slots[index(next.slot)].arrived);
            self.begin(next.slot, at);
        }
    }

    fn release(&mut self, slot: u32) {
        let it = &mut self.slots[index(slot)];
        it.generation = it.generation.wrapping_add(1);
        it.state = State::Free;
        self.free.push(slot);
    }
}

impl Slot {
    /// Plans the next event where its tokens are done, when all of them take `service` evenly.
    fn plan_share(&mut self, service: Span, tokens_per_event: &Counts) {
        self.next = tokens_per_event.sample(&mut self.stream, self.output_tokens - self.made);
        let done = i128::from(self.made + self.next);
        let ns = i128::from(service.as_ns()) * done / i128::from(self.output_tokens);
        self.due = self.begun + Span::from_ns(i64::try_from(ns).expect("a part of the service"));
    }
}

fn index(slot: u32) -> usize {
    usize::try_from(slot).expect("a slot fits the address space")
}

fn span(ns: u64) -> Span {
    Span::from_ns(i64::try_from(ns).unwrap_or(i64::MAX / 4))
}

#[cfg(test)]
mod tests;
