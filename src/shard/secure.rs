//! Connections that speak TLS: hands are shaken before a request is sent, reads are opened, what sessions want said is said.
//!
//! It must not decide what becomes of a request: what was meant is handed on as if it had come in the clear.

use super::client::Client;
use super::lines::Line;
use super::outgoing::{Outgoing, Sealed};
use crate::ring::{Conn, End, Read, Ring};
use crate::time::{Arrival, Instant};
use crate::tls::Failure;
use crate::workload::Request;
use std::io::IoSlice;

impl Client {
    /// TCP is up to a server: where it speaks TLS the handshake begins, and the answer is true.
    pub(super) fn shakes_hands(
        &mut self,
        ring: &mut Ring<Outgoing>,
        conn: Conn,
        target: u16,
        now: Instant,
    ) -> bool {
        let Some(peer) = &self.peers[usize::from(target)] else { return false };
        self.sessions.put(conn, peer.session(), now);
        self.say_own(ring, conn);
        true
    }

    /// Sends what the session of `conn` itself wants said, if anything.
    fn say_own(&mut self, ring: &mut Ring<Outgoing>, conn: Conn) {
        let mut bytes = self.sessions.buffer();
        let Some(secure) = self.sessions.get(conn) else { return };
        secure.session.output(&mut bytes);
        if bytes.is_empty() {
            self.sessions.put_back(bytes);
            return;
        }
        secure.sends(false);
        ring.send(conn, Outgoing::Sealed(Sealed { bytes, carries_request: false }));
    }

    /// Sends a request: sealed, where the connection has a session. The end of our handshake goes in the same send.
    pub(super) fn send_request(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, request: Request) {
        if self.sessions.get(conn).is_none() {
            ring.send(conn, Outgoing::Request(request));
            return;
        }
        let mut bytes = self.sessions.buffer();
        let Some(secure) = self.sessions.get(conn) else { unreachable!("it was there") };
        let mut slices: Vec<IoSlice<'_>> = Vec::new();
        request.slices(&mut slices);
        secure.session.seal(&slices, &mut bytes);
        secure.sends(true);
        self.outbox.put_back(request);
        ring.send(conn, Outgoing::Sealed(Sealed { bytes, carries_request: true }));
    }

    /// Bytes arrived on a connection that has a session. What they mean has the stamp of the read that completed its record.
    pub(super) fn has_read_sealed(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, read: Read<'_>) {
        let mut plain = self.sessions.take_plain();
        let Some(secure) = self.sessions.get(conn) else { unreachable!("asked for one that has a session") };
        let session = &mut secure.session;
        let was_up = session.is_up();
        let received = session.receive(read.bytes, &mut |meant| plain.extend_from_slice(meant));
        let (comes_up, closed, trails) =
            (!was_up && session.is_up() && received.is_ok(), session.is_closed(), session.trails());
        if comes_up {
            self.is_secure(ring, conn, read.arrival);
        }
        self.say_own(ring, conn);
        if !plain.is_empty() {
            self.has_heard(ring, conn, Read { bytes: &plain, ..read }, trails);
        }
        self.sessions.keep_plain(plain);
        let now = self.now.max(read.arrival.stamp);
        match received {
            Err(failure) => self.session_failed(ring, conn, &failure, now),
            // The announcement is the end: the FIN behind it may never come.
            Ok(()) if closed && self.lines.get(conn).is_some() => self.has_ended(ring, conn, End::Fin, now),
            Ok(()) => {}
        }
    }

    /// The handshake on `conn` is over, with the read that arrived so.
    fn is_secure(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, arrival: Arrival) {
        let Some(secure) = self.sessions.get(conn) else { return };
        let begun = secure.begun;
        if let Some(spoken) = secure.session.spoken() {
            *self.sessions.handshakes.done.entry(spoken).or_default() += 1;
        }
        match self.lines.take(conn) {
            Some(Line::Opening { target, .. }) => self.is_open(conn, target, self.now.max(arrival.stamp)),
            Some(Line::Connecting(mut flight, request)) => {
                flight.secured(begun, arrival.stamp);
                self.carry(ring, conn, flight, request);
            }
            line => unreachable!("hands are shaken before anything is asked: {line:?}"),
        }
    }

    /// The session of `conn` cannot go on: neither can what the connection was for.
    pub(super) fn session_failed(
        &mut self,
        ring: &mut Ring<Outgoing>,
        conn: Conn,
        failure: &Failure,
        now: Instant,
    ) {
        if self.sessions.get(conn).is_some_and(|secure| !secure.session.is_up()) {
            self.sessions.handshakes.failed += 1;
        }
        match self.lines.get(conn) {
            Some(Line::Connecting(flight, _) | Line::Busy(flight)) => {
                flight.insecure(failure, now);
                self.end_flight(ring, conn, now);
            }
            Some(Line::Opening { .. }) => {
                self.preconnecting -= 1;
                self.hang_up(ring, conn);
            }
            Some(Line::Idle) => self.hang_up(ring, conn),
            None => {}
        }
    }
}
