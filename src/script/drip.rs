//! Bytes that leave a few at a time: what a fault makes of an answer's steps.
//!
//! It must not make bytes of its own.

use super::faults::DRIP_GAP_NS;
use super::step::{Mark, Step, Then};
use crate::time::{Instant, Span};
use std::collections::VecDeque;

/// The bytes of one connection that wait for their turn.
#[derive(Debug)]
pub(super) struct Drip {
    piece_bytes: usize,
    waiting: VecDeque<u8>,
    /// Marks whose bytes have not all left; `end` counts from the first waiting byte.
    marks: VecDeque<Mark>,
    then: Then,
    /// When the next piece may leave.
    next: Instant,
}

impl Drip {
    pub(super) fn new(piece_bytes: u32) -> Self {
        Self {
            piece_bytes: usize::try_from(piece_bytes).expect("a u32 fits"),
            waiting: VecDeque::new(),
            marks: VecDeque::new(),
            then: Then::Stay,
            next: Instant::ZERO,
        }
    }

    /// Takes over what a step was to send; gives when the next piece is planned.
    pub(super) fn take(&mut self, step: &mut Step) -> Instant {
        if self.is_dry() {
            self.next = self.next.max(step.due);
        }
        let before = self.waiting.len();
        self.waiting.extend(step.bytes.drain(..));
        self.marks.extend(step.marks.drain(..).map(|mark| match mark {
            Mark::Said { what, planned, end } => Mark::Said { what, planned, end: end + before },
            other => other,
        }));
        self.then = std::mem::take(&mut step.then);
        // Its lateness would be the drip's, not the server's.
        step.bears_tokens = false;
        self.next
    }

    /// Moves one piece into `step`; gives when the next is planned, if one waits.
    pub(super) fn give(&mut self, step: &mut Step) -> Option<Instant> {
        let size = self.piece_bytes.min(self.waiting.len());
        step.bytes.extend(self.waiting.drain(..size));
        while let Some(mark) = self.marks.pop_front() {
            match mark {
                Mark::Said { what, planned, end } if end > size => {
                    self.marks.push_front(Mark::Said { what, planned, end });
                    break;
                }
                mark => step.marks.push(mark),
            }
        }
        for mark in &mut self.marks {
            if let Mark::Said { end, .. } = mark {
                *end -= size;
            }
        }
        self.next += Span::from_ns(i64::try_from(DRIP_GAP_NS).expect("a millisecond"));
        if self.is_dry() {
            step.then = std::mem::take(&mut self.then);
            return None;
        }
        Some(self.next)
    }

    pub(super) fn is_dry(&self) -> bool {
        self.waiting.is_empty()
    }
}
