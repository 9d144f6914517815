//! Summaries as real runs leave them: a steady one, one in which much went wrong, one of several stages.

use lowrho::report::{
    Blame, BusyOverTime, Check, Distribution, Ended, Estimate, Failure, Good, Held, ImaginedClient, JobAudit,
    Latency, Lateness, LengthClass, Load, LostTurns, Neighbour, Ntpot, Quantile, Quantiles, Reason, Reported,
    SCHEMA_VERSION, Section, Server, ShardAudit, Share, Simulator, Slo, SloTerm, Slow, Stage, Summary,
    Target, TargetSection, Tcp, Throughput, Tls, TokenSources, Tokens, Unit, Verdict, Wait, Waits, WentAway,
    WithFailures,
};
use serde_json::json;

/// A distribution around `p50_ns` with a modest tail.
fn around(count: u64, p50_ns: i64) -> Distribution {
    let part = |percent: i64| Some(p50_ns * percent / 100);
    Distribution {
        count,
        mean: part(101),
        sd: part(4),
        min: part(98),
        max: part(180),
        p50: part(100),
        p90: part(102),
        p95: part(104),
        p99: part(110),
        p99_9: part(150),
        p99_ci: Some([p50_ns * 108 / 100, p50_ns * 113 / 100]),
        at_least: Vec::new(),
        with_failures: WithFailures {
            p50: part(100),
            p90: part(102),
            p95: part(104),
            p99: part(110),
            p99_9: part(150),
            ..WithFailures::default()
        },
    }
}

fn section(rate: f64, requests: u64) -> Section {
    let us = 1_000;
    Section {
        load: Load {
            requested_rate: Some(rate),
            scheduled_rate: Some(rate * 1.0032),
            sent_rate: Some(rate * 1.0032),
            achieved_rate: Some(rate * 1.0031),
            requested_concurrency: None,
            due: requests,
            begun: requests,
            completed: requests,
            failed: 0,
            failed_by_us: 0,
            cancelled: 0,
            retried: 0,
            lateness_ns: around(requests, 35 * us),
        },
        latency: Latency {
            ttft_ns: around(requests, 20_100 * us),
            ttft_due_ns: around(requests, 20_140 * us),
            ttfe_ns: around(requests, 20_050 * us),
            ttfo_ns: around(requests, 20_100 * us),
            itl_ns: around(requests * 15, 5_040 * us),
            stall_ns: around(requests, 5_200 * us),
            tpot_ns: around(requests, 5_041 * us),
            ntpot_ns: around(requests, 5_985 * us),
            ntpot_sent_ns: around(requests, 5_983 * us),
            ntpot_waiting_ns: around(requests, 1_259 * us),
            ntpot_decoding_ns: around(requests, 4_726 * us),
            e2e_ns: around(requests, 95_730 * us),
            e2e_due_ns: around(requests, 95_770 * us),
            e2e_done_ns: around(requests, 95_780 * us),
            e2e_end_ns: around(requests, 95_781 * us),
            head_ns: around(requests, 20_040 * us),
            connect_ns: around(12, 90 * us),
            handshake_ns: Distribution::default(),
            pool_wait_ns: Distribution::default(),
        },
        ntpot: Ntpot {
            queue_ns: Some(Estimate { mean: 1_180 * us, ci: [1_150 * us, 1_210 * us] }),
            prefill_ns: Some(Estimate { mean: 79 * us, ci: [49 * us, 109 * us] }),
            prefill_per_input_token_ns: Some(Estimate { mean: 9_875, ci: [6_125, 13_625] }),
            split_count: requests,
            unsplit_because: None,
            by_output_tokens: vec![length_class(5, Some(16), requests, 5_985 * us)],
        },
        throughput: Throughput {
            requests_per_s: Some(rate * 1.0031),
            output_tokens_per_s: Some(rate * 16.05),
            input_tokens_per_s: Some(rate * 128.4),
            events_per_s: Some(rate * 16.05),
            bytes_per_s: Some(rate * 4_012.0),
        },
        tokens: Tokens {
            input: Some(requests * 128),
            cached_input: Some(0),
            output: requests * 16,
            reasoning: None,
            partial_output: 0,
            asked_output: Some(requests * 16),
            delivered_share: Some(1.0),
            events: requests * 16,
            per_event: Some(1.0),
            weighted_ntpot_ns: Some(5_984 * us),
            sources: TokenSources { usage: requests, ..TokenSources::default() },
        },
        ..Section::default()
    }
}

