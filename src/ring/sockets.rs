//! The ring of sockets: connects, listens, sends, closes.
//!
//! It must not wait nor call the handler: the pump does.
#![allow(unsafe_code, reason = "entries that point to memory of ours")]

use super::buffers::{Buffers, GROUP};
use super::control::CONTROL_BYTES;
use super::harvest::Past;
use super::listens::Listens;
use super::paths::INFO_BYTES;
use super::payloads::Payloads;
use super::queue::Queue;
use super::slots::Slots;
use super::token::{Kind, Token};
use super::{
    Address, Conn, Counters, Departure, Paths, Payload, PortUse, RingConfig, RingError, Stamps, socket,
};
use crate::clock;
use crate::time::{Instant, Span};
use io_uring::types::Fd;
use io_uring::{opcode, squeue};
use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketAddrAny;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

/// Names a listener of one ring.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Listener {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// One connection, however slow its stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) fd: OwnedFd,
    pub(super) state: State,
    /// A Unix socket: no stamp is promised of it.
    pub(super) local: bool,
    /// What its reads so far tell of the next.
    pub(super) past: Past,
    /// The send under way, first, and the last that waits for it.
    sending: Option<(u32, u32)>,
}

// Ten thousand open streams must not show in our memory.
const _: () = assert!(size_of::<Option<Stream>>() <= 48);

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum State {
    Connecting,
    /// A receive is armed.
    Reading,
    /// The peer has ended it, or reading failed: only sends are left.
    Ended,
}

/// Sockets on one io_uring. It belongs to the thread that made it.
pub struct Ring<P: Payload> {
    // Declared first, to be dropped first: closing the io_uring ends the kernel's use of all below.
    pub(super) queue: Queue,
    /// `None` after they had to be leaked.
    pub(super) buffers: Option<Buffers>,
    pub(super) payloads: Payloads<P>,
    pub(super) streams: Slots<Stream>,
    pub(super) listeners: Slots<Listens>,
    /// The form of every receive: no name, one stamp. Boxed to stay in place.
    receive: Box<libc::msghdr>,
    /// Every target so far, boxed to stay in place: they are few.
    targets: Vec<(Address, Box<SocketAddrAny>)>,
    /// Keeps the kernel stamping.
    _stamping: OwnedFd,
    pub(super) stamps: Stamps,
    sends_per_enter: usize,
    /// Sends queued and not yet submitted.
    asked: Vec<Conn>,
    /// Departures that the handler was not told yet.
    pub(super) departures: Vec<(Conn, Departure)>,
    /// Listeners whose accept failed, and when they try again.
    pub(super) paused: Vec<Listener>,
    pub(super) resume: Instant,
    /// Connections whose receive ended for want of a buffer, in the order in which they are fed again.
    pub(super) starved: VecDeque<Conn>,
    /// Receives, accepts, connects and sends that the kernel has.
    pub(super) in_flight: usize,
    pub(super) counters: Counters,
    survey: bool,
    paths: Paths,
}

/// How long a listener rests after an accept that failed for want of files or memory.
const ACCEPT_REST: Span = Span::from_ms(10);

impl<P: Payload> Ring<P> {
    /// Makes the ring for this thread.
    ///
    /// # Errors
    /// io_uring forbidden, missing or too old; locked memory too low; sizes out of range.
    pub fn new(config: &RingConfig) -> Result<Self, RingError> {
        config.check()?;
        let queue = Queue::new(config)?;
        let buffers = Buffers::register(config, &queue.submitter())?;
        // SAFETY: all zero is a valid msghdr: null pointers with zero lengths.
        let mut receive: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        receive.msg_controllen = CONTROL_BYTES;
        let stamping =
            socket::to_keep_stamping(config.stamps).map_err(|errno| RingError::of_setup("socket", errno))?;
        Ok(Self {
            queue,
            buffers: Some(buffers),
            payloads: Payloads::new(),
            streams: Slots::new(),
            listeners: Slots::new(),
            receive,
            targets: Vec::new(),
            _stamping: stamping,
            stamps: config.stamps,
            sends_per_enter: usize::try_from(config.sends_per_enter).expect("a 64-bit host"),
            asked: Vec::new(),
            departures: Vec::new(),
            paused: Vec::new(),
            resume: Instant::ZERO,
            starved: VecDeque::new(),
            in_flight: 0,
            counters: Counters::default(),
            survey: config.survey,
            paths: Paths::default(),
        })
    }

