//! One request in flight: what was heard of it and when, kept small, because a shard holds tens of thousands at once.
//!
//! It must not judge: what failed, how many tokens there were and whether undecided events bore any is the reply's to say,
//! at the end.

use super::event_log::{Entry, EventLog};
use super::{Finished, Record};
use crate::time::{Arrival, Instant, Phase, Span, StampClass};
use crate::wire::{Bears, Heard, Reply};

/// What is known of a request before it is begun.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Its place in the run's schedule.
    pub index: u64,
    /// The shard that sends it.
    pub shard: u16,
    /// The stage in which it is due.
    pub stage: u16,
    /// The server it goes to, from 0.
    pub target: u16,
    /// The phase in which it is due.
    pub phase: Phase,
    /// When the schedule wants it begun.
    pub due: Instant,
    /// The output length asked for, where one was.
    pub asked_output_tokens: Option<u32>,
    /// Choices asked for (`n`), at least 1.
    pub choices: u16,
}

impl Asked {
    /// Whether it counts.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.phase == Phase::Measured
    }
}

/// One request from the moment it is due to its end.
#[derive(Debug)]
pub struct Timeline {
    asked: Asked,
    pool_wait: Option<Span>,
    begun: Option<Instant>,
    connected: Option<Instant>,
    handshake: Option<Span>,
    sent: Option<Instant>,
    sent_uncertainty: Span,
    head: Option<Instant>,
    event: Option<Instant>,
    done: Option<Instant>,
    end: Option<Instant>,
    arrival: Arrival,
    bytes: u64,
    log: EventLog,
    /// The latest event of this read bears or may bear a token, and has met nothing later yet.
    exposed: bool,
    /// An event of this read has met something later.
    met_in_read: bool,
    /// An entry of the event that is being heard is in the log.
    event_logged: bool,
    /// The event that is being heard is among `bearing`.
    event_bears: bool,
    /// Events of the latest read that surely bear a token.
    bearing: u16,
    reused: bool,
    ours: bool,
    retries: u8,
    stamp: Option<StampClass>,
}

impl Timeline {
    /// A request that is due. `log` is memory to reuse (see [`Finished::into_parts`]), or an empty vector.
    #[must_use]
    pub fn new(asked: Asked, log: Vec<u8>) -> Self {
        let nowhere = Arrival { stamp: asked.due, earliest: asked.due, class: StampClass::User };
        Self {
            asked,
            pool_wait: None,
            begun: None,
            connected: None,
            handshake: None,
            sent: None,
            sent_uncertainty: Span::ZERO,
            head: None,
            event: None,
            done: None,
            end: None,
            arrival: nowhere,
            bytes: 0,
            log: EventLog::new(log, asked.due),
            exposed: false,
            met_in_read: false,
            event_logged: false,
            event_bears: false,
            bearing: 0,
            reused: false,
            ours: false,
            retries: 0,
            stamp: None,
        }
    }

    /// What it was made from.
    #[must_use]
    pub const fn asked(&self) -> &Asked {
        &self.asked
    }

    /// It waited this long for a free connection or a free slot of the pool. Called before [`Timeline::begun`], and only
    /// when it had to wait.
    pub fn waited_for_pool(&mut self, wait: Span) {
        self.pool_wait = Some(wait);
    }

    /// `at`: just before the kernel is asked to connect, or to send on a ready connection.
    pub fn begun(&mut self, at: Instant) {
        self.begun.get_or_insert(at);
    }

    /// TCP, and TLS, are up.
    pub fn connected(&mut self, at: Instant) {
        self.connected = Some(at);
    }

    /// TLS is up at `at`, on a TCP that was up at `since`.
    pub fn secured(&mut self, since: Instant, at: Instant) {
        self.connected = Some(at);
        self.handshake = Some(at - since);
    }

    /// It goes out on a connection that was up already.
    pub fn reused(&mut self) {
        self.reused = true;
    }

    /// The first byte was handed to the kernel after `before`, and before `after`. Later calls (a body in parts) change nothing.
    pub fn departed(&mut self, before: Instant, after: Instant) {
        if self.sent.is_none() {
            self.sent = Some(before);
            self.sent_uncertainty = after - before;
        }
    }

    /// Bytes arrived; what is heard next, until the next read, came in them.
    pub fn read(&mut self, arrival: Arrival, bytes: usize) {
        // What came now may have waited with what the read before took, under one stamp: that stamp is the later one's.
        if arrival.earliest < self.arrival.stamp {
            self.meet();
        }
        self.leave_read();
        // Nothing of an answer arrives before its request was sent.
        let caused = self.sent.map_or(arrival.earliest, |sent| sent.max(arrival.earliest));
        self.arrival = Arrival { earliest: caused.min(arrival.stamp), ..arrival };
        self.bytes += bytes as u64;
        self.met_in_read = false;
        self.bearing = 0;
        self.stamp = self.stamp.max(Some(arrival.class));
    }

    /// The connection ended at `at`, by the user's clock, which has no stamp for that; what is heard next came with its end.
    pub fn closed(&mut self, at: Instant) {
        self.leave_read();
        self.arrival = Arrival { stamp: at, earliest: at, class: StampClass::User };
    }