fn length_class(from: u64, to: Option<u64>, count: u64, p50_ns: i64) -> LengthClass {
    let Distribution { mean, p50, p90, p95, p99, p99_9, .. } = around(count, p50_ns);
    LengthClass {
        from,
        to,
        count,
        mean_ns: mean,
        p50_ns: p50,
        p90_ns: p90,
        p95_ns: p95,
        p99_ns: p99,
        p99_9_ns: p99_9,
    }
}

fn shard(number: u64, rho: f64) -> ShardAudit {
    ShardAudit {
        shard: number,
        cpu: Some(number + 2),
        wall_ns: 10_000_000_000,
        rho_busy: Some(rho),
        busy: Share { jobs: Some(rho * 0.9), empty_wakes: Some(rho * 0.02), between_turns: Some(rho * 0.08) },
        over_time: BusyOverTime { step_ns: 250_000_000, rho_busy: vec![0.0123, rho, rho * 1.5, rho] },
        rho_calc: Some(rho * 0.97),
        rho_agree: Some(true),
        lambda_per_s: Some(19_262.0),
        service_mean_ns: Some(10_700),
        service_sd_ns: Some(8_300),
        service_cv2: Some(0.6),
        dispersion: [Some(1.1), Some(1.3), Some(2.1)],
        burst_mean: Some(1.2),
        burst_max: 9,
        jobs: vec![
            JobAudit {
                class: "receive".into(),
                count: 172_000,
                service_mean_ns: Some(9_800),
                service_sd_ns: Some(7_000),
                service_max_ns: Some(410_000),
                wait_mean_ns: Some(151_000),
                hold_mean_ns: Some(140_000),
            },
            JobAudit {
                class: "send".into(),
                count: 10_032,
                service_mean_ns: Some(19_000),
                service_sd_ns: Some(9_000),
                service_max_ns: Some(380_000),
                wait_mean_ns: Some(35_000),
                hold_mean_ns: Some(0),
            },
        ],
        waits: Waits {
            observed_ns: Some(146_000),
            observed_p99_ns: Some(260_000),
            hold_ns: Some(134_000),
            lindley_ns: Some(2_400),
            pollaczek_khinchine: Wait { mean_ns: Some(2_200), holds: Some(true) },
            batch: Wait { mean_ns: Some(2_500), holds: Some(true) },
            in_batches: Some(false),
            unexplained_ns: Some(9_600),
        },
        lateness_ns: Lateness {
            p50: Some(35_000),
            p99: Some(62_000),
            p99_9: Some(84_000),
            max: Some(412_000),
        },
        turns: 60_000,
        reads: 172_000,
        coalesced_reads: 310,
        interruptions: 96,
        interrupted_ns: 41_000_000,
        preempted: LostTurns { turns: 12, lost_ns: 41_000_000, longest_ns: 9_800_000 },
        run_delay_ns: Some(44_000_000),
        voluntary_switches: Some(59_000),
        involuntary_switches: Some(31),
        neighbours: vec![Neighbour { name: "nginx".into(), pid: 71, cpu_time_ns: 1_200_000_000 }],
        ..ShardAudit::default()
    }
}

/// What a client would have said that is this much later, with a tail to match.
fn reported(later_ns: i64) -> Reported {
    let around = |p50_ns: i64| {
        let part = |percent: i64| Some((p50_ns + later_ns) * percent / 100);
        Quantiles { p50: part(100), p90: part(102), p95: part(104), p99: part(110), p99_9: part(150) }
    };
    Reported {
        ttft_ns: around(20_100_000),
        itl_ns: around(5_040_000),
        tpot_ns: around(5_041_000),
        e2e_ns: around(95_730_000),
    }
}

