//! The io_uring edge: what is asked of the kernel by entries, and how it is made to let go.
//!
//! It must not know what a completion means: `completions` does.
#![allow(unsafe_code, reason = "entries that point to memory of ours")]

use super::buffers::{Buffers, GROUP, Memory};
use super::control::CONTROL_BYTES;
use super::queue::Queue;
use super::token::{Kind, Token};
use super::{Conn, Departure, RingConfig, RingError};
use crate::clock;
use crate::time::Span;
use io_uring::types::Fd;
use io_uring::{opcode, squeue};
use rustix::fd::{IntoRawFd, OwnedFd, RawFd};
use rustix::net::SocketAddrAny;
use std::collections::VecDeque;
use std::rc::Rc;

/// Sends that left, as their handler is to be told of them.
pub(super) type Departures = Vec<(Conn, Departure)>;

/// One io_uring and its buffers.
pub(super) struct Uring {
    // Declared first, to be dropped first: closing the io_uring ends the kernel's use of all below.
    pub(super) queue: Queue,
    /// `None` after they had to be leaked.
    pub(super) buffers: Option<Buffers>,
    /// The form of every receive: no name, one stamp. Boxed to stay in place.
    receive: Box<libc::msghdr>,
    sends_per_enter: usize,
    /// Sends queued and not yet submitted.
    asked: Vec<Conn>,
    /// Connections whose receive ended for want of a buffer, in the order in which they are fed again.
    pub(super) starved: VecDeque<Conn>,
    /// Receives, accepts, connects and sends that the kernel has.
    pub(super) in_flight: usize,
}

/// How often a dropped ring looks whether the kernel has let go of everything, a millisecond apart.
const LAST_LOOKS: usize = 100;

impl Uring {
    /// Makes the io_uring for this thread; gives the memory of its buffers too.
    pub(super) fn new(config: &RingConfig) -> Result<(Self, Rc<Memory>), RingError> {
        let queue = Queue::new(config)?;
        let buffers = Buffers::register(config, &queue.submitter())?;
        let memory = Rc::clone(buffers.memory());
        // SAFETY: all zero is a valid msghdr: null pointers with zero lengths.
        let mut receive: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        receive.msg_controllen = CONTROL_BYTES;
        let uring = Self {
            queue,
            buffers: Some(buffers),
            receive,
            sends_per_enter: usize::try_from(config.sends_per_enter).expect("a 64-bit host"),
            asked: Vec::new(),
            starved: VecDeque::new(),
            in_flight: 0,
        };
        Ok((uring, memory))
    }

    /// The buffers; there until the ring is dropped.
    pub(super) const fn buffers(&mut self) -> &mut Buffers {
        self.buffers.as_mut().expect("a living ring has its buffers")
    }

    /// Connects `fd` to `address`.
    ///
    /// # Safety
    /// The address must stay in its place as long as the ring.
    pub(super) unsafe fn connect(
        &mut self,
        fd: RawFd,
        address: &SocketAddrAny,
        token: Token,
        left: &mut Departures,
    ) {
        let connect = opcode::Connect::new(Fd(fd), address.as_ptr().cast(), address.addr_len()).build();
        // SAFETY: our caller's promise.
        unsafe { self.ask(connect, token, left) };
    }

    /// Arms the receive of `fd`.
    pub(super) fn receive(&mut self, fd: RawFd, token: Token, left: &mut Departures) {
        let receive = opcode::RecvMsgMulti::new(Fd(fd), &raw const *self.receive, GROUP).build();
        // SAFETY: the message lives in its box as long as the ring; the buffers outlive the io_uring.
        unsafe { self.ask(receive, token, left) };
    }

    /// Arms the accept of `fd`.
    pub(super) fn accept(&mut self, fd: RawFd, token: Token, left: &mut Departures) {
        let accept = opcode::AcceptMulti::new(Fd(fd)).flags(libc::SOCK_CLOEXEC).build();
        // SAFETY: it points to nothing.
        unsafe { self.ask(accept, token, left) };
    }

    /// Sends `message`.
    ///
    /// # Safety
    /// The message and all it points to must stay in place until its completion has come.
    pub(super) unsafe fn send(
        &mut self,
        fd: RawFd,
        message: *const libc::msghdr,
        conn: Conn,
        token: Token,
        left: &mut Departures,
    ) {
        // All of it, with one completion; and a peer that is gone is an error, not a signal.
        let flags = (libc::MSG_NOSIGNAL | libc::MSG_WAITALL).cast_unsigned();
        let send = opcode::SendMsg::new(Fd(fd), message).flags(flags).build();
        // SAFETY: our caller's promise.
        unsafe { self.ask(send, token, left) };
        self.asked.push(conn);
        if self.asked.len() >= self.sends_per_enter {
            self.flush(left);
        }
    }

    /// Gives the kernel what is queued, and notes when the sends among it left.
    pub(super) fn flush(&mut self, left: &mut Departures) {
        if self.asked.is_empty() {
            self.queue.submit();
            return;
        }
        let before = clock::now();
        self.queue.submit();
        if self.queue.is_submitted() {
            let departure = Departure { before, after: clock::now() };
            left.extend(self.asked.drain(..).map(|conn| (conn, departure)));
        }
    }

    /// Whether sends are queued that the kernel was not asked for yet.
    pub(super) const fn has_unasked_sends(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Queues an entry that will complete under `token`.
    ///
    /// # Safety
    /// As [`Queue::push`].
    unsafe fn ask(&mut self, entry: squeue::Entry, token: Token, left: &mut Departures) {
        self.in_flight += 1;
        self.make_room(left);
        // SAFETY: our caller's promise.
        unsafe { self.queue.push(entry.user_data(token.pack())) };
    }

    /// A full queue is submitted by the next entry: sends in it must not leave before the clock was read for them.
    fn make_room(&mut self, left: &mut Departures) {
        if !self.asked.is_empty() && self.queue.is_full() {
            self.flush(left);
        }
    }

    /// Cancels what goes by `token`; its completion still comes.
    pub(super) fn cancel(&mut self, token: Token, left: &mut Departures) {
        self.push_unheard(opcode::AsyncCancel::new(token.pack()).build(), left);
    }

    /// Closes `fd`.
    pub(super) fn close(&mut self, fd: OwnedFd, left: &mut Departures) {
        self.push_unheard(opcode::Close::new(Fd(fd.into_raw_fd())).build(), left);
    }

    /// Queues an entry whose completion matters to nobody.
    fn push_unheard(&mut self, entry: squeue::Entry, left: &mut Departures) {
        self.make_room(left);
        let quiet = entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(Token::UNHEARD.pack());
        // SAFETY: cancels and closes point to nothing.
        unsafe { self.queue.push(quiet) };
    }

    /// Cancels everything and waits for it; whether the kernel has let go. What it holds on to nevertheless is leaked, not
    /// freed under it: the buffers here, the payloads by the caller.
    pub(super) fn let_go(&mut self) -> bool {
        let any = io_uring::types::CancelBuilder::any();
        self.push_unheard(opcode::AsyncCancel2::new(any).build(), &mut Vec::new());
        for _ in 0..LAST_LOOKS {
            while let Some(done) = self.queue.completion() {
                let heard = Token::unpack(done.user_data()).kind != Kind::Unheard;
                if heard && !io_uring::cqueue::more(done.flags()) {
                    self.in_flight -= 1;
                }
            }
            if self.in_flight == 0 {
                return true;
            }
            self.queue.wait(Span::ZERO, Span::from_ms(1));
        }
        self.buffers.take().into_iter().for_each(Buffers::leak);
        false
    }
}
