//! From traces to the summary: figures that can be worked out by hand arrive under their keys.

use lowrho::analysis::{Facts, Findings, HostFacts, ShardFacts, Slo, StageFacts, TcpFacts, Thresholds};
use lowrho::plan::{Cost, Limits, Plan, Raw};
use lowrho::record::{Asked, Audit, Recorder, Timeline, Turn, Window, Work, WorkClass};
use lowrho::report::{About, AboutShard, AboutStage, Quantile, RingAudit, Summary, Verdict};
use lowrho::time::{Arrival, Instant, Phase, Span, StampClass};
use lowrho::wire::{Bears, Counters, Delta, ErrorClass, Heard, Reply, TokenSource, Usage};

const START: Instant = Instant::from_ns(1_000_000_000);
const REQUESTS: u64 = 4_000;
const FAIL_EVERY: u64 = 50;

fn at(us: i64) -> Instant {
    START + Span::from_us(us)
}

/// One request a millisecond: sent 100 us late, first token 20 ms later, three more at 5 ms each. Every fiftieth is refused.
fn finish(index: u64, recorder: &mut Recorder) {
    let due = at(i64::try_from(index).unwrap() * 1_000);
    let after = |us| due + Span::from_us(us);
    let asked = Asked {
        index,
        shard: u16::try_from(index % 2).unwrap(),
        target: 0,
        stage: 0,
        phase: Phase::Measured,
        due,
        asked_output_tokens: Some(4),
        choices: 1,
    };
    let mut timeline = Timeline::new(asked, Vec::new());
    timeline.reused();
    timeline.begun(after(100));
    timeline.departed(after(100), after(110));
    let failed = index % FAIL_EVERY == 7;
    let arrive = |timeline: &mut Timeline, us| {
        let stamp = after(us);
        timeline.read(Arrival { stamp, earliest: stamp, class: StampClass::Software }, 250);
    };
    arrive(&mut timeline, 20_000);
    timeline.hear(&Heard::Head { status: if failed { 429 } else { 200 } });
    if !failed {
        for event in 0..4 {
            arrive(&mut timeline, 20_100 + 5_000 * event);
            timeline.hear(&Heard::Delta(Delta {
                choice: 0,
                opens_event: true,
                bears: Bears::Token,
                answer: true,
                tokens: 1,
            }));
        }
        arrive(&mut timeline, 35_200);
        timeline.hear(&Heard::Done);
    }
    timeline.hear(&Heard::End);
    let reply = Reply {
        status: Some(if failed { 429 } else { 200 }),
        error: failed.then_some(ErrorClass::Http429),
        detail: None,
        output_tokens: (!failed).then_some(4),
        token_source: TokenSource::Usage,
        usage: Usage {
            prompt_tokens: Some(100),
            completion_tokens: (!failed).then_some(4),
            ..Usage::default()
        },
        undecided_count: false,
        finish_reason: None,
        counters: Counters { no_done: index.is_multiple_of(2), ..Counters::default() },
        retry_after_s: None,
        retry_at_unix_s: None,
        reusable: true,
    };
    recorder.finish(&timeline.finish(reply, after(36_000)));
}

/// Each shard is at work for a fifth of the time: one job of 200 us a millisecond.
fn audited(window: Window) -> Audit {
    let mut audit = Audit::new(&[window]).starting_at(START);
    for ms in 0..4_000 {
        let (woken, done) = (at(ms * 1_000 + 800), at(ms * 1_000 + 1_000));
        audit.work(Work { class: WorkClass::Receive, arrival: woken, begun: woken, ended: done, bytes: 250 });
        audit.turn(&Turn {
            entered: at(ms * 1_000),
            planned_wake: woken,
            latest_wake: Instant::NEVER,
            harvested: woken,
            ended: done,
            kernel: Span::ZERO,
            cpu: Span::from_us(200),
            interrupted: None,
            polled: false,
        });
    }
    audit
}

