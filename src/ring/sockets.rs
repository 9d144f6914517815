//! The ring of sockets: connects, listens, sends, closes; by whichever engine drives it.
//!
//! It must not wait nor call the handler: the pump does.
#![allow(unsafe_code, reason = "entries that point to memory of ours")]

use super::buffers::Memory;
use super::edge::Edge;
use super::harvest::Past;
use super::listens::Listens;
use super::paths::INFO_BYTES;
use super::payloads::Payloads;
use super::poller::Poller;
use super::slots::Slots;
use super::token::{Kind, Token};
use super::uring::Uring;
use super::{
    Address, Conn, Counters, Departure, Engine, Paths, Payload, PortUse, RingConfig, RingError, Stamps,
    socket,
};
use crate::time::{Instant, Span};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketAddrAny;
use std::net::IpAddr;
use std::rc::Rc;
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
    pub(super) sending: Option<(u32, u32)>,
    /// What is known to lie unread; the epoll engine's own.
    pub(super) unread: Unread,
    /// Whether the send under way waits for room; the epoll engine's own.
    pub(super) blocked: bool,
}

/// What the epoll engine knows to lie unread in a socket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Unread {
    /// Nothing.
    Nothing,
    /// Something: a read that does not fill its buffer takes all there is.
    Some,
    /// Something and what ends the stream behind it, or urgent data that cuts reads short: to be read until nothing is left.
    End,
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

