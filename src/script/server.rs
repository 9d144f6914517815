//! The whole simulated server without its sockets: bytes and instants in, timed steps out.
//!
//! It must not know who carries the bytes; what it is told is in the order it happened.

use super::Script;
use super::answer::{Answer, Progress, Voice};
use super::drip::Drip;
use super::engine::Burst;
use super::faults::Fault;
use super::inbound::{Inbound, Said as Heard};
use super::meter::Meter;
use super::prefix::PrefixCache;
use super::reply::{HttpDate, Reply};
use super::serving::Serving;
use super::step::{Mark, Step, Then};
use super::stream::Phrases;
use crate::time::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

mod reception;

/// Bytes that may wait behind an answer under way: pipelined requests. A client that sends more is broken.
const LATER_CAP: usize = 1 << 20;

/// Who a server is among those that share the work, and how its clock stands to the world's.
#[derive(Clone, Debug)]
pub struct Seat {
    /// This shard's number.
    pub shard: usize,
    /// How many there are.
    pub shards: usize,
    /// One meter for each shard; any of them shows the sums of all.
    pub meters: Arc<[Meter]>,
    /// Unix time, in nanoseconds, at [`Instant::ZERO`].
    pub unix_at_zero_ns: u64,
    /// Whether steps carry marks for a log.
    pub marking: bool,
}

impl Seat {
    /// The only shard of a server.
    #[must_use]
    pub fn alone(unix_at_zero_ns: u64, marking: bool) -> Self {
        Self { shard: 0, shards: 1, meters: Arc::new([Meter::default()]), unix_at_zero_ns, marking }
    }
}

/// One shard of the simulated server.
#[derive(Debug)]
pub struct Server {
    script: Script,
    seat: Seat,
    phrases: Phrases,
    date: HttpDate,
    engine: Serving,
    links: Vec<Link>,
    /// Connections that have something to say at once, with what has arrived.
    at_once: VecDeque<usize>,
    /// When pieces of dripping answers are planned.
    drips: BTreeSet<(Instant, usize)>,
    cache: Option<PrefixCache>,
    /// Generation requests so far.
    asked: u64,
    sizes: Vec<u32>,
}

/// One connection.
#[derive(Debug, Default)]
struct Link {
    open: bool,
    inbound: Inbound,
    prompt: Prompt,
    answer: Option<Box<Answer>>,
    drip: Option<Box<Drip>>,
    /// Bytes that arrived while an answer was under way, and when.
    later: Option<Box<(Vec<u8>, Instant)>>,
    heard_at: Instant,
}

/// What a connection has to say at once.
#[derive(Debug, Default)]
enum Prompt {
    #[default]
    Nothing,
    Continue,
    Whole {
        reply: Box<Reply>,
        keep_alive: bool,
    },
    Answer {
        request_id: Option<Box<str>>,
    },
}

impl Server {
    /// An idle server that plays `script`.
    ///
    /// # Panics
    /// When `seat` has no meter of its own.
    #[must_use]
    pub fn new(script: Script, seat: Seat) -> Self {
        assert!(seat.shard < seat.shards && seat.meters.len() == seat.shards, "each shard has its own meter");
        Self {
            phrases: Phrases::new(&script.model),
            date: HttpDate::default(),
            engine: Serving::new(&script, seat.shard, seat.shards),
            cache: script.cache_tokens(seat.shards).map(PrefixCache::of_tokens),
            links: Vec::new(),
            at_once: VecDeque::new(),
            drips: BTreeSet::new(),
            asked: 0,
            sizes: Vec::new(),
            script,
            seat,
        }
    }

    /// Connection `conn` is there.
    pub fn opened(&mut self, conn: usize) {
        if conn >= self.links.len() {
            self.links.resize_with(conn + 1, Link::default);
        }
        self.links[conn] = Link { open: true, ..Link::default() };
    }

    /// Connection `conn` is no more, as its client wants it.
    pub fn gone(&mut self, conn: usize, at: Instant) {
        self.drop_link(conn, at);
    }