    /// Listens on `address` (port 0 = any) and accepts until the ring ends; gives the real address. The file of a Unix
    /// socket is made here and goes with the ring; one that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// What the kernel says of the address.
    pub fn listen(&mut self, address: impl Into<Address>, port: PortUse) -> Result<Address, RingError> {
        let address = address.into();
        let (fd, real) = match &address {
            Address::Tcp(wanted) => {
                socket::to_listen(wanted, port, self.stamps).map(|(fd, real)| (fd, Address::Tcp(real)))
            }
            Address::Unix(path) => socket::to_listen_locally(path).map(|fd| (fd, address.clone())),
        }
        .map_err(|errno| RingError::Listen(address, errno))?;
        let path = match &real {
            Address::Unix(path) => Some(Arc::clone(path)),
            Address::Tcp(_) => None,
        };
        let (slot, generation) = self.listeners.insert(Listens { fd, path });
        self.accept(Listener { slot, generation });
        self.flush();
        Ok(real)
    }

    /// Begins to connect, from the internet address `from` if given; [`super::Handler::connected`] tells the outcome.
    ///
    /// # Errors
    /// No socket could be had: files, ports or the address `from`; nothing was begun.
    pub fn connect(&mut self, to: impl Into<Address>, from: Option<IpAddr>) -> Result<Conn, Errno> {
        let to = to.into();
        let known = self.target(&to)?;
        let fd = match &to {
            Address::Tcp(address) => socket::to_connect(address, from, self.stamps)?,
            Address::Unix(_) => socket::local()?,
        };
        let raw = fd.as_raw_fd();
        let conn = self.add(fd, State::Connecting, to.path().is_some());
        let address = &self.targets[known].1;
        let (start, length) = (address.as_ptr().cast(), address.addr_len());
        let connect = opcode::Connect::new(Fd(raw), start, length).build();
        // SAFETY: the address lives in its box as long as the ring, and none is ever removed.
        unsafe { self.ask(connect, token(Kind::Connect, conn)) };
        Ok(conn)
    }

    /// Sends `payload` after what was given before; [`super::Handler::sent`] gives it back. Dropped when `conn` is closed.
    pub fn send(&mut self, conn: Conn, payload: P) {
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else { return };
        let (index, bytes) = self.payloads.load(conn, payload);
        self.counters.bytes_sent += u64::try_from(bytes).expect("a 64-bit host");
        match &mut stream.sending {
            Some((_, last)) => {
                self.payloads.set_next(*last, index);
                *last = index;
            }
            idle => {
                *idle = Some((index, index));
                if stream.state != State::Connecting {
                    self.begin_send(conn, index);
                }
            }
        }
    }

    /// Closes `conn`: sends under way are cut off, and nothing more is heard of it.
    pub fn close(&mut self, conn: Conn) {
        let Some(stream) = self.streams.remove(conn.slot, conn.generation) else { return };
        if self.survey && stream.state != State::Connecting {
            ask_tcp(&stream, &mut self.paths);
        }
        match stream.state {
            State::Connecting => self.cancel(token(Kind::Connect, conn)),
            State::Reading => self.cancel(token(Kind::Receive, conn)),
            State::Ended => {}
        }
        if let Some((first, _)) = stream.sending {
            let mut waiting = self.payloads.next(first);
            if stream.state == State::Connecting {
                waiting = Some(first);
            } else {
                // Its payload is kept until the kernel says that it is over.
                self.cancel(send_token(first));
            }
            while let Some(index) = waiting {
                waiting = self.payloads.next(index);
                drop(self.payloads.unload(index));
            }
        }
        self.close_fd(stream.fd);
    }

    /// Closes `conn` with RST instead of FIN.
    pub fn reset(&mut self, conn: Conn) {
        if let Some(stream) = self.streams.get(conn.slot, conn.generation) {
            // Where lingering cannot be turned off, the close is an ordinary one.
            let _ = socket::abort_on_close(&stream.fd);
            self.close(conn);
        }
    }

