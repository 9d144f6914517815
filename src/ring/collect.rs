//! Turns completions into a harvest, and arms again what has ended.
//!
//! It must not call the handler.
#![allow(unsafe_code, reason = "descriptors and buffers that the kernel has just handed over")]

use super::buffers::Memory;
use super::control::{Raw, read_filled};
use super::harvest::{Harvest, Other, ReadBack, place};
use super::sockets::{Listener, State};
use super::token::{Kind, Token};
use super::{Conn, End, Payload, Ring, RingConfig, Stamps};
use crate::clock::{CardOffset, RealtimeOffset};
use crate::time::{Arrival, Instant, StampClass};
use io_uring::cqueue;
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::rc::Rc;

/// Where the bytes start in a filled buffer.
const HEADER: usize = RingConfig::HEADER_BYTES as usize;

/// What bounds the reads of a harvest.
#[derive(Copy, Clone, Debug)]
pub(super) struct Sight<'a> {
    /// Maps the kernel's stamps.
    pub(super) offset: &'a RealtimeOffset,
    /// Maps the card's, where it has been promised any.
    pub(super) card: Option<&'a CardOffset>,
    /// When the harvest began: the stamp of reads that have none of their own.
    pub(super) harvested: Instant,
    /// Everything that reached a socket before was read in an earlier harvest.
    pub(super) swept: Instant,
}

impl<P: Payload> Ring<P> {
    /// Moves all completions that have come into `harvest`; gives how many.
    pub(super) fn collect(&mut self, sight: Sight<'_>, harvest: &mut Harvest) -> usize {
        let mut came = 0;
        while let Some(done) = self.queue.completion() {
            came += 1;
            let token = Token::unpack(done.user_data());
            if token.kind == Kind::Unheard {
                continue;
            }
            let more = cqueue::more(done.flags());
            if !more {
                self.in_flight -= 1;
            }
            let Token { slot, generation, .. } = token;
            match token.kind {
                Kind::Receive => self.received(Conn { slot, generation }, &done, sight, harvest),
                Kind::Accept => self.accepted(Listener { slot, generation }, &done, sight.harvested, harvest),
                Kind::Connect => self.connected(Conn { slot, generation }, &done, harvest),
                Kind::Send => self.sent(slot, &done, harvest),
                Kind::Unheard => {}
            }
        }
        came
    }

    fn received(&mut self, conn: Conn, done: &cqueue::Entry, sight: Sight<'_>, harvest: &mut Harvest) {
        let buffers = self.buffers.as_mut().expect("a living ring has its buffers");
        let buffer = cqueue::buffer_select(done.flags());
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else {
            self.counters.stale += 1;
            buffer.into_iter().for_each(|id| buffers.lend(id));
            return;
        };
        let read = match (outcome(done), buffer) {
            (Ok(bytes), Some(id)) => {
                // SAFETY: the kernel has just handed this buffer over, with so many bytes in it.
                let filled = read_filled(unsafe { buffers.memory().filled(id, bytes) });
                Ok(filled.filter(|filled| filled.bytes > 0).map(|filled| (id, filled)))
            }
            // Nothing to read, and no buffer taken: FIN.
            (Ok(_), None) => Ok(None),
            (Err(errno), _) => Err(errno),
        };
        if let Ok(Some((id, filled))) = read {
            let stamp = stamp_of(filled.stamps, sight);
            let promised = match self.stamps {
                _ if stream.local => None,
                Stamps::Hardware => Some(StampClass::Hardware),
                Stamps::Software => Some(StampClass::Software),
                Stamps::Off => None,
            };
            let class = stamp.map_or(StampClass::User, |(_, class)| class);
            self.counters.stamps_lost += u64::from(promised.is_some_and(|promised| class > promised));
            self.counters.stamped_by_card += u64::from(class == StampClass::Hardware);
            self.counters.stamped_by_kernel += u64::from(class == StampClass::Software);
            let (arrival, order) = if let Some((stamp, class)) = stamp {
                // A card stamps before the socket has anything, by as long as it holds interrupts back: a harvest that did not
                // bring a segment says nothing of when the card saw it.
                let by_card = class == StampClass::Hardware;
                let swept = if by_card { Instant::ZERO } else { sight.swept };
                let placed = place(stamp, stream.past, swept, class);
                self.counters.overtaken += u64::from(placed.overtaken);
                let is_full = HEADER + filled.bytes == buffers.memory().each();
                stream.past = placed.past(is_full);
                (placed.arrival, placed.order)
            } else {
                let earliest = stream.past.floor.max(sight.swept).min(sight.harvested);
                let arrival = Arrival { stamp: sight.harvested, earliest, class: StampClass::User };
                // In the order of its stream: what it arrived after is all that is known.
                (arrival, stream.past.order)
            };
            self.counters.reads += 1;
            let bytes = u32::try_from(filled.bytes).expect("a buffer is at most 4 MiB");
            harvest.reads.push(ReadBack { conn, buffer: id, bytes, arrival, order });
            if !cqueue::more(done.flags()) {
                self.counters.rearmed += 1;
                self.receive(conn);
            }
            return;
        }
        buffer.into_iter().for_each(|id| buffers.lend(id));
        stream.state = State::Ended;
        match read {
            Ok(_) => harvest.ends.push((conn, End::Fin)),
            Err(Errno::NOBUFS) => {
                self.counters.enobufs += 1;
                self.starved.push_back(conn);
            }
            Err(Errno::CONNRESET) => harvest.ends.push((conn, End::Reset)),
            Err(errno) => harvest.ends.push((conn, End::Failed(errno))),
        }
    }

