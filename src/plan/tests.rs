//! Whole plans: what is accepted means what it says, and what is refused says what would be accepted.

mod connections;
mod fits;
mod secrets;
mod secure;
mod shards;

use super::*;
use crate::schedule::{self, Extent, Process, Ramp};
use crate::time::Span;
use crate::wire::Api;

fn limits() -> Limits {
    Limits {
        cpus: vec![0, 1, 2, 3],
        cpu_quota: None,
        files: 20_000,
        source_ports: 28_232,
        memlock_bytes: Some(8 * 1024 * 1024),
        kernel: Some((6, 18)),
        io_uring_forbidden: None,
        ring_refused: None,
        cost: Cost::default(),
    }
}

fn raw(toml: &str) -> Raw {
    Raw::from_toml(toml).unwrap()
}

fn plan(toml: &str) -> Plan {
    Plan::new(raw(toml), &limits()).unwrap_or_else(|error| panic!("{toml}:\n{error}"))
}

fn refused_on(toml: &str, limits: &Limits) -> PlanError {
    match Plan::new(raw(toml), limits) {
        Err(error) => error,
        Ok(_) => panic!("accepted: {toml}"),
    }
}

const URL: &str = "[target]\nurl = \"http://127.0.0.1:8000\"\n";

#[test]
fn little_said_means_the_documented_defaults() {
    let plan = plan(&format!("{URL}[load]\nrate = 10"));
    assert_eq!(plan.target.endpoints[0].url(), "http://127.0.0.1:8000/v1/chat/completions");
    assert_eq!(plan.target.api, Api::Chat);
    assert_eq!(plan.target.timeouts.total, Span::from_s(600));
    assert_eq!(plan.target.timeouts.connect, Span::from_s(10));
    assert_eq!(plan.target.timeouts.first_token, None);
    assert!(plan.target.probe && plan.client.preconnect && plan.payload.ignore_eos);
    assert!(plan.payload.include_usage && plan.payload.request_id);
    assert_eq!(plan.load.stages.len(), 1);
    assert_eq!(plan.load.stages[0].extent, Extent::Duration(Span::from_s(30)));
    assert_eq!((plan.load.seed, plan.load.cooldown), (0, Span::from_s(30)));
    assert_eq!(plan.payload.mean_input_tokens(), Some(128.0));
    assert_eq!(plan.payload.output_tokens.always(), Some(16));
    assert_eq!(plan.client.cpus, [0]);
    assert_eq!((plan.require, plan.output.records), (Require::Suspect, Records::All));
    assert_eq!(plan.sim, None);
    assert_eq!(plan.caveats, Vec::<String>::new());
}

