//! The ring and its pump over real loopback sockets: outcomes and orders, never times.

use super::ENGINE;
use lowrho::clock;
use lowrho::ring::{
    Coalesce, Conn, Departure, End, Engine, Handler, Job, JobClass, Pass, Payload, PortUse, Pump, PumpConfig,
    Read, Ring, RingConfig, Stamps, Task,
};
use lowrho::time::{Arrival, Instant, Span, StampClass};
use rustix::io::Errno;
use std::io::{ErrorKind, IoSlice, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::Duration;

/// Slices of bytes; `alive` counts how many payloads have not been dropped.
struct Parts {
    parts: Vec<Vec<u8>>,
    _alive: Rc<()>,
}

impl Payload for Parts {
    fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
        into.extend(self.parts.iter().map(|part| IoSlice::new(part)));
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Event {
    Accepted(Conn),
    Connected(Conn, Result<(), Errno>),
    Departed(Conn, Departure),
    Sent(Conn, usize, Result<(), Errno>),
    Read(Conn, Vec<u8>, Arrival, Instant),
    Ended(Conn, End),
    Ticked(Instant),
}

/// Notes all that it hears, and sends back what it reads if it is an echo.
#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    jobs: Vec<Job>,
    passes: Vec<Pass>,
    due: Vec<Instant>,
    echo: bool,
    expects_nothing: bool,
    alive: Rc<()>,
    /// A connection of which nothing may have reached its peer that has not departed; looked at with every read.
    watched: Option<(Conn, TcpStream)>,
}

impl Heard {
    fn parts(&self, parts: &[&[u8]]) -> Parts {
        Parts { parts: parts.iter().map(|part| part.to_vec()).collect(), _alive: Rc::clone(&self.alive) }
    }

    fn accepted_conns(&self) -> Vec<Conn> {
        let accepted = |event: &Event| if let Event::Accepted(conn) = event { Some(*conn) } else { None };
        self.events.iter().filter_map(accepted).collect()
    }

    fn reads(&self, of: Conn) -> Vec<(Vec<u8>, Arrival, Instant)> {
        let read = |event: &Event| match event {
            Event::Read(conn, bytes, arrival, now) if *conn == of => Some((bytes.clone(), *arrival, *now)),
            _ => None,
        };
        self.events.iter().filter_map(read).collect()
    }

    fn bytes(&self, of: Conn) -> Vec<u8> {
        self.reads(of).into_iter().flat_map(|(bytes, ..)| bytes).collect()
    }

    fn departures(&self, of: Conn) -> Vec<Departure> {
        let departed = |event: &Event| match event {
            Event::Departed(conn, departure) if *conn == of => Some(*departure),
            _ => None,
        };
        self.events.iter().filter_map(departed).collect()
    }

    fn has(&self, event: &Event) -> bool {
        self.events.contains(event)
    }

    fn sent(&self, of: Conn) -> Vec<(usize, Result<(), Errno>)> {
        let sent = |event: &Event| match event {
            Event::Sent(conn, first, result) if *conn == of => Some((*first, *result)),
            _ => None,
        };
        self.events.iter().filter_map(sent).collect()
    }

    fn end(&self, of: Conn) -> Option<End> {
        let ended = |event: &Event| match event {
            Event::Ended(conn, end) if *conn == of => Some(*end),
            _ => None,
        };
        self.events.iter().find_map(ended)
    }
}

impl Handler for Heard {
    type Payload = Parts;

    fn wake(&self) -> Option<Instant> {
        self.due.first().copied()
    }

    fn is_listening(&self) -> bool {
        !self.expects_nothing
    }

    fn tick(&mut self, _ring: &mut Ring<Parts>, now: Instant) -> Option<Task> {
        let due = self.due.first().copied().filter(|due| *due <= now)?;
        self.due.remove(0);
        self.events.push(Event::Ticked(due));
        Some(Task { class: JobClass::Timer, due })
    }

    fn accepted(&mut self, _ring: &mut Ring<Parts>, conn: Conn, _now: Instant) {
        self.events.push(Event::Accepted(conn));
    }

    fn connected(&mut self, _ring: &mut Ring<Parts>, conn: Conn, result: Result<(), Errno>, _now: Instant) {
        self.events.push(Event::Connected(conn, result));
    }

    fn departed(&mut self, conn: Conn, departure: Departure) {
        self.events.push(Event::Departed(conn, departure));
    }

    fn sent(&mut self, _ring: &mut Ring<Parts>, conn: Conn, payload: Parts, result: Result<(), Errno>) {
        self.events.push(Event::Sent(conn, payload.parts[0].len(), result));
    }

    fn read(&mut self, ring: &mut Ring<Parts>, conn: Conn, read: Read<'_>) {
        self.events.push(Event::Read(conn, read.bytes.to_vec(), read.arrival, clock::now()));
        if let Some((conn, peer)) = &self.watched {
            let arrived = peer.peek(&mut [0; 64]).unwrap_or(0);
            assert!(arrived <= self.departures(*conn).len(), "it left before the clock was read");
        }
        if self.echo {
            ring.send(conn, self.parts(&[read.bytes]));
        }
    }

    fn ended(&mut self, ring: &mut Ring<Parts>, conn: Conn, end: End, _now: Instant) {
        self.events.push(Event::Ended(conn, end));
        if self.echo {
            ring.close(conn);
        }
    }

    fn job(&mut self, job: &Job) {
        self.jobs.push(*job);
    }

    fn pass(&mut self, pass: &Pass) {
        self.passes.push(*pass);
    }
}

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// A test that waits longer hangs; nothing on loopback does.
const PATIENCE: Span = Span::from_s(20);

fn pump_with(config: &RingConfig, coalesce: Coalesce) -> Pump<Parts> {
    let ring = Ring::new(&RingConfig { engine: ENGINE, ..config.clone() }).expect("this engine works here");
    Pump::new(ring, PumpConfig { coalesce, ..PumpConfig::default() })
}

fn pump() -> Pump<Parts> {
    pump_with(&RingConfig::default(), Coalesce::Never)
}

/// The kernel begins to stamp some time after the first socket has asked for it: waits for that, and keeps one open.
fn stamping() -> Pump<Parts> {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    let stamped =
        |heard: &Heard| heard.reads(conn).iter().any(|(_, arrival, _)| arrival.class == StampClass::Software);
    while !stamped(&heard) {
        peer.write_all(b"x").expect("room");
        let seen = heard.bytes(conn).len();
        until(&mut pump, &mut heard, "read", |heard| heard.bytes(conn).len() > seen);
        assert!(heard.bytes(conn).len() < 100_000, "the kernel never stamps");
    }
    pump
}

fn until(pump: &mut Pump<Parts>, heard: &mut Heard, what: &str, done: impl Fn(&Heard) -> bool) {
    let begun = clock::now();
    while !done(heard) {
        pump.turn(heard);
        let tail = heard.events.len().saturating_sub(8);
        assert!(clock::now() - begun < PATIENCE, "never: {what}; last heard {:?}", &heard.events[tail..]);
    }
}

/// Turns a few times, for things that must not be heard.
fn linger(pump: &mut Pump<Parts>, heard: &mut Heard) {
    for _ in 0..10 {
        heard.due = vec![clock::now() + Span::from_ms(1)];
        pump.turn(heard);
    }
}

/// Closes `conn`, and lets the kernel know.
fn close(pump: &mut Pump<Parts>, heard: &mut Heard, conn: Conn) {
    pump.ring_mut().close(conn);
    linger(pump, heard);
}

/// Connects to a listener of the standard library; gives both ends.
fn connected(pump: &mut Pump<Parts>, heard: &mut Heard) -> (Conn, TcpStream) {
    let listener = TcpListener::bind(ANY_PORT).expect("loopback");
    let conn = pump.ring_mut().connect(listener.local_addr().expect("bound"), None).expect("a socket");
    until(pump, heard, "connected", |heard| heard.has(&Event::Connected(conn, Ok(()))));
    let (peer, _) = listener.accept().expect("the connection is there");
    peer.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    (conn, peer)
}

/// The peer's FIN is an RST when it has not lingered.
fn reset(peer: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).expect("linger");
    drop(peer);
}