/// Clients at 17,000 jobs/s, on one process and on eight.
fn imagined() -> Vec<ImaginedClient> {
    let client = |(service_ns, processes, later_ns): (i64, u64, i64)| {
        let rho = 17_000.0 * std::time::Duration::from_nanos(service_ns.unsigned_abs()).as_secs_f64()
            / processes as f64;
        ImaginedClient {
            service_ns,
            processes,
            rho: Some(rho),
            saturated: rho >= 1.0,
            reported: reported(later_ns),
            send_wait_ns: reported(later_ns).itl_ns,
        }
    };
    [
        (20_000, 1, 28_000),
        (100_000, 1, 4_000_000_000),
        (300_000, 1, 40_000_000_000),
        (1_000_000, 1, 160_000_000_000),
        (20_000, 8, 21_000),
        (100_000, 8, 120_000),
        (300_000, 8, 700_000),
        (1_000_000, 8, 11_000_000_000),
    ]
    .map(client)
    .to_vec()
}

fn check(name: &str, value: f64, unit: Unit, good: Good, valid: f64, invalid: Option<f64>) -> Check {
    Check {
        name: name.into(),
        verdict: Verdict::Valid,
        value: Some(value),
        unit,
        good,
        valid: Some(valid),
        invalid,
    }
}

/// A run in which everything went well.
pub fn steady() -> Summary {
    let mut summary = Summary {
        schema_version: SCHEMA_VERSION,
        config: json!({ "rate": 1000, "api_key": "***" }),
        total: section(1_000.0, 10_032),
        ..Summary::default()
    };
    let run = &mut summary.run;
    run.id = "k3v9x2".into();
    run.start_unix_ns = 1_780_000_000_000_000_000;
    run.start_mono_ns = 123_456_789;
    run.duration_ns = 12_310_000_000;
    run.window_ns = 10_000_000_000;
    run.version = "0.1.0".into();
    run.tags.insert("gpu".into(), "none".into());
    summary.host.cpus = 4;
    summary.host.cpu_list = "0-3".into();
    summary.host.kernel = "6.18.0".into();
    let target = &mut summary.target;
    target.url = "http://127.0.0.1:8000/v1/chat/completions".into();
    target.api = "chat".into();
    target.model = "tiny-model".into();
    target.probed = true;
    target.streams = Some(true);
    summary.stages.push(Stage {
        name: "0".into(),
        arrival: Some("poisson".into()),
        start_ns: 0,
        window_ns: 10_000_000_000,
        section: summary.total.clone(),
        server: Server { kept_up: Some(true), ..Server::default() },
    });
    summary.slowest = vec![
        slow(7_214, 172_300_000, 41_000, 81_200_000),
        slow(7_215, 171_900_000, 39_000, 80_800_000),
        slow(311, 151_000_000, 33_000, 21_000_000),
        slow(312, 150_000_000, 33_000, 20_500_000),
    ];
    summary.blame = Some(Blame {
        ttft_p99_ns: 22_110_000,
        client_ns: 12_000,
        client_share: Some(0.000_543),
        network_ns: Some(21_000),
        network_share: Some(0.000_95),
        server_ns: 22_077_000,
        server_share: Some(0.998_507),
        server_idle_ns: Some(20_050_000),
        server_load_ns: Some(2_027_000),
    });
    let client = &mut summary.client;
    client.verdict = Verdict::Valid;
    let surroundings = &mut client.surroundings;
    surroundings.interface = Some("eth0".into());
    surroundings.stamping_cpus = Some(vec![0, 1]);
    surroundings.steal_ns = Some(30_000_000);
    surroundings.stamping_steal_ns = Some(10_000_000);
    surroundings.softnet_dropped = Some(0);
    surroundings.tcp = Tcp { connections: 120, retransmits: 0, min_rtt_ns: Some(21_000) };
    client.shards = vec![shard(0, 0.212)];
    client.engine = "uring".into();
    client.stamps.software = 172_000;
    client.stamps.clock_bound_ns = Some(180);
    client.bias.ttft_ns.p99 = Some(12_000);
    client.bias.itl_ns.p99 = Some(31_000);
    client.bias_removed = Some(reported(12_000));
    client.imagined = imagined();
    client.checks = vec![
        check("rho_busy", 0.212, Unit::Ratio, Good::AtMost, 0.5, Some(0.9)),
        check("on_schedule", 1.0, Unit::Ratio, Good::AtLeast, 0.99, Some(0.95)),
        check("begun", 1.0, Unit::Ratio, Good::AtLeast, 1.0, Some(0.99)),
        check("bias_ttft_p99", 12_000.0, Unit::Ns, Good::AtMost, 500_000.0, Some(2_000_000.0)),
        check("lost_stamps", 0.0, Unit::Ratio, Good::AtMost, 0.0, None),
    ];
    summary.server = Server {
        kept_up: Some(true),
        in_flight_slope: Some(0.02),
        in_flight_mean: Some(96.0),
        reasons: Vec::new(),
        went_away: None,
        simulator: Some(Simulator {
            rho_busy: Some(0.31),
            lateness_p50_ns: Some(41_000),
            lateness_p99_ns: Some(96_000),
            accepts_failed: 0,
            was_the_limit: false,
        }),
    };
    summary
}

