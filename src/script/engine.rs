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
    slot: u32,
    generation: u32,
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

/// An engine whose requests do not slow one another: each follows its latency laws, at most `max_running` at once.
/// Waiting requests begin in order of arrival, at the planned instant of the last token that frees their place.
#[derive(Debug)]
pub struct Engine {
    latencies: Latencies,
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

#[derive(Debug)]
struct Slot {
    generation: u32,
    state: State,
    owner: u32,
    /// The agenda's entry that stands.
    order: u64,
    arrived: Instant,
    due: Instant,
    gap: Span,
    waited: Span,
    made: u32,
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
        Self {
            latencies,
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
            due: at,
            gap: Span::ZERO,
            waited: Span::ZERO,
            made: 0,
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
        let prefill_ns = self.latencies.prefill_per_token_ns.saturating_mul(u64::from(it.prompt_tokens));
        it.due = at + span(self.latencies.ttft.sample_ns(&mut it.stream)) + span(prefill_ns);
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
            let size = self.tokens_per_event.sample(&mut it.stream, it.output_tokens - it.made);
            sizes.push(size);
            it.made += size;
            if it.made < it.output_tokens {
                // From the planned instant, not from when we came to it: lateness does not add up.
                it.gap = span(self.latencies.itl.sample_ns(&mut it.stream));
                it.due += it.gap;
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

fn index(slot: u32) -> usize {
    usize::try_from(slot).expect("a slot fits the address space")
}

fn span(ns: u64) -> Span {
    Span::from_ns(i64::try_from(ns).unwrap_or(i64::MAX / 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn engine(ttft: &str, itl: &str, per_event: &str, max_running: Option<usize>) -> Engine {
        let latencies = Latencies::parse(ttft, itl, "1us").unwrap();
        Engine::new(latencies, per_event.parse().unwrap(), max_running, 11)
    }

    fn work(owner: u32, prompt_tokens: u32, output_tokens: u32) -> Work {
        Work { owner, number: u64::from(owner), prompt_tokens, output_tokens }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * MS)
    }

    /// (owner, due in us, first token, sizes, last) of all that is planned, each taken `late_ns` after its instant.
    fn play(engine: &mut Engine, late_ns: u64) -> Vec<(u32, u64, u32, Vec<u32>, bool)> {
        let (mut sizes, mut heard) = (Vec::new(), Vec::new());
        while let Some(due) = engine.next_due() {
            let now = Instant::from_ns(due.as_ns() + late_ns);
            let burst = engine.advance(now, &mut sizes).expect("what is due is given");
            heard.push((burst.owner, burst.due.as_ns() / 1_000, burst.first, sizes.clone(), burst.last));
        }
        heard
    }

    #[test]
    fn tokens_come_at_their_exact_instants() {
        let mut engine = engine("20ms", "5ms", "1", None);
        engine.arrive(work(9, 100, 3), at(7));
        assert!(engine.advance(at(27), &mut Vec::new()).is_none(), "the prompt takes its 100 us");
        assert_eq!(
            play(&mut engine, 0),
            [(9, 27_100, 0, vec![1], false), (9, 32_100, 1, vec![1], false), (9, 37_100, 2, vec![1], true),]
        );
        assert_eq!((engine.running(), engine.waiting()), (0, 0));
    }

    #[test]
    fn a_late_caller_shifts_nothing() {
        let plan = |late_ns| {
            let mut engine = engine("exp:20ms", "lognormal:5ms:3ms", "uniform:1:4", Some(2));
            for owner in 0..5 {
                engine.arrive(work(owner, 10, 12), at(u64::from(owner)));
            }
            play(&mut engine, late_ns)
        };
        assert_eq!(plan(0), plan(3 * MS));
    }

    #[test]
    fn without_delays_all_is_due_at_once_in_one_burst() {
        let mut engine = engine("0s", "0s", "3", None);
        engine.latencies.prefill_per_token_ns = 0;
        let ticket = engine.arrive(work(1, 5, 8), at(3));
        let mut sizes = Vec::new();
        let burst = engine.advance_one(ticket, at(3), &mut sizes).expect("due at once");
        assert_eq!((burst.due, burst.last, &sizes[..]), (at(3), true, &[3, 3, 2][..]));
        assert_eq!((engine.next_due(), engine.running()), (None, 0));
    }

    #[test]
    fn one_too_many_waits_for_the_planned_end_of_the_first_to_finish() {
        let mut engine = engine("10ms", "1ms", "1", Some(2));
        engine.latencies.prefill_per_token_ns = 0;
        for (owner, tokens) in [(0, 5), (1, 2), (2, 1), (3, 1)] {
            engine.arrive(work(owner, 1, tokens), at(0));
        }
        assert_eq!((engine.running(), engine.waiting()), (2, 2));
        let ends: Vec<_> = play(&mut engine, MS).into_iter().filter(|e| e.4).map(|e| (e.0, e.1)).collect();
        assert_eq!(ends, [(1, 11_000), (0, 14_000), (2, 21_000), (3, 24_000)]);
    }

    #[test]
    fn the_wait_is_told_with_the_first_event() {
        let mut engine = engine("10ms", "1ms", "1", Some(1));
        engine.latencies.prefill_per_token_ns = 0;
        engine.arrive(work(0, 1, 1), at(0));
        engine.arrive(work(1, 1, 1), at(4));
        let mut sizes = Vec::new();
        assert_eq!(engine.advance(at(99), &mut sizes).map(|b| b.waited), Some(Span::ZERO));
        assert_eq!(
            engine.advance(at(99), &mut sizes).map(|b| (b.waited, b.due)),
            Some((Span::from_ms(6), at(20)))
        );
    }

    #[test]
    fn a_cancelled_request_makes_room_and_its_name_goes_stale() {
        let mut engine = engine("10ms", "1ms", "1", Some(1));
        engine.latencies.prefill_per_token_ns = 0;
        let first = engine.arrive(work(0, 1, 9), at(0));
        let second = engine.arrive(work(1, 1, 9), at(0));
        engine.arrive(work(2, 1, 1), at(0));
        engine.cancel(second, at(1));
        assert_eq!((engine.running(), engine.waiting()), (1, 1));
        engine.cancel(first, at(5));
        engine.cancel(first, at(6));
        assert!(engine.advance_one(first, at(99), &mut Vec::new()).is_none());
        assert_eq!(play(&mut engine, 0), [(2, 15_000, 0, vec![1], true)]);
    }

    #[test]
    fn a_stuck_request_keeps_its_place() {
        let mut engine = engine("10ms", "1ms", "1", Some(1));
        let stuck = engine.arrive(work(0, 1, 9), at(0));
        engine.arrive(work(1, 1, 1), at(0));
        engine.stick(stuck);
        assert_eq!((engine.next_due(), engine.running(), engine.waiting()), (None, 1, 1));
        engine.cancel(stuck, at(50));
        assert_eq!(engine.next_due().map(Instant::as_ns), Some(60 * MS + 1_000));
    }

    #[test]
    fn what_is_drawn_depends_on_the_number_alone() {
        let of_owner_3 = |others: u32| {
            let mut engine = engine("exp:20ms", "exp:5ms", "uniform:1:3", None);
            for owner in (0..others).chain([3]) {
                engine.arrive(work(owner, 1, 10), at(0));
            }
            play(&mut engine, 0).into_iter().filter(|e| e.0 == 3).collect::<Vec<_>>()
        };
        assert_eq!(of_owner_3(0), of_owner_3(3));
    }

    proptest! {
        #[test]
        fn every_token_comes_once_in_order_and_no_more_run_than_may(
            asked in prop::collection::vec((1_u32..20, 0_u64..30), 1..30),
            limit in 1_usize..5,
            seed_itl in prop::sample::select(vec!["0s", "3ms", "exp:2ms"]),
        ) {
            let mut engine = engine("exp:5ms", seed_itl, "uniform:1:3", Some(limit));
            let mut arrivals: Vec<_> = asked.iter().enumerate().collect();
            arrivals.sort_by_key(|(_, (_, ms))| *ms);
            let mut made = vec![0_u32; asked.len()];
            let mut ended = vec![false; asked.len()];
            let mut sizes = Vec::new();
            let mut latest = Instant::ZERO;
            let mut arrivals = arrivals.into_iter().peekable();
            loop {
                let next = engine.next_due();
                if let Some((owner, (tokens, ms))) = arrivals.next_if(|(_, (_, ms))| next.is_none_or(|due| at(*ms) <= due)) {
                    engine.arrive(work(u32::try_from(owner).unwrap(), 1, *tokens), at(*ms));
                    prop_assert!(engine.running() <= limit);
                    continue;
                }
                let Some(due) = next else { break };
                let burst = engine.advance(due, &mut sizes).expect("due");
                prop_assert!(burst.due >= latest, "events come in order of their instants");
                latest = burst.due;
                let owner = index(burst.owner);
                prop_assert_eq!(burst.first, made[owner]);
                prop_assert!(!ended[owner]);
                made[owner] += sizes.iter().sum::<u32>();
                ended[owner] = burst.last;
            }
            prop_assert!(ended.iter().all(|ended| *ended));
            prop_assert!(made.iter().zip(&asked).all(|(made, (tokens, _))| made == tokens));
            prop_assert_eq!((engine.running(), engine.waiting()), (0, 0));
        }
    }
}