    /// Has what `conn` has received acknowledged at once, and what it receives next without delay, for as long as the
    /// kernel sees fit (`TCP_QUICKACK` does not last). Nothing, on a Unix socket.
    pub fn acknowledge(&self, conn: Conn) {
        if let Some(stream) = self.streams.get(conn.slot, conn.generation).filter(|stream| !stream.local) {
            // A connection that has ended meanwhile has nothing to acknowledge.
            let _ = rustix::net::sockopt::set_tcp_quickack(&stream.fd, true);
        }
    }

    /// Whether `conn` still names a connection.
    #[must_use]
    pub fn is_open(&self, conn: Conn) -> bool {
        self.streams.get(conn.slot, conn.generation).is_some()
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.queue.count(&mut counters);
        counters.open = u64::try_from(self.streams.len()).expect("a 64-bit host");
        counters
    }

    /// Gives the kernel what is queued, and notes when the sends among it left.
    pub(super) fn flush(&mut self) {
        if self.asked.is_empty() {
            self.queue.submit();
            return;
        }
        let before = clock::now();
        self.queue.submit();
        if self.queue.is_submitted() {
            let departure = Departure { before, after: clock::now() };
            self.departures.extend(self.asked.drain(..).map(|conn| (conn, departure)));
        }
    }

    /// Whether sends are queued that the kernel was not asked for yet.
    pub(super) const fn has_unasked_sends(&self) -> bool {
        !self.asked.is_empty()
    }

    /// What TCP told of the connections closed so far and of those that are open: asked once, at the end.
    #[must_use]
    pub fn survey(&self) -> Paths {
        let mut paths = self.paths;
        self.streams
            .iter()
            .filter(|stream| stream.state != State::Connecting)
            .for_each(|stream| ask_tcp(stream, &mut paths));
        paths
    }

    pub(super) fn add(&mut self, fd: OwnedFd, state: State, local: bool) -> Conn {
        let stream = Stream { fd, state, local, past: Past::default(), sending: None };
        let (slot, generation) = self.streams.insert(stream);
        Conn { slot, generation }
    }

    /// Arms the receive of `conn`, anew or again.
    pub(super) fn receive(&mut self, conn: Conn) {
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else { return };
        stream.state = State::Reading;
        let fd = Fd(stream.fd.as_raw_fd());
        let receive = opcode::RecvMsgMulti::new(fd, &raw const *self.receive, GROUP).build();
        // SAFETY: the message lives in its box as long as the ring; the buffers outlive the io_uring.
        unsafe { self.ask(receive, token(Kind::Receive, conn)) };
    }

    /// Arms the accept of `listener`, anew or again.
    pub(super) fn accept(&mut self, listener: Listener) {
        let Some(listens) = self.listeners.get(listener.slot, listener.generation) else { return };
        let accept = opcode::AcceptMulti::new(Fd(listens.fd.as_raw_fd())).flags(libc::SOCK_CLOEXEC).build();
        // SAFETY: it points to nothing.
        unsafe { self.ask(accept, accept_token(listener)) };
    }

    /// Lets `listener` rest: an accept that failed for want of files would fail again at once.
    pub(super) fn pause(&mut self, listener: Listener, now: Instant) {
        self.counters.accepts_failed += 1;
        self.paused.push(listener);
        self.resume = now + ACCEPT_REST;
    }

    /// Arms the accepts that have rested.
    pub(super) fn resume(&mut self, now: Instant) {
        if !self.paused.is_empty() && now >= self.resume {
            while let Some(listener) = self.paused.pop() {
                self.counters.rearmed += 1;
                self.accept(listener);
            }
        }
    }

    /// Arms receives that ended for want of a buffer, as many as there are buffers. Only once these are back: armed
    /// before, a receive ends again at once, and with enough of them a harvest would never be over.
    pub(super) fn feed(&mut self, buffers: usize) {
        for _ in 0..self.starved.len().min(buffers) {
            let conn = self.starved.pop_front().expect("counted");
            self.counters.rearmed += 1;
            self.receive(conn);
        }
    }

    /// Begins the first send that waited for the connection.
    pub(super) fn begin_waiting_send(&mut self, conn: Conn) {
        let waiting = self.streams.get(conn.slot, conn.generation).and_then(|stream| stream.sending);
        if let Some((first, _)) = waiting {
            self.begin_send(conn, first);
        }
    }