fn read_to_end(mut peer: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    peer.read_to_end(&mut bytes).expect("until FIN");
    bytes
}

fn numbered(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|n| u8::try_from((n * 31 + n / 251 + seed) % 256).expect("a byte")).collect()
}

#[test]
fn many_connections_echo_between_two_rings_on_two_threads() {
    const CONNS: usize = 100;
    const ROUNDS: usize = 5;
    let _stamping = stamping();
    for coalesce in [Coalesce::Never, Coalesce::Window(Span::from_us(200)), Coalesce::Auto] {
        let (tell, address) = std::sync::mpsc::channel();
        let server = std::thread::spawn(move || {
            let mut pump = pump_with(&RingConfig::default(), coalesce);
            let real = pump.ring_mut().listen(ANY_PORT, PortUse::Own).expect("loopback");
            let real = real.tcp().expect("TCP");
            tell.send(real).expect("the test waits");
            let mut heard = Heard { echo: true, ..Heard::default() };
            until(&mut pump, &mut heard, "all gone", |heard| {
                heard.events.iter().filter(|event| matches!(event, Event::Ended(..))).count() == CONNS
            });
            assert_eq!(pump.counters().open, 0);
            assert_eq!(pump.counters().stamps_lost, 0);
        });
        let address = address.recv().expect("the server listens");
        let mut pump = pump_with(&RingConfig::default(), coalesce);
        let mut heard = Heard::default();
        let conns: Vec<Conn> =
            (0..CONNS).map(|_| pump.ring_mut().connect(address, None).expect("a socket")).collect();
        until(&mut pump, &mut heard, "all connected", |heard| {
            conns.iter().all(|conn| heard.has(&Event::Connected(*conn, Ok(()))))
        });
        for round in 1..=ROUNDS {
            for (n, conn) in conns.iter().enumerate() {
                let message = numbered(250, n + round);
                pump.ring_mut().send(*conn, heard.parts(&[&message[..100], &message[100..]]));
            }
            until(&mut pump, &mut heard, "all echoed", |heard| {
                conns.iter().all(|conn| heard.bytes(*conn).len() == round * 250)
            });
        }
        for (n, conn) in conns.iter().enumerate() {
            let expected: Vec<u8> = (1..=ROUNDS).flat_map(|round| numbered(250, n + round)).collect();
            assert_eq!(heard.bytes(*conn), expected);
            pump.ring_mut().close(*conn);
        }
        until(&mut pump, &mut heard, "one more turn", |_| true);
        linger(&mut pump, &mut heard);
        server.join().expect("the server is content");
        assert_eq!(Rc::strong_count(&heard.alive), 1, "every payload came back");
    }
}