fn slow(index: u64, e2e_due_ns: i64, before_sent_ns: i64, ttft_ns: i64) -> Slow {
    Slow {
        index,
        shard: 0,
        stage: 0,
        due_ns: i64::try_from(index).unwrap() * 1_000_000,
        e2e_due_ns,
        before_sent_ns,
        ttft_ns: Some(ttft_ns),
        decode_ns: Some(e2e_due_ns - before_sent_ns - ttft_ns),
        output_tokens: Some(16),
        stall_ns: Some(9_100_000),
    }
}

fn term(text: &str, state: Held, bound: f64, unit: Unit) -> SloTerm {
    SloTerm {
        term: text.into(),
        state,
        value: None,
        bound,
        unit,
        infinite: false,
        of: Some(10_001),
        over: Some(120),
        n_eff: Some(1_204.0),
        ci: None,
        sure: Some(true),
    }
}

/// A run in which much went wrong, on both sides.
pub fn broken() -> Summary {
    let mut summary = steady();
    let blame = summary.blame.as_mut().unwrap();
    (blame.network_ns, blame.network_share) = (None, None);
    (blame.server_idle_ns, blame.server_load_ns) = (None, None);
    summary.run.ended = Ended::Interrupted;
    let total = &mut summary.total;
    total.load.failed = 120;
    total.load.cancelled = 31;
    total.load.completed -= 151;
    total.errors.insert("http_429".into(), 101);
    total.errors.insert("timeout_total".into(), 19);
    total.tolerated.insert("no_done".into(), 9_881);
    summary.failures = vec![
        Failure {
            class: "http_429".into(),
            status: Some(429),
            detail: Some("the queue is full:\u{1b}[2J try again in 5 s".into()),
            count: 101,
        },
        Failure { class: "timeout_total".into(), status: Some(200), detail: None, count: 19 },
    ];
    let total = &mut summary.total;
    total.latency.e2e_ns.p99 = Some(600_000_000_000);
    total.latency.e2e_ns.at_least = vec![Quantile::P99, Quantile::P99_9];
    total.latency.e2e_ns.with_failures.p99 = None;
    total.latency.e2e_ns.with_failures.p99_9 = None;
    total.latency.e2e_ns.with_failures.undefined = vec![Quantile::P99_9];
    total.latency.ttft_due_ns = around(10_000, 1_700_000_000);
    total.latency.ntpot_ns.p99_9 = None;
    total.latency.ntpot_ns.p99_ci = None;
    total.latency.pool_wait_ns = around(8_000, 1_600_000_000);
    total.ntpot = Ntpot {
        unsplit_because: Some(
            "every prompt had 128 uncached input tokens: only different lengths can tell".into(),
        ),
        by_output_tokens: vec![
            length_class(1, Some(4), 1_204, 31_985_000),
            length_class(5, Some(16), 8_677, 5_985_000),
            length_class(4_097, None, 12, 4_985_000),
        ],
        ..Ntpot::default()
    };
    total.ntpot.by_output_tokens[2].p99_ns = None;
    total.tokens.output = 67_415;
    total.tokens.delivered_share = Some(0.42);
    total.tokens.sources = TokenSources { usage: 9_000, events: 881, ..TokenSources::default() };
    total.slo = Some(Slo {
        held: false,
        good: 7_911,
        judged: 10_001,
        good_share: Some(0.791),
        goodput_per_s: Some(791.1),
        terms: vec![
            SloTerm {
                value: Some(1_700_000_000.0),
                over: Some(2_090),
                ..term("ttft_due_p99<500ms", Held::Crossed, 499_999_999.0, Unit::Ns)
            },
            SloTerm { infinite: true, ..term("e2e_p99.9<2s", Held::Crossed, 1_999_999_999.0, Unit::Ns) },
            SloTerm {
                value: Some(5_500_000.0),
                of: None,
                over: None,
                n_eff: None,
                ci: Some([5_400_000, 5_600_000]),
                ..term("tpot_mean<=6ms", Held::Held, 6_000_000.0, Unit::Ns)
            },
            SloTerm {
                value: Some(0.012),
                sure: None,
                ..term("error_rate<1%", Held::Crossed, 0.01, Unit::Ratio)
            },
            term("input_tokens_per_s>100", Held::Untold, 100.0, Unit::PerS),
        ],
    });
    let client = &mut summary.client;
    client.verdict = Verdict::Invalid;
    client.reasons = vec![
        Reason {
            verdict: Verdict::Invalid,
            check: "rho_busy".into(),
            words: "shard 1 was busy 93.1 % of the time (at most 50 % is valid): what it reports is partly its own \
                    queue"
                .into(),
            remedy: "use more shards (--shards 4), or a lower rate".into(),
        },
        Reason {
            verdict: Verdict::Suspect,
            check: "delivered".into(),
            words: "42.0 % of the output tokens asked for were delivered".into(),
            remedy: "send ignore_eos, or compare with runs of the same lengths only".into(),
        },
    ];
    client.caveats = vec!["the simulator shares this core with the client".into()];
    client.tls = Some(Tls {
        verified: true,
        trust: "the authorities that this host trusts".into(),
        handshakes: 1_204,
        resumed: 31,
        failed: 2,
        spoken: [("TLSv1_3 TLS13_AES_256_GCM_SHA384".to_owned(), 1_204)].into(),
    });
    let mut busy = shard(1, 0.931);
    busy.waits.pollaczek_khinchine = Wait { mean_ns: Some(74_000), holds: Some(false) };
    busy.failed = Some("assertion failed: a stream has a connection".into());
    client.shards.push(busy);
    summary.server = Server {
        kept_up: Some(false),
        in_flight_slope: Some(31.0),
        in_flight_mean: Some(1_204.5),
        reasons: vec![
            "the server did not keep up: +31 requests/s; latencies below depend on the run's length".into(),
        ],
        went_away: Some(WentAway { since_ns: Some(9_100_000_000), failed: 812 }),
        simulator: None,
    };
    summary
}

