//! The pump with all that a client does to an event: framing, parsing, timeline, statistics, audit, traffic.

use crate::counting::Steady;
use crate::source::Source;
use crate::{Load, Used, WINDOW};
use lowrho::clock;
use lowrho::record::{Asked, Audit, Recorder, Timeline, Traffic, Turn, Window, Work, WorkClass};
use lowrho::ring::{
    Coalesce, Conn, Departure, End, Engine, Handler, Job, Pass, Payload, Pump, PumpConfig, Read, Ring,
    RingConfig, Task,
};
use lowrho::time::{Instant, Phase, Span};
use lowrho::wire::{Api, Expect, Response};
use rustix::io::Errno;
use std::io::IoSlice;

/// Events of one request: then it is counted, and the next begins on the same connection.
const EVENTS: u32 = 16;

/// How often a shard gives its traffic away.
const TRAFFIC_BEAT: Span = Span::from_ms(10);

/// What the source does not send: it comes once a request, whose other bytes are all events.
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
    transfer-encoding: chunked\r\n\r\n";

/// Nor this: the end of a stream, as vLLM sends it.
const TAIL: &[u8] = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";

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
    traffic: Traffic,
    traffic_due: Instant,
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
        self.traffic.read(conn.slot(), timeline, read.arrival.stamp);
        self.recorder.read(read.arrival.stamp, read.bytes.len());
        if flight.events >= EVENTS {
            let mut over = slot.take().expect("it is there");
            let Flight { timeline, response, .. } = &mut over;
            response.read(TAIL, &mut |heard| {
                timeline.hear(&heard);
            });
            let finished = over.timeline.finish(over.response.reply(), read.arrival.stamp);
            self.traffic.over(conn.slot(), &finished);
            self.recorder.finish(&finished);
            let (_, log) = finished.into_parts();
            let next = Flight::begin(read.arrival.stamp, log);
            self.traffic.sent(conn.slot(), &next.timeline, read.arrival.stamp);
            *slot = Some(next);
        }
    }

    fn ended(&mut self, _ring: &mut Ring<Nothing>, _conn: Conn, _end: End, _now: Instant) {}

    fn job(&mut self, job: &Job) {
        self.jobs += 1;
        let Job { arrival, begun, ended, bytes, .. } = *job;
        let work = Work { class: WorkClass::Receive, arrival, begun, ended, bytes };
        self.traffic.job(&work);
        self.audit.work(work);
    }

    fn pass(&mut self, pass: &Pass) {
        let Pass { entered, planned_wake, latest_wake, harvested, ended, kernel, cpu, .. } = *pass;
        let turn = Turn {
            entered,
            planned_wake,
            latest_wake,
            harvested,
            ended,
            kernel,
            cpu,
            interrupted: None,
            polled: false,
        };
        self.traffic.turn(&turn);
        self.audit.turn(&turn);
        if ended >= self.traffic_due {
            // Handing it over to another thread takes the place of this.
            self.traffic_due = ended + TRAFFIC_BEAT;
            self.traffic.clear();
        }
    }
}

pub(crate) fn read(load: &Load, engine: Engine) -> Used {
    let source = Source::start(load);
    let ring = Ring::new(&RingConfig { engine, ..RingConfig::default() }).expect("this engine works here");
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
        traffic: Traffic::default(),
        traffic_due: now,
    };
    for _ in 0..load.connections {
        pump.ring_mut().connect(source.address, None).expect("a socket");
    }
    while client.connected < load.connections {
        pump.turn(&mut client);
    }
    source.go();
    let (begun, begun_cpu, begun_jobs) = (clock::now(), clock::thread_cpu(), client.jobs);
    let mut steady = Steady::of(load.bytes());
    while client.bytes < load.bytes() {
        pump.turn(&mut client);
        steady.at(client.bytes);
    }
    let used = Used {
        cpu: clock::thread_cpu() - begun_cpu,
        wall: clock::now() - begun,
        reads: client.jobs - begun_jobs,
    };
    let stage = &client.recorder.stages()[0];
    assert_eq!((stage.population.failed, stage.population.cancelled), (0, 0), "{:?}", stage.population);
    let counted = stage.flow.events;
    let open: u64 = client.flights.iter().flatten().map(|flight| u64::from(flight.events)).sum();
    assert_eq!(counted + open, load.events, "every event is counted once");
    steady.check("the whole client");
    source.join();
    used
}