#[test]
fn a_payload_of_many_slices_larger_than_the_sockets_buffer_arrives_whole_with_one_completion() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, peer) = connected(&mut pump, &mut heard);
    let parts: Vec<Vec<u8>> = (0..100).map(|n| numbered(100_000 + n, n)).collect();
    let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    pump.ring_mut().send(conn, heard.parts(&slices));
    let reader = std::thread::spawn(move || read_to_end(peer));
    until(&mut pump, &mut heard, "sent", |heard| !heard.sent(conn).is_empty());
    assert_eq!(heard.sent(conn), [(100_000, Ok(()))]);
    close(&mut pump, &mut heard, conn);
    assert!(reader.join().expect("read") == parts.concat(), "other bytes arrived than were sent");
}

#[test]
fn sends_of_one_connection_go_one_after_the_other() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, peer) = connected(&mut pump, &mut heard);
    let mut expected = Vec::new();
    for n in 1..=20 {
        let part = numbered(n * 40_000, n);
        pump.ring_mut().send(conn, heard.parts(&[&part]));
        expected.extend(part);
    }
    let reader = std::thread::spawn(move || read_to_end(peer));
    until(&mut pump, &mut heard, "all sent", |heard| heard.sent(conn).len() == 20);
    close(&mut pump, &mut heard, conn);
    assert_eq!(heard.sent(conn), (1..=20).map(|n| (n * 40_000, Ok(()))).collect::<Vec<_>>());
    assert_eq!(heard.departures(conn).len(), 20);
    assert!(reader.join().expect("read") == expected, "other bytes arrived than were sent");
}

