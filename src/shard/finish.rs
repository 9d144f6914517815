//! What comes back: reads, ends, timers; and the one way out that every begun request takes.
//!
//! It must not begin a request, but for the one retry of a connection that turned out to be dead.

use super::client::Client;
use super::flight::Flight;
use super::later;
use super::lines::Line;
use super::outgoing::Outgoing;
use super::source::Ask;
use crate::record::{Finished, Record};
use crate::ring::{Conn, Departure, End, JobClass, Read, Ring, Task};
use crate::schedule::Due;
use crate::time::{Instant, Span};
use crate::tls::Failure;
use crate::wire::{Closed, ErrorClass, Progress, Reply};
use rustix::io::Errno;

/// A close that crossed our request on its way is here within a round trip; no answer takes so long to be refused.
const STALE_WITHIN: Span = Span::from_s(1);

impl Client {
    /// The first byte of the request on `conn` has left.
    pub(super) fn has_departed(&mut self, conn: Conn, departure: Departure) {
        if self.sessions.get(conn).is_some_and(|secure| !secure.departed()) {
            return;
        }
        if let Some(Line::Busy(flight)) = self.lines.get(conn) {
            if flight.left().is_none() {
                self.traffic.sent(conn.slot(), &flight.timeline, departure.before);
            }
            flight.departed(departure);
            let (at, _) = flight.deadline(&self.orders.timeouts);
            self.deadlines.arm(conn.slot(), at);
        }
    }

    /// The kernel has all of the request on `conn`.
    pub(super) fn has_sent(&mut self, conn: Conn) {
        if let Some(Line::Busy(flight)) = self.lines.get(conn) {
            flight.sent();
        }
    }

    /// A connection is up, or cannot be had.
    pub(super) fn has_connected(
        &mut self,
        ring: &mut Ring<Outgoing>,
        conn: Conn,
        result: Result<(), Errno>,
        now: Instant,
    ) {
        match (self.lines.take(conn), result) {
            (Some(Line::Opening { target, until }), Ok(())) => {
                if self.shakes_hands(ring, conn, target, now) {
                    self.lines.put(conn, Line::Opening { target, until });
                } else {
                    self.is_open(conn, target, now);
                }
            }
            (Some(Line::Opening { .. }), Err(_)) => {
                self.preconnecting -= 1;
                self.close(ring, conn);
            }
            (Some(Line::Connecting(mut flight, request)), Ok(())) => {
                if self.shakes_hands(ring, conn, flight.asked().target, now) {
                    self.lines.put(conn, Line::Connecting(flight, request));
                } else {
                    flight.connected(now);
                    self.carry(ring, conn, flight, request);
                }
            }
            (Some(Line::Connecting(mut flight, request)), Err(errno)) => {
                self.close(ring, conn);
                // The ports of this way are used up, and another may have some.
                if errno == Errno::ADDRNOTAVAIL && flight.may_take_another_way(self.ways_of(&flight)) {
                    self.connect_for(ring, flight, request, now);
                    return;
                }
                self.outbox.put_back(request);
                self.cannot_connect(flight, errno, now);
            }
            (Some(line), _) => unreachable!("a connection is made once: {line:?}"),
            (None, _) => {}
        }
    }

    /// Bytes arrived on `conn`.
    pub(super) fn has_read(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, read: Read<'_>) {
        if self.orders.quick_ack {
            ring.acknowledge(conn);
        }
        if self.sessions.get(conn).is_some() {
            self.has_read_sealed(ring, conn, read);
        } else {
            self.has_heard(ring, conn, read, false);
        }
    }

