//! The epoll edge: what is asked of the kernel by one call each, and the buffers it reads into.
//!
//! It must not know what becomes of a connection: `news` does.
//!
//! Sockets are watched edge-triggered: one `epoll_ctl` for each connection's life, and a socket that was read empty costs the
//! next `epoll_wait` nothing (level-triggered, the kernel would ask each again). What that takes is kept elsewhere: a socket
//! not read to its end is remembered (`Ring::unread`).
#![allow(unsafe_code, reason = "messages with the kernel's stamps, which rustix does not hand out")]

use super::buffers::Memory;
use super::control::{CONTROL_BYTES, Filled, RECVMSG_OUT_BYTES, stamps};
use super::token::{Kind, Token};
use super::{Conn, RingConfig, RingError};
use crate::clock;
use crate::time::{Instant, Span};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, connect};
use std::collections::VecDeque;
use std::rc::Rc;

/// Where the bytes start in a filled buffer; the control messages end there.
const HEADER: usize = RingConfig::HEADER_BYTES as usize;

/// Sockets that one look shows at most; when there are more, the next look shows them.
const SHOWN_AT_ONCE: usize = 1024;

/// Something that came, by way of epoll.
#[derive(Debug)]
pub(super) enum News {
    /// Bytes of a connection, in this buffer.
    Read(Conn, u16, Filled),
    /// FIN, or why a connection can be read no more.
    Ended(Conn, Result<(), Errno>),
    /// What a listener accepted, or why it could not.
    Accepted(super::sockets::Listener, Result<OwnedFd, Errno>),
    /// The connecting of a connection is over.
    Connected(Conn, Result<(), Errno>),
    /// The send of this index is over.
    Sent(u32, Result<(), Errno>),
}

/// One epoll and its buffers.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    memory: Rc<Memory>,
    /// Buffers that hold nothing.
    free: Vec<u16>,
    /// Connections that hold something unread, in the order in which they are read.
    pub(super) unread: VecDeque<Conn>,
    /// What came and was not collected yet.
    pub(super) news: VecDeque<News>,
    looked: Instant,
    /// The last look showed as many sockets as it could: there may be more.
    has_more: bool,
    waits: u64,
}

impl Poller {
    /// Makes the epoll; gives the memory of its buffers too.
    pub(super) fn new(config: &RingConfig) -> Result<(Self, Rc<Memory>), RingError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC);
        let epoll = epoll.map_err(|errno| RingError::of_epoll("epoll_create", errno))?;
        let memory = Rc::new(Memory::new(config)?);
        let poller = Self {
            epoll,
            events: Vec::with_capacity(SHOWN_AT_ONCE),
            memory: Rc::clone(&memory),
            // The first is lent first: few connections keep to few pages.
            free: (0..config.buffers).rev().collect(),
            unread: VecDeque::with_capacity(SHOWN_AT_ONCE),
            // Every buffer may be filled, every socket tell something beside.
            news: VecDeque::with_capacity(usize::from(config.buffers) + SHOWN_AT_ONCE),
            looked: Instant::ZERO,
            has_more: false,
            waits: 0,
        };
        Ok((poller, memory))
    }

    /// Begins to connect; how it ends is news.
    pub(super) fn connect(&mut self, fd: &OwnedFd, to: &SocketAddrAny, conn: Conn) -> Result<(), Errno> {
        rustix::io::ioctl_fionbio(fd, true)?;
        // A full backlog of a Unix socket fails at once (EAGAIN): the kernel tells nobody when there is room.
        if let Err(errno) = connect(fd, to)
            && !matches!(errno, Errno::INPROGRESS | Errno::INTR)
        {
            self.news.push_back(News::Connected(conn, Err(errno)));
            return Ok(());
        }
        // Not before: a socket that has never been connected looks like one that was hung up.
        self.watch(fd, conn)
    }

    /// Watches a connection from now on; what has come already is shown by the next look.
    pub(super) fn watch(&self, fd: &OwnedFd, conn: Conn) -> Result<(), Errno> {
        let name = Token { kind: Kind::Receive, generation: conn.generation, slot: conn.slot };
        // Urgent data cuts a read short, and must not be taken for the end of what there is.
        let all = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::PRI
            | epoll::EventFlags::ET;
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(name.pack()), all)
    }

    /// Watches a listener, anew or again: while connections wait for it, every look shows it.
    pub(super) fn listen(&self, fd: &OwnedFd, name: Token) -> Result<(), Errno> {
        rustix::io::ioctl_fionbio(fd, true)?;
        let name = epoll::EventData::new_u64(name.pack());
        match epoll::add(&self.epoll, fd, name, epoll::EventFlags::IN) {
            Err(Errno::EXIST) => epoll::modify(&self.epoll, fd, name, epoll::EventFlags::IN),
            added => added,
        }
    }

    /// Looks away from a listener.
    pub(super) fn rest(&self, fd: &OwnedFd, name: Token) {
        // One that cannot be left alone fails again, and rests again.
        let _ = epoll::modify(
            &self.epoll,
            fd,
            epoll::EventData::new_u64(name.pack()),
            epoll::EventFlags::empty(),
        );
    }

    /// Sleeps until something comes or `longest` is over, or a signal comes; nothing is taken from the epoll. By `ppoll`,
    /// whose time is in nanoseconds on every kernel, as `epoll_wait`'s is not.
    pub(super) fn sleep(&mut self, longest: Span) {
        self.waits += 1;
        // An interrupted sleep is a wake.
        let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(longest)));
    }

    /// Sleeps for `length` whatever comes, or until a signal.
    pub(super) fn doze(&mut self, length: Span) {
        self.waits += 1;
        let _ = rustix::thread::nanosleep(&timespec(length));
    }

    /// Asks which sockets something has happened to; the answers are taken one by one with [`Poller::shown`].
    pub(super) fn look(&mut self) -> usize {
        self.waits += 1;
        self.looked = clock::now();
        self.events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        // A look that fails shows nothing, and the next shows it all.
        let shown = epoll::wait(&self.epoll, spare, Some(&Timespec::default())).unwrap_or(0);
        self.has_more = shown == SHOWN_AT_ONCE;
        shown
    }

    /// The answer of that number to the last look.
    pub(super) fn shown(&self, nth: usize) -> (Token, epoll::EventFlags) {
        let event = self.events[nth];
        (Token::unpack(event.data.u64()), event.flags)
    }

    /// When the last look began.
    pub(super) const fn looked(&self) -> Instant {
        self.looked
    }

    /// Whether something is known to lie unread.
    pub(super) fn has_unread(&self) -> bool {
        self.has_more || !self.unread.is_empty()
    }

    /// A buffer that holds nothing; `None` = there is none until some are lent again.
    pub(super) fn buffer(&mut self) -> Option<u16> {
        self.free.pop()
    }

    /// Gives buffer `id` back. It must not be given back already.
    pub(super) fn lend(&mut self, id: u16) {
        debug_assert!(!self.free.contains(&id), "a buffer is held once");
        self.free.push(id);
    }

    /// Whether a read with so many bytes has filled its buffer.
    pub(super) fn is_full(&self, filled: Filled) -> bool {
        HEADER + filled.bytes == self.memory.each()
    }

    /// Reads what `fd` has into buffer `id`, which nobody else holds. No bytes: FIN.
    pub(super) fn receive(&self, fd: &OwnedFd, id: u16) -> Result<Filled, Errno> {
        let start = self.memory.start(id);
        // SAFETY: all zero is a valid msghdr: null pointers with zero lengths.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        // SAFETY: inside the buffer, by `RingConfig::check`.
        let bytes = unsafe { start.add(HEADER) };
        let mut bytes = libc::iovec { iov_base: bytes.as_ptr().cast(), iov_len: self.memory.each() - HEADER };
        (message.msg_iov, message.msg_iovlen) = (&raw mut bytes, 1);
        // SAFETY: inside the buffer, by `RingConfig::check`.
        let control = unsafe { start.add(RECVMSG_OUT_BYTES) };
        (message.msg_control, message.msg_controllen) = (control.as_ptr().cast(), CONTROL_BYTES);
        // SAFETY: the message and all it points to live until the call is over, and nobody else refers to the buffer.
        let got = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        let bytes = outcome(got)?;
        let told = message.msg_controllen.min(CONTROL_BYTES);
        // SAFETY: filled just now, and nobody writes to it while it is looked at.
        let control = unsafe { self.memory.filled(id, RECVMSG_OUT_BYTES + told) };
        Ok(Filled { stamps: stamps(&control[RECVMSG_OUT_BYTES..]), bytes })
    }

    /// How often the kernel was asked to wait or to look.
    pub(super) const fn waits(&self) -> u64 {
        self.waits
    }
}