#[test]
fn sends_given_before_the_connection_is_up_follow_it() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let listener = TcpListener::bind(ANY_PORT).expect("loopback");
    let conn = pump.ring_mut().connect(listener.local_addr().expect("bound"), None).expect("a socket");
    pump.ring_mut().send(conn, heard.parts(&[b"early"]));
    until(&mut pump, &mut heard, "sent", |heard| !heard.sent(conn).is_empty());
    close(&mut pump, &mut heard, conn);
    assert_eq!(read_to_end(listener.accept().expect("connected").0), b"early");
}

#[test]
fn fin_is_told_after_all_bytes_and_leaves_the_connection_to_the_handler() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    let bytes = numbered(100_000, 1);
    peer.write_all(&bytes).expect("room");
    drop(peer);
    until(&mut pump, &mut heard, "ended", |heard| heard.end(conn).is_some());
    assert_eq!(heard.end(conn), Some(End::Fin));
    assert!(heard.bytes(conn) == bytes, "bytes were lost before FIN");
    assert!(matches!(heard.events.last(), Some(Event::Ended(..))));
    assert!(pump.ring().is_open(conn));
    pump.ring_mut().close(conn);
    assert!(!pump.ring().is_open(conn));
}

#[test]
fn a_reset_is_told_as_one() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, peer) = connected(&mut pump, &mut heard);
    reset(peer);
    until(&mut pump, &mut heard, "ended", |heard| heard.end(conn).is_some());
    assert_eq!(heard.end(conn), Some(End::Reset));
}

#[test]
fn a_refused_connection_is_told_and_its_name_is_dead() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let address = TcpListener::bind(ANY_PORT).expect("loopback").local_addr().expect("bound");
    let conn = pump.ring_mut().connect(address, None).expect("a socket");
    pump.ring_mut().send(conn, heard.parts(&[b"never"]));
    until(&mut pump, &mut heard, "refused", |heard| {
        heard.has(&Event::Connected(conn, Err(Errno::CONNREFUSED)))
    });
    assert!(!pump.ring().is_open(conn));
    linger(&mut pump, &mut heard);
    assert_eq!(heard.sent(conn), []);
    assert_eq!(Rc::strong_count(&heard.alive), 1, "what waited for it is dropped");
}

#[test]
fn a_source_address_is_used_and_one_that_is_not_ours_is_refused_at_once() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let listener = TcpListener::bind(ANY_PORT).expect("loopback");
    let to = listener.local_addr().expect("bound");
    let from = IpAddr::from([127, 0, 0, 77]);
    let conn = pump.ring_mut().connect(to, Some(from)).expect("a socket");
    until(&mut pump, &mut heard, "connected", |heard| heard.has(&Event::Connected(conn, Ok(()))));
    assert_eq!(listener.accept().expect("connected").1.ip(), from);
    assert_eq!(pump.ring_mut().connect(to, Some(IpAddr::from([192, 0, 2, 1]))), Err(Errno::ADDRNOTAVAIL));
}

#[test]
fn a_failed_send_gives_its_payload_back() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, peer) = connected(&mut pump, &mut heard);
    reset(peer);
    until(&mut pump, &mut heard, "ended", |heard| heard.end(conn).is_some());
    pump.ring_mut().send(conn, heard.parts(&[b"too late"]));
    until(&mut pump, &mut heard, "sent", |heard| !heard.sent(conn).is_empty());
    assert_eq!(heard.sent(conn), [(8, Err(Errno::PIPE))]);
}

/// Twenty streams with more to read than two buffers hold, by way of so many entries.
fn starve(entries: u32) {
    let config = RingConfig { entries, buffers: 2, buffer_bytes: 256, ..RingConfig::default() };
    let (mut pump, mut heard) = (pump_with(&config, Coalesce::Never), Heard::default());
    let mut ends: Vec<(Conn, TcpStream)> = (0..20).map(|_| connected(&mut pump, &mut heard)).collect();
    for (n, (_, peer)) in ends.iter_mut().enumerate() {
        peer.write_all(&numbered(10_000, n)).expect("room");
    }
    let conns: Vec<Conn> = ends.into_iter().map(|(conn, _)| conn).collect();
    until(&mut pump, &mut heard, "all ended", |heard| conns.iter().all(|conn| heard.end(*conn).is_some()));
    for (n, conn) in conns.iter().enumerate() {
        assert!(heard.bytes(*conn) == numbered(10_000, n), "stream {n} lost bytes or their order");
    }
    let counters = pump.counters();
    if ENGINE == Engine::Epoll {
        assert_eq!(counters.enobufs, 0);
        let passes = u64::try_from(heard.passes.len()).expect("some");
        assert!(passes >= counters.reads / 2, "two buffers bring two reads at most");
    } else {
        assert!(counters.enobufs > 0, "two buffers were enough: the test tests nothing");
    }
    assert_eq!(counters.cq_lost, 0);
}

