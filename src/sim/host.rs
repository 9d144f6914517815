//! One shard's handler: hands what arrives to the script's server, and what the server says to the ring.
//!
//! It must not read clocks: instants are the pump's.

use super::ledger::Ledger;
use super::lines::Line;
use super::report::{ShardReport, empty_histogram};
use crate::ring::{Conn, Departure, End, Handler, Job, JobClass, Pass, Payload, Read, Ring, Task};
use crate::script::{Meter, Server, Step, Then};
use crate::time::{Instant, Span};
use crate::tls::{ServerSide, Session};
use hdrhistogram::Histogram;
use rustix::io::Errno;
use std::io::IoSlice;

/// The bytes of one send; comes back to be filled again.
#[derive(Debug)]
pub(super) struct Parcel(Vec<u8>);

impl Payload for Parcel {
    fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
        into.push(IoSlice::new(&self.0));
    }
}

/// Buffers kept for later sends: as many as are on their way in one harvest.
const POOLED: usize = 256;
/// Larger ones (a page of metrics, a burst without delays) are not kept.
const POOLED_BYTES: usize = 8 * 1024;

/// One shard of the simulator.
pub(super) struct Host {
    server: Server,
    secure: Option<ServerSide>,
    ledger: Option<Ledger>,
    step: Step,
    pool: Vec<Vec<u8>>,
    /// What a read meant, once it was opened.
    plain: Vec<u8>,
    /// By slot.
    lines: Vec<Option<Line>>,
    wake: Option<Instant>,
    connections: u64,
    lateness_ns: Histogram<u64>,
    first_entered: Option<Instant>,
    last_ended: Instant,
    on_cpu: Span,
}

impl Host {
    pub(super) fn new(server: Server, secure: Option<ServerSide>, ledger: Option<Ledger>) -> Self {
        Self {
            server,
            secure,
            ledger,
            step: Step::default(),
            pool: Vec::new(),
            plain: Vec::new(),
            lines: Vec::new(),
            wake: None,
            connections: 0,
            lateness_ns: empty_histogram(),
            first_entered: None,
            last_ended: Instant::ZERO,
            on_cpu: Span::ZERO,
        }
    }

    pub(super) fn report(mut self, cpu: Option<usize>, meter: &Meter) -> ShardReport {
        for line in self.lines.drain(..).flatten() {
            line.close(self.ledger.as_ref());
        }
        let wall = self.first_entered.map(|first| (self.last_ended - first).as_s_f64());
        ShardReport {
            cpu,
            requests: self.server.asked(),
            succeeded: meter.succeeded(),
            failed: meter.failed(),
            tokens: meter.generation_tokens(),
            connections: self.connections,
            accepts_failed: 0,
            rho: wall.filter(|wall| *wall > 0.0).map(|wall| self.on_cpu.as_s_f64() / wall),
            lateness_ns: self.lateness_ns,
        }
    }

    fn line(&mut self, conn: Conn) -> Option<&mut Line> {
        self.lines.get_mut(conn.slot())?.as_mut().filter(|line| line.conn == conn)
    }

    /// Does what the server wants by `now`.
    fn perform_all(&mut self, ring: &mut Ring<Parcel>, now: Instant) {
        while self.server.advance(now, &mut self.step) {
            self.perform(ring);
        }
        self.wake = self.server.next_due();
    }

    fn perform(&mut self, ring: &mut Ring<Parcel>) {
        let slot = self.step.conn;
        let line =
            self.lines.get_mut(slot).and_then(Option::as_mut).expect("the server speaks on open lines");
        let conn = line.conn;
        if self.step.bytes.is_empty() {
            line.notes(&mut self.step, self.ledger.as_ref());
        } else {
            let mut fresh = self.pool.pop().unwrap_or_default();
            if let Some(session) = &mut line.session {
                session.seal(&[IoSlice::new(&self.step.bytes)], &mut fresh);
                if self.step.then == Then::Close {
                    session.close();
                    session.output(&mut fresh);
                }
                self.step.bytes.clear();
            } else {
                std::mem::swap(&mut fresh, &mut self.step.bytes);
            }
            line.sends(&mut self.step);
            ring.send(conn, Parcel(fresh));
        }
        if self.step.then != Then::Stay {
            line.then = self.step.then;
            if line.sending == 0 {
                self.hang_up(ring, conn);
            }
        }
    }

