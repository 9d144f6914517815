//! What the completions of an io_uring mean.
//!
//! It must not know what is made of it: `collect` does, for both engines.
#![allow(unsafe_code, reason = "descriptors and buffers that the kernel has just handed over")]

use super::collect::Sight;
use super::control::read_filled;
use super::edge::Edge;
use super::harvest::Harvest;
use super::sockets::{Listener, State};
use super::token::{Kind, Token};
use super::{Conn, Payload, Ring};
use io_uring::cqueue;
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::Errno;

impl<P: Payload> Ring<P> {
    /// Moves all completions that have come into `harvest`; gives how many.
    pub(super) fn collect_completions(&mut self, sight: Sight<'_>, harvest: &mut Harvest) -> usize {
        let mut came = 0;
        loop {
            let Edge::Uring(uring) = &mut self.edge else { return came };
            let Some(done) = uring.queue.completion() else { return came };
            came += 1;
            let token = Token::unpack(done.user_data());
            if token.kind == Kind::Unheard {
                continue;
            }
            let more = cqueue::more(done.flags());
            if !more {
                uring.in_flight -= 1;
            }
            let Token { slot, generation, .. } = token;
            match token.kind {
                Kind::Receive => self.received(Conn { slot, generation }, &done, sight, harvest),
                Kind::Accept => {
                    let listener = Listener { slot, generation };
                    let accepted = outcome(&done).map(|_| {
                        // SAFETY: the kernel has just opened it for us, and nobody else knows it.
                        unsafe { OwnedFd::from_raw_fd(done.result()) }
                    });
                    if self.accepted(listener, accepted, sight.harvested, harvest) && !more {
                        self.counters.rearmed += 1;
                        // An entry is queued, whatever becomes of it.
                        let _ = self.accept(listener);
                    }
                }
                Kind::Connect => {
                    self.connected(Conn { slot, generation }, outcome(&done).map(drop), harvest);
                }
                Kind::Send => {
                    let result = match outcome(&done) {
                        Ok(bytes) if bytes == self.payloads.bytes(slot) => Ok(()),
                        // The kernel took a part and then failed: with what, it does not say.
                        Ok(_) => Err(Errno::PIPE),
                        Err(errno) => Err(errno),
                    };
                    self.sent(slot, result, harvest);
                }
                Kind::Unheard => {}
            }
        }
    }

    fn received(&mut self, conn: Conn, done: &cqueue::Entry, sight: Sight<'_>, harvest: &mut Harvest) {
        let buffer = cqueue::buffer_select(done.flags());
        let ended = match (outcome(done), buffer) {
            (Ok(bytes), Some(id)) => {
                // SAFETY: the kernel has just handed this buffer over, with so many bytes in it.
                let filled = read_filled(unsafe { self.memory().filled(id, bytes) });
                if let Some(filled) = filled.filter(|filled| filled.bytes > 0) {
                    if self.took(conn, id, filled, sight, harvest) && !cqueue::more(done.flags()) {
                        self.counters.rearmed += 1;
                        self.receive(conn);
                    }
                    return;
                }
                Ok(())
            }
            // Nothing to read, and no buffer taken: FIN.
            (Ok(_), None) => Ok(()),
            (Err(errno), _) => Err(errno),
        };
        if let Some(id) = buffer {
            self.lend_buffer(id);
        }
        if ended == Err(Errno::NOBUFS) {
            let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else {
                self.counters.stale += 1;
                return;
            };
            stream.state = State::Ended;
            self.counters.enobufs += 1;
            if let Edge::Uring(uring) = &mut self.edge {
                uring.starved.push_back(conn);
            }
            return;
        }
        self.ended(conn, ended, harvest);
    }
}

/// A completion's result: a count, or an error.
fn outcome(done: &cqueue::Entry) -> Result<usize, Errno> {
    usize::try_from(done.result()).map_err(|_| Errno::from_raw_os_error(-done.result()))
}