    /// `bytes` arrived on `conn`, the last of them at `stamp`.
    pub fn read(&mut self, conn: usize, bytes: &[u8], stamp: Instant) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(link) = self.links.get_mut(conn).filter(|link| link.open) else { return };
            if link.is_busy() {
                let later = link.later.get_or_insert_with(|| Box::new((Vec::new(), stamp)));
                later.0.extend_from_slice(&rest[..rest.len().min(LATER_CAP.saturating_sub(later.0.len()))]);
                later.1 = stamp;
                return;
            }
            link.heard_at = stamp;
            let mut inbound = std::mem::take(&mut link.inbound);
            let (used, heard) = inbound.read(rest);
            let prompt = match heard {
                Heard::More => Prompt::Nothing,
                Heard::Continue => Prompt::Continue,
                Heard::Broken => {
                    rest = &[];
                    Prompt::Whole { reply: Box::new(Reply::not_http()), keep_alive: false }
                }
                Heard::Request(request) => {
                    let prompt = self.understand(conn, &request, stamp);
                    inbound.forget();
                    prompt
                }
            };
            rest = rest.get(used..).unwrap_or(&[]);
            let link = &mut self.links[conn];
            link.inbound = inbound;
            link.prompt = prompt;
            if !matches!(link.prompt, Prompt::Nothing) {
                self.at_once.push_back(conn);
            }
        }
    }

    /// When [`Server::advance`] has something to do next.
    #[must_use]
    pub fn next_due(&mut self) -> Option<Instant> {
        if let Some(conn) = self.at_once.front() {
            return Some(self.links[*conn].heard_at);
        }
        let drip = self.drips.first().map(|(due, _)| *due);
        match (self.engine.next_due(), drip) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Puts the most overdue thing that is due at `now` into `step`; false when there is none.
    pub fn advance(&mut self, now: Instant, step: &mut Step) -> bool {
        while let Some(conn) = self.at_once.pop_front() {
            if self.say_at_once(conn, now, step) {
                return true;
            }
        }
        loop {
            let due = self.engine.next_due();
            if let Some((planned, conn)) = self.drips.first().copied()
                && planned <= now
                && due.is_none_or(|due| planned <= due)
            {
                self.drips.pop_first();
                self.drip(conn, planned, step);
                return true;
            }
            let mut sizes = std::mem::take(&mut self.sizes);
            let burst = self.engine.advance(now, &mut sizes);
            let said = burst.map(|burst| {
                let conn = usize::try_from(burst.owner).expect("a u32 fits");
                step.restart(conn, burst.due);
                let progress = self.say_burst(conn, &burst, &sizes, step);
                let progress = self.say_overdue(conn, now, progress, &mut sizes, step);
                self.settle(conn, progress, step)
            });
            self.sizes = sizes;
            match said {
                None => return false,
                Some(true) => return true,
                Some(false) => {}
            }
        }
    }

    /// Requests that have a place in the engine.
    #[must_use]
    pub const fn running(&self) -> usize {
        self.engine.running()
    }

    /// Requests that wait for one.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.engine.waiting()
    }

    /// Generation requests so far.
    #[must_use]
    pub const fn asked(&self) -> u64 {
        self.asked
    }

    fn meter(&self) -> &Meter {
        &self.seat.meters[self.seat.shard]
    }

    fn show_load(&self) {
        self.meter().running.set(self.engine.running());
        self.meter().waiting.set(self.engine.waiting());
    }

    fn unix_s(&self, at: Instant) -> u64 {
        (self.seat.unix_at_zero_ns + at.as_ns()) / 1_000_000_000
    }

    /// Says what `conn` has to say at once; false when that is nothing.
    fn say_at_once(&mut self, conn: usize, now: Instant, step: &mut Step) -> bool {
        let link = &mut self.links[conn];
        let heard_at = link.heard_at;
        step.restart(conn, heard_at);
        match std::mem::take(&mut link.prompt) {
            Prompt::Nothing => false,
            Prompt::Continue => {
                step.bytes.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                true
            }
            Prompt::Whole { reply, keep_alive } => {
                self.date.set(self.unix_s(heard_at));
                reply.write(&self.date, keep_alive, &mut step.bytes);
                self.rest_or_close(conn, keep_alive, step);
                true
            }
            Prompt::Answer { request_id } => {
                self.date.set(self.unix_s(heard_at));
                if self.seat.marking {
                    step.marks.push(Mark::Request { id: request_id, received: heard_at });
                }
                let voice = Voice {
                    phrases: &self.phrases,
                    date: &self.date,
                    marking: self.seat.marking,
                    planned: heard_at,
                };
                let answer = self.links[conn].answer.as_mut().expect("an answer was begun");
                if let Some(Fault::Drip(bytes)) = answer.fault {
                    self.links[conn].drip = Some(Box::new(Drip::new(bytes)));
                }
                let answer = self.links[conn].answer.as_mut().expect("an answer was begun");
                let mut progress = answer.open(&voice, step);
                if progress == Progress::GoesOn {
                    let mut sizes = std::mem::take(&mut self.sizes);
                    let ticket = answer.ticket;
                    if let Some(burst) = self.engine.advance_one(ticket, heard_at, &mut sizes) {
                        progress = self.say_burst(conn, &burst, &sizes, step);
                    }
                    progress = self.say_overdue(conn, now, progress, &mut sizes, step);
                    self.sizes = sizes;
                }
                self.settle(conn, progress, step)
            }
        }
    }

    fn say_burst(&mut self, conn: usize, burst: &Burst, sizes: &[u32], step: &mut Step) -> Progress {
        self.date.set(self.unix_s(burst.due));
        let meter = &self.seat.meters[self.seat.shard];
        let answer = self.links[conn].answer.as_mut().expect("the engine serves only answers under way");
        let voice = Voice {
            phrases: &self.phrases,
            date: &self.date,
            marking: self.seat.marking,
            planned: burst.due,
        };
        let before = answer.events;
        answer.last = burst.due;
        let progress = answer.say(burst, sizes, &voice, step);
        let said = usize::try_from(answer.events - before).expect("a u32 fits");
        if answer.first.is_none() && said > 0 {
            answer.first = Some(burst.due);
            answer.waited = burst.waited;
            meter.prompt_tokens.add(u64::from(answer.who.prompt_tokens));
            meter.ttft.record_span(burst.due - answer.received);
        }
        for (size, place) in sizes[..said].iter().zip(0_u32..) {
            meter.generation_tokens.add(u64::from(*size) * u64::from(answer.choices));
            match burst.gap {
                Some(gap) if place == 0 => meter.itl.record_span(gap),
                None if place == 0 => {}
                _ => meter.itl.record(0),
            }
        }
        progress
    }

    /// Adds what else of the same answer is overdue: a server that is behind by more than a gap catches up with fewer
    /// sends. Not when marks are kept: the log tells each instant's send apart.
    fn say_overdue(
        &mut self,
        conn: usize,
        now: Instant,
        mut progress: Progress,
        sizes: &mut Vec<u32>,
        step: &mut Step,
    ) -> Progress {
        while progress == Progress::GoesOn && !self.seat.marking {
            let ticket = self.links[conn].answer.as_ref().expect("it goes on").ticket;
            let Some(burst) = self.engine.advance_one(ticket, now, sizes) else { break };
            progress = self.say_burst(conn, &burst, sizes, step);
        }
        progress
    }

    /// Brings the books in order after an answer has spoken; false when there is nothing to send or do.
    fn settle(&mut self, conn: usize, progress: Progress, step: &mut Step) -> bool {
        match progress {
            Progress::GoesOn => {}
            Progress::Stuck => {
                let ticket = self.links[conn].answer.as_ref().expect("it was stuck").ticket;
                self.engine.stick(ticket);
            }
            Progress::Whole | Progress::Broken => {
                let answer = self.links[conn].answer.take().expect("it has just spoken");
                self.engine.cancel(answer.ticket, answer.last);
                self.count_end(&answer, progress);
                if self.seat.marking {
                    step.marks.push(Mark::End);
                }
                if step.then == Then::Stay && !answer.keep_alive {
                    step.then = Then::Close;
                }
            }
        }
        if let Some(drip) = &mut self.links[conn].drip {
            if !step.bytes.is_empty() || step.then != Then::Stay {
                if drip.is_dry() {
                    let planned = drip.take(step);
                    self.drips.insert((planned, conn));
                } else {
                    drip.take(step);
                }
            }
            return false;
        }
        let ended = self.links[conn].answer.is_none();
        if ended {
            self.rest_or_close(conn, step.then == Then::Stay, step);
        }
        !step.bytes.is_empty() || step.then != Then::Stay || !step.marks.is_empty()
    }

    fn drip(&mut self, conn: usize, planned: Instant, step: &mut Step) {
        step.restart(conn, planned);
        let drip = self.links[conn].drip.as_mut().expect("it is planned while it drips");
        if let Some(next) = drip.give(step) {
            self.drips.insert((next, conn));
        } else if self.links[conn].answer.is_none() {
            self.links[conn].drip = None;
            self.rest_or_close(conn, step.then == Then::Stay, step);
        }
    }

    /// The end of an exchange: the connection listens again, or goes.
    fn rest_or_close(&mut self, conn: usize, stays: bool, step: &mut Step) {
        if !stays {
            if step.then == Then::Stay {
                step.then = Then::Close;
            }
            self.drop_link(conn, step.due);
            return;
        }
        if let Some(later) = self.links[conn].later.take() {
            let (bytes, stamp) = *later;
            if bytes.len() >= LATER_CAP {
                step.then = Then::Close;
                self.drop_link(conn, step.due);
            } else {
                // It was there before, but could not be begun before this instant.
                self.read(conn, &bytes, stamp.max(step.due));
            }
        }
    }

    fn drop_link(&mut self, conn: usize, at: Instant) {
        let Some(link) = self.links.get_mut(conn) else { return };
        let link = std::mem::take(link);
        if let Some(answer) = link.answer {
            self.engine.cancel(answer.ticket, at);
            self.meter().aborted.add(1);
        }
        if link.drip.is_some() {
            self.drips.retain(|(_, dripping)| *dripping != conn);
        }
        if !matches!(link.prompt, Prompt::Nothing) {
            self.at_once.retain(|waiting| *waiting != conn);
        }
        self.show_load();
    }

    fn count_end(&self, answer: &Answer, progress: Progress) {
        let meter = self.meter();
        self.show_load();
        if progress == Progress::Broken || matches!(answer.fault, Some(Fault::Status(_))) {
            meter.failed.add(1);
            return;
        }
        match answer.finish {
            "stop" => meter.stopped.add(1),
            _ => meter.ended_by_length.add(1),
        }
        let (first, at) = (answer.first.expect("a whole answer had a first token"), answer.last);
        let (decode, begun) = (at - first, answer.received + answer.waited);
        meter.e2e.record_span(at - answer.received);
        meter.queue.record_span(answer.waited);
        meter.prefill.record_span(first - begun);
        meter.inference.record_span(at - begun);
        meter.decode.record_span(decode);
        if answer.output_tokens > 1 {
            meter.tpot.record_span(decode / i64::from(answer.output_tokens - 1));
        }
        meter.prompt_size.record(u64::from(answer.who.prompt_tokens));
        meter.answer_size.record(u64::from(answer.total_tokens()));
    }
}

impl Link {
    fn is_busy(&self) -> bool {
        self.answer.is_some()
            || self.drip.is_some()
            || !matches!(self.prompt, Prompt::Nothing | Prompt::Continue)
    }
}

#[cfg(test)]
mod tests;
