//! A continuous-batching engine in virtual time: steps whose time depends on what is in them.
//!
//! It must not know of connections or bytes, and reads no clock. In each step every decoding request makes one token and what
//! is left of the step's tokens goes to prompts in order of arrival; a prompt that ends in a step gives its first token with it.
//! Requests are let in at the beginning of a step, as vLLM's scheduler does.

use super::engine::{Burst, Ticket, Work};
use super::kind::StepCosts;
use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// The engine.
#[derive(Debug)]
pub struct Batching {
    costs: StepCosts,
    max_running: usize,
    sequences: Vec<Sequence>,
    free: Vec<u32>,
    waiting: VecDeque<Ticket>,
    /// In order of arrival.
    running: Vec<Ticket>,
    step: Option<Step>,
    /// When the latest step ended.
    ended: Instant,
}

#[derive(Debug)]
struct Sequence {
    generation: u32,
    /// Keeps its place and makes no more tokens.
    stuck: bool,
    owner: u32,
    arrived: Instant,
    waited: Span,
    prompt_left: u32,
    made: u32,
    output_tokens: u32,
    latest: Instant,
}

/// A step under way.
#[derive(Debug)]
struct Step {
    ends: Instant,
    /// Who makes a token at its end, in order.
    makes: VecDeque<Ticket>,
}

impl Batching {
    /// An idle engine.
    ///
    /// # Panics
    /// When a step could take no time: the text form refuses that.
    #[must_use]
    pub fn new(costs: StepCosts, max_running: usize) -> Self {
        assert!(costs.base + costs.per_sequence + costs.per_token > Span::ZERO, "a step takes some time");
        Self {
            costs,
            max_running,
            sequences: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            step: None,
            ended: Instant::ZERO,
        }
    }

    /// Takes a request that arrived at `at`.
    ///
    /// # Panics
    /// When it asks for no token: the caller refuses such.
    pub fn arrive(&mut self, work: Work, at: Instant) -> Ticket {
        assert!(work.output_tokens >= 1, "a request makes at least one token");
        let fresh = Sequence {
            generation: 0,
            stuck: false,
            owner: work.owner,
            arrived: at,
            waited: Span::ZERO,
            // A prompt of nothing still takes a step.
            prompt_left: work.prompt_tokens.max(1),
            made: 0,
            output_tokens: work.output_tokens,
            latest: at,
        };
        let slot = if let Some(slot) = self.free.pop() {
            let old = &mut self.sequences[index(slot)];
            *old = Sequence { generation: old.generation, ..fresh };
            slot
        } else {
            self.sequences.push(fresh);
            u32::try_from(self.sequences.len() - 1).expect("fewer requests at once than 2^32")
        };
        let ticket = Ticket { slot, generation: self.sequences[index(slot)].generation };
        self.waiting.push_back(ticket);
        if self.step.is_none() {
            self.begin_step(at.max(self.ended));
        }
        ticket
    }

    /// When the step under way ends.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.step.as_ref().map(|step| step.ends)
    }

    /// The earliest token that is planned at or before `now`; its count, 1, goes to `sizes`.
    pub fn advance(&mut self, now: Instant, sizes: &mut Vec<u32>) -> Option<Burst> {
        loop {
            let step = self.step.as_mut().filter(|step| step.ends <= now)?;
            let (ends, maker) = (step.ends, step.makes.pop_front());
            let burst = maker.and_then(|ticket| self.token(ticket, ends));
            if self.step.as_ref().is_some_and(|step| step.makes.is_empty()) {
                self.ended = ends;
                self.step = None;
                self.begin_step(ends);
            }
            if let Some(burst) = burst {
                sizes.clear();
                sizes.push(1);
                return Some(burst);
            }
        }
    }

    /// Gives up a request, wherever it stands. `at` is when its place becomes free.
    pub fn cancel(&mut self, ticket: Ticket, at: Instant) {
        if !self.is_valid(ticket) {
            return;
        }
        self.waiting.retain(|waiting| *waiting != ticket);
        self.leave(ticket);
        if self.step.is_none() {
            self.begin_step(at.max(self.ended));
        }
    }

    /// Lets a running request keep its place and make no more tokens.
    pub fn stick(&mut self, ticket: Ticket) {
        if self.is_valid(ticket) {
            self.sequences[index(ticket.slot)].stuck = true;
        }
    }

    /// Requests that have a place.
    #[must_use]
    pub const fn running(&self) -> usize {
        self.running.len()
    }

    /// Requests that wait for one.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn is_valid(&self, ticket: Ticket) -> bool {
        self.sequences.get(index(ticket.slot)).is_some_and(|it| it.generation == ticket.generation)
    }

    /// Lets in whom there is a place for, and begins a step if anybody has something to do.
    fn begin_step(&mut self, at: Instant) {
        let at = self.let_in(at);
        let mut makes = VecDeque::new();
        let (mut taking_part, mut tokens) = (0_i64, 0_u32);
        let decoding = |it: &Sequence| !it.stuck && it.prompt_left == 0;
        for ticket in &self.running {
            if decoding(&self.sequences[index(ticket.slot)]) {
                makes.push_back(*ticket);
                taking_part += 1;
                tokens += 1;
            }
        }
        for ticket in &self.running {
            let it = &mut self.sequences[index(ticket.slot)];
            let part = it.prompt_left.min(self.costs.chunk.saturating_sub(tokens));
            if it.stuck || part == 0 {
                continue;
            }
            it.prompt_left -= part;
            taking_part += 1;
            tokens += part;
            if it.prompt_left == 0 {
                makes.push_back(*ticket);
            }
        }
        if taking_part > 0 {
            let StepCosts { base, per_sequence, per_token, .. } = self.costs;
            let ends = at + base + per_sequence * taking_part + per_token * i64::from(tokens);
            self.step = Some(Step { ends, makes });
        }
    }

    /// Lets in who has arrived by `at` and finds a place. Where nobody runs, the next to arrive says when it is.
    fn let_in(&mut self, mut at: Instant) -> Instant {
        while self.running.len() < self.max_running
            && let Some(ticket) = self.waiting.front().copied()
        {
            let it = &mut self.sequences[index(ticket.slot)];
            if it.arrived > at {
                // Told early by a caller who is behind: it is not let in before it came.
                if !self.running.is_empty() {
                    break;
                }
                at = it.arrived;
            }
            it.waited = at - it.arrived;
            self.waiting.pop_front();
            self.running.push(ticket);
        }
        at
    }

    /// The token that `ticket` makes at `at`; `None` when it has gone or stuck since the step began.
    fn token(&mut self, ticket: Ticket, at: Instant) -> Option<Burst> {
        if !self.is_valid(ticket) {
            return None;
        }
        let it = &mut self.sequences[index(ticket.slot)];
        if it.stuck {
            return None;
        }
        let (first, gap) = (it.made, (it.made > 0).then(|| at - it.latest));
        it.made += 1;
        it.latest = at;
        let last = it.made == it.output_tokens;
        let burst = Burst { ticket, owner: it.owner, due: at, first, gap, waited: it.waited, last };
        if last {
            self.leave(ticket);
        }
        Some(burst)
    }

    fn leave(&mut self, ticket: Ticket) {
        self.running.retain(|running| *running != ticket);
        let it = &mut self.sequences[index(ticket.slot)];
        it.generation = it.generation.wrapping_add(1);
        self.free.push(ticket.slot);
    }
}

fn index(slot: u32) -> usize {
    usize::try_from(slot).expect("a slot fits the address space")
}

#[cfg(test)]
mod tests;