#[test]
fn running_out_of_buffers_loses_nothing() {
    starve(RingConfig::default().entries);
}

#[test]
fn a_harvest_ends_though_more_streams_starve_than_there_are_entries() {
    starve(4);
}

#[test]
fn streams_faster_than_they_are_read_arrive_whole_and_in_order() {
    const BYTES: usize = 2_000_000;
    let (mut pump, mut heard) = (pump_with(&RingConfig::default(), Coalesce::Auto), Heard::default());
    let ends: Vec<(Conn, TcpStream)> = (0..20).map(|_| connected(&mut pump, &mut heard)).collect();
    let mut conns = Vec::new();
    let mut writers = Vec::new();
    for (n, (conn, mut peer)) in ends.into_iter().enumerate() {
        conns.push(conn);
        // Ends inside a buffer, inside a segment, and of another length for each.
        let bytes = numbered(BYTES + 997 * n, n);
        writers.push(std::thread::spawn(move || peer.write_all(&bytes).expect("it is read")));
    }
    until(&mut pump, &mut heard, "all ended", |heard| {
        heard.events.iter().filter(|event| matches!(event, Event::Ended(..))).count() == conns.len()
    });
    writers.into_iter().for_each(|writer| writer.join().expect("all is written"));
    for (n, conn) in conns.iter().enumerate() {
        assert!(heard.bytes(*conn) == numbered(BYTES + 997 * n, n), "stream {n} lost bytes or their order");
        assert_eq!(heard.end(*conn), Some(End::Fin));
    }
}

#[test]
fn nothing_is_heard_of_a_closed_connection_and_its_payload_is_kept_until_the_kernel_is_done() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    // The peer does not read: the first stays under way, the second waits.
    for _ in 0..2 {
        let large = vec![7; 32 << 20];
        pump.ring_mut().send(conn, heard.parts(&[&large]));
    }
    until(&mut pump, &mut heard, "departed", |heard| !heard.departures(conn).is_empty());
    peer.write_all(b"unheard").expect("room");
    pump.ring_mut().close(conn);
    let told = heard.events.len();
    linger(&mut pump, &mut heard);
    assert!(heard.events[told..].iter().all(|event| matches!(event, Event::Ticked(_))), "{:?}", heard.events);
    assert_eq!(Rc::strong_count(&heard.alive), 1, "both payloads are dropped");
    let mut sink = [0; 1 << 16];
    let cut = loop {
        match peer.read(&mut sink) {
            Ok(0) => break true,
            Ok(_) => {}
            Err(error) => break error.kind() == ErrorKind::ConnectionReset,
        }
    };
    assert!(cut, "the peer sees the end");
}

#[test]
fn a_stale_name_is_harmless_to_the_connection_that_has_its_slot_now() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (old, old_peer) = connected(&mut pump, &mut heard);
    pump.ring_mut().close(old);
    let (new, peer) = connected(&mut pump, &mut heard);
    assert_eq!(old.slot(), new.slot());
    let ring = pump.ring_mut();
    ring.send(old, heard.parts(&[b"stray"]));
    ring.reset(old);
    ring.close(old);
    ring.send(new, heard.parts(&[b"straight"]));
    until(&mut pump, &mut heard, "sent", |heard| !heard.sent(new).is_empty());
    close(&mut pump, &mut heard, new);
    assert_eq!(read_to_end(peer), b"straight");
    assert_eq!(read_to_end(old_peer), b"");
}

