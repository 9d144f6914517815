//! What the pump tells its handler, and what it asks of it: the whole surface between sockets and meaning.

use crate::time::{Arrival, Instant, Span};
use rustix::io::Errno;
use std::io::IoSlice;

/// Names a connection of one ring. A stale name is harmless: its slot's generation has moved on.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Conn {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl Conn {
    /// The slot, dense from 0, for side tables; another connection takes it over after this one is closed.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

/// Bytes to send, given to the ring until the kernel has them all.
///
/// The slices are taken once, from the payload in its final place, and the ring neither moves nor touches it
/// until the send is over: what `self` borrows or owns stays where it is.
pub trait Payload: 'static {
    /// The bytes, in order.
    fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>);
}

/// One read of one connection.
#[derive(Copy, Clone, Debug)]
pub struct Read<'a> {
    /// The bytes, in the ring's own buffer; gone after the call.
    pub bytes: &'a [u8],
    /// When they arrived.
    pub arrival: Arrival,
}

/// The instant bytes left: the kernel was asked after `before`, and had been asked by `after`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Just before the enter that asked.
    pub before: Instant,
    /// When that enter had returned.
    pub after: Instant,
}

/// How the peer ended a connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// Its last byte was read, then FIN.
    Fin,
    /// RST.
    Reset,
    /// Anything else the kernel says.
    Failed(Errno),
}

/// A timed thing a handler did in [`Handler::tick`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// What it was.
    pub class: JobClass,
    /// When it should have been done.
    pub due: Instant,
}

/// The classes of a shard's work, as the audit tells them apart.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum JobClass {
    /// One receive completion.
    Receive,
    /// One send.
    Send,
    /// One timer, or any other completion.
    Timer,
    /// The preparing of one body.
    Prepare,
    /// The counting of what is over.
    Record,
}

/// One job done: a_i, b_i and e_i of `docs/METHOD.md`, "The client as a queue".
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// What it was.
    pub class: JobClass,
    /// a_i: the receive stamp, or the instant it was due.
    pub arrival: Instant,
    /// b_i: when we began on it.
    pub begun: Instant,
    /// e_i: when we were done with it.
    pub ended: Instant,
    /// Bytes received or sent by it: the kernel's time of the pass is shared in their proportion.
    pub bytes: u32,
}

/// One turn of the pump: wait, harvest, handle. Its jobs were told just before.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Pass {
    /// When the pump went to wait.
    pub entered: Instant,
    /// Before this instant no arrival was to wake it: the end of the coalescing window, or `harvested` where that came first.
    pub planned_wake: Instant,
    /// When it was to wake if nothing arrived: the next due thing, or the longest sleep.
    pub latest_wake: Instant,
    /// When it was back from the kernel, and the harvest began.
    pub harvested: Instant,
    /// When the last job was done.
    pub ended: Instant,
    /// CPU time of this thread in the kernel while it waited and harvested (copying, TCP, acknowledgements). Measured in
    /// one pass of thirty-two, for the CPU clock costs as much as a read; estimated from these in the others, by a line
    /// through time and completions.
    pub kernel: Span,
    /// CPU time of this thread over the whole pass: the kernel's, and our own from `harvested` to `ended`.
    pub cpu: Span,
    /// Jobs done.
    pub jobs: u32,
    /// Whether the pump never meant to sleep.
    pub polled: bool,
}

/// Whoever gives the bytes their meaning: a shard of the client, or the simulator.
///
/// The pump calls from its own turn, never re-entrantly. After `closed` (or after [`super::Ring::close`]) nothing
/// more is heard of a connection.
pub trait Handler {
    /// What it sends.
    type Payload: Payload;

    /// When [`Handler::tick`] wants to run next; `None` = only when something arrives.
    fn wake(&self) -> Option<Instant>;

    /// Whether something may arrive whose instant matters. While nothing does, a pump with nothing due sleeps until
    /// [`Handler::wake`]: no event's interval has to be kept short.
    fn is_listening(&self) -> bool {
        true
    }

    /// Does the one most overdue thing and says what it was; `None` when nothing is due at `now`.
    /// Called after a harvest (so that timers see what has arrived) until it answers `None`; after a millisecond of it
    /// the next harvest goes first.
    fn tick(&mut self, ring: &mut super::Ring<Self::Payload>, now: Instant) -> Option<Task>;

    /// A listener accepted `conn`; it is already being read.
    fn accepted(&mut self, ring: &mut super::Ring<Self::Payload>, conn: Conn, now: Instant);

    /// The outcome of [`super::Ring::connect`]; when it is well, `conn` is already being read; otherwise `conn` is
    /// closed after this call.
    fn connected(
        &mut self,
        ring: &mut super::Ring<Self::Payload>,
        conn: Conn,
        result: Result<(), Errno>,
        now: Instant,
    );

    /// The kernel has been asked to send the next of what [`super::Ring::send`] was given for `conn`: one at a time, in
    /// the order given, each once the one before it is over.
    fn departed(&mut self, conn: Conn, departure: Departure);

    /// The send is over and the payload comes back. A failed send is not the connection's end: what the peer said
    /// before may still be unread (an early 413).
    fn sent(
        &mut self,
        ring: &mut super::Ring<Self::Payload>,
        conn: Conn,
        payload: Self::Payload,
        result: Result<(), Errno>,
    );

    /// Bytes arrived.
    fn read(&mut self, ring: &mut super::Ring<Self::Payload>, conn: Conn, read: Read<'_>);

    /// The peer ended the connection, after all its bytes were handed to `read`. The handler still has to
    /// [`super::Ring::close`] it. `arrival` is the user clock: an end has no stamp.
    fn ended(&mut self, ring: &mut super::Ring<Self::Payload>, conn: Conn, end: End, now: Instant);

    /// One job was done.
    fn job(&mut self, job: &Job);

    /// One pass is over.
    fn pass(&mut self, pass: &Pass);
}
