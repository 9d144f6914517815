//! A server that replays one case: its segments with pauses, then its end. Blocking, on threads of its own, on loopback.

use crate::case::{Case, End};
use rustix::net::sockopt::set_socket_linger;
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

/// Serves `case` on a free port of loopback.
pub fn start(case: Case) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        // Three connections are more than any case needs: the one that dies idle, and the one after it.
        for stream in listener.incoming().take(3).flatten() {
            let (case, asked) = (case.clone(), asked.clone());
            thread::spawn(move || serve(stream, &case, &asked));
        }
    });
    address
}

fn serve(mut stream: TcpStream, case: &Case, asked: &AtomicUsize) {
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(LIFETIME)).unwrap();
    while read_request(&mut stream).is_some() {
        let prelude = case.reused && asked.fetch_add(1, Ordering::SeqCst) == 0;
        if prelude {
            if stream.write_all(PRELUDE.as_bytes()).is_err() {
                return;
            }
            thread::sleep(PAUSE);
            let _ = stream.write_all(&case.pre_wire);
            if end(&mut stream, case.pre_end.unwrap_or(End::Open)) {
                return;
            }
            continue;
        }
        for segment in &case.segments {
            if stream.write_all(segment).is_err() {
                return;
            }
            thread::sleep(PAUSE);
        }
        if end(&mut stream, case.end) {
            return;
        }
    }
}

/// Ends as the case says; whether the connection is over.
fn end(stream: &mut TcpStream, how: End) -> bool {
    match how {
        End::Open | End::Stall => false,
        End::Fin | End::TlsEof => {
            let _ = stream.shutdown(Shutdown::Write);
            // What the client still says is read, so that closing does not become a reset.
            let _ = stream.read_to_end(&mut Vec::new());
            true
        }
        End::Rst => {
            set_socket_linger(&*stream, Some(Duration::ZERO)).unwrap();
            true
        }
    }
}

/// Reads one request, head and body; `None` when the client is gone.
fn read_request(stream: &mut TcpStream) -> Option<()> {
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
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}