/// A run of three stages.
pub fn staged() -> Summary {
    let mut summary = steady();
    summary.total.load.requested_rate = None;
    summary.targets =
        [("http://127.0.0.1:8000/v1/chat/completions", 3), ("unix:/run/b.sock:/v1/chat/completions", 1)]
            .into_iter()
            .map(|(url, weight)| TargetSection {
                target: Target {
                    url: url.into(),
                    addresses: vec!["127.0.0.1:8000".into(), "127.0.0.2:8000".into()],
                    weight,
                    notes: vec!["[::1]:8000 does not accept (Connection refused) and is left out".into()],
                    ..summary.target.clone()
                },
                section: section(60.0 * f64::from(u32::try_from(weight).unwrap()), 750 * weight),
                server: Server { kept_up: Some(true), ..Server::default() },
            })
            .collect();
    summary.stages = [100.0, 200.0, 400.0]
        .into_iter()
        .enumerate()
        .map(|(n, rate)| Stage {
            name: n.to_string(),
            arrival: Some("poisson".into()),
            start_ns: 10_000_000_000 * i64::try_from(n).unwrap(),
            window_ns: 10_000_000_000,
            section: section(rate, 1_000),
            server: Server { kept_up: Some(n < 2), ..Server::default() },
        })
        .collect();
    summary
}
