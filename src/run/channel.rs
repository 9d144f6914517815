//! A connection made by blocking calls, in the clear or over TLS: for before and after a run, when nothing is measured.
//!
//! It must not know HTTP.

use super::Interrupts;
use crate::clock;
use crate::ring::Address;
use crate::time::{Instant, Span};
use crate::tls::{Failure, Peer, Session};
use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How often a silent server is left to look whether the user still wants to wait.
const LOOK: Span = Span::from_ms(100);

fn duration(span: Span) -> Duration {
    // A timeout of zero means "none" to the system.
    Duration::from_nanos(u64::try_from(span.as_ns()).unwrap_or(0).max(1_000))
}

/// Why a server was not reached.
#[derive(Debug)]
pub enum Unreached {
    /// There is no connection: what the kernel says, or that the limit is over.
    Connect(io::Error),
    /// There is one, and TLS did not come up on it.
    Tls(Failure),
}

impl From<io::Error> for Unreached {
    fn from(error: io::Error) -> Self {
        Self::Connect(error)
    }
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "{error}"),
            Self::Tls(failure) => write!(f, "{failure}"),
        }
    }
}

/// A socket of either kind.
#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn set_read_timeout(&self, limit: Span) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(duration(limit))),
            Self::Unix(stream) => stream.set_read_timeout(Some(duration(limit))),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub struct Channel {
    socket: Socket,
    session: Option<Box<Session>>,
    buffer: Vec<u8>,
    /// What broke the session, once what came before was handed on.
    broken: Option<Failure>,
}

/// What a read brought.
#[derive(Debug)]
pub enum Came {
    /// Bytes.
    Bytes,
    /// Nothing that means anything yet.
    Nothing,
    /// The peer's end; `announced` but by FIN alone where TLS has a word for it.
    End {
        /// Whether the end is known to be where the peer meant it.
        announced: bool,
    },
    /// TLS broke.
    Broken(Failure),
}

impl Channel {
    /// Connects to `address` within `limit`, in the clear.
    ///
    /// # Errors
    /// What the kernel says, or that the limit is over.
    pub fn connect(address: &Address, limit: Span) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, duration(limit))?;
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
            // Accepted by the kernel at once, or never.
            Address::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
        };
        Ok(Self { socket, session: None, buffer: vec![0; 64 << 10], broken: None })
    }

    /// Shakes hands with `peer`, until `until` at the latest.
    ///
    /// # Errors
    /// It cannot be trusted, speaks no TLS, or says nothing.
    pub fn secure(&mut self, peer: &Peer, until: Instant, interrupts: &Interrupts) -> Result<(), Unreached> {
        self.session = Some(Box::new(peer.session()));
        self.say_own()?;
        let mut early = Vec::new();
        while self.session.as_ref().is_some_and(|session| !session.is_up()) {
            match self.read(&mut early, until, interrupts) {
                Ok(Came::Bytes | Came::Nothing) => {}
                Ok(Came::Broken(failure)) => return Err(Unreached::Tls(failure)),
                Ok(Came::End { .. }) => return Err(Unreached::Tls(Failure::ended("was closed"))),
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    return Err(Unreached::Tls(Failure::ended("fell silent")));
                }
                Err(_) => return Err(Unreached::Tls(Failure::ended("was reset"))),
            }
        }
        Ok(())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let Some(session) = &mut self.session else { return self.socket.write_all(message) };
        let mut sealed = Vec::new();
        session.seal(&[IoSlice::new(message)], &mut sealed);
        self.socket.write_all(&sealed)
    }

    fn say_own(&mut self) -> io::Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let mut words = Vec::new();
        session.output(&mut words);
        self.socket.write_all(&words)
    }

    /// Appends what one read brings to `to`.
    ///
    /// # Errors
    /// What the kernel says; `TimedOut` at `until`, or when the user no longer wants to wait.
    pub fn read(&mut self, to: &mut Vec<u8>, until: Instant, interrupts: &Interrupts) -> io::Result<Came> {
        if let Some(failure) = self.broken.take() {
            return Ok(Came::Broken(failure));
        }
        if self.session.as_ref().is_some_and(|session| session.is_closed()) {
            return Ok(Came::End { announced: true });
        }
        let read = loop {
            let left = until - clock::now();
            if left <= Span::ZERO || interrupts.count() > 0 {
                return Err(ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(left.min(LOOK))?;
            match self.socket.read(&mut self.buffer) {
                // A look at the interrupts, not the end of our patience.
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                read => break read?,
            }
        };
        if read == 0 {
            return Ok(Came::End { announced: self.session.is_none() });
        }
        let before = to.len();
        let Some(session) = &mut self.session else {
            to.extend_from_slice(&self.buffer[..read]);
            return Ok(Came::Bytes);
        };
        let received = session.receive(&self.buffer[..read], &mut |meant| to.extend_from_slice(meant));
        self.broken = received.err();
        // A peer that is gone does not hear it, and what it said before it went counts.
        let _ = self.say_own();
        Ok(if to.len() > before { Came::Bytes } else { Came::Nothing })
    }
}
