//! One shard's client: what is due goes out, what comes back is read, and every request ends as one record.
//!
//! It must not decide any number: the timeline and the recorder do. It must not touch a socket but through the ring.

use super::account::Account;
use super::control::{Control, Order, Standing};
use super::deadlines::Deadlines;
use super::idle::{Idle, Stale};
use super::kept::Kept;
use super::later::Later;
use super::lines::{Line, Lines};
use super::measured::Measured;
use super::outbox::Outbox;
use super::outgoing::Outgoing;
use super::recording::Recording;
use super::sessions::{Handshakes, Sessions};
use super::sinks::Sinks;
use super::source::Ask;
use super::ways::Ways;
use crate::clock::CardClock;
use crate::plan::{Retry, Timeouts};
use crate::record::{Bound, Finished, ShardGauge, Traffic, Window};
use crate::ring::{Address, Conn, JobClass, Ring, Task};
use crate::schedule::Schedule;
use crate::time::{Instant, Phase, Span, StampClass};
use crate::tls::Peer;
use crate::wire::Api;
use crate::workload::Workload;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

/// What all shards of a run share.
pub struct Orders {
    /// When requests are due, from [`Instant::ZERO`].
    pub schedule: Schedule,
    /// Its stages' windows, from there too.
    pub windows: Vec<Window>,
    /// What is sent.
    pub workload: Workload,
    /// The ways to each server, in the order of their numbers; at least one.
    pub targets: Vec<Ways>,
    /// Each server as TLS knows it; `None` = it is spoken to in the clear.
    pub peers: Vec<Option<Peer>>,
    /// Whether requests share connections; else each has its own.
    pub reuse: bool,
    /// Whether what arrives is acknowledged at once.
    pub quick_ack: bool,
    /// The dialect of the replies.
    pub api: Api,
    /// Choices asked for.
    pub choices: u16,
    /// How long each part of a request may take.
    pub timeouts: Timeouts,
    /// Whether refused requests are sent again.
    pub retry: Retry,
    /// How many shards there are.
    pub shards: u16,
    /// The most connections open at once, over all shards.
    pub connections: usize,
    /// The most requests in flight, over all shards.
    pub max_in_flight: Option<usize>,
    /// Connections to open before the run's start, over all shards.
    pub preconnect: usize,
    /// What each request is held to.
    pub bounds: Vec<Bound>,
    /// Who stamps what arrives.
    pub stamps: StampClass,
    /// The clock of the card that stamps, if one does.
    pub card: Option<Arc<CardClock>>,
    /// Whether records keep every gap.
    pub record_gaps: bool,
    /// What the run says to its shards.
    pub control: Control,
}

/// How often traffic is given away: what waits stays a few thousand sightings.
const TRAFFIC_BEAT: Span = Span::from_ms(10);

/// uvicorn closes idle connections after 5 s, and nothing tells us in time: a request sent into that close is lost.
const IDLE_LIMIT: Span = Span::from_s(4);

/// How often the client wakes at least: it notices orders. (The pump sleeps no longer than half a millisecond either.)
const BEAT: Span = Span::from_ms(10);

/// Connections being opened ahead at once: a burst of SYNs over the server's backlog would cost seconds of retransmission.
const OPENING_AT_ONCE: usize = 64;

/// Logs of events are used again up to this size, in bytes: some 13,000 token-bearing events.
const LARGEST_SPARE_LOG: usize = 64 << 10;

/// A request that is due and could not be begun: the pool is at its limit.
struct Waiting {
    ask: Ask,
    since: Instant,
}

/// The client of one shard.
pub struct Client {
    pub(super) orders: Arc<Orders>,
    pub(super) shard: u16,
    pub(super) measured: Option<Measured>,
    pub(super) outbox: Outbox,
    waiting: VecDeque<Waiting>,
    pub(super) lines: Lines,
    /// Of those that speak TLS.
    pub(super) sessions: Sessions,
    /// Of each server, with tickets of this shard's own.
    pub(super) peers: Vec<Option<Peer>>,
    /// Of each server.
    pub(super) idle: Vec<Idle<Conn>>,
    /// Of each server: connections begun, so that its ways are taken in turn.
    turns: Vec<usize>,
    pub(super) deadlines: Deadlines,
    pub(super) kept: Kept,
    pub(super) later: Later,
    recording: Recording,
    pub(super) in_flight: usize,
    pub(super) measured_open: usize,
    most_connections: usize,
    most_in_flight: usize,
    to_preconnect: usize,
    preconnected: usize,
    pub(super) preconnecting: usize,
    order: Order,
    pub(super) gauge: Arc<ShardGauge>,
    pub(super) standing: Arc<Standing>,
    sinks: Sinks,
    pub(super) traffic: Traffic,
    traffic_due: Instant,
    pub(super) logs: Vec<Vec<u8>>,
    pub(super) account: Account,
    pub(super) now: Instant,
}