    /// The send `index` is over: the next of its connection begins.
    pub(super) fn end_send(&mut self, index: u32) {
        let conn = self.payloads.conn(index);
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else { return };
        let (first, last) = stream.sending.expect("the send that ended was under way");
        assert_eq!(first, index, "sends of one connection end in order");
        let next = self.payloads.next(index);
        stream.sending = next.map(|next| (next, last));
        if let Some(next) = next {
            self.begin_send(conn, next);
        }
    }

    fn begin_send(&mut self, conn: Conn, index: u32) {
        let stream = self.streams.get(conn.slot, conn.generation).expect("only open connections send");
        // All of it, with one completion; and a peer that is gone is an error, not a signal.
        let flags = (libc::MSG_NOSIGNAL | libc::MSG_WAITALL).cast_unsigned();
        let fd = Fd(stream.fd.as_raw_fd());
        let send = opcode::SendMsg::new(fd, self.payloads.message(index)).flags(flags).build();
        // SAFETY: the message and all it points to stay in place until its completion has come (`Payloads`).
        unsafe { self.ask(send, send_token(index)) };
        self.counters.sends += 1;
        self.asked.push(conn);
        if self.asked.len() >= self.sends_per_enter {
            self.flush();
        }
    }

    /// Queues an entry that will complete under `token`.
    ///
    /// # Safety
    /// As [`Queue::push`].
    unsafe fn ask(&mut self, entry: squeue::Entry, token: Token) {
        self.in_flight += 1;
        self.make_room();
        // SAFETY: our caller's promise.
        unsafe { self.queue.push(entry.user_data(token.pack())) };
    }

    /// A full queue is submitted by the next entry: sends in it must not leave before the clock was read for them.
    fn make_room(&mut self) {
        if !self.asked.is_empty() && self.queue.is_full() {
            self.flush();
        }
    }

    /// Cancels what goes by `token`; its completion still comes.
    fn cancel(&mut self, token: Token) {
        self.push_unheard(opcode::AsyncCancel::new(token.pack()).build());
    }

    fn close_fd(&mut self, fd: OwnedFd) {
        self.push_unheard(opcode::Close::new(Fd(fd.into_raw_fd())).build());
    }

    /// Queues an entry whose completion matters to nobody.
    fn push_unheard(&mut self, entry: squeue::Entry) {
        self.make_room();
        let quiet = entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(Token::UNHEARD.pack());
        // SAFETY: cancels and closes point to nothing.
        unsafe { self.queue.push(quiet) };
    }

    /// The place of `to` among the targets.
    fn target(&mut self, to: &Address) -> Result<usize, Errno> {
        if let Some(known) = self.targets.iter().position(|(address, _)| address == to) {
            return Ok(known);
        }
        self.targets.push((to.clone(), Box::new(to.raw()?)));
        Ok(self.targets.len() - 1)
    }
}

fn ask_tcp(stream: &Stream, paths: &mut Paths) {
    let mut info = [0; INFO_BYTES];
    socket::tcp_info(&stream.fd, &mut info).into_iter().for_each(|info| paths.see(info));
}

fn token(kind: Kind, conn: Conn) -> Token {
    Token { kind, generation: conn.generation, slot: conn.slot }
}

fn accept_token(listener: Listener) -> Token {
    Token { kind: Kind::Accept, generation: listener.generation, slot: listener.slot }
}

fn send_token(index: u32) -> Token {
    Token { kind: Kind::Send, generation: 0, slot: index }
}

/// How often a dropped ring looks whether the kernel has let go of everything, a millisecond apart.
const LAST_LOOKS: usize = 100;

impl<P: Payload> Drop for Ring<P> {
    /// Cancels everything and waits for it; what the kernel holds on to nevertheless is leaked, not freed under it.
    fn drop(&mut self) {
        let any = io_uring::types::CancelBuilder::any();
        self.push_unheard(opcode::AsyncCancel2::new(any).build());
        for _ in 0..LAST_LOOKS {
            while let Some(done) = self.queue.completion() {
                let heard = Token::unpack(done.user_data()).kind != Kind::Unheard;
                if heard && !io_uring::cqueue::more(done.flags()) {
                    self.in_flight -= 1;
                }
            }
            if self.in_flight == 0 {
                return;
            }
            self.queue.wait(Span::ZERO, Span::from_ms(1));
        }
        self.payloads.leak();
        self.buffers.take().into_iter().for_each(Buffers::leak);
    }
}