#[test]
fn a_reset_by_us_reaches_the_peer_as_one() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    pump.ring_mut().reset(conn);
    linger(&mut pump, &mut heard);
    assert_eq!(peer.read(&mut [0]).expect_err("RST").kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_port_can_be_shared_by_rings_and_is_refused_with_the_remedy_when_it_is_not() {
    let (mut one, mut two) = (pump(), pump());
    let address = one.ring_mut().listen(ANY_PORT, PortUse::Shared).expect("loopback");
    assert_eq!(two.ring_mut().listen(&address, PortUse::Shared).expect("shared"), address);
    let address = address.tcp().expect("TCP");
    let error = two.ring_mut().listen(address, PortUse::Own).expect_err("taken").to_string();
    assert!(error.contains("in use") && error.contains("another port"), "{error}");
}

#[test]
fn stamps_lie_between_the_send_and_the_read_and_run_forward() {
    let _stamping = stamping();
    let (mut pump, mut heard) = (pump(), Heard::default());
    let address = pump.ring_mut().listen(ANY_PORT, PortUse::Own).expect("loopback");
    let address = address.tcp().expect("TCP");
    let client = pump.ring_mut().connect(address, None).expect("a socket");
    until(&mut pump, &mut heard, "both up", |heard| {
        heard.has(&Event::Connected(client, Ok(()))) && heard.accepted_conns().len() == 1
    });
    let server = heard.accepted_conns()[0];
    for (from, to) in [(client, server), (server, client)].repeat(50) {
        let seen = heard.reads(to).len();
        pump.ring_mut().send(from, heard.parts(&[b"event"]));
        until(&mut pump, &mut heard, "read", |heard| heard.reads(to).len() > seen);
        let (_, arrival, read) = heard.reads(to)[seen];
        let sent = *heard.departures(from).last().expect("it departed");
        let bound = pump.realtime_offset().bound();
        assert_eq!(arrival.class, StampClass::Software);
        assert!(arrival.stamp + bound >= sent.before, "{arrival:?} before {sent:?}");
        assert!(arrival.stamp <= read + bound, "{arrival:?} after {read:?}");
        assert!(arrival.earliest <= arrival.stamp);
    }
    for conn in [client, server] {
        assert!(heard.reads(conn).is_sorted_by_key(|(_, arrival, _)| arrival.stamp));
        assert_eq!(heard.reads(conn).len(), 50);
    }
    assert_eq!(pump.counters().stamps_lost, 0);
}

#[test]
fn an_event_that_met_a_later_one_in_its_read_arrived_within_the_bounds() {
    let _stamping = stamping();
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    peer.set_nodelay(true).expect("nodelay");
    for round in 1..=20 {
        let before_first = clock::now();
        peer.write_all(b"first ").expect("room");
        let after_first = clock::now();
        peer.write_all(b"second ").expect("room");
        until(&mut pump, &mut heard, "both read", |heard| heard.bytes(conn).len() == round * 13);
        let reads = heard.reads(conn);
        let (bytes, arrival, _) = &reads[reads.len() - 1];
        let bound = pump.realtime_offset().bound();
        assert_eq!(bytes, b"first second ", "the pump did not turn in between");
        assert!(
            arrival.earliest <= after_first + bound,
            "the first may have arrived as early as it was sent"
        );
        assert!(arrival.stamp + bound >= after_first, "the stamp is of the second");
        assert!(arrival.stamp >= before_first - bound);
        if let [.., (_, previous, _), _] = reads.as_slice() {
            assert!(arrival.earliest >= previous.stamp, "nothing arrived before the stream's last stamp");
        }
    }
}

#[test]
fn without_stamps_reads_are_of_the_user_class_and_none_is_lost() {
    let config = RingConfig { stamps: Stamps::Off, ..RingConfig::default() };
    let (mut pump, mut heard) = (pump_with(&config, Coalesce::Never), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    peer.write_all(b"x").expect("room");
    until(&mut pump, &mut heard, "read", |heard| !heard.reads(conn).is_empty());
    let (_, arrival, read) = heard.reads(conn)[0].clone();
    assert_eq!(arrival.class, StampClass::User);
    assert!(arrival.earliest <= arrival.stamp && arrival.stamp <= read);
    assert_eq!(pump.counters().stamps_lost, 0);
}

#[test]
fn after_a_stall_what_arrived_is_read_before_what_is_due_is_done() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    peer.write_all(b"answer").expect("room");
    let now = clock::now();
    heard.due = vec![now - Span::from_ms(3), now - Span::from_ms(2), now - Span::from_ms(1)];
    let due = heard.due.clone();
    let told = heard.events.len();
    let pass = pump.turn(&mut heard);
    let events = &heard.events[told..];
    assert!(
        matches!(&events[0], Event::Read(of, bytes, ..) if *of == conn && bytes == b"answer"),
        "{events:?}"
    );
    assert_eq!(events[1..], due.into_iter().map(Event::Ticked).collect::<Vec<_>>());
    assert_eq!(pass.jobs, 4);
}

#[test]
fn the_jobs_of_a_pass_are_back_to_back_and_carry_their_arrivals() {
    let _stamping = stamping();
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    peer.write_all(b"12345").expect("room");
    let due = clock::now();
    heard.due = vec![due];
    heard.jobs.clear();
    let pass = pump.turn(&mut heard);
    let stamp = heard.reads(conn)[0].1.stamp;
    let [read, tick] = heard.jobs[..] else { panic!("two jobs, not {:?}", heard.jobs) };
    assert_eq!((read.class, read.arrival, read.bytes), (JobClass::Receive, stamp, 5));
    assert_eq!((tick.class, tick.arrival, tick.bytes), (JobClass::Timer, due, 0));
    assert_eq!((read.begun, tick.begun, tick.ended), (pass.harvested, read.ended, pass.ended));
    assert!(pass.entered <= pass.harvested && pass.planned_wake <= pass.harvested);
    assert!(pass.kernel > Span::ZERO && pass.cpu > pass.kernel);
    assert_eq!(heard.passes.last(), Some(&pass));
}

#[test]
fn a_turn_with_nothing_to_do_ends_at_its_longest_sleep_or_at_the_next_due_thing() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let pass = pump.turn(&mut heard);
    assert_eq!(pass.jobs, 0);
    let due = clock::now() + Span::from_us(300);
    heard.due = vec![due];
    until(&mut pump, &mut heard, "ticked", |heard| heard.has(&Event::Ticked(due)));
    assert!(heard.passes.last().expect("a pass").ended >= due);
}

