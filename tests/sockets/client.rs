//! The client of one case: a shard with a closed loop of one slot, and timers short enough for a test.

use crate::case::Case;
use lowrho::plan::{Engine, Retry, Timeouts, Waiting};
use lowrho::record::{Record, ShardGauge, Traffic};
use lowrho::schedule::{Extent, Load, Ramp, Schedule, Stage};
use lowrho::shard::{Control, Order, Orders, Shard, Sinks, Standing, Ways, windows};
use lowrho::time::{Span, StampClass};
use lowrho::tls::Peer;
use lowrho::wire::{Api, Common, Method, RequestHead};
use lowrho::workload::{PromptForm, Source, Workload, WorkloadSpec};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any case takes, its timers included.
const LIMIT: Duration = Duration::from_secs(10);

/// The wait between the request before and the case's own: what the server does to an idle connection has arrived.
const THINK: &str = "60ms";

fn workload(case: &Case, api: Api, address: SocketAddr) -> Workload {
    let host = address.to_string();
    let common = Common {
        method: Method::Post,
        target: api.path(),
        host: &host,
        api_key: None,
        headers: &[],
        run: Some("case"),
    };
    let spec = WorkloadSpec {
        api,
        head: RequestHead::new(&common).unwrap(),
        model: "m".into(),
        seed: 0,
        source: Source::Synthetic {
            input_tokens: "4".parse().unwrap(),
            prefix_tokens: 0,
            form: PromptForm::Text,
        },
        output_tokens: "3".parse().unwrap(),
        choices: u32::from(case.choices),
        ignore_eos: true,
        include_usage: true,
        extra_body: serde_json::Map::new(),
    };
    Workload::new(&spec).unwrap()
}

/// Timers of the length of a test; the one that the case wants to fire is the shortest.
fn timeouts(case: &Case) -> Timeouts {
    let wants = |class: &str| (case.expect.error_class.as_deref() == Some(class)).then(|| Span::from_ms(150));
    Timeouts {
        total: Span::from_s(8),
        connect: wants("timeout_connect").unwrap_or(Span::from_s(5)),
        first_byte: wants("timeout_first_byte"),
        first_token: wants("timeout_first_token"),
        idle: wants("timeout_idle"),
    }
}

/// Sends the case's request (after another, where its connection is to be a reused one); the records, in order.
/// `peer`: the server as TLS knows it, where it speaks that.
pub fn drive(case: &Case, address: SocketAddr, peer: Option<Peer>, engine: Engine) -> Vec<Record> {
    let api = if case.api == "completions" { Api::Completions } else { Api::Chat };
    let requests = 1 + u64::from(case.reused);
    let load = Load::Closed { slots: Ramp::Flat(1.0), ramp: Span::ZERO, think: THINK.parse().unwrap() };
    let stage = Stage { load, extent: Extent::Requests(requests), warmup: Span::ZERO };
    let schedule = Schedule::new(vec![stage], Span::ZERO, 0).unwrap();
    let orders = Arc::new(Orders {
        stamps: StampClass::Software,
        card: None,
        windows: windows(&schedule),
        schedule,
        workload: workload(case, api, address),
        targets: vec![Ways::new(vec![address.into()], &[])],
        peers: vec![peer],
        reuse: true,
        quick_ack: false,
        api,
        choices: case.choices,
        timeouts: timeouts(case),
        retry: Retry::default(),
        shards: 1,
        connections: 2,
        max_in_flight: None,
        preconnect: 0,
        bounds: Vec::new(),
        record_gaps: false,
        control: Control::default(),
    });
    let (sender, records) = channel();
    let standing = Arc::new(Standing::default());
    let shard = Shard {
        number: 0,
        cpu: 0,
        waiting: Waiting::Auto,
        engine,
        orders: orders.clone(),
        gauge: Arc::new(ShardGauge::new()),
        standing: standing.clone(),
        sinks: Sinks {
            rows: Box::new(move |record| sender.send(record).unwrap()),
            intervals: Box::new(|_, _| ()),
            traffic: Box::new(|_| Traffic::default()),
        },
    };
    let handle = shard.start().unwrap();
    let until = Instant::now() + LIMIT;
    orders.control.start_at(lowrho::clock::now() + Span::from_ms(5));
    while !standing.is_measured_over() && Instant::now() < until && !handle.is_finished() {
        thread::sleep(Duration::from_millis(2));
    }
    orders.control.give(Order::Abandon);
    let outcome = handle.join().unwrap().unwrap();
    assert_eq!(outcome.died, None, "{}", case.id);
    records.into_iter().collect()
}
