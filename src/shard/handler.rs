//! The client as the pump's handler: each call is handed on, and each fact to the audit.
//!
//! It must not decide anything.

use super::client::Client;
use super::outgoing::{Outgoing, Sealed};
use crate::record::{Turn, Work, WorkClass};
use crate::ring::{Conn, Departure, End, Handler, Job, JobClass, Pass, Read, Ring, Task};
use crate::time::{Instant, Span};
use rustix::io::Errno;

impl Handler for Client {
    type Payload = Outgoing;

    fn wake(&self) -> Option<Instant> {
        Some(self.next_wake())
    }

    fn is_listening(&self) -> bool {
        self.in_flight > 0
    }

    fn tick(&mut self, ring: &mut Ring<Outgoing>, now: Instant) -> Option<Task> {
        self.step(ring, now)
    }

    fn accepted(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, _now: Instant) {
        // A client listens nowhere.
        ring.close(conn);
    }

    fn connected(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, result: Result<(), Errno>, now: Instant) {
        self.now = now;
        self.has_connected(ring, conn, result, now);
    }

    fn departed(&mut self, conn: Conn, departure: Departure) {
        self.has_departed(conn, departure);
    }

    fn sent(&mut self, _ring: &mut Ring<Outgoing>, conn: Conn, payload: Outgoing, result: Result<(), Errno>) {
        let carried_request = match payload {
            Outgoing::Request(request) => {
                self.outbox.put_back(request);
                true
            }
            Outgoing::Sealed(Sealed { bytes, carries_request }) => {
                self.sessions.put_back(bytes);
                carries_request
            }
        };
        // A failed send is told by the connection's end too; what the server said before it (an early 413) comes first.
        if result.is_ok() && carried_request {
            self.has_sent(conn);
        }
    }

    fn read(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, read: Read<'_>) {
        self.has_read(ring, conn, read);
    }

    fn ended(&mut self, ring: &mut Ring<Outgoing>, conn: Conn, end: End, now: Instant) {
        self.now = now;
        self.has_ended(ring, conn, end, now);
    }

    fn job(&mut self, job: &Job) {
        let Some(measured) = &mut self.measured else { return };
        let class = match job.class {
            JobClass::Receive => WorkClass::Receive,
            JobClass::Send => WorkClass::Send,
            JobClass::Timer => WorkClass::Timer,
            JobClass::Prepare => WorkClass::Prepare,
            JobClass::Record => WorkClass::Record,
        };
        let Job { arrival, begun, ended, bytes, .. } = *job;
        let work = Work { class, arrival, begun, ended, bytes };
        self.traffic.job(&work);
        measured.audit.work(work);
    }

    fn pass(&mut self, pass: &Pass) {
        self.now = pass.ended;
        let Pass { entered, planned_wake, latest_wake, harvested, ended, kernel, cpu, jobs, polled } = *pass;
        let Some(measured) = &mut self.measured else {
            // Nothing is measured yet, and the watchdog is there already.
            self.gauge.beat(Span::ZERO, Span::ZERO);
            return;
        };
        let turn = Turn {
            entered,
            planned_wake,
            latest_wake,
            harvested,
            ended,
            kernel,
            cpu,
            interrupted: None,
            polled,
        };
        self.traffic.turn(&turn);
        self.account.turn(turn, &mut measured.audit);
        self.give_traffic(ended);
        // Polling in vain is how a busy-polling shard waits.
        let busy = if polled && jobs == 0 { Span::ZERO } else { kernel + (ended - harvested) };
        self.gauge.beat(busy, ended - entered);
    }
}
