//! A listener whose process runs out of file descriptors; alone in its process, because the limit is the process's.

use lowrho::ring::{
    Coalesce, Conn, Departure, End, Engine, Handler, Job, Pass, Payload, PortUse, Pump, PumpConfig, Read,
    Ring, RingConfig, Task,
};
use lowrho::time::Instant;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::IoSlice;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

struct Nothing;

impl Payload for Nothing {
    fn slices<'a>(&'a self, _into: &mut Vec<IoSlice<'a>>) {}
}

struct Accepted(usize);

impl Handler for Accepted {
    type Payload = Nothing;

    fn wake(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _ring: &mut Ring<Nothing>, _now: Instant) -> Option<Task> {
        None
    }

    fn accepted(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, _now: Instant) {
        self.0 += 1;
    }

    fn connected(
        &mut self,
        _ring: &mut Ring<Nothing>,
        _conn: Conn,
        _result: Result<(), Errno>,
        _now: Instant,
    ) {
    }

    fn departed(&mut self, _conn: Conn, _departure: Departure) {}

    fn sent(
        &mut self,
        _ring: &mut Ring<Nothing>,
        _conn: Conn,
        _payload: Nothing,
        _result: Result<(), Errno>,
    ) {
    }

    fn read(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, _read: Read<'_>) {}

    fn ended(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, _end: End, _now: Instant) {}

    fn job(&mut self, _job: &Job) {}

    fn pass(&mut self, _pass: &Pass) {}
}

/// Sets the soft limit, or takes it away; gives what held before.
fn set_files(most: Option<u64>) -> Option<u64> {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: before.maximum }).expect("set");
    before.current
}

#[test]
fn a_listener_without_files_rests_and_accepts_the_rest_when_there_are_some() {
    for engine in [Engine::Uring, Engine::Epoll] {
        starve(engine);
    }
}

fn starve(engine: Engine) {
    let ring = Ring::new(&RingConfig { engine, ..RingConfig::default() }).expect("this engine works here");
    let mut pump = Pump::new(ring, PumpConfig { coalesce: Coalesce::Never, ..PumpConfig::default() });
    let highest = TcpListener::bind(("127.0.0.1", 0)).expect("loopback").as_raw_fd();
    let few = u64::try_from(highest).expect("a file") + 2;
    // An accept of io_uring obeys the limit that was in force when it was armed, one of epoll the limit of its moment.
    let before = set_files(Some(few));
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let address = pump.ring_mut().listen(any, PortUse::Own).expect("loopback");
    let address = address.tcp().expect("TCP");
    set_files(before);
    let peers: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(address).expect("it listens")).collect();

    set_files(Some(few));
    let mut accepted = Accepted(0);
    while pump.counters().accepts_failed == 0 {
        pump.turn(&mut accepted);
        assert!(accepted.0 < peers.len(), "{engine:?}: the limit was not met: the test tests nothing");
    }
    set_files(before);
    for _ in 0..100_000 {
        pump.turn(&mut accepted);
        if accepted.0 == 10 {
            return;
        }
    }
    panic!("{engine:?}: {} of 10 were accepted", accepted.0);
}
