//! The pump with a handler that only counts.

use crate::counting::Steady;
use crate::source::Source;
use crate::{Load, Used, WINDOW};
use lowrho::clock;
use lowrho::ring::{
    Coalesce, Conn, Departure, End, Engine, Handler, Job, Pass, Payload, Pump, PumpConfig, Read, Ring,
    RingConfig, Task,
};
use lowrho::time::Instant;
use rustix::io::Errno;
use std::io::IoSlice;

/// Nothing is sent.
struct Nothing;

impl Payload for Nothing {
    fn slices<'a>(&'a self, _into: &mut Vec<IoSlice<'a>>) {}
}

#[derive(Default)]
struct Counting {
    connected: usize,
    bytes: u64,
    jobs: u64,
}

impl Handler for Counting {
    type Payload = Nothing;

    fn wake(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _ring: &mut Ring<Nothing>, _now: Instant) -> Option<Task> {
        None
    }

    fn accepted(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, _now: Instant) {}

    fn connected(
        &mut self,
        _ring: &mut Ring<Nothing>,
        _conn: Conn,
        result: Result<(), Errno>,
        _now: Instant,
    ) {
        assert_eq!(result, Ok(()), "the source listens");
        self.connected += 1;
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

    fn read(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, read: Read<'_>) {
        self.bytes += u64::try_from(read.bytes.len()).expect("a 64-bit host");
    }

    fn ended(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, _end: End, _now: Instant) {}

    fn job(&mut self, _job: &Job) {
        self.jobs += 1;
    }

    fn pass(&mut self, _pass: &Pass) {}
}

pub(crate) fn read(load: &Load, engine: Engine) -> Used {
    let source = Source::start(load);
    let ring = Ring::new(&RingConfig { engine, ..RingConfig::default() }).expect("this engine works here");
    let mut pump =
        Pump::new(ring, PumpConfig { coalesce: Coalesce::Window(WINDOW), ..PumpConfig::default() });
    let mut counting = Counting::default();
    for _ in 0..load.connections {
        pump.ring_mut().connect(source.address, None).expect("a socket");
    }
    while counting.connected < load.connections {
        pump.turn(&mut counting);
    }
    source.go();
    let (begun, begun_cpu, begun_jobs) = (clock::now(), clock::thread_cpu(), counting.jobs);
    let mut steady = Steady::of(load.bytes());
    while counting.bytes < load.bytes() {
        pump.turn(&mut counting);
        steady.at(counting.bytes);
    }
    let used = Used {
        cpu: clock::thread_cpu() - begun_cpu,
        wall: clock::now() - begun,
        reads: counting.jobs - begun_jobs,
    };
    let counters = pump.counters();
    assert_eq!((counters.enobufs, counters.stamps_lost, counters.cq_lost), (0, 0, 0), "{counters:?}");
    steady.check("the pump");
    source.join();
    used
}