/// The share of `whole` that falls to `shard`: the rest goes to the first ones.
fn portion(whole: usize, shard: u16, shards: u16) -> usize {
    whole / usize::from(shards) + usize::from(usize::from(shard) < whole % usize::from(shards))
}

impl Client {
    /// The client of `shard`, made on the shard's own thread; it begins nothing before the run's start is set.
    pub fn new(
        orders: Arc<Orders>,
        shard: u16,
        gauge: Arc<ShardGauge>,
        standing: Arc<Standing>,
        sinks: Sinks,
        now: Instant,
    ) -> Self {
        let shards = orders.shards;
        let most_connections = portion(orders.connections, shard, shards);
        let most_in_flight = orders.max_in_flight.map_or(usize::MAX, |most| portion(most, shard, shards));
        assert!(
            most_connections > 0 && most_in_flight > 0,
            "a shard that may hold no connection could never send what is due: the plan has no more shards than that"
        );
        let to_preconnect = portion(orders.preconnect, shard, shards).min(most_connections);
        Self {
            shard,
            measured: None,
            outbox: Outbox::default(),
            waiting: VecDeque::new(),
            lines: Lines::default(),
            sessions: Sessions::default(),
            peers: orders.peers.iter().map(|peer| peer.as_ref().map(Peer::alone)).collect(),
            idle: orders.targets.iter().map(|_| Idle::new(IDLE_LIMIT)).collect(),
            // Shards begin with different ways, for few connections to use many.
            turns: vec![usize::from(shard); orders.targets.len()],
            deadlines: Deadlines::default(),
            kept: Kept::default(),
            later: Later::default(),
            recording: Recording::default(),
            in_flight: 0,
            measured_open: 0,
            most_connections,
            most_in_flight,
            to_preconnect,
            preconnected: 0,
            preconnecting: 0,
            order: Order::Send,
            gauge,
            standing,
            sinks,
            traffic: Traffic::default(),
            traffic_due: now,
            logs: Vec::new(),
            account: Account::of_this_thread(),
            now,
            orders,
        }
    }

    /// Whether there is nothing left to do: all that was in flight is over after an order to drain.
    pub fn is_over(&self) -> bool {
        self.order >= Order::Drain && self.in_flight == 0 && self.waiting.is_empty()
    }

    /// Whether requests may still begin, or begin again.
    pub(super) fn is_sending(&self) -> bool {
        self.order == Order::Send
    }

    /// When the client wants to be asked next.
    pub(super) fn next_wake(&self) -> Instant {
        let mut next = self.now + BEAT;
        let mut offer = |at: Option<Instant>| next = next.min(at.unwrap_or(Instant::NEVER));
        offer(self.deadlines.next());
        self.idle.iter().for_each(|idle| offer(idle.stale_at()));
        match &self.measured {
            Some(Measured { source, .. }) => {
                offer(source.next_due());
                // After this instant: a send that is ready leaves before the next body is prepared.
                offer(self.outbox.wants(source).map(|_| self.now + Span::from_ns(1)));
            }
            None => {
                offer((self.to_preconnect > 0 && self.preconnecting < OPENING_AT_ONCE).then_some(self.now))
            }
        }
        offer(self.later.next().filter(|_| self.has_connection()));
        offer((!self.waiting.is_empty() && self.has_room()).then_some(self.now));
        next
    }

    /// Does the most overdue thing.
    pub(super) fn step(&mut self, ring: &mut Ring<Outgoing>, now: Instant) -> Option<Task> {
        self.now = now;
        self.obey(ring);
        if self.measured.is_none() {
            let Some(start) = self.orders.control.start() else {
                return self.expire_next(ring, now).or_else(|| self.preconnect(ring));
            };
            self.measured = Some(Measured::new(&self.orders, start, self.shard));
        }
        self.send_next(ring, now)
            .or_else(|| self.expire_next(ring, now))
            .or_else(|| self.send_refused(ring, now))
            .or_else(|| self.drop_stale(ring, now))
            .or_else(|| self.prepare_next(now))
            .or_else(|| self.give_interval(now))
            .or_else(|| self.record_next(now))
            .or_else(|| {
                self.tell_measured_over(now);
                None
            })
    }

