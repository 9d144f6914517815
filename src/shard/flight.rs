//! One request on its connection: its timeline, the reading of its response, and the timers that hold for it.
//!
//! It must not touch the ring: what to do with the connection is the client's to decide.

use crate::plan::Timeouts;
use crate::record::{Asked, Timeline};
use crate::ring::{Departure, Read};
use crate::time::{Arrival, Instant, Span, StampClass};
use crate::wire::{Closed, ErrorClass, Expect, Progress, Response};

/// How long a body may stay open after `[DONE]`: servers send the zero chunk within microseconds, and a connection
/// that is not drained cannot be reused.
const DRAIN: Span = Span::from_ms(50);

/// One request in flight.
#[derive(Debug)]
pub struct Flight {
    /// What was heard and when.
    pub timeline: Timeline,
    response: Response,
    begun: Instant,
    /// When this try began: the first, or the one on a fresh connection.
    tried: Instant,
    /// The terminal event came: nothing but the body's end is waited for.
    draining: Option<Instant>,
    slot: u32,
    reused: bool,
    sent_again: bool,
}

impl Flight {
    /// A request that begins at `begun`, for `slot` of a closed loop.
    pub fn new(timeline: Timeline, expect: Expect, slot: u32, begun: Instant) -> Self {
        let response = Response::new(expect);
        Self {
            timeline,
            response,
            begun,
            tried: begun,
            draining: None,
            slot,
            reused: expect.reused,
            sent_again: false,
        }
    }

    /// The same request again, on a fresh connection: the one it was sent on turned out to be dead.
    pub fn again(mut self, expect: Expect, now: Instant) -> Self {
        self.timeline.retry();
        Self { sent_again: true, tried: now, ..Self::new(self.timeline, expect, self.slot, self.begun) }
    }

    /// What was asked.
    pub fn asked(&self) -> &Asked {
        self.timeline.asked()
    }

    /// The first byte has left.
    pub fn departed(&mut self, departure: Departure) {
        self.timeline.departed(departure.before, departure.after);
    }

    /// Takes one read; answers whether the response is over, and how many tokens it brought.
    pub fn read(&mut self, read: Read<'_>) -> (Progress, u32) {
        let timeline = &mut self.timeline;
        timeline.read(read.arrival, read.bytes.len());
        let mut tokens = 0;
        let progress = self.response.read(read.bytes, &mut |heard| tokens += timeline.hear(&heard));
        if progress == Progress::Draining && self.draining.is_none() {
            self.draining = Some(read.arrival.stamp);
        }
        (progress, tokens)
    }

    /// Takes the connection's end, or ours, at `now`.
    pub fn closed(&mut self, how: Closed, now: Instant) {
        let timeline = &mut self.timeline;
        timeline.closed(now);
        self.response.closed(how, &mut |heard| {
            timeline.hear(&heard);
        });
    }

    /// Whether it went out on a connection that had carried others.
    pub const fn was_reused(&self) -> bool {
        self.reused
    }

    /// Whether these first bytes arrived, by the kernel's stamp, before the request had left.
    pub fn is_unasked(&self, arrival: Arrival) -> bool {
        let early = self.timeline.sent().is_none_or(|sent| arrival.stamp < sent);
        self.is_unanswered() && early && arrival.class != StampClass::User
    }

    /// Whether not a byte has come back.
    pub const fn is_unanswered(&self) -> bool {
        self.response.bytes() == 0
    }

    /// Whether it is the second try.
    pub const fn was_sent_again(&self) -> bool {
        self.sent_again
    }

    /// The timer that fires next, and the class of the failure if it does. Computed from stamps, so that a client that
    /// was stopped for a while does not take its own absence for the server's.
    pub fn deadline(&self, timeouts: &Timeouts) -> (Instant, ErrorClass) {
        if let Some(done) = self.draining {
            return (done + DRAIN, ErrorClass::TimeoutIdle);
        }
        let mut deadline = (self.begun + timeouts.total, ErrorClass::TimeoutTotal);
        let mut offer = |at: Instant, class| {
            if at < deadline.0 {
                deadline = (at, class);
            }
        };
        let Some(sent) = self.timeline.sent() else {
            offer(self.tried + timeouts.connect, ErrorClass::TimeoutConnect);
            return deadline;
        };
        let latest = self.timeline.latest_read();
        if let (Some(limit), None) = (timeouts.first_byte, latest) {
            offer(sent + limit, ErrorClass::TimeoutFirstByte);
        }
        if let (Some(limit), false) = (timeouts.first_token, self.timeline.has_events()) {
            offer(sent + limit, ErrorClass::TimeoutFirstToken);
        }
        if let Some(limit) = timeouts.idle {
            offer(latest.unwrap_or(sent) + limit, ErrorClass::TimeoutIdle);
        }
        deadline
    }

    /// Ends it: the timeline and the reading of the response.
    pub fn into_parts(self) -> (Timeline, Response, u32) {
        (self.timeline, self.response, self.slot)
    }
}
