//! A server that replays one case: its segments with pauses, then its end. Blocking, on threads of its own, on loopback;
//! in the clear, or over TLS by rustls' own stream.

use crate::case::{Case, End};
use rustix::net::sockopt::set_socket_linger;
use rustls::{ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Between two segments: they arrive as reads of their own, and a case of a thousand segments still ends soon.
const PAUSE: Duration = Duration::from_micros(500);

/// Nothing outlives its case by more than this.
const LIFETIME: Duration = Duration::from_secs(5);

/// A whole answer, for the request that goes before a case on a reused connection.
const PRELUDE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 94\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

/// How the bytes of a case go over the wire.
#[derive(Clone)]
pub enum Manner {
    /// Each segment as it is.
    Clear,
    /// Each segment as a record, in a write of its own.
    Sealed(Arc<ServerConfig>),
    /// Each segment as a record, all in one write.
    SealedAtOnce(Arc<ServerConfig>),
    /// Each segment as a record, written as two halves of all bytes, cut here (from the end where beyond it).
    SealedAndCut(Arc<ServerConfig>, usize),
}

/// Serves `case` on a free port of loopback.
pub fn start(case: Case, manner: Manner) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        // Three connections are more than any case needs: the one that dies idle, and the one after it.
        for stream in listener.incoming().take(3).flatten() {
            let (case, asked, manner) = (case.clone(), asked.clone(), manner.clone());
            thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(LIFETIME)).unwrap();
                let session = match &manner {
                    Manner::Clear => None,
                    Manner::Sealed(config)
                    | Manner::SealedAtOnce(config)
                    | Manner::SealedAndCut(config, _) => {
                        let mut session = ServerConnection::new(config.clone()).unwrap();
                        session.set_buffer_limit(None);
                        Some(session)
                    }
                };
                serve(Line { stream, session }, &case, &manner, &asked);
            });
        }
    });
    address
}

/// One connection.
struct Line {
    stream: TcpStream,
    session: Option<ServerConnection>,
}

impl Line {
    /// Seals what is said, without sending it.
    fn seal(&mut self, segment: &[u8], into: &mut Vec<u8>) {
        match &mut self.session {
            None => into.extend_from_slice(segment),
            Some(session) => {
                session.writer().write_all(segment).unwrap();
                while session.wants_write() {
                    session.write_tls(into).unwrap();
                }
            }
        }
    }

    fn say(&mut self, segment: &[u8]) -> std::io::Result<()> {
        let mut wire = Vec::new();
        self.seal(segment, &mut wire);
        self.stream.write_all(&wire)
    }

    fn hear(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.session {
            None => self.stream.read(buffer),
            Some(session) => rustls::Stream::new(session, &mut self.stream).read(buffer),
        }
    }

    /// Says something that only TLS hears: new keys.
    fn changes_keys(&mut self) {
        if let Some(session) = &mut self.session {
            session.refresh_traffic_keys().unwrap();
        }
        let _ = self.say(&[]);
    }

    /// Ends as the case says; whether the connection is over.
    fn end(&mut self, how: End) -> bool {
        match how {
            End::Open | End::Stall => return false,
            End::Fin => {
                if let Some(session) = &mut self.session {
                    session.send_close_notify();
                }
                let _ = self.say(&[]);
            }
            End::TlsEof => {}
            End::Rst => {
                set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
                return true;
            }
        }
        let _ = self.stream.shutdown(Shutdown::Write);
        // What the client still says is read, so that closing does not become a reset.
        let _ = self.stream.read_to_end(&mut Vec::new());
        true
    }
}

fn serve(mut line: Line, case: &Case, manner: &Manner, asked: &AtomicUsize) {
    while read_request(&mut line).is_some() {
        let prelude = case.reused && asked.fetch_add(1, Ordering::SeqCst) == 0;
        if prelude {
            if line.say(PRELUDE.as_bytes()).is_err() {
                return;
            }
            thread::sleep(PAUSE);
            if case.id == "T04" {
                line.changes_keys();
            }
            if !case.pre_wire.is_empty() {
                let _ = line.say(&case.pre_wire);
            }
            if line.end(case.pre_end.unwrap_or(End::Open)) {
                return;
            }
            continue;
        }
        if replay(&mut line, case, manner).is_err() || line.end(case.end) {
            return;
        }
    }
}

fn replay(line: &mut Line, case: &Case, manner: &Manner) -> std::io::Result<()> {
    match manner {
        Manner::Clear | Manner::Sealed(_) => {
            for segment in &case.segments {
                line.say(segment)?;
                thread::sleep(PAUSE);
            }
        }
        Manner::SealedAtOnce(_) | Manner::SealedAndCut(..) => {
            let mut wire = Vec::new();
            case.segments.iter().for_each(|segment| line.seal(segment, &mut wire));
            let cut =
                if let Manner::SealedAndCut(_, cut) = manner { (*cut).min(wire.len()) } else { wire.len() };
            line.stream.write_all(&wire[..cut])?;
            if cut < wire.len() {
                thread::sleep(PAUSE);
                line.stream.write_all(&wire[cut..])?;
            }
        }
    }
    Ok(())
}

/// Reads one request, head and body; `None` when the client is gone.
fn read_request(line: &mut Line) -> Option<()> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length =
                text.split("content-length:").nth(1)?.lines().next()?.trim().parse::<usize>().ok()?;
            if bytes.len() >= head + 4 + length {
                return Some(());
            }
        }
        match line.hear(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}