    /// Takes the run's order, when it is a new one.
    fn obey(&mut self, ring: &mut Ring<Outgoing>) {
        let order = self.orders.control.order();
        if order <= self.order {
            return;
        }
        if let Some(cut) = self.orders.control.cut() {
            self.record_all();
            if let Some(measured) = &mut self.measured {
                measured.cut(cut);
                if self.now < cut {
                    return;
                }
            }
        }
        self.order = order;
        if let Some(measured) = &mut self.measured {
            measured.source.stop();
        }
        while let Some(Waiting { ask, .. }) = self.waiting.pop_front() {
            self.never_begun(&ask);
        }
        if order == Order::Abandon {
            self.cancel_all(ring);
        }
    }

    fn preconnect(&mut self, ring: &mut Ring<Outgoing>) -> Option<Task> {
        if self.to_preconnect > 0 && self.preconnecting < OPENING_AT_ONCE {
            self.to_preconnect -= 1;
            // For the first requests of this shard, so that each server has what it will need.
            let nth = self.preconnected as u64 * u64::from(self.orders.shards) + u64::from(self.shard);
            self.preconnected += 1;
            self.open_ahead(ring, self.orders.workload.target(nth));
            return Some(Task { class: JobClass::Prepare, due: self.now });
        }
        if self.to_preconnect == 0 && self.preconnecting == 0 {
            self.standing.set_ready();
        }
        None
    }

    /// Opens a connection to a server that no request asks for yet. One that cannot be had now is asked for again when a
    /// request needs it, and its failure is that request's.
    fn open_ahead(&mut self, ring: &mut Ring<Outgoing>, target: u16) {
        let (address, from) = self.next_way(target);
        if let Ok(conn) = ring.connect(address, from) {
            self.preconnecting += 1;
            let until = self.now + self.orders.timeouts.connect;
            self.lines.put(conn, Line::Opening { target, until });
            self.deadlines.arm(conn.slot(), until);
        }
    }

    /// The way of the next connection to a server.
    pub(super) fn next_way(&mut self, target: u16) -> (Address, Option<IpAddr>) {
        let turn = &mut self.turns[usize::from(target)];
        let (address, from) = self.orders.targets[usize::from(target)].nth(*turn);
        *turn = turn.wrapping_add(1);
        (address.clone(), from)
    }

    /// Begins the request that waits longest, or the next one that is due.
    fn send_next(&mut self, ring: &mut Ring<Outgoing>, now: Instant) -> Option<Task> {
        if self.has_room()
            && let Some(Waiting { ask, since }) = self.waiting.pop_front()
        {
            self.begin(ring, &ask, Some(now - since), now);
            return Some(Task { class: JobClass::Send, due: now });
        }
        let ask = self.measured.as_mut()?.source.take(now)?;
        self.gauge.due(1);
        self.measured_open += usize::from(ask.due.phase == Phase::Measured);
        if self.waiting.is_empty() && self.has_room() {
            self.begin(ring, &ask, None, now);
        } else {
            self.waiting.push_back(Waiting { ask, since: now });
        }
        Some(Task { class: JobClass::Send, due: ask.due.due })
    }

    /// Whether one more request can be begun. (One that the peer has closed may still be listed as idle: then
    /// [`Client::begin`] finds a free place in its stead; and one to another server gives way.)
    fn has_room(&self) -> bool {
        self.in_flight < self.most_in_flight && self.has_connection()
    }

    /// Whether there is a connection, or room for one more.
    pub(super) fn has_connection(&self) -> bool {
        self.lines.open() < self.most_connections || self.idle.iter().any(|idle| idle.ready(self.now))
    }

    /// Makes room for one more connection: where the pool is full, the longest idle of another server's goes.
    pub(super) fn make_room(&mut self, ring: &mut Ring<Outgoing>) {
        while self.lines.open() >= self.most_connections {
            let longest = self.idle.iter_mut().filter(|idle| idle.since().is_some());
            let Some(conn) = longest.min_by_key(|idle| idle.since()).and_then(Idle::take_longest) else {
                return;
            };
            if matches!(self.lines.get(conn), Some(Line::Idle)) {
                self.hang_up(ring, conn);
            }
        }
    }

    fn prepare_next(&mut self, now: Instant) -> Option<Task> {
        let index = self.outbox.wants(&self.measured.as_ref()?.source)?;
        self.outbox.prepare(&self.orders.workload, index);
        Some(Task { class: JobClass::Prepare, due: now })
    }

