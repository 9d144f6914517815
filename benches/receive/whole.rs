//! The pump with all that a client does to an event: framing, parsing, timeline, statistics, audit.

use crate::source::Source;
use crate::{Load, Used, WINDOW};
use lowrho::clock;
use lowrho::record::{Asked, Audit, Recorder, Timeline, Turn, Window, Work, WorkClass};
use lowrho::ring::{
    Coalesce, Conn, Departure, End, Handler, Job, Pass, Payload, Pump, PumpConfig, Read, Ring, RingConfig,
    Task,
};
use lowrho::time::{Instant, Phase, Span};
use lowrho::wire::{Api, Closed, Expect, Response};
use rustix::io::Errno;
use std::io::IoSlice;

/// Events of one request: then it is counted, and the next begins on the same connection.
const EVENTS: u32 = 16;

/// What the source does not send: it comes once a request, whose other bytes are all events.
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
    transfer-encoding: chunked\r\n\r\n";

/// Nothing is sent.
struct Nothing;

impl Payload for Nothing {
    fn slices<'a>(&'a self, _into: &mut Vec<IoSlice<'a>>) {}
}

/// One request on its connection.
struct Flight {
    timeline: Timeline,
    response: Response,
    events: u32,
}

impl Flight {
    fn begin(now: Instant, log: Vec<u8>) -> Self {
        let asked = Asked {
            index: 0,
            shard: 0,
            target: 0,
            stage: 0,
            phase: Phase::Measured,
            due: now,
            asked_output_tokens: Some(EVENTS),
            choices: 1,
        };
        let mut timeline = Timeline::new(asked, log);
        timeline.begun(now);
        timeline.departed(now, now);
        let mut response = Response::new(Expect { api: Api::Chat, choices: 1, reused: true });
        response.read(HEAD, &mut |heard| {
            timeline.hear(&heard);
        });
        Self { timeline, response, events: 0 }
    }
}

struct Client {
    connected: usize,
    bytes: u64,
    jobs: u64,
    flights: Vec<Option<Flight>>,
    recorder: Recorder,
    audit: Audit,
}

impl Handler for Client {
    type Payload = Nothing;

    fn wake(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _ring: &mut Ring<Nothing>, _now: Instant) -> Option<Task> {
        None
    }

    fn accepted(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, _now: Instant) {}

    fn connected(&mut self, _ring: &mut Ring<Nothing>, conn: Conn, result: Result<(), Errno>, now: Instant) {
        assert_eq!(result, Ok(()), "the source listens");
        if self.flights.len() <= conn.slot() {
            self.flights.resize_with(conn.slot() + 1, || None);
        }
        self.flights[conn.slot()] = Some(Flight::begin(now, Vec::new()));
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

    fn read(&mut self, _ring: &mut Ring<Nothing>, conn: Conn, read: Read<'_>) {
        self.bytes += u64::try_from(read.bytes.len()).expect("a 64-bit host");
        let slot = &mut self.flights[conn.slot()];
        let flight = slot.as_mut().expect("it is connected");
        let Flight { timeline, response, events } = flight;
        timeline.read(read.arrival, read.bytes.len());
        response.read(read.bytes, &mut |heard| *events += timeline.hear(&heard));
        self.recorder.read(read.arrival.stamp, read.bytes.len());
        if flight.events >= EVENTS {
            let mut over = slot.take().expect("it is there");
            over.response.closed(Closed::Cancelled, &mut |_| ());
            let finished = over.timeline.finish(over.response.reply(), read.arrival.stamp);
            self.recorder.finish(&finished);
            let (_, log) = finished.into_parts();
            *slot = Some(Flight::begin(read.arrival.stamp, log));
        }
    }

    fn ended(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, _end: End, _now: Instant) {}

    fn job(&mut self, job: &Job) {
        self.jobs += 1;
        let Job { arrival, begun, ended, bytes, .. } = *job;
        self.audit.work(Work { class: WorkClass::Receive, arrival, begun, ended, bytes });
    }

    fn pass(&mut self, pass: &Pass) {
        let Pass { entered, planned_wake, latest_wake, harvested, ended, kernel, cpu, .. } = *pass;
        self.audit.turn(&Turn {
            entered,
            planned_wake,
            latest_wake,
            harvested,
            ended,
            kernel,
            cpu,
            interrupted: None,
            polled: false,
        });
    }
}

pub(crate) fn read(load: &Load) -> Used {
    let source = Source::start(load);
    let ring = Ring::new(&RingConfig::default()).expect("io_uring works here");
    let mut pump =
        Pump::new(ring, PumpConfig { coalesce: Coalesce::Window(WINDOW), ..PumpConfig::default() });
    let now = clock::now();
    let windows = [Window::of_time(now, now + Span::from_s(600))];
    let mut client = Client {
        connected: 0,
        bytes: 0,
        jobs: 0,
        flights: Vec::new(),
        recorder: Recorder::new(&windows),
        audit: Audit::new(&windows),
    };
    for _ in 0..load.connections {
        pump.ring_mut().connect(source.address, None).expect("a socket");
    }
    while client.connected < load.connections {
        pump.turn(&mut client);
    }
    source.go();
    let (begun, begun_cpu, begun_jobs) = (clock::now(), clock::thread_cpu(), client.jobs);
    while client.bytes < load.bytes() {
        pump.turn(&mut client);
    }
    let used = Used {
        cpu: clock::thread_cpu() - begun_cpu,
        wall: clock::now() - begun,
        reads: client.jobs - begun_jobs,
    };
    let counted = client.recorder.stages()[0].population.cancelled;
    // A read that brings several events may carry a request beyond its sixteenth, and the last ones are not over.
    let least = load.events / u64::from(EVENTS) * 9 / 10 - u64::try_from(load.connections).expect("a count");
    assert!(counted >= least, "{counted} requests of at least {least} were counted");
    source.join();
    used
}
