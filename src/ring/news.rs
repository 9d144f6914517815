//! What a look at the sockets of an epoll brings: reads, ends, accepts, connects, and room for what waits to be sent.
//!
//! It must not call the handler.
#![allow(unsafe_code, reason = "messages that point to memory of ours")]

use super::collect::Sight;
use super::edge::Edge;
use super::harvest::Harvest;
use super::listens::Listens;
use super::payloads::Payloads;
use super::poller::{News, Poller, send};
use super::slots::Slots;
use super::sockets::{Listener, State, Stream, Unread};
use super::token::Kind;
use super::uring::Departures;
use super::{Conn, Departure, Payload, Ring};
use crate::clock;
use crate::time::Span;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

/// Reads of one connection in its turn, one buffer each: a fast stream takes no more while others wait. A slow one never
/// fills one.
const READS_AT_ONCE: usize = 4;

/// Connections that a listener accepts in its turn.
const ACCEPTS_AT_ONCE: usize = 64;

/// What ends a stream, or cuts a read short before all was read.
const TO_THE_END: EventFlags =
    EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR).union(EventFlags::PRI);

/// The parts of a ring on an epoll, each on its own.
struct Parts<'a, P> {
    poller: &'a mut Poller,
    streams: &'a mut Slots<Stream>,
    listeners: &'a Slots<Listens>,
    payloads: &'a mut Payloads<P>,
    departures: &'a mut Departures,
}

impl<P: Payload> Ring<P> {
    fn parts(&mut self) -> Parts<'_, P> {
        let Self { edge, streams, listeners, payloads, departures, .. } = self;
        let Edge::Epoll(poller) = edge else { unreachable!("only an epoll is looked at") };
        Parts { poller, streams, listeners, payloads, departures }
    }

    /// Looks at all sockets and reads, without waiting.
    pub(super) fn look_and_read(&mut self) {
        let mut parts = self.parts();
        parts.look();
        parts.read();
    }

    /// Waits as [`Ring::wait`] does, and then reads: as the kernel does within an enter of io_uring. While arrivals gather
    /// nothing wakes us, whatever their number.
    pub(super) fn await_and_read(&mut self, gather: Span, longest: Span) {
        let mut parts = self.parts();
        let idle = parts.poller.news.is_empty() && !parts.poller.has_unread();
        if gather > Span::ZERO {
            parts.poller.doze(gather);
            if parts.look() == 0 && idle && longest > gather {
                parts.poller.sleep(longest - gather);
                parts.look();
            }
        } else {
            if idle {
                parts.poller.sleep(longest);
            }
            parts.look();
        }
        parts.read();
    }

    /// Sends what is the turn of `conn` as far as there is room; the rest follows when there is some.
    pub(super) fn send_at_once(&mut self, conn: Conn, index: u32) {
        let mut parts = self.parts();
        let before = clock::now();
        parts.send(conn, index);
        parts.departures.push((conn, Departure { before, after: clock::now() }));
    }

    /// Moves all that came into `harvest`; gives how many things that were.
    pub(super) fn collect_news(&mut self, sight: Sight<'_>, harvest: &mut Harvest) -> usize {
        let mut came = 0;
        // What the collecting itself brings (the end of a send that waited for another's) is for the next harvest.
        for _ in 0..self.parts().poller.news.len() {
            let Some(news) = self.parts().poller.news.pop_front() else { break };
            came += 1;
            match news {
                News::Read(conn, id, filled) => {
                    self.took(conn, id, filled, sight, harvest);
                }
                News::Ended(conn, result) => self.ended(conn, result, harvest),
                News::Accepted(listener, accepted) => {
                    self.accepted(listener, accepted, sight.harvested, harvest);
                }
                News::Connected(conn, result) => self.connected(conn, result, harvest),
                News::Sent(index, result) => self.sent(index, result, harvest),
            }
        }
        came
    }
}