fn summary() -> Summary {
    let window = Window::of_time(START, at(4_000_000));
    let mut recorders = [Recorder::new(&[window]), Recorder::new(&[window])];
    for index in 0..REQUESTS {
        finish(index, &mut recorders[usize::try_from(index % 2).unwrap()]);
    }
    let facts = Facts {
        stages: vec![StageFacts {
            requested_rate: Some(1_000.0),
            due: Some(REQUESTS),
            is_ramp: false,
            stolen: None,
        }],
        shards: vec![ShardFacts { reads: 10_000, cpu: Some(2), ..ShardFacts::default() }; 2],
        stamps: StampClass::Software,
        clock_bound: Span::from_ns(150),
        clock_steps: 0,
        delayed_acks: None,
        interrupted: None,
        slo: Slo::default(),
        abort_on: Slo::default(),
        host: HostFacts {
            interface: Some("eth0".into()),
            steal: Some(Span::from_ms(30)),
            ..HostFacts::default()
        },
        tcp: TcpFacts { connections: 40, retransmits: 2, min_rtt: Some(Span::from_us(120)) },
        idle_ttft: Some(Span::from_ms(4)),
    };
    let audits = [audited(window), audited(window)];
    let findings = Findings::of(&recorders, &audits, &facts, &Thresholds::default());
    let mut about = About {
        stages: vec![AboutStage {
            name: "0".into(),
            arrival: Some("constant".into()),
            ..AboutStage::default()
        }],
        shards: vec![
            AboutShard {
                ring: RingAudit { enters: 7, reads_overtaken: 3, ..RingAudit::default() },
                ..AboutShard::default()
            },
            AboutShard::default(),
        ],
        caveats: vec!["two CPUs only".into()],
        ..About::default()
    };
    about.run.start_mono_ns = START.as_ns();
    about.run.version = "0.1.0".into();
    about.target.url = "http://127.0.0.1:8000/v1/completions".into();
    Summary::of(&findings, &recorders, &facts, about)
}

#[test]
fn what_a_trace_tells_arrives_under_its_key() {
    let summary = summary();
    let (load, latency) = (&summary.total.load, &summary.total.latency);
    let failures = REQUESTS / FAIL_EVERY;
    assert_eq!((load.due, load.begun, load.failed), (REQUESTS, REQUESTS, failures));
    assert_eq!((load.completed, load.cancelled), (REQUESTS - failures, 0));
    assert_eq!((load.requested_rate, load.scheduled_rate), (Some(1_000.0), Some(1_000.0)));
    assert_eq!(summary.total.errors.get("http_429"), Some(&failures));
    // Of the failures, all of an odd index, nothing is tolerated.
    assert_eq!(summary.total.tolerated.get("no_done"), Some(&(REQUESTS / 2)));
    assert_eq!(load.lateness_ns.mean, Some(100_000));
    assert_eq!(latency.ttft_ns.mean, Some(20_000_000));
    assert_eq!(latency.ttft_due_ns.min, Some(20_100_000));
    assert_eq!((latency.itl_ns.count, latency.itl_ns.mean), ((REQUESTS - failures) * 3, Some(5_000_000)));
    assert_eq!(latency.tpot_ns.max, Some(5_000_000));
    assert_eq!(latency.ntpot_ns.mean, Some(35_100_000 / 4));
    assert_eq!(latency.ntpot_waiting_ns.mean, Some(20_100_000 / 4));
    assert_eq!(latency.ntpot_decoding_ns.mean, Some(15_000_000 / 4));
    let ntpot = &summary.total.ntpot;
    assert_eq!((ntpot.queue_ns.is_none(), ntpot.split_count), (true, 0));
    assert!(
        ntpot.unsplit_because.as_ref().is_some_and(|why| why.starts_with("every prompt had 100 uncached"))
    );
    let [class] = ntpot.by_output_tokens.as_slice() else { panic!("{ntpot:?}") };
    assert_eq!((class.from, class.to, class.count), (1, Some(4), REQUESTS - failures));
    assert_eq!((class.mean_ns, class.p99_ns), (Some(35_100_000 / 4), latency.ntpot_ns.p99));
    assert_eq!(latency.e2e_ns.max, Some(35_000_000));
    assert_eq!(latency.e2e_done_ns.max, Some(35_100_000));
    assert_eq!(latency.connect_ns.count, 0);
    assert_eq!(summary.total.tokens.output, (REQUESTS - failures) * 4);
    assert_eq!(summary.total.tokens.per_event, Some(1.0));
    assert_eq!(summary.run.window_ns, 4_000_000_000);
    assert_eq!(summary.stages[0].section, summary.total, "the only stage is all there is");
}

