//! What TLS costs a receiving client per event: rustls' buffered interface, as `lowrho::tls::Session` has it, beside its
//! unbuffered one. No sockets: both open the same kind of records, one event each, as a server that streams writes them.
//!
//! Usage: cargo bench --bench tls [-- --events 200000 --pairs 9]

use lowrho::clock;
use lowrho::time::Span;
use lowrho::tls::{ClientSide, Identity, PeerName, ServerSide, Session, Trust, certificates, self_made};
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{ClientConfig, RootCertStore};
use std::io::{IoSlice, Write};
use std::sync::Arc;

/// The usual event of a chat completion with one token.
const EVENT: [u8; 250] = [b'e'; 250];

/// What one read of a socket brings at most: the ring's buffers are of this size.
const READ_BYTES: usize = 4096 - 80;

const NAME: &str = "localhost";

struct Sides {
    server: ServerSide,
    client: ClientSide,
    unbuffered: Arc<ClientConfig>,
}

impl Sides {
    fn new() -> Self {
        let made = self_made(&[NAME]).expect("a name");
        let identity: Identity = made.identity().expect("our own");
        let trusted = certificates(made.certificate.as_bytes()).expect("our own");
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.clone());
        let unbuffered =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("suites")
                .with_root_certificates(roots)
                .with_no_client_auth();
        Self {
            server: ServerSide::new(identity, None).expect("our own"),
            client: ClientSide::new(Trust::Roots(trusted), None).expect("our own"),
            unbuffered: Arc::new(unbuffered),
        }
    }
}

/// The records of so many events.
fn sealed(server: &mut Session, events: usize) -> Vec<u8> {
    let mut wire = Vec::with_capacity(events * (EVENT.len() + 32));
    for _ in 0..events {
        server.seal(&[IoSlice::new(&EVENT)], &mut wire);
    }
    wire
}

/// The wire as reads bring it: an event each, or as many as a buffer holds.
fn reads(wire: &[u8], events: usize, full: bool) -> impl Iterator<Item = &[u8]> {
    wire.chunks(if full { READ_BYTES } else { wire.len() / events })
}

fn buffered(sides: &Sides, events: usize, full: bool) -> f64 {
    let mut client = sides.client.session(&PeerName::new(NAME).expect("a name"));
    let mut server = sides.server.session();
    let mut wire = Vec::new();
    for _ in 0..4 {
        client.output(&mut wire);
        server.receive(&wire, &mut |_| ()).expect("a handshake");
        wire.clear();
        server.output(&mut wire);
        client.receive(&wire, &mut |_| ()).expect("a handshake");
        wire.clear();
    }
    let wire = sealed(&mut server, events);
    let mut bytes = 0;
    let begun = clock::now();
    for read in reads(&wire, events, full) {
        client.receive(read, &mut |plain| bytes += plain.len()).expect("records of its own peer");
    }
    per_event(begun, events, bytes)
}

fn unbuffered(sides: &Sides, events: usize, full: bool) -> f64 {
    let name = ServerName::try_from(NAME).expect("a name");
    let mut client = UnbufferedClientConnection::new(Arc::clone(&sides.unbuffered), name).expect("a session");
    let mut server = sides.server.session();
    let (mut carry, mut out) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        open(&mut client, &mut carry, &mut out, &mut |_| ());
        server.receive(&out, &mut |_| ()).expect("a handshake");
        out.clear();
        server.output(&mut carry);
    }
    open(&mut client, &mut carry, &mut out, &mut |_| ());
    let wire = sealed(&mut server, events);
    let mut bytes = 0;
    let begun = clock::now();
    for read in reads(&wire, events, full) {
        carry.extend_from_slice(read);
        open(&mut client, &mut carry, &mut out, &mut |plain| bytes += plain.len());
    }
    per_event(begun, events, bytes)
}

/// Runs the unbuffered state machine until it wants more bytes.
fn open(
    client: &mut UnbufferedClientConnection,
    carry: &mut Vec<u8>,
    out: &mut Vec<u8>,
    hear: &mut dyn FnMut(&[u8]),
) {
    loop {
        let UnbufferedStatus { mut discard, state, .. } = client.process_tls_records(carry);
        let mut more = true;
        match state.expect("records of its own peer") {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let record = record.expect("an open record");
                    discard += record.discard;
                    hear(record.payload);
                }
            }
            ConnectionState::EncodeTlsData(mut encode) => {
                let mut buffer = [0; 8192];
                let written = encode.encode(&mut buffer).expect("a handshake is short");
                out.extend_from_slice(&buffer[..written]);
            }
            ConnectionState::TransmitTlsData(transmit) => transmit.done(),
            _ => more = false,
        }
        carry.drain(..discard);
        if !more {
            return;
        }
    }
}

fn per_event(begun: lowrho::time::Instant, events: usize, bytes: usize) -> f64 {
    assert_eq!(bytes, events * EVENT.len(), "all was opened");
    let span: Span = clock::now() - begun;
    span.as_s_f64() * 1e9 / Span::from_ns(i64::try_from(events).expect("a count")).as_s_f64() / 1e9
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let asked: Vec<String> = std::env::args().collect();
    let option = |name: &str, usual: usize| {
        let at = asked.iter().position(|arg| arg == name);
        at.map_or(usual, |at| asked[at + 1].parse().expect("a number follows its name"))
    };
    let (events, pairs) = (option("--events", 200_000), option("--pairs", 9).max(1));
    let sides = Sides::new();
    let mut out = std::io::stdout().lock();
    let mut say = |line: String| writeln!(out, "{line}").expect("stdout is open");
    for (full, what) in [(false, "one event a read"), (true, "reads of 4,016 bytes")] {
        let (mut ours, mut other, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 0..=pairs {
            let (a, b) = (buffered(&sides, events, full), unbuffered(&sides, events, full));
            if pair > 0 {
                // The first warms caches and allocator.
                ours.push(a);
                other.push(b);
                ratios.push(b / a);
            }
        }
        let (a, b, ratio) = (median(&mut ours), median(&mut other), median(&mut ratios));
        let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
        say(format!(
            "{what}: buffered {a:.0} ns an event of {} bytes, unbuffered {b:.0} ns; unbuffered of buffered {ratio:.3} (pairs from {least:.3} to {most:.3})",
            EVENT.len()
        ));
    }
}