#[test]
fn who_expects_nothing_is_left_asleep_until_something_is_due_and_still_hears_what_comes() {
    let (mut pump, mut heard) = (pump(), Heard { expects_nothing: true, ..Heard::default() });
    let due = clock::now() + Span::from_ms(30);
    heard.due = vec![due];
    let pass = pump.turn(&mut heard);
    assert!(pass.harvested >= due && heard.has(&Event::Ticked(due)), "one sleep, whatever the longest is");
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    heard.due = vec![clock::now() + PATIENCE * 10];
    peer.write_all(b"unexpected").expect("room");
    until(&mut pump, &mut heard, "read", |heard| heard.bytes(conn) == b"unexpected");
}

#[test]
fn sends_split_over_enters_depart_one_after_the_other() {
    for (sends_per_enter, groups) in [(1, 8), (4, 2)] {
        // On epoll each send is a call of its own.
        let groups = if ENGINE == Engine::Epoll { 8 } else { groups };
        let config = RingConfig { sends_per_enter, ..RingConfig::default() };
        let (mut pump, mut heard) = (pump_with(&config, Coalesce::Never), Heard::default());
        let mut ends: Vec<(Conn, TcpStream)> = (0..8).map(|_| connected(&mut pump, &mut heard)).collect();
        let begun = clock::now();
        for (conn, _) in &ends {
            pump.ring_mut().send(*conn, heard.parts(&[b"x"]));
        }
        until(&mut pump, &mut heard, "all sent", |heard| {
            ends.iter().all(|(conn, _)| !heard.sent(*conn).is_empty())
        });
        let mut departures: Vec<Departure> =
            ends.iter().map(|(conn, _)| heard.departures(*conn)[0]).collect();
        assert!(departures.iter().all(|departure| departure.before <= departure.after));
        assert!(departures.is_sorted_by_key(|departure| departure.before));
        departures.dedup();
        assert_eq!(departures.len(), groups);
        assert!(departures.windows(2).all(|two| two[0].after <= two[1].before));
        assert!(departures[0].before >= begun);
        for (_, peer) in &mut ends {
            peer.read_exact(&mut [0]).expect("it arrived");
        }
    }
}

