//! The connections of one shard: what each has on its way out, and the row of the log it is filling.
//!
//! It must not send or close: it only remembers until the kernel says what became of it.

use super::ledger::{Event, Ledger, Row};
use crate::ring::{Conn, Departure};
use crate::script::{Mark, Step, Then};
use crate::time::Instant;
use crate::tls::Session;
use std::collections::VecDeque;

/// One connection.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) conn: Conn,
    /// Sends the ring has.
    pub(super) sending: u32,
    /// What follows the last of them.
    pub(super) then: Then,
    /// Seals what is sent and opens what arrives, where the server speaks TLS.
    pub(super) session: Option<Box<Session>>,
    /// Sends the kernel has not been asked for yet, oldest first.
    departing: VecDeque<Departing>,
    row: Option<Box<Row>>,
}

#[derive(Debug)]
struct Departing {
    /// The planned instant, when it bears tokens: others have no lateness of their own.
    planned: Option<Instant>,
    /// Never allocates unless a log is kept.
    marks: Vec<Mark>,
}

impl Line {
    pub(super) const fn new(conn: Conn, session: Option<Box<Session>>) -> Self {
        Self { conn, sending: 0, then: Then::Stay, session, departing: VecDeque::new(), row: None }
    }

    /// Something is about to be sent that no step asked for: a part of a handshake, an alert.
    pub(super) fn sends_unasked(&mut self) {
        self.sending += 1;
        self.departing.push_back(Departing { planned: None, marks: Vec::new() });
    }

    /// A step is about to be sent.
    pub(super) fn sends(&mut self, step: &mut Step) {
        self.sending += 1;
        self.departing.push_back(Departing {
            planned: step.bears_tokens.then_some(step.due),
            marks: step.marks.drain(..).collect(),
        });
    }

    /// A step that sends nothing still says something to the log.
    pub(super) fn notes(&mut self, step: &mut Step, ledger: Option<&Ledger>) {
        match self.departing.back_mut() {
            Some(last) => last.marks.append(&mut step.marks),
            None => {
                for mark in step.marks.drain(..) {
                    self.note(mark, None, ledger);
                }
            }
        }
    }

    /// The oldest send has left; gives its planned instant when it bears tokens.
    pub(super) fn departed(&mut self, departure: Departure, ledger: Option<&Ledger>) -> Option<Instant> {
        let departing = self.departing.pop_front()?;
        for mark in departing.marks {
            self.note(mark, Some(departure), ledger);
        }
        if self.departing.is_empty() {
            // Most lines are silent most of the time, and there may be very many.
            self.departing = VecDeque::new();
        }
        departing.planned
    }

    /// The connection ends: an unfinished row is written as far as it goes.
    pub(super) fn close(mut self, ledger: Option<&Ledger>) {
        for departing in std::mem::take(&mut self.departing) {
            for mark in departing.marks {
                self.note(mark, None, ledger);
            }
        }
        if let (Some(row), Some(ledger)) = (self.row.take(), ledger) {
            ledger.push(row);
        }
    }

    fn note(&mut self, mark: Mark, departure: Option<Departure>, ledger: Option<&Ledger>) {
        match mark {
            Mark::Request { id, received } => {
                let row = Row { request_id: id, received, events: Vec::new(), complete: false };
                self.row = Some(Box::new(row));
            }
            Mark::Said { what, planned, .. } => {
                if let (Some(row), Some(departure)) = (&mut self.row, departure) {
                    row.events.push(Event {
                        what,
                        planned,
                        before: departure.before,
                        after: departure.after,
                    });
                }
            }
            Mark::End => {
                if let (Some(mut row), Some(ledger)) = (self.row.take(), ledger) {
                    row.complete = true;
                    ledger.push(row);
                }
            }
        }
    }
}
