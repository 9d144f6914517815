//! Turns what came, by either engine, into a harvest.
//!
//! It must not call the handler.
#![allow(unsafe_code, reason = "buffers that the kernel has just handed over")]

use super::buffers::Memory;
use super::control::{Filled, Raw};
use super::edge::Edge;
use super::harvest::{Harvest, Other, ReadBack, place};
use super::sockets::{Listener, State};
use super::{Conn, End, Payload, Ring, RingConfig, Stamps};
use crate::clock::{CardOffset, RealtimeOffset};
use crate::time::{Arrival, Instant, StampClass};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

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
    /// Moves all that has come into `harvest`; gives how many things that were.
    pub(super) fn collect(&mut self, sight: Sight<'_>, harvest: &mut Harvest) -> usize {
        match &self.edge {
            Edge::Uring(_) => self.collect_completions(sight, harvest),
            Edge::Epoll(_) => self.collect_news(sight, harvest),
        }
    }

    /// Bytes of `conn` lie in buffer `id`; whether that connection is still there.
    pub(super) fn took(
        &mut self,
        conn: Conn,
        id: u16,
        filled: Filled,
        sight: Sight<'_>,
        harvest: &mut Harvest,
    ) -> bool {
        let buffer_bytes = self.memory().each();
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else {
            self.counters.stale += 1;
            self.lend_buffer(id);
            return false;
        };
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
            let is_full = HEADER + filled.bytes == buffer_bytes;
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
        true
    }

    /// `conn` can be read no more: FIN, or why.
    pub(super) fn ended(&mut self, conn: Conn, result: Result<(), Errno>, harvest: &mut Harvest) {
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else {
            self.counters.stale += 1;
            return;
        };
        stream.state = State::Ended;
        let end = match result {
            Ok(()) => End::Fin,
            Err(Errno::CONNRESET) => End::Reset,
            Err(errno) => End::Failed(errno),
        };
        harvest.ends.push((conn, end));
    }

    /// `listener` accepted, or could not; whether it is to go on.
    pub(super) fn accepted(
        &mut self,
        listener: Listener,
        accepted: Result<OwnedFd, Errno>,
        now: Instant,
        harvest: &mut Harvest,
    ) -> bool {
        let Some(listens) = self.listeners.get(listener.slot, listener.generation) else {
            self.counters.stale += 1;
            return false;
        };
        let local = listens.path.is_some();
        let known = accepted.and_then(|fd| self.welcome(fd, local));
        match known {
            Ok(conn) => harvest.others.push(Other::Accepted(conn)),
            Err(_) => self.pause(listener, now),
        }
        known.is_ok()
    }

    /// Begins to read what was accepted.
    fn welcome(&mut self, fd: OwnedFd, local: bool) -> Result<Conn, Errno> {
        let conn = self.add(fd, State::Reading, local);
        if let Edge::Epoll(poller) = &self.edge {
            let stream = self.streams.get(conn.slot, conn.generation).expect("it was just added");
            if let Err(errno) = poller.watch(&stream.fd, conn) {
                self.streams.remove(conn.slot, conn.generation);
                return Err(errno);
            }
        }
        self.receive(conn);
        Ok(conn)
    }

    /// The connecting of `conn` is over.
    pub(super) fn connected(&mut self, conn: Conn, result: Result<(), Errno>, harvest: &mut Harvest) {
        if !self.is_open(conn) {
            self.counters.stale += 1;
            return;
        }
        if result.is_ok() {
            self.receive(conn);
            self.begin_waiting_send(conn);
        }
        harvest.others.push(Other::Connected(conn, result));
    }

    /// The send `index` is over.
    pub(super) fn sent(&mut self, index: u32, result: Result<(), Errno>, harvest: &mut Harvest) {
        self.end_send(index);
        harvest.others.push(Other::Sent(index, result));
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