#[test]
fn a_send_departs_before_it_leaves_also_when_other_entries_push_it_out() {
    let config = RingConfig { entries: 4, sends_per_enter: 64, ..RingConfig::default() };
    let (mut pump, mut heard) = (pump_with(&config, Coalesce::Never), Heard::default());
    let (conn, mut peer) = connected(&mut pump, &mut heard);
    let others: Vec<_> = (0..8).map(|_| connected(&mut pump, &mut heard)).collect();
    pump.ring_mut().send(conn, heard.parts(&[b"x"]));
    for (other, _) in &others {
        pump.ring_mut().close(*other);
    }
    peer.read_exact(&mut [0]).expect("a full queue is submitted");
    let seen = clock::now();
    until(&mut pump, &mut heard, "departed", |heard| !heard.departures(conn).is_empty());
    assert!(heard.departures(conn)[0].before <= seen);
}

#[test]
fn a_send_that_waited_for_another_departs_before_it_leaves_also_when_the_harvest_goes_on() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let (conn, peer) = connected(&mut pump, &mut heard);
    // More wakes than one enter runs, so that the harvest which brings the first send's end sweeps again.
    let mut others: Vec<_> = (0..60).map(|_| connected(&mut pump, &mut heard)).collect();
    peer.set_nonblocking(true).expect("loopback");
    heard.watched = Some((conn, peer));
    for round in 1..=20 {
        others.iter_mut().for_each(|(_, other)| other.write_all(b"x").expect("room"));
        pump.ring_mut().send(conn, heard.parts(&[b"1"]));
        pump.ring_mut().send(conn, heard.parts(&[b"2"]));
        until(&mut pump, &mut heard, "both have left, and all is read", |heard| {
            heard.departures(conn).len() == 2 * round
                && others.iter().all(|(other, _)| heard.bytes(*other).len() == round)
        });
    }
}

#[test]
fn a_ring_dropped_with_everything_in_flight_lets_go_of_it() {
    let (mut pump, mut heard) = (pump(), Heard::default());
    let address = pump.ring_mut().listen(ANY_PORT, PortUse::Own).expect("loopback");
    let address = address.tcp().expect("TCP");
    let (conn, peer) = connected(&mut pump, &mut heard);
    let unread = TcpListener::bind(ANY_PORT).expect("loopback");
    pump.ring_mut().connect(unread.local_addr().expect("bound"), None).expect("a socket");
    let large = vec![7; 32 << 20];
    pump.ring_mut().send(conn, heard.parts(&[&large]));
    until(&mut pump, &mut heard, "departed", |heard| !heard.departures(conn).is_empty());
    pump.ring_mut().send(conn, heard.parts(&[b"waits"]));
    drop(pump);
    assert_eq!(Rc::strong_count(&heard.alive), 1, "all payloads are dropped");
    assert!(TcpStream::connect(address).is_err(), "the listener is closed");
    let mut peer = peer;
    let mut sink = vec![0; 1 << 20];
    while peer.read(&mut sink).is_ok_and(|bytes| bytes > 0) {}
}

#[test]
fn a_busy_polling_pump_hears_the_same() {
    let ring =
        Ring::new(&RingConfig { engine: ENGINE, ..RingConfig::default() }).expect("this engine works here");
    let mut pump = Pump::new(ring, PumpConfig { busy_poll: true, ..PumpConfig::default() });
    let mut heard = Heard { echo: true, ..Heard::default() };
    let address = pump.ring_mut().listen(ANY_PORT, PortUse::Own).expect("loopback");
    let address = address.tcp().expect("TCP");
    let mut peer = TcpStream::connect(address).expect("it listens");
    peer.write_all(b"hello").expect("room");
    until(&mut pump, &mut heard, "echoed", |heard| {
        heard.accepted_conns().first().is_some_and(|conn| !heard.sent(*conn).is_empty())
    });
    let mut echoed = [0; 5];
    peer.read_exact(&mut echoed).expect("the echo");
    assert_eq!(&echoed, b"hello");
}
