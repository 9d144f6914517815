//! What reached one shard and what left it, told in order: the traffic that imagined clients are given to handle.
//!
//! It must not know those clients. It is gathered on the shard's core, so it is plain, and its memory is used again.

use super::audit::{Turn, Work};
use super::metric::tokens_after_first;
use super::{Finished, Timeline};
use crate::time::{Instant, Span};

/// One thing that happened on a connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Sighting {
    /// When: a receive stamp, or the instant of the send.
    pub at: Instant,
    /// The connection's slot: one request at a time.
    pub slot: u32,
    /// What.
    pub seen: Seen,
}

/// What happened.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A request left.
    Sent {
        /// Its place in the schedule.
        index: u64,
        /// When its first try left: what it took is counted from there.
        since: Instant,
        /// Whether it is measured.
        measured: bool,
        /// Whether all its events are of one choice: then gaps between them are ITL.
        single: bool,
    },
    /// One read brought token-bearing events.
    Events {
        /// How many, at least 1.
        count: u16,
        /// How long they waited for us, our own hold left out.
        wait: Span,
    },
    /// The request is over.
    Over {
        /// Whether it succeeded.
        success: bool,
        /// Tokens after those of its first event, where TPOT is defined; else 0.
        after_first: u64,
    },
}

/// The traffic of some turns of a shard's pump.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    sightings: Vec<Sighting>,
    /// Where those of the job that is going on begin.
    job: usize,
    /// Where those of the turn that is going on begin.
    turn: usize,
    until: Instant,
}

impl Traffic {
    /// A try of a request left at `at`.
    pub fn sent(&mut self, slot: usize, timeline: &Timeline, at: Instant) {
        let asked = timeline.asked();
        let seen = Seen::Sent {
            index: asked.index,
            since: timeline.sent().unwrap_or(at),
            measured: asked.is_measured(),
            single: asked.choices == 1,
        };
        self.see(at, slot, seen);
    }

    /// The latest read of `timeline` was gone through.
    pub fn read(&mut self, slot: usize, timeline: &Timeline, stamp: Instant) {
        let count = timeline.token_events_in_read();
        if count > 0 {
            self.see(stamp, slot, Seen::Events { count, wait: Span::ZERO });
        }
    }

    /// A request is over.
    pub fn over(&mut self, slot: usize, finished: &Finished) {
        let record = finished.record();
        let after_first = tokens_after_first(record).unwrap_or(0);
        self.see(record.over, slot, Seen::Over { success: record.error.is_none(), after_first });
    }

    pub(super) fn see(&mut self, at: Instant, slot: usize, seen: Seen) {
        let slot = u32::try_from(slot).expect("a ring has fewer connections than that");
        self.sightings.push(Sighting { at, slot, seen });
    }

    /// A job was done: now it is known how long what it brought had waited.
    pub fn job(&mut self, work: &Work) {
        for sighting in &mut self.sightings[self.job..] {
            if let Seen::Events { wait, .. } = &mut sighting.seen {
                *wait = work.begun - sighting.at;
            }
        }
        self.job = self.sightings.len();
    }

    /// The turn is over: of the waits, what was slept on purpose is taken away (docs/METHOD.md, `hold_i`).
    pub fn turn(&mut self, turn: &Turn) {
        let gate = turn.planned_wake;
        if turn.entered < gate && gate <= turn.harvested {
            for Sighting { at, seen, .. } in &mut self.sightings[self.turn..] {
                if let Seen::Events { wait, .. } = seen {
                    *wait -= (gate - (*at).max(turn.entered)).max(Span::ZERO);
                }
            }
        }
        self.job = self.sightings.len();
        self.turn = self.sightings.len();
        // What came in this harvest came before it began, and nearly nothing that comes later did.
        self.until = self.until.max(turn.harvested);
    }

    /// What was seen, in the order of the shard's handling.
    #[must_use]
    pub fn sightings(&self) -> &[Sighting] {
        &self.sightings
    }

    /// When the last harvest began that brought something of it.
    #[must_use]
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Nothing more will follow.
    pub fn close(&mut self) {
        self.until = Instant::NEVER;
    }

    /// Forgets all and keeps the memory.
    pub fn clear(&mut self) {
        self.sightings.clear();
        (self.job, self.turn) = (0, 0);
    }
}