impl<P: Payload> Parts<'_, P> {
    /// Takes note of what every socket shows; gives how many show anything.
    fn look(&mut self) -> usize {
        let shown = self.poller.look();
        for nth in 0..shown {
            let (name, flags) = self.poller.shown(nth);
            match name.kind {
                Kind::Accept => self.accept(Listener { slot: name.slot, generation: name.generation }),
                _ => self.note(Conn { slot: name.slot, generation: name.generation }, flags),
            }
        }
        shown
    }

    fn note(&mut self, conn: Conn, flags: EventFlags) {
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else { return };
        if stream.state == State::Connecting {
            match rustix::net::sockopt::socket_error(&stream.fd).and_then(|error| error) {
                Ok(()) => self.poller.news.push_back(News::Connected(conn, Ok(()))),
                Err(errno) => {
                    self.poller.news.push_back(News::Connected(conn, Err(errno)));
                    return;
                }
            }
            stream.state = State::Reading;
        } else if stream.blocked && flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR) {
            let (first, _) = stream.sending.expect("what is blocked is under way");
            self.send(conn, first);
        }
        let unread = match flags {
            flags if flags.intersects(TO_THE_END) => Unread::End,
            flags if flags.contains(EventFlags::IN) => Unread::Some,
            _ => return,
        };
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else { return };
        if stream.unread == Unread::Nothing {
            self.poller.unread.push_back(conn);
        }
        if stream.unread != Unread::End {
            stream.unread = unread;
        }
    }

    fn accept(&mut self, listener: Listener) {
        let Some(listens) = self.listeners.get(listener.slot, listener.generation) else { return };
        for _ in 0..ACCEPTS_AT_ONCE {
            let accepted = match accept_with(&listens.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Err(Errno::AGAIN) => return,
                // Gone before it was accepted, or not accepted because of a signal: the next may be well.
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                accepted => accepted,
            };
            let failed = accepted.is_err();
            self.poller.news.push_back(News::Accepted(listener, accepted));
            if failed {
                return;
            }
        }
    }

    /// Reads what is known to lie unread, each connection in its turn, while there are buffers.
    fn read(&mut self) {
        for _ in 0..self.poller.unread.len() {
            let Some(conn) = self.poller.unread.pop_front() else { return };
            let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else { continue };
            let unread = std::mem::replace(&mut stream.unread, Unread::Nothing);
            if stream.state != State::Reading {
                continue;
            }
            let mut left = READS_AT_ONCE;
            let is_left = loop {
                if left == 0 {
                    break true;
                }
                let Some(id) = self.poller.buffer() else {
                    // The others are known, and are read in the next turn.
                    self.stays_unread(conn, unread, left == READS_AT_ONCE);
                    return;
                };
                left -= 1;
                match self.poller.receive(&stream.fd, id) {
                    Ok(filled) if filled.bytes > 0 => {
                        self.poller.news.push_back(News::Read(conn, id, filled));
                        if unread == Unread::Some && !self.poller.is_full(filled) {
                            break false;
                        }
                        continue;
                    }
                    Ok(_) => self.end(conn, Ok(())),
                    Err(Errno::AGAIN) => {}
                    Err(Errno::INTR) => {
                        self.poller.lend(id);
                        continue;
                    }
                    Err(errno) => self.end(conn, Err(errno)),
                }
                self.poller.lend(id);
                break false;
            };
            if is_left {
                self.stays_unread(conn, unread, false);
            }
        }
    }

    /// `conn` holds more: it is read after the others, or next where its turn brought it nothing.
    fn stays_unread(&mut self, conn: Conn, unread: Unread, next: bool) {
        let stream = self.streams.get_mut(conn.slot, conn.generation).expect("it was just read");
        stream.unread = unread;
        if next {
            self.poller.unread.push_front(conn);
        } else {
            self.poller.unread.push_back(conn);
        }
    }

    /// Nothing more is read of `conn`.
    fn end(&mut self, conn: Conn, result: Result<(), Errno>) {
        let stream = self.streams.get_mut(conn.slot, conn.generation).expect("it was just read");
        stream.state = State::Ended;
        self.poller.news.push_back(News::Ended(conn, result));
    }

    /// Sends `index`, the turn of `conn`, as far as there is room: until the kernel says that there is none, or it would not
    /// tell when there is some again.
    fn send(&mut self, conn: Conn, index: u32) {
        let stream = self.streams.get_mut(conn.slot, conn.generation).expect("only open connections send");
        let result = loop {
            // SAFETY: a loaded payload's message is valid until it is unloaded.
            match unsafe { send(&stream.fd, self.payloads.message(index)) } {
                Ok(bytes) if self.payloads.advance(index, bytes) => break Ok(()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    stream.blocked = true;
                    return;
                }
                Err(errno) => break Err(errno),
            }
        };
        stream.blocked = false;
        self.poller.news.push_back(News::Sent(index, result));
    }
}