    fn accepted(&mut self, listener: Listener, done: &cqueue::Entry, now: Instant, harvest: &mut Harvest) {
        let accepted = outcome(done).map(|_| {
            // SAFETY: the kernel has just opened it for us, and nobody else knows it.
            unsafe { OwnedFd::from_raw_fd(done.result()) }
        });
        let Some(listens) = self.listeners.get(listener.slot, listener.generation) else {
            self.counters.stale += 1;
            return;
        };
        let local = listens.path.is_some();
        if let Ok(fd) = accepted {
            let conn = self.add(fd, State::Reading, local);
            self.receive(conn);
            harvest.others.push(Other::Accepted(conn));
            if !cqueue::more(done.flags()) {
                self.counters.rearmed += 1;
                self.accept(listener);
            }
        } else {
            self.pause(listener, now);
        }
    }

    fn connected(&mut self, conn: Conn, done: &cqueue::Entry, harvest: &mut Harvest) {
        if !self.is_open(conn) {
            self.counters.stale += 1;
            return;
        }
        let result = outcome(done).map(drop);
        if result.is_ok() {
            self.receive(conn);
            self.begin_waiting_send(conn);
        }
        harvest.others.push(Other::Connected(conn, result));
    }

    fn sent(&mut self, index: u32, done: &cqueue::Entry, harvest: &mut Harvest) {
        let result = match outcome(done) {
            Ok(bytes) if bytes == self.payloads.bytes(index) => Ok(()),
            // The kernel took a part and then failed: with what, it does not say.
            Ok(_) => Err(Errno::PIPE),
            Err(errno) => Err(errno),
        };
        self.end_send(index);
        harvest.others.push(Other::Sent(index, result));
    }

    /// Lends the buffer of a handled read again.
    pub(super) fn lend(&mut self, read: ReadBack) {
        self.buffers.as_mut().expect("a living ring has its buffers").lend(read.buffer);
    }

    pub(super) fn memory(&self) -> &Rc<Memory> {
        self.buffers.as_ref().expect("a living ring has its buffers").memory()
    }

    /// Shows the kernel the buffers that were lent again.
    pub(super) fn publish(&mut self) {
        self.buffers.as_mut().expect("a living ring has its buffers").publish();
    }
}

/// The best stamp that a read has: the card's before the kernel's.
fn stamp_of(stamps: Raw, sight: Sight<'_>) -> Option<(Instant, StampClass)> {
    let by_card = sight.card.zip(stamps.card);
    let by_card = by_card.and_then(|(card, (seconds, ns))| card.instant(seconds, ns));
    let by_kernel = || stamps.kernel.and_then(|(seconds, ns)| sight.offset.instant(seconds, ns));
    by_card
        .map(|stamp| (stamp, StampClass::Hardware))
        .or_else(|| by_kernel().map(|stamp| (stamp, StampClass::Software)))
}

/// The bytes of a read. They live no longer than the read, which [`Ring::lend`] takes.
pub(super) fn bytes<'a>(memory: &'a Memory, read: &'a ReadBack) -> &'a [u8] {
    let bytes = usize::try_from(read.bytes).expect("a 64-bit host");
    // SAFETY: the kernel filled it, and has it back only when the read is given to `lend`.
    let filled = unsafe { memory.filled(read.buffer, HEADER + bytes) };
    &filled[HEADER..]
}

/// A completion's result: a count, or an error.
fn outcome(done: &cqueue::Entry) -> Result<usize, Errno> {
    usize::try_from(done.result()).map_err(|_| Errno::from_raw_os_error(-done.result()))
}
