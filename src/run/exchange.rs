//! One request and its answer on a connection of its own, made by blocking calls: for before the run, when nothing is measured.
//!
//! It must not be used for load: its instants are those of this thread, not of the kernel.

use super::Interrupts;
use crate::clock;
use crate::ring::Address;
use crate::shard::DRAIN;
use crate::time::{Instant, Span};
use crate::wire::{Bears, Closed, ErrorClass, Expect, Heard, Progress, Reply, Response};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// One answer.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub reply: Reply,
    /// The body of a unary answer.
    pub body: Vec<u8>,
    /// How long the connection took to come up: a round trip.
    pub round_trip: Span,
    /// When the request was sent.
    pub sent: Instant,
    /// When its first token-bearing event was read.
    pub first: Option<Instant>,
    /// When its last token-bearing event was read.
    pub last: Option<Instant>,
}

/// What is expected of the answer.
#[derive(Copy, Clone, Debug)]
pub enum Kind {
    /// A stream of events.
    Stream(Expect),
    /// One body.
    Unary(Expect),
}

/// How often a silent server is left to look whether the user still wants to wait.
const LOOK: Span = Span::from_ms(100);

fn duration(span: Span) -> Duration {
    // A timeout of zero means "none" to the system.
    Duration::from_nanos(u64::try_from(span.as_ns()).unwrap_or(0).max(1_000))
}

/// A connection of either kind.
#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Connects to `address`, within `limit`.
///
/// # Errors
/// What the kernel says, or that the limit is over.
pub fn connect(address: &Address, limit: Span) -> io::Result<Stream> {
    Ok(match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, duration(limit))?;
            stream.set_nodelay(true)?;
            Stream::Tcp(stream)
        }
        // Accepted by the kernel at once, or never.
        Address::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
    })
}

impl Stream {
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

/// Sends `request` to `address` and reads the answer to its end, within `limit` altogether.
///
/// # Errors
/// The connection cannot be made. What goes wrong after that is in [`Answer::reply`].
pub fn exchange(
    address: &Address,
    request: &[u8],
    kind: Kind,
    limit: Span,
    interrupts: &Interrupts,
) -> io::Result<Answer> {
    let begun = clock::now();
    let mut stream = connect(address, limit)?;
    let round_trip = clock::now() - begun;
    let (mut response, mut first, mut last) = match kind {
        Kind::Stream(expect) => (Response::new(expect), None, None),
        Kind::Unary(expect) => (Response::unary(expect), None, None),
    };
    let sent = clock::now();
    // A server may answer and close before it has read all: what it said is read all the same.
    let _ = stream.write_all(request);
    let mut buffer = vec![0; 64 << 10];
    let (mut until, mut draining) = (begun + limit, false);
    loop {
        let left = until - clock::now();
        let read = if left > Span::ZERO && interrupts.count() == 0 {
            stream.set_read_timeout(left.min(LOOK))?;
            stream.read(&mut buffer)
        } else {
            Err(ErrorKind::TimedOut.into())
        };
        let now = clock::now();
        let mut hear = |heard: Heard| {
            if let Heard::Delta(delta) = heard
                && delta.bears != Bears::Nothing
            {
                first.get_or_insert(now);
                last = Some(now);
            }
        };
        let over = match read {
            Ok(0) => {
                response.closed(Closed::Fin, &mut hear);
                true
            }
            Ok(n) => match response.read(&buffer[..n], &mut hear) {
                Progress::More => false,
                Progress::Draining => {
                    if !draining {
                        (until, draining) = (until.min(now + DRAIN), true);
                    }
                    false
                }
                Progress::Over => true,
            },
            Err(error) if error.kind() == ErrorKind::Interrupted => false,
            // A look at the interrupts, not the end of our patience.
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => {
                let timed_out = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                let how = if timed_out { Closed::TimedOut(ErrorClass::TimeoutTotal) } else { Closed::Reset };
                response.closed(how, &mut hear);
                true
            }
        };
        if over {
            break;
        }
    }
    let reply = response.reply();
    Ok(Answer { reply, body: response.body().to_vec(), round_trip, sent, first, last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Api;
    use std::net::TcpListener;

    const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
        43\r\ndata: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n\n\r\ne\r\ndata: [DONE]\n\n\r\n";

    /// The answer to one request of a server that writes `parts` one by one and then waits for the client to leave.
    fn answer_of(parts: &'static [&'static [u8]]) -> Answer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            for part in parts {
                stream.write_all(part).unwrap();
            }
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let expect = Expect { api: Api::Completions, choices: 1, reused: false };
        let answer = exchange(
            &address.into(),
            b"GET / HTTP/1.1\r\n\r\n",
            Kind::Stream(expect),
            Span::from_s(20),
            &Interrupts::default(),
        )
        .unwrap();
        server.join().unwrap();
        answer
    }

    #[test]
    fn a_body_may_end_in_a_read_of_its_own() {
        let answer = answer_of(&[STREAM, b"0\r\n\r\n"]);
        assert_eq!((answer.reply.error, answer.reply.output_tokens), (None, Some(1)));
        assert!(answer.first.is_some());
    }

    #[test]
    fn a_body_that_never_ends_is_left_once_its_last_event_was_heard() {
        let answer = answer_of(&[STREAM]);
        assert_eq!((answer.reply.error, answer.reply.output_tokens), (None, Some(1)));
    }
}