/// Sockets on one io_uring, or on one epoll where that was chosen. It belongs to the thread that made it.
pub struct Ring<P: Payload> {
    // Declared first, to be dropped first: closing the io_uring ends the kernel's use of all below.
    pub(super) edge: Edge,
    pub(super) payloads: Payloads<P>,
    pub(super) streams: Slots<Stream>,
    pub(super) listeners: Slots<Listens>,
    /// Every target so far, boxed to stay in place: they are few.
    targets: Vec<(Address, Box<SocketAddrAny>)>,
    /// Keeps the kernel stamping.
    _stamping: OwnedFd,
    pub(super) stamps: Stamps,
    /// The bytes of all receive buffers.
    memory: Rc<Memory>,
    /// Departures that the handler was not told yet.
    pub(super) departures: Vec<(Conn, Departure)>,
    /// Listeners whose accept failed, and when they try again.
    pub(super) paused: Vec<Listener>,
    pub(super) resume: Instant,
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
        let (edge, memory) = match config.engine {
            Engine::Uring => Uring::new(config).map(|(uring, memory)| (Edge::Uring(uring), memory))?,
            Engine::Epoll => Poller::new(config).map(|(poller, memory)| (Edge::Epoll(poller), memory))?,
        };
        let stamping =
            socket::to_keep_stamping(config.stamps).map_err(|errno| RingError::of_setup("socket", errno))?;
        Ok(Self {
            edge,
            payloads: Payloads::new(),
            streams: Slots::new(),
            listeners: Slots::new(),
            targets: Vec::new(),
            _stamping: stamping,
            stamps: config.stamps,
            memory,
            departures: Vec::new(),
            paused: Vec::new(),
            resume: Instant::ZERO,
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
        let armed = self.accept(Listener { slot, generation });
        armed.map_err(|errno| RingError::Listen(real.clone(), errno))?;
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
        let begun = match &mut self.edge {
            Edge::Uring(uring) => {
                let (to, name) = (&self.targets[known].1, token(Kind::Connect, conn));
                // SAFETY: the address lives in its box as long as the ring, and none is ever removed.
                unsafe { uring.connect(raw, to, name, &mut self.departures) };
                Ok(())
            }
            Edge::Epoll(poller) => {
                let stream = self.streams.get(conn.slot, conn.generation).expect("it was just added");
                poller.connect(&stream.fd, &self.targets[known].1, conn)
            }
        };
        if let Err(errno) = begun {
            self.streams.remove(conn.slot, conn.generation);
            return Err(errno);
        }
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
        let waiting = match &mut self.edge {
            Edge::Uring(uring) => {
                match stream.state {
                    State::Connecting => uring.cancel(token(Kind::Connect, conn), &mut self.departures),
                    State::Reading => uring.cancel(token(Kind::Receive, conn), &mut self.departures),
                    State::Ended => {}
                }
                match stream.sending {
                    // Its payload is kept until the kernel says that it is over.
                    Some((first, _)) if stream.state != State::Connecting => {
                        uring.cancel(send_token(first), &mut self.departures);
                        self.payloads.next(first)
                    }
                    sending => sending.map(|(first, _)| first),
                }
            }
            // What does not wait for room, nor for the connection, is over, and on its way back.
            Edge::Epoll(_) => match stream.sending {
                Some((first, _)) if stream.state != State::Connecting && !stream.blocked => {
                    self.payloads.next(first)
                }
                sending => sending.map(|(first, _)| first),
            },
        };
        let mut waiting = waiting;
        while let Some(index) = waiting {
            waiting = self.payloads.next(index);
            drop(self.payloads.unload(index));
        }
        match &mut self.edge {
            Edge::Uring(uring) => uring.close(stream.fd, &mut self.departures),
            // Closing it takes it out of the epoll too.
            Edge::Epoll(_) => drop(stream),
        }
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
        match &self.edge {
            Edge::Uring(uring) => uring.queue.count(&mut counters),
            Edge::Epoll(poller) => counters.enters = poller.waits(),
        }
        counters.open = u64::try_from(self.streams.len()).expect("a 64-bit host");
        counters
    }

    /// By which system calls it drives its sockets.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        match &self.edge {
            Edge::Uring(_) => Engine::Uring,
            Edge::Epoll(_) => Engine::Epoll,
        }
    }

    pub(super) const fn memory(&self) -> &Rc<Memory> {
        &self.memory
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
        let stream = Stream {
            fd,
            state,
            local,
            past: Past::default(),
            sending: None,
            unread: Unread::Nothing,
            blocked: false,
        };
        let (slot, generation) = self.streams.insert(stream);
        Conn { slot, generation }
    }

    /// Arms the receive of `conn`, anew or again.
    pub(super) fn receive(&mut self, conn: Conn) {
        let Some(stream) = self.streams.get_mut(conn.slot, conn.generation) else { return };
        stream.state = State::Reading;
        // An epoll that knows the socket tells what arrives.
        if let Edge::Uring(uring) = &mut self.edge {
            uring.receive(stream.fd.as_raw_fd(), token(Kind::Receive, conn), &mut self.departures);
        }
    }

    /// Arms the accept of `listener`, anew or again.
    pub(super) fn accept(&mut self, listener: Listener) -> Result<(), Errno> {
        let Some(listens) = self.listeners.get(listener.slot, listener.generation) else { return Ok(()) };
        match &mut self.edge {
            Edge::Uring(uring) => {
                uring.accept(listens.fd.as_raw_fd(), accept_token(listener), &mut self.departures);
                Ok(())
            }
            Edge::Epoll(poller) => poller.listen(&listens.fd, accept_token(listener)),
        }
    }

    /// Lets `listener` rest: an accept that failed for want of files would fail again at once.
    pub(super) fn pause(&mut self, listener: Listener, now: Instant) {
        self.counters.accepts_failed += 1;
        if let Edge::Epoll(poller) = &self.edge
            && let Some(listens) = self.listeners.get(listener.slot, listener.generation)
        {
            poller.rest(&listens.fd, accept_token(listener));
        }
        if !self.paused.contains(&listener) {
            self.paused.push(listener);
        }
        self.resume = now + ACCEPT_REST;
    }

    /// Arms the accepts that have rested.
    pub(super) fn resume(&mut self, now: Instant) {
        if !self.paused.is_empty() && now >= self.resume {
            for listener in std::mem::take(&mut self.paused) {
                self.counters.rearmed += 1;
                if self.accept(listener).is_err() {
                    self.pause(listener, now);
                }
            }
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
        self.counters.sends += 1;
        match &mut self.edge {
            Edge::Uring(uring) => {
                let stream =
                    self.streams.get(conn.slot, conn.generation).expect("only open connections send");
                let (fd, message) = (stream.fd.as_raw_fd(), self.payloads.message(index));
                // SAFETY: the message and all it points to stay in place until its completion has come (`Payloads`).
                unsafe { uring.send(fd, message, conn, send_token(index), &mut self.departures) };
            }
            Edge::Epoll(_) => self.send_at_once(conn, index),
        }
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

impl<P: Payload> Drop for Ring<P> {
    /// Cancels everything and waits for it; what the kernel holds on to nevertheless is leaked, not freed under it.
    fn drop(&mut self) {
        // A poller's kernel holds nothing of ours between two calls.
        if let Edge::Uring(uring) = &mut self.edge
            && !uring.let_go()
        {
            self.payloads.leak();
        }
    }
}
