//! What the simulator can carry on one core: a closed loop of bare connections on another core asks as fast as it is answered.
//!
//! It must not measure latencies: the client here is a load, not an instrument.
//! Usage: cargo bench --bench sim_capacity -- [SECONDS]

use lowrho::clock;
use lowrho::ring::{
    Coalesce, Conn, Core, Departure, End, Handler, Job, Pass, Payload, PumpConfig, Read, Ring, RingConfig,
    Task,
};
use lowrho::script::{Latencies, Script, Seat, Server, Step};
use lowrho::sim::{Sim, SimConfig};
use lowrho::time::{Instant, Span};
use rustix::io::Errno;
use std::io::{IoSlice, Write};
use std::net::SocketAddr;

/// (name, connections, tokens, ttft, itl): all at once, and each token in its own send.
const CASES: [(&str, usize, u32, &str, &str); 5] = [
    ("zero delay", 16, 8, "0s", "0s"),
    ("zero delay", 256, 8, "0s", "0s"),
    ("token by token", 64, 8, "1ms", "1ms"),
    ("token by token", 512, 8, "10ms", "5ms"),
    ("token by token", 2000, 16, "20ms", "20ms"),
];

fn main() {
    let seconds = std::env::args().filter_map(|arg| arg.parse().ok()).next().unwrap_or(3);
    let mut out = std::io::stdout().lock();
    let (one, nine) = (script_alone(1), script_alone(9));
    writeln!(
        out,
        "script alone: {one:.0} ns a request of one token, {:.0} ns each further token",
        (nine - one) / 8.0
    )
    .expect("stdout");
    writeln!(
        out,
        "{:<16}{:>6}{:>7}{:>12}{:>12}{:>8}{:>14}{:>12}{:>12}{:>12}",
        "case",
        "conns",
        "tokens",
        "requests/s",
        "tokens/s",
        "sim rho",
        "us per request",
        "late p50",
        "late p99",
        "client rho"
    )
    .expect("stdout");
    for (name, connections, tokens, ttft, itl) in CASES {
        let latencies = Latencies::parse(ttft, itl, "0s").expect("delays");
        let config = SimConfig {
            script: Script { latencies, ..Script::default() },
            cpus: vec![0],
            ..SimConfig::default()
        };
        let sim = Sim::start(&config).expect("a simulator on cpu 0");
        let load = drive(sim.address(), connections, tokens, Span::from_s(seconds));
        let report = sim.join();
        let rate = load.answered as f64 / load.wall.as_s_f64();
        let rho = report.rho().expect("it ran");
        let us = |late: Option<Span>| late.map_or(f64::NAN, |late| late.as_s_f64() * 1e6);
        writeln!(
            out,
            "{name:<16}{connections:>6}{tokens:>7}{rate:>12.0}{:>12.0}{rho:>8.3}{:>14.1}{:>12.0}{:>12.0}{:>12.3}",
            rate * f64::from(tokens),
            rho / rate * 1e6,
            us(report.lateness(0.5)),
            us(report.lateness(0.99)),
            load.cpu.as_s_f64() / load.wall.as_s_f64(),
        )
        .expect("stdout");
    }
}

/// CPU of the script alone, sockets aside, in nanoseconds per request.
fn script_alone(tokens: u32) -> f64 {
    const REQUESTS: u32 = 200_000;
    let latencies = Latencies::parse("1ms", "1ms", "0s").expect("delays");
    let mut server = Server::new(Script { latencies, ..Script::default() }, Seat::alone(0, false));
    let (request, mut step) = (request(tokens), Step::default());
    server.opened(0);
    let begun = clock::thread_cpu();
    let mut now = Instant::ZERO;
    for _ in 0..REQUESTS {
        server.read(0, &request, now);
        while let Some(due) = server.next_due() {
            now = due;
            server.advance(now, &mut step);
        }
    }
    (clock::thread_cpu() - begun).as_s_f64() * 1e9 / f64::from(REQUESTS)
}

struct Bytes(Vec<u8>);

impl Payload for Bytes {
    fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
        into.push(IoSlice::new(&self.0));
    }
}

/// Connections that ask again as soon as they are answered.
struct Load {
    request: Vec<u8>,
    answered: u64,
    cpu: Span,
    wall: Span,
    tails: Vec<[u8; 5]>,
}

fn request(tokens: u32) -> Vec<u8> {
    let body = format!(
        r#"{{"model":"lowrho-sim","messages":[{{"role":"user","content":"{}"}}],"stream":true,"stream_options":{{"include_usage":true}},"max_tokens":{tokens},"ignore_eos":true}}"#,
        "some words of prompt ".repeat(25)
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\naccept: text/event-stream\r\nx-request-id: 0123456789-12345\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn drive(address: SocketAddr, connections: usize, tokens: u32, length: Span) -> Load {
    let mut load =
        Load { request: request(tokens), answered: 0, cpu: Span::ZERO, wall: Span::ZERO, tails: Vec::new() };
    let pump = PumpConfig {
        coalesce: Coalesce::Auto,
        busy_poll: false,
        longest_sleep: Span::from_ms(50),
        cpu_clock: true,
        card: None,
    };
    let mut core = Core::new(Some(1), &RingConfig::default(), pump).expect("a client's core on cpu 1");
    for _ in 0..connections {
        core.pump().ring_mut().connect(address, None).expect("files and ports");
    }
    let begun = clock::now();
    core.run(&mut load, |_, pass| pass.ended >= begun + length);
    load.wall = clock::now() - begun;
    load
}

impl Handler for Load {
    type Payload = Bytes;

    fn wake(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _: &mut Ring<Bytes>, _: Instant) -> Option<Task> {
        None
    }

    fn accepted(&mut self, _: &mut Ring<Bytes>, _: Conn, _: Instant) {}

    fn connected(&mut self, ring: &mut Ring<Bytes>, conn: Conn, result: Result<(), Errno>, _: Instant) {
        result.expect("the simulator listens");
        self.tails.resize(self.tails.len().max(conn.slot() + 1), [0; 5]);
        ring.send(conn, Bytes(self.request.clone()));
    }

    fn departed(&mut self, _: Conn, _: Departure) {}

    fn sent(&mut self, _: &mut Ring<Bytes>, _: Conn, _: Bytes, result: Result<(), Errno>) {
        result.expect("the simulator reads");
    }

    fn read(&mut self, ring: &mut Ring<Bytes>, conn: Conn, read: Read<'_>) {
        let tail = &mut self.tails[conn.slot()];
        let kept = read.bytes.len().min(5);
        tail.rotate_left(kept);
        tail[5 - kept..].copy_from_slice(&read.bytes[read.bytes.len() - kept..]);
        if tail == b"0\r\n\r\n" {
            *tail = [0; 5];
            self.answered += 1;
            ring.send(conn, Bytes(self.request.clone()));
        }
    }

    fn ended(&mut self, _: &mut Ring<Bytes>, _: Conn, end: End, _: Instant) {
        panic!("the simulator ended a connection: {end:?}");
    }

    fn job(&mut self, _: &Job) {}

    fn pass(&mut self, pass: &Pass) {
        self.cpu += pass.cpu;
    }
}
