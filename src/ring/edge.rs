//! The edge that a ring was made with, and what the pump asks of it whichever it is.
//!
//! It must not decide which: that was decided before the thread began.

use super::harvest::{Harvest, ReadBack};
use super::poller::Poller;
use super::queue::DEFERRED_AT_ONCE;
use super::uring::Uring;
use super::{Payload, Ring};
use crate::time::{Instant, Span};

/// One of the two; a branch that always goes the same way costs nothing that can be measured.
#[expect(clippy::large_enum_variant, reason = "there is one for each thread")]
pub(super) enum Edge {
    Uring(Uring),
    Epoll(Poller),
}

impl<P: Payload> Ring<P> {
    /// Gives the kernel what is queued, and notes when the sends among it left.
    pub(super) fn flush(&mut self) {
        if let Edge::Uring(uring) = &mut self.edge {
            uring.flush(&mut self.departures);
        }
    }

    /// Whether sends are queued that the kernel was not asked for yet.
    pub(super) const fn has_unasked_sends(&self) -> bool {
        match &self.edge {
            Edge::Uring(uring) => uring.has_unasked_sends(),
            Edge::Epoll(_) => false,
        }
    }

    /// Brings what has come, without waiting.
    pub(super) fn sweep(&mut self) {
        match &mut self.edge {
            Edge::Uring(uring) => uring.queue.sweep(),
            Edge::Epoll(_) => self.look_and_read(),
        }
    }

    /// Whether completions lie ready, and nothing need be asked of the kernel to see what else has come.
    pub(super) fn has_completions(&mut self) -> bool {
        match &mut self.edge {
            Edge::Uring(uring) => uring.queue.completions() > 0,
            Edge::Epoll(_) => false,
        }
    }

    /// Sleeps until something comes or `longest` is over; with `gather`, arrivals are let gather for so long first.
    /// A signal ends the sleep early.
    pub(super) fn wait(&mut self, gather: Span, longest: Span) {
        match &mut self.edge {
            Edge::Uring(uring) => uring.queue.wait(gather, longest),
            Edge::Epoll(_) => self.await_and_read(gather, longest),
        }
    }

    /// When the last look at all sockets began, where that was before the wait was over; what had reached one by then was
    /// read, or is known to lie unread.
    pub(super) const fn looked(&self) -> Option<Instant> {
        match &self.edge {
            // What came until the wait was over is deferred, and swept.
            Edge::Uring(_) => None,
            Edge::Epoll(poller) => Some(poller.looked()),
        }
    }

    /// Collects what a sweep would still bring, and sweeps again while that is not all; gives when the last of these sweeps
    /// began, and whether something was left because `room` reads are enough.
    pub(super) fn collect_deferred(
        &mut self,
        sight: super::collect::Sight<'_>,
        room: usize,
        harvest: &mut Harvest,
    ) -> (Option<Instant>, bool) {
        let mut began = None;
        while self.is_work_deferred() {
            if harvest.reads.len() >= room {
                // The buffers would run out: these reads first, the rest in the next turn.
                return (began, true);
            }
            if self.has_unasked_sends() {
                // One that waited for another's completion would leave with the sweep, and the clock be read too late.
                self.flush();
            }
            self.sweep();
            if self.collect(sight, harvest) < DEFERRED_AT_ONCE {
                break;
            }
            began = Some(crate::clock::now());
        }
        (began, false)
    }

    fn is_work_deferred(&mut self) -> bool {
        match &mut self.edge {
            Edge::Uring(uring) => uring.queue.is_work_deferred(),
            // A look shows all there is.
            Edge::Epoll(_) => false,
        }
    }

    /// Whether something is known to lie unread in the kernel: the next turn must not sleep.
    pub(super) fn has_unread(&self) -> bool {
        match &self.edge {
            Edge::Uring(uring) => !uring.starved.is_empty(),
            Edge::Epoll(poller) => poller.has_unread(),
        }
    }

    /// Lends the buffer of a handled read again.
    pub(super) fn lend(&mut self, read: ReadBack) {
        self.lend_buffer(read.buffer);
    }

    pub(super) fn lend_buffer(&mut self, id: u16) {
        match &mut self.edge {
            Edge::Uring(uring) => uring.buffers().lend(id),
            Edge::Epoll(poller) => poller.lend(id),
        }
    }

    /// Shows the kernel the buffers that were lent again.
    pub(super) fn publish(&mut self) {
        if let Edge::Uring(uring) = &mut self.edge {
            uring.buffers().publish();
        }
    }

    /// Arms receives that ended for want of a buffer, as many as there are buffers. Only once these are back: armed
    /// before, a receive ends again at once, and with enough of them a harvest would never be over.
    pub(super) fn feed(&mut self, buffers: usize) {
        let Edge::Uring(uring) = &mut self.edge else { return };
        let fed = uring.starved.len().min(buffers);
        for _ in 0..fed {
            let Edge::Uring(uring) = &mut self.edge else { return };
            let conn = uring.starved.pop_front().expect("counted");
            self.counters.rearmed += 1;
            self.receive(conn);
        }
    }
}