    /// Opens what arrived, answers what is the session's own, and hands the rest on.
    fn read_secure(&mut self, ring: &mut Ring<Parcel>, conn: Conn, read: Read<'_>) {
        let Some(line) =
            self.lines.get_mut(conn.slot()).and_then(Option::as_mut).filter(|line| line.conn == conn)
        else {
            return;
        };
        let Some(session) = &mut line.session else { unreachable!("a secure server has sessions") };
        self.plain.clear();
        let plain = &mut self.plain;
        let received = session.receive(read.bytes, &mut |meant| plain.extend_from_slice(meant));
        let mut output = self.pool.pop().unwrap_or_default();
        session.output(&mut output);
        if output.is_empty() {
            self.pool.push(output);
        } else {
            line.sends_unasked();
            ring.send(conn, Parcel(output));
        }
        if received.is_err() {
            // A stranger, or a peer that speaks no TLS: after the alert there is nothing more to say.
            line.then = Then::Close;
            self.server.gone(conn.slot(), read.arrival.stamp);
            if line.sending == 0 {
                self.hang_up(ring, conn);
            }
        } else if !self.plain.is_empty() {
            self.server.read(conn.slot(), &self.plain, read.arrival.stamp);
        }
    }

    /// Ends a connection the way the script wants it.
    fn hang_up(&mut self, ring: &mut Ring<Parcel>, conn: Conn) {
        let Some(line) = self.lines.get_mut(conn.slot()).and_then(Option::take) else { return };
        match line.then {
            Then::Reset => ring.reset(conn),
            Then::Stay | Then::Close => ring.close(conn),
        }
        line.close(self.ledger.as_ref());
    }
}

impl Handler for Host {
    type Payload = Parcel;

    fn wake(&self) -> Option<Instant> {
        self.wake
    }

    fn tick(&mut self, ring: &mut Ring<Parcel>, now: Instant) -> Option<Task> {
        let told = self
            .server
            .advance(now, &mut self.step)
            .then_some(Task { class: JobClass::Send, due: self.step.due });
        if told.is_some() {
            self.perform(ring);
        }
        self.wake = self.server.next_due();
        told
    }

    fn accepted(&mut self, _ring: &mut Ring<Parcel>, conn: Conn, now: Instant) {
        let slot = conn.slot();
        if slot >= self.lines.len() {
            self.lines.resize_with(slot + 1, || None);
        }
        let session = self.secure.as_ref().map(ServerSide::session).map(Box::<Session>::new);
        if let Some(old) = self.lines[slot].replace(Line::new(conn, session)) {
            // The ring gave the slot away: the old line is gone for good.
            self.server.gone(slot, now);
            old.close(self.ledger.as_ref());
        }
        self.server.opened(slot);
        self.connections += 1;
    }

    fn connected(&mut self, _: &mut Ring<Parcel>, _: Conn, _: Result<(), Errno>, _: Instant) {
        unreachable!("a server connects to nobody");
    }

    fn departed(&mut self, conn: Conn, departure: Departure) {
        let Some(line) =
            self.lines.get_mut(conn.slot()).and_then(Option::as_mut).filter(|line| line.conn == conn)
        else {
            return;
        };
        if let Some(planned) = line.departed(departure, self.ledger.as_ref()) {
            // A receive stamp is mapped within microseconds: a send "before" it is on time.
            let late_ns = u64::try_from((departure.before - planned).as_ns()).unwrap_or(0);
            self.lateness_ns.record(late_ns).expect("a growing histogram takes all");
        }
    }

    fn sent(&mut self, ring: &mut Ring<Parcel>, conn: Conn, payload: Parcel, result: Result<(), Errno>) {
        let mut bytes = payload.0;
        if self.pool.len() < POOLED && bytes.capacity() <= POOLED_BYTES {
            bytes.clear();
            self.pool.push(bytes);
        }
        let Some(line) = self.line(conn) else { return };
        line.sending = line.sending.saturating_sub(1);
        if line.then != Then::Stay && (line.sending == 0 || result.is_err()) {
            self.hang_up(ring, conn);
        }
    }

    fn read(&mut self, ring: &mut Ring<Parcel>, conn: Conn, read: Read<'_>) {
        if self.secure.is_some() {
            self.read_secure(ring, conn, read);
        } else {
            self.server.read(conn.slot(), read.bytes, read.arrival.stamp);
        }
        self.perform_all(ring, read.arrival.stamp);
    }

    fn ended(&mut self, ring: &mut Ring<Parcel>, conn: Conn, _: End, now: Instant) {
        self.server.gone(conn.slot(), now);
        if let Some(line) = self.lines.get_mut(conn.slot()).and_then(Option::take) {
            line.close(self.ledger.as_ref());
        }
        ring.close(conn);
        self.wake = self.server.next_due();
    }

    fn job(&mut self, _: &Job) {}

    fn pass(&mut self, pass: &Pass) {
        self.first_entered.get_or_insert(pass.entered);
        self.last_ended = pass.ended;
        self.on_cpu += pass.cpu;
    }
}