    fn give_interval(&mut self, now: Instant) -> Option<Task> {
        let due = self.measured.as_ref()?.interval_ends();
        if due > now {
            return None;
        }
        self.record_all();
        let (nth, counted) = self.measured.as_mut()?.end_interval();
        (self.sinks.intervals)(nth, counted);
        Some(Task { class: JobClass::Timer, due })
    }

    fn drop_stale(&mut self, ring: &mut Ring<Outgoing>, now: Instant) -> Option<Task> {
        let stale = |(idle, target): (&mut Idle<Conn>, u16)| Some((idle.take_stale(now)?, target));
        let (Stale { conn, fresh }, target) = self.idle.iter_mut().zip(0..).find_map(stale)?;
        if matches!(self.lines.get(conn), Some(Line::Idle)) {
            self.hang_up(ring, conn);
            // Opened ahead for a slot that a slow ramp has not come to yet: it finds another.
            let ready = self.idle.iter().map(Idle::fresh).sum::<usize>() + self.preconnecting;
            if fresh && self.measured.as_ref().is_some_and(|m| m.source.slots_to_begin() > ready) {
                self.open_ahead(ring, target);
            }
        }
        Some(Task { class: JobClass::Timer, due: now })
    }

    fn tell_measured_over(&self, now: Instant) {
        if self.measured_open == 0 && self.measured.as_ref().is_some_and(|m| m.source.measured_over(now)) {
            self.standing.set_measured_over();
        }
    }

    /// Closes a connection that carries nothing.
    pub(super) fn hang_up(&mut self, ring: &mut Ring<Outgoing>, conn: Conn) {
        self.lines.take(conn);
        self.close(ring, conn);
    }

    /// Closes a connection that is out of the table.
    pub(super) fn close(&mut self, ring: &mut Ring<Outgoing>, conn: Conn) {
        self.sessions.remove(conn);
        ring.close(conn);
    }

    /// A connection opened ahead is up.
    pub(super) fn is_open(&mut self, conn: Conn, target: u16, now: Instant) {
        self.preconnecting -= 1;
        self.lines.put(conn, Line::Idle);
        self.idle[usize::from(target)].put_fresh(conn, now);
    }

    /// A request is over: it will be counted, and its row sent on.
    pub(super) fn settle(&mut self, finished: Finished) {
        self.measured_open -= usize::from(finished.record().phase == Phase::Measured);
        if self.recording.add(finished, self.now) {
            self.record_all();
        }
    }

    fn record_next(&mut self, now: Instant) -> Option<Task> {
        self.recording.is_due(now).then(|| {
            self.record_all();
            Task { class: JobClass::Record, due: now }
        })
    }

    /// Counts all requests that are over. Those that a failed assertion keeps from it stay for the next call, but for its own.
    pub fn record_all(&mut self) {
        if let Some(measured) = &self.measured {
            let seen = self.recording.waiting().fold(0, |seen, finished| seen ^ measured.glance(finished));
            // Else nobody would look.
            std::hint::black_box(seen);
        }
        while let Some(finished) = self.recording.take() {
            self.record(finished);
        }
    }

    fn record(&mut self, mut finished: Finished) {
        let measured = self.measured.as_mut().expect("requests are due after the start alone");
        let target = finished.record().target;
        if measured.recorder(target).finish(&finished) == Some(false) {
            self.gauge.missed();
        }
        if self.orders.record_gaps {
            finished.keep_gaps();
        }
        let (record, log) = finished.into_parts();
        // A log that grew beyond what answers need is not worth keeping for the next.
        if log.capacity() <= LARGEST_SPARE_LOG {
            self.logs.push(log);
        }
        (self.sinks.rows)(record);
    }

    /// Gives the traffic away when it is time.
    pub(super) fn give_traffic(&mut self, now: Instant) {
        if now >= self.traffic_due {
            self.traffic_due = now + TRAFFIC_BEAT;
            self.traffic = (self.sinks.traffic)(std::mem::take(&mut self.traffic));
        }
    }

    /// Gives away the last of the traffic: nothing more will be read.
    pub fn close_traffic(&mut self) {
        self.traffic.close();
        (self.sinks.traffic)(std::mem::take(&mut self.traffic));
    }

    /// How hands were shaken with servers that speak TLS.
    pub fn handshakes(&self) -> &Handshakes {
        &self.sessions.handshakes
    }

    /// What it counted, of what was recorded; `None` when the run never started.
    pub fn into_measured(self) -> Option<Measured> {
        self.measured
    }
}