    /// One thing was heard in the latest read. The answer is the tokens it surely bears (one where it does not say how
    /// many), for the run's progress.
    pub fn hear(&mut self, heard: &Heard) -> u32 {
        let at = self.arrival.stamp;
        match heard {
            Heard::Head { .. } => {
                self.head.get_or_insert(at);
            }
            Heard::Delta(delta) => {
                if delta.opens_event {
                    self.meet();
                    self.event_logged = false;
                    self.event_bears = false;
                    self.event.get_or_insert(at);
                }
                if delta.bears != Bears::Nothing {
                    self.log.delta(&Entry {
                        at,
                        opens_event: !self.event_logged,
                        choice: delta.choice,
                        undecided: delta.bears == Bears::Undecided,
                        answer: delta.answer,
                        tokens: delta.tokens,
                    });
                    self.event_logged = true;
                    self.exposed = true;
                }
                if delta.bears == Bears::Token {
                    self.bearing = self.bearing.saturating_add(u16::from(!self.event_bears));
                    self.event_bears = true;
                    return delta.tokens.max(1);
                }
            }
            Heard::Other => self.meet(),
            Heard::Done => {
                self.meet();
                self.done.get_or_insert(at);
            }
            // Not an event, but its bytes may have come in a later segment than the last event's.
            Heard::End => {
                self.meet();
                self.end.get_or_insert(at);
            }
        }
        0
    }

    /// The latest read went on behind its latest event, with bytes that are no event (yet).
    pub fn trailed(&mut self) {
        self.meet();
    }

    /// The read is over. Its last event is as old as its stamp, where the kernel or the card made it; where we did, it can have
    /// waited for us since the look before.
    fn leave_read(&mut self) {
        if self.exposed && self.arrival.class == StampClass::User {
            // Not a coalesced read: it met nothing.
            self.log.alone(self.arrival.uncertainty());
        }
        self.exposed = false;
    }

    /// Something later follows in the same read: the stamp is that one's, not the event's before.
    fn meet(&mut self) {
        if self.exposed {
            self.log.met(self.arrival.uncertainty(), !self.met_in_read);
            self.met_in_read = true;
            self.exposed = false;
        }
    }

    /// The connection turned out to be dead before a byte of the answer: all that was heard is forgotten, `due` and `begun` stay.
    pub fn retry(&mut self) {
        let log = std::mem::replace(&mut self.log, EventLog::new(Vec::new(), self.asked.due)).into_bytes();
        let mut again = Self::new(self.asked, log);
        again.pool_wait = self.pool_wait;
        again.begun = self.begun;
        again.retries = self.retries.saturating_add(1);
        *self = again;
    }

    /// It was refused and goes out again because the user wants that: timed from the first attempt, so `sent` and
    /// `connected` stay too.
    pub fn refused(&mut self) {
        let first = (self.sent, self.sent_uncertainty, self.connected, self.handshake, self.reused);
        self.retry();
        (self.sent, self.sent_uncertainty, self.connected, self.handshake, self.reused) = first;
    }

    /// The failure to come is of our own making (files, ports, pool) and must not count against the target.
    pub fn ours(&mut self) {
        self.ours = true;
    }

    /// Whether an event that surely bears or may bear a token was heard.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.log.bytes().is_empty()
    }

    /// Bytes of memory that its log of events takes: about five for each token-bearing event.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.log.capacity()
    }

    /// How many events of the latest read surely bear a token.
    #[must_use]
    pub const fn token_events_in_read(&self) -> u16 {
        self.bearing
    }

    /// When it was sent, if it was.
    #[must_use]
    pub const fn sent(&self) -> Option<Instant> {
        self.sent
    }

    /// When the response head arrived, if it did.
    #[must_use]
    pub const fn head(&self) -> Option<Instant> {
        self.head
    }

    /// When the latest bytes arrived, if any did.
    #[must_use]
    pub fn latest_read(&self) -> Option<Instant> {
        self.stamp.map(|_| self.arrival.stamp)
    }

    /// The request is over: `reply` tells how, `now` is when (used where the body's end never came).
    #[must_use]
    pub fn finish(mut self, reply: Reply, now: Instant) -> Finished {
        self.leave_read();
        let record = Record {
            index: self.asked.index,
            shard: self.asked.shard,
            stage: self.asked.stage,
            target: self.asked.target,
            phase: self.asked.phase,
            due: self.asked.due,
            pool_wait: self.pool_wait,
            begun: self.begun,
            connected: self.connected,
            handshake: self.handshake,
            sent: self.sent,
            sent_uncertainty: self.sent_uncertainty,
            head: self.head,
            event: self.event,
            first: None,
            answer: None,
            last: None,
            done: self.done,
            end: self.end,
            over: self.end.unwrap_or(now),
            reused: self.reused,
            status: reply.status,
            error: reply.error,
            ours: self.ours,
            detail: reply.detail,
            finish_reason: reply.finish_reason,
            usage: reply.usage,
            output_tokens: reply.output_tokens,
            asked_output_tokens: self.asked.asked_output_tokens,
            token_source: reply.token_source,
            events: 0,
            n_first: 1,
            streamed_tokens: 0,
            choices: self.asked.choices,
            bytes: self.bytes,
            coalesced: 0,
            uncertainty: Span::ZERO,
            stall: None,
            retries: self.retries,
            retry_after_s: reply.retry_after_s,
            stamp: self.stamp.unwrap_or(StampClass::User),
            counters: reply.counters,
            gaps: None,
            uncertainties: None,
        };
        Finished::new(record, self.log.into_bytes(), reply.undecided_count)
    }
}