/// Sends `message` as far as there is room; gives how many bytes that were.
///
/// # Safety
/// The message and all it points to must be valid.
pub(super) unsafe fn send(fd: &OwnedFd, message: *const libc::msghdr) -> Result<usize, Errno> {
    // A peer that is gone is an error, not a signal.
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: our caller's promise; the kernel only reads it.
    outcome(unsafe { libc::sendmsg(fd.as_raw_fd(), message, flags) })
}

/// A call's result: a count, or an error.
fn outcome(result: isize) -> Result<usize, Errno> {
    usize::try_from(result)
        .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

fn timespec(span: Span) -> Timespec {
    let ns = span.as_ns().max(0);
    Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poller() -> Poller {
        Poller::new(&RingConfig::default()).expect("an epoll").0
    }

    #[test]
    fn a_sleep_ends_when_its_time_is_over_and_a_look_at_nothing_shows_nothing() {
        let mut poller = poller();
        for length in [Span::ZERO, Span::from_us(1), Span::from_us(300)] {
            poller.sleep(length);
            poller.doze(length);
            assert_eq!(poller.look(), 0);
        }
        assert!(!poller.has_unread());
        assert_eq!(poller.waits(), 9);
    }

    #[test]
    fn what_has_come_ends_a_sleep_and_is_shown_once() {
        let mut poller = poller();
        let conn = Conn { slot: 3, generation: 9 };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let ours = OwnedFd::from(ours);
        poller.watch(&ours, conn).expect("watched");
        assert_eq!(poller.look(), 1, "there is room to send");
        std::io::Write::write_all(&mut &theirs, b"word").expect("room");
        // A sleep that missed it would hang for an hour.
        poller.sleep(Span::from_s(3_600));
        assert_eq!(poller.look(), 1);
        let (name, flags) = poller.shown(0);
        assert_eq!((name.kind, name.slot, name.generation), (Kind::Receive, 3, 9));
        assert!(flags.contains(epoll::EventFlags::IN));
        let id = poller.buffer().expect("a buffer");
        assert_eq!(poller.receive(&ours, id).map(|filled| filled.bytes), Ok(4));
        assert_eq!(poller.receive(&ours, id).map(|filled| filled.bytes), Err(Errno::AGAIN));
        // SAFETY: nobody writes to it any more.
        assert_eq!(unsafe { &poller.memory.filled(id, HEADER + 4)[HEADER..] }, b"word");
        assert_eq!(poller.look(), 0);
    }
}