    /// The server has said something on `conn`; `trails`: behind it in its read came what it is none of.
    pub(super) fn has_heard(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, read: Read<'_>, trails: bool) {
        let Some(Line::Busy(flight)) = self.lines.get(conn) else {
            // Bytes that nobody asked for (a 408 of a server that is about to close): the connection cannot be trusted.
            if matches!(self.lines.get(conn), Some(Line::Idle)) {
                self.hang_up(ring, conn);
            }
            return;
        };
        if flight.is_unasked(read.arrival) {
            // It was there before our request left: an answer to nobody (a 408 of a server about to close).
            if flight.may_be_sent_again(self.now) {
                self.send_again(ring, conn, self.now);
            } else {
                flight.closed(Closed::Unasked, self.now);
                self.end_flight(ring, conn, self.now);
            }
            return;
        }
        let (before, refused) = (flight.timeline.latest_read(), flight.refused());
        let (progress, tokens) = flight.read(read, trails);
        self.traffic.read(conn.slot(), &flight.timeline, read.arrival.stamp);
        let (kept, keeps) = flight.recount();
        let must_go = self.kept.changed(kept, keeps, self.in_flight);
        // A second read may be the one that brings a refusal's head (behind a 1xx, or cut).
        let is_nearer = before.is_none() || refused != flight.refused();
        if must_go && progress != Progress::Over {
            flight.closed(Closed::Crowded, read.arrival.stamp);
        }
        if let Some(measured) = &mut self.measured {
            measured.recorder(flight.asked().target).read(read.arrival.stamp, read.bytes.len());
        }
        self.gauge.tokens(u64::from(tokens));
        match progress {
            Progress::Over => self.end_flight(ring, conn, read.arrival.stamp),
            _ if must_go => self.end_flight(ring, conn, read.arrival.stamp),
            // The first read, a refusal and the end of the stream may bring a deadline nearer; all others move it away.
            Progress::Draining => self.rearm(conn),
            Progress::More if is_nearer => self.rearm(conn),
            Progress::More => {}
        }
    }

    fn rearm(&mut self, conn: Conn) {
        if let Some(Line::Busy(flight)) = self.lines.get(conn) {
            let (at, _) = flight.deadline(&self.orders.timeouts);
            self.deadlines.arm(conn.slot(), at);
        }
    }

    /// The peer ended `conn`.
    pub(super) fn has_ended(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, end: End, now: Instant) {
        let session = self.sessions.get(conn).map(|secure| &secure.session);
        if session.is_some_and(|session| !session.is_up()) {
            let how = if end == End::Fin { "was closed" } else { "was reset" };
            self.session_failed(ring, conn, &Failure::ended(how), now);
            return;
        }
        let announced = session.is_none_or(|session| session.is_closed());
        let Some(Line::Busy(flight)) = self.lines.get(conn) else {
            self.hang_up(ring, conn);
            return;
        };
        if flight.may_be_sent_again(now) {
            self.send_again(ring, conn, now);
            return;
        }
        let how = match end {
            End::Fin if announced => Closed::Fin,
            End::Fin => Closed::Unannounced,
            End::Reset | End::Failed(_) => Closed::Reset,
        };
        flight.closed(how, now);
        self.end_flight(ring, conn, now);
    }

    /// The connection had died while it was idle, before a byte of the answer: the request goes out once more, on a fresh one.
    fn send_again(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, now: Instant) {
        let Some(Line::Busy(flight)) = self.lines.take(conn) else {
            unreachable!("asked for a busy connection")
        };
        self.close(ring, conn);
        let request = self.outbox.again(&self.orders.workload, flight.asked().index);
        // If the fresh connection dies without a byte too, the class is still that of a stale one.
        let flight = flight.again(self.expect(true), now);
        self.connect_for(ring, flight, request, now);
    }

    /// Looks at the connection whose timer came up.
    pub(super) fn expire_next(&mut self, ring: &mut Ring<Outgoing>, now: Instant) -> Option<Task> {
        let (slot, due) = self.deadlines.pop(now)?;
        let task = Some(Task { class: JobClass::Timer, due });
        let Some(conn) = self.lines.at(slot) else { return task };
        match self.lines.get(conn) {
            Some(Line::Opening { until, .. }) if *until <= now => {
                self.preconnecting -= 1;
                self.hang_up(ring, conn);
            }
            Some(Line::Opening { until, .. }) => self.deadlines.arm(slot, *until),
            Some(Line::Connecting(flight, _) | Line::Busy(flight)) => {
                let (at, class) = flight.deadline(&self.orders.timeouts);
                if at > now {
                    self.deadlines.arm(slot, at);
                } else {
                    if self.sessions.get(conn).is_some_and(|secure| !secure.session.is_up()) {
                        self.sessions.handshakes.failed += 1;
                        flight.because("TCP was up, and the TLS handshake did not end");
                    }
                    flight.closed(Closed::TimedOut(class), now);
                    self.end_flight(ring, conn, now);
                }
            }
            Some(Line::Idle) | None => {}
        }
        task
    }

