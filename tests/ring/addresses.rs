//! Addresses of every kind under the ring: IPv6, Unix sockets, source addresses. Outcomes, never times.

use super::ENGINE;
use lowrho::clock;
use lowrho::ring::{
    Address, Coalesce, Conn, Departure, End, Handler, Job, Pass, Payload, PortUse, Pump, PumpConfig, Read,
    Ring, RingConfig, Task,
};
use lowrho::time::{Instant, Span, StampClass};
use rustix::io::Errno;
use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

struct Bytes(Vec<u8>);

impl Payload for Bytes {
    fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
        into.push(IoSlice::new(&self.0));
    }
}

/// Answers every read of an accepted connection with the same bytes.
#[derive(Default)]
struct Echo {
    accepted: Vec<Conn>,
    connected: Vec<(Conn, Result<(), Errno>)>,
    read: Vec<(Conn, Vec<u8>, StampClass)>,
}

impl Handler for Echo {
    type Payload = Bytes;

    fn wake(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _: &mut Ring<Bytes>, _: Instant) -> Option<Task> {
        None
    }

    fn accepted(&mut self, _: &mut Ring<Bytes>, conn: Conn, _: Instant) {
        self.accepted.push(conn);
    }

    fn connected(&mut self, _: &mut Ring<Bytes>, conn: Conn, result: Result<(), Errno>, _: Instant) {
        self.connected.push((conn, result));
    }

    fn departed(&mut self, _: Conn, _: Departure) {}

    fn sent(&mut self, _: &mut Ring<Bytes>, _: Conn, _: Bytes, _: Result<(), Errno>) {}

    fn read(&mut self, ring: &mut Ring<Bytes>, conn: Conn, read: Read<'_>) {
        ring.acknowledge(conn);
        self.read.push((conn, read.bytes.to_vec(), read.arrival.class));
        if self.accepted.contains(&conn) {
            ring.send(conn, Bytes(read.bytes.to_vec()));
        }
    }

    fn ended(&mut self, ring: &mut Ring<Bytes>, conn: Conn, _: End, _: Instant) {
        ring.close(conn);
    }

    fn job(&mut self, _: &Job) {}

    fn pass(&mut self, _: &Pass) {}
}

fn pump() -> Pump<Bytes> {
    let ring =
        Ring::new(&RingConfig { engine: ENGINE, ..RingConfig::default() }).expect("this engine works here");
    Pump::new(ring, PumpConfig { coalesce: Coalesce::Never, ..PumpConfig::default() })
}

fn until(pump: &mut Pump<Bytes>, echo: &mut Echo, what: &str, done: impl Fn(&Echo) -> bool) {
    let begun = clock::now();
    while !done(echo) {
        pump.turn(echo);
        assert!(clock::now() - begun < Span::from_s(20), "never: {what}");
    }
}

/// Sends a word to a listener of the same ring and hears it back; the address that was listened on.
fn talk(pump: &mut Pump<Bytes>, address: impl Into<Address>) -> (Echo, Conn, Address) {
    let mut echo = Echo::default();
    let real = pump.ring_mut().listen(address, PortUse::Own).expect("it can be listened on");
    let conn = pump.ring_mut().connect(&real, None).expect("a socket");
    pump.ring_mut().send(conn, Bytes(b"word".to_vec()));
    until(pump, &mut echo, "echoed", |echo| echo.read.iter().any(|(of, ..)| *of == conn));
    (echo, conn, real)
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("lowrho-ring-{}-{name}", std::process::id()))
}

#[test]
fn a_unix_socket_carries_bytes_that_are_stamped_by_us_and_none_is_lost() {
    let (mut pump, path) = (pump(), path("talk"));
    let (echo, conn, _) = talk(&mut pump, Address::Unix(path.as_path().into()));
    let [(_, asked, _), (of, answered, class)] = echo.read.as_slice() else { panic!("{:?}", echo.read) };
    assert_eq!((asked.as_slice(), answered.as_slice(), *of), (&b"word"[..], &b"word"[..], conn));
    assert_eq!(*class, StampClass::User);
    let counters = pump.counters();
    assert_eq!((counters.reads, counters.stamped_by_kernel, counters.stamps_lost), (2, 0, 0));
    assert!(path.exists());
    drop(pump);
    assert!(!path.exists(), "the file goes with its listener");
}

#[test]
fn a_unix_socket_that_nobody_listens_on_is_replaced_and_nothing_else_is() {
    let (mut pump, path) = (pump(), path("left"));
    drop(UnixListener::bind(&path).expect("a path"));
    assert!(path.exists(), "a dead server leaves its file");
    talk(&mut pump, Address::Unix(path.as_path().into()));
    let error = pump.ring_mut().listen(Address::Unix(path.as_path().into()), PortUse::Own);
    let error = error.expect_err("it is taken").to_string();
    assert!(error.contains("in use") && error.contains("another path"), "{error}");
    let file = path.with_extension("text");
    std::fs::write(&file, "mine").expect("a file");
    assert!(pump.ring_mut().listen(Address::Unix(file.as_path().into()), PortUse::Own).is_err());
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), "mine");
    std::fs::remove_file(file).expect("ours");
}

#[test]
fn nobody_behind_a_path_is_told_as_a_failure_to_connect() {
    let (mut pump, mut echo) = (pump(), Echo::default());
    let nowhere = Address::Unix(path("nobody").as_path().into());
    let conn = pump.ring_mut().connect(nowhere, None).expect("a socket");
    until(&mut pump, &mut echo, "told", |echo| !echo.connected.is_empty());
    assert_eq!(echo.connected, [(conn, Err(Errno::NOENT))]);
    let long = Address::Unix(PathBuf::from("/x".repeat(200)).into());
    assert_eq!(pump.ring_mut().connect(long, None), Err(Errno::NAMETOOLONG));
}

#[test]
fn ipv6_carries_bytes_and_a_source_address_of_its_own() {
    let mut pump = pump();
    let any: SocketAddr = "[::1]:0".parse().expect("an address");
    if TcpListener::bind(any).is_err() {
        // A host without IPv6 has nothing to test here.
        return;
    }
    let (echo, ..) = talk(&mut pump, any);
    assert_eq!(echo.read.len(), 2);
    let listener = TcpListener::bind(any).expect("loopback");
    let from: IpAddr = "::1".parse().expect("an address");
    let to = listener.local_addr().expect("bound");
    let mut echo = Echo::default();
    let conn = pump.ring_mut().connect(to, Some(from)).expect("a socket");
    until(&mut pump, &mut echo, "connected", |echo| echo.connected == [(conn, Ok(()))]);
    assert_eq!(listener.accept().expect("connected").1.ip(), from);
}
