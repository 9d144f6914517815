//! One request and its answer on a connection of its own, made by blocking calls: for before the run, when nothing is measured.
//!
//! It must not be used for load: its instants are those of this thread, not of the kernel.

use super::Interrupts;
use super::channel::{Came, Channel, Unreached};
use crate::clock;
use crate::ring::Address;
use crate::shard::DRAIN;
use crate::time::{Instant, Span};
use crate::tls::Peer;
use crate::wire::{Bears, Closed, ErrorClass, Expect, Heard, Progress, Reply, Response};
use std::io::ErrorKind;

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

/// Sends `request` to `address`, which is `peer` where it speaks TLS, and reads the answer to its end, within `limit`
/// altogether.
///
/// # Errors
/// The connection cannot be made, or TLS breaks before a byte of the answer. What goes wrong after that is in
/// [`Answer::reply`].
pub fn exchange(
    address: &Address,
    peer: Option<&Peer>,
    request: &[u8],
    kind: Kind,
    limit: Span,
    interrupts: &Interrupts,
) -> Result<Answer, Unreached> {
    let begun = clock::now();
    let mut channel = Channel::connect(address, limit)?;
    let round_trip = clock::now() - begun;
    let mut until = begun + limit;
    if let Some(peer) = peer {
        channel.secure(peer, until, interrupts)?;
    }
    let (mut response, mut first, mut last) = match kind {
        Kind::Stream(expect) => (Response::new(expect), None, None),
        Kind::Unary(expect) => (Response::unary(expect), None, None),
    };
    let sent = clock::now();
    // A server may answer and close before it has read all: what it said is read all the same.
    let _ = channel.send(request);
    let (mut plain, mut draining, mut broken) = (Vec::new(), false, None);
    loop {
        plain.clear();
        let came = channel.read(&mut plain, until, interrupts);
        let now = clock::now();
        let mut hear = |heard: Heard| {
            if let Heard::Delta(delta) = heard
                && delta.bears != Bears::Nothing
            {
                first.get_or_insert(now);
                last = Some(now);
            }
        };
        let how = match came {
            Ok(Came::Nothing) => continue,
            Ok(Came::Bytes) => match response.read(&plain, &mut hear) {
                Progress::More => continue,
                Progress::Draining => {
                    if !draining {
                        (until, draining) = (until.min(now + DRAIN), true);
                    }
                    continue;
                }
                Progress::Over => break,
            },
            Ok(Came::End { announced: true }) => Closed::Fin,
            Ok(Came::End { announced: false }) => Closed::Unannounced,
            Ok(Came::Broken(failure)) if response.bytes() == 0 => return Err(Unreached::Tls(failure)),
            Ok(Came::Broken(failure)) => {
                broken = Some(failure.to_string().into_boxed_str());
                Closed::Insecure
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => Closed::TimedOut(ErrorClass::TimeoutTotal),
            Err(_) => Closed::Reset,
        };
        response.closed(how, &mut hear);
        break;
    }
    let mut reply = response.reply();
    if reply.error == Some(ErrorClass::Tls) {
        reply.detail = broken;
    }
    Ok(Answer { reply, body: response.body().to_vec(), round_trip, sent, first, last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Api;
    use std::io::{Read, Write};
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
            None,
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