    /// Cancels everything in flight.
    pub(super) fn cancel_all(&mut self, ring: &mut Ring<Outgoing>) {
        let now = self.now;
        for flight in self.later.take_all() {
            let (timeline, _, slot) = flight.into_parts();
            let reply =
                Reply::unanswered(ErrorClass::Cancelled, Some("the run ended before it was sent again"));
            self.conclude(timeline.finish(reply, now), slot, now);
        }
        for conn in self.lines.all() {
            match self.lines.get(conn) {
                Some(Line::Connecting(flight, _) | Line::Busy(flight)) => {
                    flight.closed(Closed::Cancelled, now);
                    self.end_flight(ring, conn, now);
                }
                _ => self.hang_up(ring, conn),
            }
        }
    }

    /// The response on `conn` is over, one way or the other.
    pub(super) fn end_flight(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, at: Instant) {
        let flight = match self.lines.take(conn) {
            Some(Line::Busy(flight)) => flight,
            Some(Line::Connecting(flight, request)) => {
                self.outbox.put_back(request);
                flight
            }
            line => unreachable!("only a request can end: {line:?}"),
        };
        self.kept.freed(flight.counted());
        let (reply, keep_alive_s) = flight.reply();
        let idle = &mut self.idle[usize::from(flight.asked().target)];
        if let Some(keep_alive_s) = keep_alive_s {
            idle.lower_limit(Span::from_s(i64::from(keep_alive_s)));
        }
        // 408: the server gave the connection up, and says so too late for one who has asked again. And while the request is
        // still being sent, what follows it would be read as its rest.
        let is_free = reply.reusable && reply.status != Some(408) && flight.is_sent();
        if self.orders.reuse && is_free {
            idle.put(conn, self.now.max(at));
            self.lines.put(conn, Line::Idle);
        } else {
            self.close(ring, conn);
        }
        let Some(flight) = self.send_later(flight, &reply, self.now.max(at)) else { return };
        let (timeline, _, slot) = flight.into_parts();
        let finished = timeline.finish(reply, at);
        self.traffic.over(conn.slot(), &finished);
        self.conclude(finished, slot, at);
    }

    /// Keeps a refused request to send it again, where the user wants that; else gives it back.
    pub(super) fn send_later(&mut self, mut flight: Flight, reply: &Reply, now: Instant) -> Option<Flight> {
        let wait = later::wait(&self.orders.retry, flight.attempts(), reply).filter(|_| self.is_sending());
        match wait.map(|wait| now + wait).filter(|at| *at < flight.ends_at(&self.orders.timeouts)) {
            None => Some(flight),
            Some(at) => {
                flight.put_off(self.expect(false));
                self.later.put(at, flight);
                None
            }
        }
    }

    /// Sends a refused request again that has waited long enough.
    pub(super) fn send_refused(&mut self, ring: &mut Ring<Outgoing>, now: Instant) -> Option<Task> {
        if !self.has_connection() {
            return None;
        }
        let (due, mut flight) = self.later.pop(now)?;
        let request = self.outbox.again(&self.orders.workload, flight.asked().index);
        match self.free_line(flight.asked().target, now) {
            Some(conn) => {
                flight.tries(self.expect(true), now);
                self.carry(ring, conn, flight, request);
            }
            None => {
                flight.tries(self.expect(false), now);
                self.make_room(ring);
                self.connect_for(ring, flight, request, now);
            }
        }
        Some(Task { class: JobClass::Send, due })
    }

    /// Counts a request that was begun, and lets its slot of a closed loop go on.
    pub(super) fn conclude(&mut self, finished: Finished, slot: u32, now: Instant) {
        let record = finished.record();
        match record.error {
            None => self.gauge.done(),
            Some(ErrorClass::Cancelled) => self.gauge.cancelled(),
            Some(_) => self.gauge.failed(),
        }
        if let (Some(first), Some(sent)) = (record.first, record.sent) {
            self.gauge.first(first - sent);
        }
        let answered = record.done.filter(|_| record.error.is_none()).unwrap_or(now);
        let Record { index, due, stage, phase, .. } = *record;
        if let Some(measured) = &mut self.measured {
            let ask = Ask { due: Due { index, due, stage, phase }, slot };
            measured.source.over(ask, answered, record.was_turned_away());
        }
        self.in_flight -= 1;
        self.settle(finished);
    }
}

impl Flight {
    /// Whether the connection died before a byte of the answer, after it had carried others, and soon: once, that is no
    /// failure of the server's but the known race of keep-alive. Later it is a server that died over its work.
    fn may_be_sent_again(&self, now: Instant) -> bool {
        let soon = self.left().is_none_or(|left| now - left < STALE_WITHIN);
        self.was_reused() && self.is_unanswered() && !self.was_sent_again() && soon
    }
}
