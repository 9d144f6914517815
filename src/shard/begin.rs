//! The beginning of a request: on a connection that is free, or on one that is opened for it.
//!
//! It must not read anything.

use super::client::Client;
use super::flight::Flight;
use super::lines::Line;
use super::outgoing::Outgoing;
use super::source::Ask;
use crate::record::{Asked, Timeline};
use crate::ring::{Conn, Ring};
use crate::time::{Instant, Span};
use crate::wire::{ErrorClass, Expect, Reply};
use crate::workload::Request;
use rustix::io::Errno;

/// Whether a failure to connect is this host's: its files, ports or memory.
fn is_ours(errno: Errno) -> bool {
    [
        Errno::MFILE,
        Errno::NFILE,
        Errno::ADDRNOTAVAIL,
        Errno::ADDRINUSE,
        Errno::NOBUFS,
        Errno::NOMEM,
        Errno::PERM,
        Errno::ACCESS,
    ]
    .contains(&errno)
}

impl Client {
    /// Begins the request of `ask`, which waited so long for the pool.
    pub(super) fn begin(&mut self, ring: &mut Ring<Outgoing>, ask: &Ask, waited: Option<Span>, now: Instant) {
        let request = self.outbox.take(&self.orders.workload, ask.due.index);
        let mut timeline = self.timeline(ask, self.orders.workload.asked_output_tokens(ask.due.index));
        if let Some(wait) = waited {
            timeline.waited_for_pool(wait);
        }
        timeline.begun(now);
        self.gauge.begun();
        self.in_flight += 1;
        match self.free_line(timeline.asked().target, now) {
            Some(conn) => {
                timeline.reused();
                let flight = Flight::new(timeline, self.expect(true), ask.slot, now);
                self.carry(ring, conn, flight, request);
            }
            None => {
                self.make_room(ring);
                self.connect_for(ring, Flight::new(timeline, self.expect(false), ask.slot, now), request, now)
            }
        }
    }

    /// A request that was due and will never be begun, because the run was ended.
    pub(super) fn never_begun(&mut self, ask: &Ask) {
        let timeline = self.timeline(ask, None);
        let reply = Reply::unanswered(ErrorClass::Cancelled, Some("the run ended before it was begun"));
        self.settle(timeline.finish(reply, self.now));
    }

    fn timeline(&mut self, ask: &Ask, asked_output_tokens: Option<u32>) -> Timeline {
        let asked = Asked {
            index: ask.due.index,
            shard: self.shard,
            stage: ask.due.stage,
            target: self.orders.workload.target(ask.due.index),
            phase: ask.due.phase,
            due: ask.due.due,
            asked_output_tokens,
            choices: self.orders.choices,
        };
        Timeline::new(asked, self.logs.pop().unwrap_or_default())
    }

    pub(super) fn expect(&self, reused: bool) -> Expect {
        Expect { api: self.orders.api, choices: self.orders.choices, reused }
    }

    /// The free connection to a server that was used last; those that their peers have closed are passed over.
    pub(super) fn free_line(&mut self, target: u16, now: Instant) -> Option<Conn> {
        while let Some(conn) = self.idle[usize::from(target)].take(now) {
            if matches!(self.lines.get(conn), Some(Line::Idle)) {
                return Some(conn);
            }
        }
        None
    }

    /// How many ways there are to a request's server.
    pub(super) fn ways_of(&self, flight: &Flight) -> usize {
        self.orders.targets[usize::from(flight.asked().target)].count()
    }

    /// Opens a connection for a request.
    pub(super) fn connect_for(
        &mut self,
        ring: &mut Ring<Outgoing>,
        flight: Flight,
        request: Request,
        now: Instant,
    ) {
        let (address, from) = self.next_way(flight.asked().target);
        match ring.connect(address, from) {
            Ok(conn) => {
                self.deadlines.arm(conn.slot(), flight.deadline(&self.orders.timeouts).0);
                self.lines.put(conn, Line::Connecting(flight, request));
            }
            Err(errno) => {
                self.outbox.put_back(request);
                self.cannot_connect(flight, errno, now);
            }
        }
    }

    /// No connection could be had for a request.
    pub(super) fn cannot_connect(&mut self, flight: Flight, errno: Errno, now: Instant) {
        let reply = Reply::unanswered(ErrorClass::Connect, Some(&errno.to_string()));
        let Some(flight) = (if is_ours(errno) { Some(flight) } else { self.send_later(flight, &reply, now) })
        else {
            return;
        };
        let (mut timeline, _, slot) = flight.into_parts();
        if is_ours(errno) {
            timeline.ours();
        }
        self.conclude(timeline.finish(reply, now), slot, now);
    }

    /// Sends a request on a connection that is up.
    pub(super) fn carry(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, flight: Flight, request: Request) {
        self.deadlines.arm(conn.slot(), flight.deadline(&self.orders.timeouts).0);
        self.lines.put(conn, Line::Busy(flight));
        self.send_request(ring, conn, request);
    }
}