#[test]
fn every_mistake_names_flag_value_and_what_is_accepted() {
    let table = [
        ("[load]\nrate = 0", "--rate", "0", "from 0.0001 to 10000000 requests/s"),
        ("[load]\nrate = \"fast\"", "--rate", "fast", "from 0.0001"),
        ("[load]\nrate = -5", "--rate", "-5", "from 0.0001"),
        ("[load]\nrate = nan", "--rate", "NaN", "from 0.0001"),
        ("[load]\nrate = inf", "--rate", "inf", "to 10000000"),
        ("[load]\nrate = 1\nduration = 10", "--duration", "10", "10ms to"),
        ("[load]\nrate = 1\nduration = \"0s\"", "--duration", "0s", "10ms to"),
        ("[load]\nrate = 1\nrequests = 0", "--requests", "0", "from 1 to"),
        ("[load]\nrate = 1\nrequests = 5\nduration = \"1s\"", "--requests", "5", "exclude each other"),
        ("[load]\nrate = 1\nconcurrency = 5", "--concurrency", "5", "--rate R --max-concurrency C"),
        ("[load]\nconcurrency = 5\nmax-concurrency = 5", "--max-concurrency", "5", "an open loop"),
        ("[load]\nconcurrency = 5\narrival = \"poisson\"", "--arrival", "poisson", "an open loop"),
        ("[load]\nrate = 5\nramp = \"1s\"", "--ramp", "1s", "a closed loop"),
        ("[load]\nrate = 5\nthink-time = \"1s\"", "--think-time", "1s", "a closed loop"),
        ("[load]\nrate = 5\nseed = -1", "--seed", "-1", "from 0"),
        ("[load]\nrate = 5\nseed = 1.5", "--seed", "1.5", "whole number"),
        ("[load]\nrate = 5\nrepeat = 0", "--repeat", "0", "from 1 to 1000"),
        ("[load]\nconcurrency = 0", "--concurrency", "0", "from 1 to"),
        ("[load]\nrate = 5\n[payload]\ninput-tokens = 0", "--input-tokens", "0", "uniform:a:b"),
        ("[load]\nrate = 5\n[payload]\ninput-tokens = \"zipf:2\"", "--input-tokens", "zipf:2", "lognormal"),
        (
            "[load]\nrate = 5\n[payload]\noutput-tokens = 99999999",
            "--output-tokens",
            "99999999",
            "at most 10000000",
        ),
        ("[load]\nrate = 5\n[payload]\nprompt-as = \"ids\"", "--prompt-as", "ids", "--api completions"),
        ("[load]\nrate = 5\n[payload]\nprompt-as = \"txt\"", "--prompt-as", "txt", "did you mean text?"),
        ("[load]\nrate = 5\n[payload]\nchoices = 0", "--choices", "0", "from 1 to 128"),
        (
            "[load]\nrate = 5\n[payload]\nprompts = \"p\"\ninput-tokens = 5",
            "--input-tokens",
            "5",
            "leave one out",
        ),
        ("[load]\nrate = 5\n[client]\nshards = 0", "--shards", "0", "auto, or a whole number from 1 to 4"),
        ("[load]\nrate = 5\n[client]\nshards = 5", "--shards", "5", "from 1 to 4"),
        ("[load]\nrate = 5\n[client]\ncpus = \"7\"", "--cpus", "7", "0-3"),
        ("[load]\nrate = 5\n[client]\ncpus = \"3-1\"", "--cpus", "3-1", "write 1-3"),
        (
            "[load]\nconcurrency = 1\n[client]\nshards = 2",
            "--shards",
            "2",
            "at least one of the 1 of --concurrency",
        ),
        (
            "[load]\nrate = 5\nmax-concurrency = 3\n[client]\nshards = 4",
            "--shards",
            "4",
            "at least one of the 3 of --max-concurrency",
        ),
        (
            "[load]\nrate = 5\n[client]\nshards = 3\nconnections = 2",
            "--shards",
            "3",
            "at least one of the 2 of --connections",
        ),
        ("[load]\nrate = 5\n[payload]\nvocab-size = 500", "--vocab-size", "500", "with --prompt-as ids only"),
        ("[load]\nrate = 5\n[client]\nconnections = 0", "--connections", "0", "from 1 to"),
        ("[load]\nconcurrency = 9\n[client]\nconnections = 8", "--connections", "8", "at least the 9"),
        (
            "[load]\nrate = 5\n[client]\ncoalesce = \"soon\"",
            "--coalesce",
            "soon",
            "auto, 0, or a span from 1us",
        ),
        ("[load]\nrate = 5\n[client]\nstamps = \"nic\"", "--stamps", "nic", "software, hardware, user"),
        (
            "[load]\nrate = 5\n[client]\nenable-hw-stamps = true",
            "--enable-hw-stamps",
            "true",
            "with --stamps hardware",
        ),
        ("[load]\nrate = 5\n[client]\ncoalesce = 250", "--coalesce", "250", "write 250s or 250ms"),
        ("[load]\nrate = 5\n[client]\ncoalesce = \"11ms\"", "--coalesce", "11ms", "to 10ms"),
        (
            "[load]\nrate = 5\n[client]\ncoalesce = \"1ms\"\nbusy-poll = true",
            "--busy-poll",
            "true",
            "--coalesce auto or 0",
        ),
        ("[load]\nrate = 5\n[client]\nsource-ip = \"eth0\"", "--source-ip", "eth0", "127.0.0.4-127.0.0.9"),
        (
            "[load]\nrate = 5\n[client]\nconnections-per-request = \"fresh\"",
            "--connections-per-request",
            "fresh",
            "reuse, new",
        ),
        ("[load]\nrate = 5\n[output]\nrecords = \"some\"", "--records", "some", "none, failed, all"),
        ("[load]\nrate = 5\n[output]\ntag = [\"x\"]", "--tag", "x", "KEY=VALUE"),
        ("[load]\nrate = 5\n[output]\nquiet = true\nverbose = true", "--quiet", "true", "quiet or verbose"),
        ("[load]\nrate = 5\n[verdict]\nrequire = \"good\"", "--require", "good", "valid, suspect, any"),
        ("[load]\nrate = 5\n[verdict]\nmax-error-share = 2", "--max-error-share", "2", "from 0 to 1"),
        (
            "[load]\nrate = 5\n[verdict]\nthreshold = [\"rho=1\"]",
            "--threshold",
            "rho=1",
            "did you mean rho-valid?",
        ),
        ("[load]\nrate = 5\n[verdict]\nslo = \"ttft<1s\"", "--slo", "ttft<1s", "ttft_p50 to ttft_p99.9"),
        (
            "[load]\nrate = 5\n[verdict]\nslo = \"ttft_p99<1s,ntpott_p95<60ms\"",
            "--slo",
            "ntpott_p95",
            "did you mean ntpot?",
        ),
        (
            "[load]\nrate = 5\n[verdict]\nthreshold = [\"rho-valid=0.95\", \"lost-invalid=0\"]",
            "--threshold",
            "rho-valid=0.95",
            "rho-valid at most rho-invalid, and they would be 0.95 and 0.9",
        ),
        ("[load]\nrate = 5\n[sim]\nttft = \"1ms\"", "--sim-ttft", "1ms", "with --sim only"),
    ];
    for (toml, flag, value, accepted) in table {
        let error = refused_on(&format!("{URL}{toml}"), &limits());
        assert_eq!(error.mistakes.len(), 1, "{toml}:\n{error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("{flag} (")), "{flag} in {text}");
        assert_eq!(error.mistakes[0].value.as_deref(), Some(value), "{text}");
        assert!(text.contains(accepted), "{accepted} in {text}");
    }
}

#[test]
fn the_ways_of_waiting_mean_what_they_say() {
    for (toml, meant) in [
        ("", Waiting::Auto),
        ("coalesce = \"auto\"", Waiting::Auto),
        ("coalesce = 0", Waiting::Window(Span::ZERO)),
        ("coalesce = \"0us\"", Waiting::Window(Span::ZERO)),
        ("coalesce = \"250us\"", Waiting::Window(Span::from_us(250))),
        ("busy-poll = true", Waiting::BusyPoll),
        ("busy-poll = true\ncoalesce = 0", Waiting::BusyPoll),
        ("busy-poll = false", Waiting::Auto),
    ] {
        let plan = plan(&format!("{URL}[load]\nrate = 10\n[client]\n{toml}"));
        assert_eq!(plan.client.waiting, meant, "{toml}");
        let again = self::plan(&plan.effective_toml());
        assert_eq!(again.client.waiting, meant, "the saved config of {toml} repeats it");
    }
}

#[test]
fn mistakes_of_the_target_are_refused_as_well() {
    let table = [
        ("", "--url", "--sim for the embedded simulator"),
        ("url = \"ftp://h\"", "--url", "the schemes are http and https"),
        ("url = \"h:8000\"", "--url", "write the scheme"),
        ("url = \"http://h\"\nsim = true", "--url", "leave one of --url and --sim out"),
        ("url = \"http://h\"\napi = \"caht\"", "--api", "did you mean chat?"),
        ("url = \"http://h\"\nheader = [\"Connection: x\"]", "--header", "written for you"),
        ("url = \"http://h\"\nheader = [\"A B: x\"]", "--header", "is no header name"),
        ("url = \"http://h\"\nheader = [\"A: x\\r\\nB: y\"]", "--header", "control character"),
        ("url = \"http://h\"\nheader = [\"X-Request-Id: 1\"]", "--header", "--no-request-id"),
        ("url = \"http://h\"\nextra-body = \"[1]\"", "--extra-body", "a JSON object"),
        ("url = \"http://h\"\nextra-body = \"{\"", "--extra-body", "a JSON object"),
        ("url = \"http://h\"\ntimeout = \"5\"", "--timeout", "write 5s"),
        ("url = \"http://h\"\ntimeout = \"1s\"\ntimeout-idle = \"2s\"", "--timeout-idle", "never fires"),
        ("url = \"http://h\"\nweights = \"1\"", "--weights", "for several --url only"),
        ("url = \"http://h\"\nbalance = \"sticky\"", "--balance", "for several --url only"),
        (
            "url = [\"http://h\", \"http://g\"]\nweights = \"1\"",
            "--weights",
            "2 whole numbers from 1 to 1000",
        ),
        ("url = [\"http://h\", \"http://g\"]\nweights = \"1,0\"", "--weights", "one for each --url"),
        ("url = [\"http://h\", \"http://g\"]\nbalance = \"rr\"", "--balance", "round-robin, sticky"),
        ("url = [\"http://h\", \"http://h/v1\"]", "--url", "--weights"),
        ("url = [\"http://h\", \"g\"]", "--url", "write the scheme"),
        ("url = \"unix:llm.sock\"", "--url", "from the root"),
        ("url = \"http://h\"\nmodel = \"\"", "--model", "the name of a model"),
        ("url = \"http://h\"\napi-key = \"a\\nb\"", "--api-key", "visible ASCII"),
    ];
    for (target, flag, remedy) in table {
        let error = refused_on(&format!("[target]\n{target}\n[load]\nrate = 5"), &limits());
        let text = error.to_string();
        assert_eq!(error.mistakes.len(), 1, "{text}");
        assert!(text.starts_with(&format!("{flag} (")) && text.contains(remedy), "{remedy} in {text}");
    }
}

#[test]
fn no_message_shows_a_secret() {
    for target in [
        "url = \"http://me:hunter2@h:0\"",
        "url = \"ftp://me:hunter2@h\"",
        "url = \"http://h\"\nheader = [\"hunter2\"]",
        "url = \"http://h\"\nheader = [\"X-API-Key=hunter2\"]",
        "url = \"http://h\"\nheader = [\"Bearer hunter2\"]",
        "url = \"http://h\"\nheader = [\"aHVudGVyMgo=\", \"hunter==\"]",
        "url = \"http://h\"\nheader = [\"Cookie: hunter2\\u0001\"]",
        "url = \"http://h\"\nheader = [\"X-Own: hunter2\\u0001\"]\nsecret-header = [\"x-own\"]",
        "url = \"http://h\"\napi-key = \"hunter2\\u0001\"",
    ] {
        let text = refused_on(&format!("[target]\n{target}\n[load]\nrate = 5"), &limits()).to_string();
        assert!(!text.contains("hunter") && !text.contains("aHVu"), "{text}");
    }
}

#[test]
fn no_load_says_which_two_there_are() {
    let error = refused_on(URL, &limits());
    assert_eq!(error.mistakes.len(), 1, "{error}");
    let text = error.to_string();
    assert!(text.contains("--rate 10 (open loop, requests/s) or --concurrency 8 (closed loop)"), "{text}");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let error = refused_on("[load]\nrate = 0\nduration = 5\n[payload]\nchoices = 0", &limits());
    assert_eq!(error.mistakes.len(), 4, "url, rate, duration, choices:\n{error}");
}

#[test]
fn stages_say_which_of_them_is_wrong() {
    let ok = "[[stage]]\nrate = 1\nduration = \"1s\"\n";
    for (stage, name, accepted) in [
        ("rate = 1", "duration", "how long it lasts"),
        ("duration = \"1s\"", "rate", "rate = 10 or concurrency = 8"),
        ("rate = 1\nconcurrency = 2\nduration = \"1s\"", "concurrency", "exclude each other"),
        ("rate = 1\nshape = \"linear\"\nduration = \"1s\"", "shape", "rate-end = 100"),
        ("rate = 0\nrate-end = 0\nduration = \"1s\"", "rate-end", "above 0"),
        ("rate = 0\nduration = \"1s\"", "rate", "from 0.0001"),
        ("rate = 1\nconcurrency-end = 5\nduration = \"1s\"", "concurrency-end", "a stage with concurrency"),
        ("rate = 1\narrival = \"gamma:0\"\nduration = \"1s\"", "arrival", "0.01 to 10000"),
        (
            "rate = 1\nrate-end = 5\nshape = \"geometrical\"\nduration = \"1s\"",
            "shape",
            "did you mean geometric?",
        ),
        ("concurrency = 1\nduration = \"1s\"", "rate, concurrency", "all open loops or all closed loops"),
    ] {
        let error = refused_on(&format!("{URL}{ok}[[stage]]\n{stage}"), &limits());
        let text = error.to_string();
        assert!(text.starts_with(&format!("[[stage]] number 2, {name}:")), "{text}");
        assert!(text.contains(accepted), "{accepted} in {text}");
    }
    let text = refused_on(&format!("{URL}[load]\nrate = 5\n{ok}"), &limits()).to_string();
    assert!(text.starts_with("--rate (") && text.contains("each stage says its own"), "{text}");
}

#[test]
fn an_engine_of_one_queue_takes_no_latency_laws_and_no_second_shard() {
    let sim = |text: &str| SimPlan::new(Raw::from_toml(&format!("[sim]\n{text}")).unwrap().sim, &limits());
    let plan = sim("engine = \"mdc:8:20ms\"").unwrap();
    assert_eq!(plan.expected_e2e(1_000.0, 64.0), Span::from_ms(20));
    // 64 steps of 8.1 ms, and 191 tokens of 20 us.
    let plan = sim("engine = \"batch:8ms:100us:20us\"").unwrap();
    assert_eq!(plan.expected_e2e(128.0, 64.0), Span::from_us(64 * 8_100 + 191 * 20));
    for (text, flag) in [
        ("engine = \"mdc:8:20ms\"\nttft = \"5ms\"", "--ttft"),
        ("engine = \"mdc:8:20ms\"\nmax-running = 5", "--max-running"),
        ("engine = \"mdc:8:20ms\"\ncpus = \"0-1\"", "--cpus"),
        ("engine = \"batch:1ms:0s:0s\"\ntokens-per-event = 2", "--tokens-per-event"),
        ("engine = \"mdc:8\"", "--engine"),
    ] {
        let error = sim(text).expect_err(text).to_string();
        assert!(
            error.starts_with(&format!("{flag}:")) || error.starts_with(&format!("{flag} ")),
            "{text}: {error}"
        );
    }
}

#[test]
fn stages_are_read_in_order_with_their_shapes() {
    let plan = plan(&format!(
        "{URL}[load]\nwarmup = \"3s\"\n[[stage]]\nrate = 10\nduration = \"5s\"\n\
         [[stage]]\nrate = 10\nrate-end = 40\nshape = \"geometric\"\nduration = \"20s\"\narrival = \"constant\"\n\
         [[stage]]\nrate = 40\nrate-end = 20\nwarmup = \"1s\"\nduration = \"2s\""
    ));
    let open = |rate_per_s, process| schedule::Load::Open { rate_per_s, process };
    let loads: Vec<_> = plan.load.stages.iter().map(|stage| stage.load).collect();
    assert_eq!(
        loads,
        [
            open(Ramp::Flat(10.0), Process::Poisson),
            open(Ramp::Geometric(10.0, 40.0), Process::Constant),
            open(Ramp::Linear(40.0, 20.0), Process::Poisson),
        ]
    );
    let warmups: Vec<_> = plan.load.stages.iter().map(|stage| stage.warmup).collect();
    assert_eq!(warmups, [Span::from_s(3), Span::ZERO, Span::from_s(1)]);
    assert_eq!(plan.schedule().stages(), plan.load.stages);
    assert_eq!(plan.load.peak_rate_per_s(), Some(40.0));
}

#[test]
fn token_ids_stay_below_the_size_asked_for() {
    let ids = |more: &str| {
        let toml =
            format!("{URL}api = \"completions\"\n[load]\nrate = 5\n[payload]\nprompt-as = \"ids\"\n{more}");
        Plan::new(raw(&toml), &limits())
    };
    assert_eq!(ids("").unwrap().payload.prompt_as, PromptAs::Ids(30_001));
    let small = ids("vocab-size = 512").unwrap();
    assert_eq!(small.payload.prompt_as, PromptAs::Ids(512));
    let mut request = crate::workload::Request::new();
    small.workload("m", "run", None).unwrap().request(0, &mut request);
    let body: serde_json::Value = serde_json::from_slice(&request.body()).unwrap();
    let ids_sent: Vec<u64> =
        body["prompt"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    assert!(ids_sent.len() == 128 && ids_sent.iter().all(|id| *id < 512), "{ids_sent:?}");
    let text = ids("vocab-size = 255").unwrap_err().to_string();
    assert!(text.starts_with("--vocab-size (") && text.contains("from 256 to 16777216"), "{text}");
}

#[test]
fn a_header_without_a_colon_is_named_as_far_as_it_is_no_secret() {
    for (header, shown) in [("foo", "\"foo\""), ("X-API-Key=s3cret", "\"X-API-Key=***\""), ("s3cret", "***")]
    {
        let toml = format!("[target]\nurl = \"http://h\"\nheader = [\"{header}\"]\n[load]\nrate = 5");
        let text = refused_on(&toml, &limits()).to_string();
        assert!(text.contains(shown) && text.contains("--header 'NAME: VALUE'"), "{text}");
    }
}

const RICH: &str = "[target]\nurl = \"http://me:pw@h:1/v1\"\nsecret-header = [\"X-Own\"]\n\
    header = [\"X-Own: s3cret\", \"X-Plain: seen\"]\nextra-body = '{\"top_k\": 1}'\nno-probe = true\n\
    [load]\nrate = 2.5\nrequests = 9\nseed = \"18446744073709551615\"\nmax-concurrency = 9\n\
    [payload]\ninput-tokens = \"lognormal:200:80\"\noutput-tokens = 8\n\
    [client]\nshards = 2\ncpus = \"1-3\"\n[output]\ntag = [\"a=b\", \"a=c\"]\n[verdict]\nmax-error-share = 0.01";

#[test]
fn the_effective_config_hides_secrets_and_says_everything_else() {
    let written = plan(RICH).effective_toml();
    for secret in ["pw", "s3cret"] {
        assert!(!written.contains(secret), "{secret} in {written}");
    }
    for said in ["timeout = \"600s\"", "cooldown = \"30s\"", "rate = 2.5", "tag = [\"a=c\"]", "X-Plain: seen"]
    {
        assert!(written.contains(said), "{said} in {written}");
    }
}

#[test]
fn a_saved_config_without_secrets_makes_the_same_plan_again() {
    for toml in [
        format!("{URL}[load]\nrate = 5"),
        format!("{URL}[load]\nconcurrency = 5\nramp = \"1s\""),
        format!("{URL}[[stage]]\nconcurrency = 5\nduration = \"1s\""),
        format!("{URL}[load]\narrival = \"constant\"\n[[stage]]\nrate = 5\nrate-end = 7\nduration = \"1s\""),
        "[target]\nsim = true\nmodel = \"1.10\"\n[load]\nrate = 5\n[sim]\nfault = [\"reset:0.1\"]".to_owned(),
        format!("{URL}[load]\nrate = 5\n[payload]\nprompts = \"p.jsonl\""),
        "[target]\nurl = [\"http://a\", \"http://b\"]\nbalance = \"sticky\"\nweights = \"2,1\"\n[load]\nrate = 5\n\
         [client]\nsource-ip = \"127.0.0.2-127.0.0.3\"\nquickack = true"
            .to_owned(),
    ] {
        let first = plan(&toml);
        assert_eq!(plan(&first.effective_toml()), first);
    }
}

#[test]
fn the_simulator_alone_is_refused_by_its_own_flags() {
    let asked = SimOptions { ttft: Some("20".into()), ..SimOptions::default() };
    let text = SimPlan::new(asked, &limits()).expect_err("no unit").to_string();
    assert!(text.starts_with("--ttft:") && text.contains("20ms or 20s"), "{text}");
    let plain = SimPlan::new(SimOptions::default(), &limits()).unwrap();
    assert_eq!(plain.listen[0].to_string(), SIM_LISTEN);
    assert_eq!(plain.expected_e2e(128.0, 16.0), Span::from_ms(95));
}