#[test]
fn a_quantile_that_failures_reach_is_infinite_and_not_undefined() {
    let ttft = &summary().total.latency.ttft_ns;
    assert!(ttft.p99.is_some());
    assert_eq!((ttft.with_failures.p90.is_some(), ttft.with_failures.p99), (true, None));
    assert!(!ttft.with_failures.undefined.contains(&Quantile::P99));
}

#[test]
fn each_shard_has_its_own_audit() {
    let client = summary().client;
    assert_eq!(client.verdict, Verdict::Valid, "{:?}", client.reasons);
    assert_eq!(client.shards.len(), 2);
    for shard in &client.shards {
        let rho = shard.rho_busy.unwrap();
        assert!((rho - 0.2).abs() < 0.001, "{rho}");
        assert_eq!(shard.over_time.step_ns, 250_000_000);
        assert_eq!(shard.over_time.rho_busy, [0.2; 16], "the same in each quarter of the four seconds");
        assert_eq!(shard.service_mean_ns, Some(200_000));
        assert_eq!((shard.reads, shard.lateness_ns.max), (10_000, Some(100_000)));
    }
    assert_eq!(
        (client.shards[0].cpu, client.shards[0].steal_ns),
        (Some(2), None),
        "what was not read is null"
    );
    assert_eq!((client.shards[0].ring.enters, client.shards[0].ring.reads_overtaken), (7, 3));
    assert_eq!((client.shards[1].ring.enters, client.shards[1].empty_turns), (0, 0));
    assert_eq!(client.stamps.clock_bound_ns, Some(150));
    assert!(client.caveats.contains(&"two CPUs only".to_owned()));
    assert_eq!(
        client.bias.ttft_ns.p99,
        Some(10_000 + 300),
        "the send's own uncertainty, and the clock's both ways"
    );
}

#[test]
fn the_tail_of_ttft_is_divided_and_its_shares_add_up() {
    let blame = summary().blame.unwrap();
    assert_eq!((blame.client_ns, blame.network_ns), (10_300, Some(120_000)));
    assert_eq!(blame.client_ns + blame.network_ns.unwrap() + blame.server_ns, blame.ttft_p99_ns);
    let shares = [blame.client_share, blame.network_share, blame.server_share].map(Option::unwrap);
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
    assert_eq!(blame.server_idle_ns, Some(4_000_000 - 120_000), "the probe's TTFT holds a round trip too");
    assert_eq!(blame.server_idle_ns.unwrap() + blame.server_load_ns.unwrap(), blame.server_ns);
}

#[test]
fn what_the_host_and_tcp_counted_is_told_with_the_client() {
    let client = summary().client;
    let told = &client.surroundings;
    assert_eq!((told.interface.as_deref(), told.steal_ns), (Some("eth0"), Some(30_000_000)));
    assert_eq!(
        (told.softnet_dropped, told.stamping_cpus.as_ref()),
        (None, None),
        "what was not read is null"
    );
    assert_eq!((told.tcp.retransmits, told.tcp.min_rtt_ns), (2, Some(120_000)));
    assert!(client.caveats.iter().any(|caveat| caveat.starts_with("TCP sent 2 segments of ours again")));
}

#[test]
fn the_slowest_requests_add_up() {
    for slow in &summary().slowest {
        assert_eq!(slow.before_sent_ns + slow.ttft_ns.unwrap() + slow.decode_ns.unwrap(), slow.e2e_due_ns);
    }
}

#[test]
fn the_config_of_a_summary_is_the_effective_one_without_its_secrets() {
    let limits = Limits {
        cpus: vec![0, 1],
        files: 20_000,
        source_ports: 28_000,
        memlock_bytes: None,
        cpu_quota: None,
        kernel: Some((6, 18)),
        io_uring_forbidden: None,
        ring_refused: None,
        cost: Cost::default(),
    };
    let asked =
        "[target]\nurl = \"http://127.0.0.1:1/\"\nmodel = \"m\"\napi-key = \"hunter2\"\n[load]\nrate = 10\n";
    let plan = Plan::new(Raw::from_toml(asked).unwrap(), &limits).unwrap();
    let config = About::config_of(&plan);
    assert!(!config.to_string().contains("hunter2"));
    assert_eq!(config["target"]["model"], "m");
    assert!(
        config["load"]["seed"].is_number() || config["load"]["seed"].is_string(),
        "defaults are written out: {config}"
    );
}
