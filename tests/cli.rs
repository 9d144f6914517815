//! The program as its user meets it: help, plans printed, mistakes and their exit status. Nothing here is ever sent.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use lowrho::host;
use lowrho::plan::{CARD_VERSION, Card, CardHost, Raw};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;

fn lowrho(arguments: &[&str]) -> Output {
    with_key(arguments, None)
}

fn with_key(arguments: &[&str], key: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowrho"));
    // A capacity card of this machine would change plans.
    command.args(arguments).env_remove("OPENAI_API_KEY").env("XDG_CONFIG_HOME", "/nonexistent");
    if let Some(key) = key {
        command.env("OPENAI_API_KEY", key);
    }
    command.output().expect("the program can be started")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is UTF-8")
}

/// A new folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a test has a folder");
    folder
}

/// The plan that a dry run prints; it is a config file.
fn dry_run(arguments: &[&str]) -> Raw {
    let output = lowrho(&[&["run", "--dry-run"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    Raw::from_toml(&stdout(&output)).expect("a printed plan is a config")
}

#[test]
fn a_simulator_of_a_baseline_whose_owner_is_gone_ends_by_itself() {
    let nobody = i32::MAX.to_string();
    let output = lowrho(&["sim", "--listen", "127.0.0.1:0", "--owner", &nobody]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("simulator: "), "{}", stdout(&output));
}

#[test]
fn help_is_no_mistake() {
    for arguments in [
        ["run", "--help"],
        ["run", "-h"],
        ["sim", "--help"],
        ["floor", "-h"],
        ["baseline", "-h"],
        ["init", "-h"],
        ["sweep", "-h"],
        ["rerun", "-h"],
        ["report", "-h"],
        ["doctor", "-h"],
    ] {
        let output = lowrho(&arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(stdout(&output).contains("Examples:"), "{arguments:?}");
        assert_eq!(stderr(&output), "");
    }
    assert!(stdout(&lowrho(&["run", "--help"])).contains("--timeout-idle"));
    assert!(!stdout(&lowrho(&["run", "-h"])).contains("--timeout-idle"));
    assert_eq!(stdout(&lowrho(&["--version"])), format!("lowrho {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn bad_usage_ends_with_two_and_says_what_to_do() {
    for (arguments, said) in [
        (vec![], "Usage: lowrho"),
        (vec!["ruin"], "'run'"),
        (vec!["run", "--raet", "5"], "'--rate'"),
        (vec!["run"], "--url http://HOST:PORT, or --sim"),
        (vec!["run", "--sim"], "--rate 10 (open loop"),
        (vec!["run", "--sim", "--rate", "-5"], "--rate (load.rate in a file): \"-5\" is refused"),
        (vec!["run", "--sim", "--rate", "5", "--duration", "10"], "write 10s"),
        (vec!["run", "--sim", "--rate", "5", "-d", "-5s"], "\"-5s\" is negative"),
        (vec!["run", "--sim", "--rate", "5", "--warmup", "-1.5s"], "\"-1.5s\" is negative"),
        (vec!["sweep", "--sim", "--auto", "--budget", "-5m"], "\"-5m\" is negative"),
        (vec!["run", "--sim", "--rate", "5", "--duration", "1s", "--requests", "5"], "exclude each other"),
        (
            vec!["run", "--url", "https://h", "--rate", "5", "--ca-cert", "no-such.pem"],
            "no-such.pem: No such file",
        ),
        (vec!["sim", "--tls-key", "key.pem"], "--tls-key: \"key.pem\" is refused"),
        (vec!["run", "--sim", "--rate", "5", "-c", "no-such.toml"], "no-such.toml: No such file"),
        (
            vec!["run", "--sim", "--rate", "5", "--prompts", "no-such.jsonl"],
            "--prompts no-such.jsonl: No such file",
        ),
        (vec!["run", "--sim", "--rate", "5", "--out", "/"], "--out /: it must be new or empty"),
        (vec!["rerun", "no-such-results"], "there is no such results directory"),
        (vec!["sim", "--ttft", "20"], "--ttft: \"20\" is refused"),
        (
            vec!["sim", "--engine", "mdc:1:1ms", "--prefix-cache", "64"],
            "--prefix-cache: \"64\" is refused; accepted: for --engine laws or batch only",
        ),
        (
            vec!["sim", "--engine", "epoll"],
            "by which system calls it drives its sockets is --socket-engine epoll",
        ),
        (
            vec!["run", "--sim", "--rate", "5", "--sim-engine", "mdc:1:1ms", "--sim-prefix-cache", "64"],
            "accepted: for --sim-engine laws or batch only",
        ),
        (
            vec!["floor", "--rates", "2000,1000"],
            "--rates: \"2000,1000\" is refused; accepted: 1 to 100 rates",
        ),
        (vec!["floor", "--rates", "fast"], "from 1 to 10000000 requests/s, ascending"),
        (vec!["floor", "--rung", "2"], "write 2s"),
        (vec!["floor", "--rung", "1ms"], "--rung: \"1ms\" is refused; accepted: 100ms to"),
        (vec!["floor", "--output-tokens", "0"], "--output-tokens: \"0\" is refused"),
        (vec!["floor", "--shards", "0"], "--shards: \"0\" is refused"),
        (vec!["floor", "--shards", "5000"], "a shard has a CPU of its own, and for shards there are"),
        (vec!["floor", "--repeat", "3"], "--repeat: \"3\" is refused; accepted: with --compare-waiting only"),
        (
            vec!["floor", "--url", "http://h", "--itl", "2ms"],
            "--itl: \"2ms\" is refused; accepted: without --url",
        ),
        (
            vec!["floor", "--ca-cert", "c.pem"],
            "--ca-cert: \"c.pem\" is refused; accepted: with --url https://",
        ),
        (vec!["floor", "--insecure"], "--insecure: \"true\" is refused; accepted: with --url https://"),
        (
            vec!["floor", "--url", "http://h", "--insecure"],
            "--insecure (target.insecure in a file): \"true\" is refused; accepted: with a server that speaks TLS",
        ),
        (vec!["floor", "--url", "https://h", "--ca-cert", "no-such.pem"], "no-such.pem: No such file"),
        (vec!["floor", "--url", "h:80"], "write the scheme"),
        (vec!["floor", "--out", "/"], "--out /: it must be new or empty"),
        (vec!["sim", "--fault", "explode:1"], "--fault: \"explode:1\" is refused"),
    ] {
        let output = lowrho(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{said} in {}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn what_is_no_results_directory_is_said_to_be_what_it_is() {
    let folder = folder("no-results");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    fs::write(path("file"), "").unwrap();
    fs::create_dir_all(path("several/1")).unwrap();
    fs::write(path("several/repeats.json"), "{}").unwrap();
    fs::create_dir(path("empty")).unwrap();
    for (name, said) in [
        ("file", "it is a file: name a results directory"),
        ("several", "it holds several runs (--repeat): lowrho rerun"),
        ("empty", "no results: it has no config.toml"),
        ("nothing", "there is no such results directory"),
    ] {
        let output = lowrho(&["rerun", &path(name)]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(stderr(&output).contains(said), "{name}: {}", stderr(&output));
    }
}

#[test]
fn a_table_for_sweeps_is_passed_over_by_a_run_that_says_so() {
    let file = folder("sweep-table").join("run.toml");
    fs::write(&file, "[target]\nsim = true\n[load]\nrate = 5\n[sweep]\nfrom = 1\nto = 9\n").unwrap();
    let output = lowrho(&["run", "--dry-run", "-c", file.to_str().unwrap()]);
    let text = stdout(&output);
    assert!(
        text.contains("caveat: [sweep] of the file is for lowrho sweep") && !text.contains("\n[sweep]"),
        "{text}"
    );
    fs::write(&file, "[sweep]\nform = 1\n").unwrap();
    let output = lowrho(&["sweep", "-c", file.to_str().unwrap()]);
    assert!(
        stderr(&output).contains("unknown key sweep.form: did you mean sweep.from?"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn all_mistakes_are_told_at_once() {
    let output = lowrho(&["run", "--sim", "--rate", "0", "--choices", "0", "--warmup", "5"]);
    let errors = stderr(&output).lines().filter(|line| line.starts_with("error: --")).count();
    assert_eq!(errors, 3, "{}", stderr(&output));
}

#[test]
fn flags_win_over_the_file() {
    let file = folder("flags-win").join("run.toml");
    fs::write(&file, "[target]\nsim = true\nno-probe = true\n[load]\nrate = 7\nseed = 3\n").unwrap();
    let file = file.to_str().unwrap();
    let raw = dry_run(&["-c", file, "--rate", "9", "--no-probe=false"]);
    assert_eq!(raw.load.rate, Some("9".into()));
    assert_eq!(raw.load.seed, Some("3".into()));
    assert_eq!(raw.target.no_probe, Some(false));
}

#[test]
fn a_flag_takes_the_place_of_what_it_excludes_in_the_file() {
    let file = folder("excludes").join("run.toml");
    fs::write(&file, stdout(&lowrho(&["init"]))).unwrap();
    let raw = dry_run(&["-c", file.to_str().unwrap(), "--sim", "--concurrency", "8", "--requests", "100"]);
    assert_eq!((raw.target.url, raw.load.rate, raw.load.duration), (Vec::new(), None, None));
    assert_eq!((raw.load.concurrency, raw.load.requests), (Some("8".into()), Some("100".into())));
}

#[test]
fn an_unknown_key_of_the_file_names_the_nearest() {
    let file = folder("unknown-key").join("run.toml");
    fs::write(&file, "[load]\nduratoin = \"5s\"\n").unwrap();
    let output = lowrho(&["run", "-c", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean load.duration?"), "{}", stderr(&output));
}

#[test]
fn the_example_that_init_writes_is_a_plan() {
    let printed = lowrho(&["init"]);
    let file = folder("init").join("run.toml");
    let name = file.to_str().unwrap();
    assert_eq!(lowrho(&["init", name]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), stdout(&printed));
    assert_eq!(dry_run(&["-c", name]).load.rate, Some("10".into()));

    let again = lowrho(&["init", name]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("exists"), "{}", stderr(&again));
}

#[test]
fn a_dry_run_tells_plan_rho_and_first_request_and_no_secret() {
    let output = with_key(
        &[
            "run",
            "--dry-run",
            "--url",
            "http://h:8000/v1",
            "--rate",
            "1000",
            "--model",
            "m",
            "--header",
            "X-API-Key: hunter2",
        ],
        Some("hunter3"),
    );
    let (text, command) = (stdout(&output), stderr(&output));
    for said in [
        "target: http://h:8000/v1/chat/completions, model: m",
        "open loop, poisson, 1000 requests/s for 30s",
        "1000 requests/s and 16000 events/s at 8us an event are an expected rho of 0.128 a shard (a guess",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    for said in [
        "# Set first: X_API_KEY, OPENAI_API_KEY\ncurl --no-buffer 'http://h:8000/v1/chat/completions'",
        "\"Authorization: Bearer $OPENAI_API_KEY\"",
        "\"X-API-Key: $X_API_KEY\"",
        "\"model\":\"m\"",
    ] {
        assert!(command.contains(said), "{said} in {command}");
    }
    assert!(!text.contains("hunter") && !command.contains("hunter"), "{text}{command}");
}

/// Does what a dry run prints on stderr, in a shell, against a server that names one model and tells what it was asked.
fn pasted(arguments: &[&str]) -> (String, serde_json::Value) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let dry = lowrho(&[&["run", "--dry-run", "--url", &url], arguments].concat());
    assert_eq!(dry.status.code(), Some(0), "{}", stderr(&dry));
    let server = thread::spawn(move || {
        let mut asked = (String::new(), serde_json::Value::Null);
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let from = head.len();
                stream.read_line(&mut head).unwrap();
                if let Some(value) = head[from..].to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let answer =
                "{\"object\":\"list\",\"data\":[{\"id\": \"org/tiny 1\",\"root\":\"x\"},{\"id\":\"other\"}]}";
            let head_of_answer =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", answer.len());
            stream.get_mut().write_all(format!("{head_of_answer}{answer}").as_bytes()).unwrap();
            if length > 0 {
                asked = (head, serde_json::from_slice(&body).unwrap());
                break;
            }
        }
        asked
    });
    let shell = Command::new("sh").arg("-c").arg(stderr(&dry)).env("X_KEY", "k3y").output().unwrap();
    assert!(shell.status.success(), "{}\n{}", stderr(&dry), stderr(&shell));
    server.join().unwrap()
}

#[test]
fn the_first_request_can_be_pasted_into_a_shell() {
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    let extra = "{\"note\": \"it's \\\"quoted\\\" $HOME\"}";
    let (head, body) =
        pasted(&["--rate", "5", "--extra-body", extra, "--header", "X-Key: hid", "--secret-header", "x-key"]);
    assert_eq!(body["model"], "org/tiny 1", "asked of the server, as the run does");
    assert_eq!(body["note"], "it's \"quoted\" $HOME");
    assert!(head.starts_with("POST /v1/chat/completions ") && head.contains("X-Key: k3y\r\n"), "{head}");
    assert_eq!(pasted(&["--rate", "5", "--model", "mine"]).1["model"], "mine");
}

#[test]
fn the_first_request_to_the_simulator_says_how_to_have_one_there() {
    let said = stderr(&lowrho(&["run", "--dry-run", "--sim", "--rate", "5"]));
    assert!(
        said.contains("lowrho sim\ncurl --no-buffer 'http://127.0.0.1:8000/v1/chat/completions'"),
        "{said}"
    );
    let said =
        stderr(&lowrho(&["run", "--dry-run", "--sim", "--rate", "5", "--sim-listen", "127.0.0.1:7777"]));
    assert!(said.contains("'http://127.0.0.1:7777/v1/chat/completions'"), "{said}");
}

#[test]
fn a_saved_plan_is_repeated_and_asks_for_its_secrets() {
    let folder = folder("rerun");
    let first = ["--url", "http://127.0.0.1:9", "--rate", "5", "--seed", "4", "--out", "elsewhere"];
    let output = with_key(&[&["run", "--dry-run"], first.as_slice()].concat(), Some("secret"));
    fs::write(folder.join("config.toml"), stdout(&output)).unwrap();
    let dir = folder.to_str().unwrap();

    let without = lowrho(&["rerun", dir, "--dry-run"]);
    assert_eq!(without.status.code(), Some(2));
    assert!(stderr(&without).contains("secrets are not saved with results"), "{}", stderr(&without));

    let with = with_key(&["rerun", dir, "--dry-run", "--rate", "6"], Some("secret"));
    let raw = Raw::from_toml(&stdout(&with)).unwrap();
    assert_eq!((raw.load.rate, raw.load.seed), (Some("6".into()), Some("4".into())));
    assert_eq!(raw.output.out, None, "results of the first run are not written over");
}

#[test]
fn the_config_a_dry_run_prints_makes_the_same_plan() {
    let file = folder("printed").join("run.toml");
    let arguments =
        ["run", "--dry-run", "--sim", "--concurrency", "8", "--requests", "100", "--sim-itl", "exp:3ms"];
    let first = stdout(&lowrho(&arguments));
    fs::write(&file, &first).unwrap();
    assert_eq!(stdout(&lowrho(&["run", "--dry-run", "-c", file.to_str().unwrap()])), first);
}

#[test]
fn the_doctor_tells_each_thing_with_its_state_and_sends_nothing() {
    let output = lowrho(&["doctor", "--json"]);
    let doctor: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let findings = doctor["findings"].as_array().unwrap();
    for name in
        ["kernel", "io_uring", "expected rho", "files", "ports", "locked memory", "governor", "clocksource"]
    {
        let finding = findings.iter().find(|finding| finding["name"] == name).expect(name);
        let state = finding["state"].as_str().unwrap();
        assert!(["ok", "warn", "fail", "unknown"].contains(&state), "{name}: {state}");
        assert!(!finding["words"].as_str().unwrap().is_empty(), "{name}");
    }
    let failed = findings.iter().any(|finding| finding["state"] == "fail");
    assert_eq!((doctor["ok"] == true, output.status.code()), (!failed, Some(i32::from(failed))));
}

#[test]
fn the_doctor_judges_the_machine_for_the_run_it_is_asked_about() {
    let words = |arguments: &[&str]| stdout(&lowrho(&[&["doctor"], arguments].concat()));
    assert!(words(&[]).contains("no load was given"));
    let busy = words(&["--url", "http://127.0.0.1:9", "--rate", "9000", "--shards", "1"]);
    assert!(busy.lines().any(|line| line.starts_with("fail") && line.contains("expected rho")), "{busy}");
    assert!(busy.contains("loopback has no interrupts"), "{busy}");
    let more = (std::thread::available_parallelism().unwrap().get() + 1).to_string();
    let crowded = lowrho(&[
        "doctor",
        "--url",
        "http://127.0.0.1:9",
        "--rate",
        "9000",
        "--cpus",
        "0",
        "--shards",
        &more,
    ]);
    assert_eq!(crowded.status.code(), Some(2), "--cpus and --shards of one command disagree on any machine");
    let crowded = lowrho(&["doctor", "--url", "http://127.0.0.1:9", "--rate", "9000", "--shards", &more]);
    let told = String::from_utf8_lossy(&crowded.stdout);
    assert!(told.lines().any(|line| line.starts_with("fail") && line.contains("cpus")), "{told}");
    assert_eq!(crowded.status.code(), Some(1));
    let refused = lowrho(&["doctor", "--url", "http://127.0.0.1:9", "--rate", "-1"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

/// A card of this machine.
fn card() -> Card {
    let facts = host::read();
    let host = CardHost { hostname: facts.hostname, kernel: facts.kernel, cpu_model: facts.cpu_model };
    Card {
        version: CARD_VERSION,
        lowrho: env!("CARGO_PKG_VERSION").into(),
        host,
        engine: "uring".into(),
        made_unix_s: 1_800_000_000,
        tokens_per_request: 8,
        request_cost_ns: 10_000,
        event_cost_ns: 2_500,
        valid_requests_per_s: None,
        valid_events_per_s: None,
    }
}

#[test]
fn a_capacity_card_of_this_host_sets_the_expected_rho() {
    let folder = folder("card");
    let file = folder.join("capacity.json");
    fs::write(&file, card().to_json()).unwrap();
    let name = file.to_str().unwrap();
    let output = lowrho(&["run", "--dry-run", "--sim", "--rate", "1000", "--card", name]);
    let text = stdout(&output);
    let said = "16000 events/s at 10us a request and 2.5us an event are an expected rho of 0.050 a shard";
    assert!(text.contains(said) && text.contains(&format!("capacity card {name}")), "{text}");
    assert_eq!(Raw::from_toml(&text).unwrap().client.card, Some(name.into()), "the plan keeps its card");
}

#[test]
fn a_capacity_card_of_another_host_is_refused_by_name_and_passed_over_in_its_usual_place() {
    let folder = folder("card-of-elsewhere");
    fs::create_dir(folder.join("lowrho")).unwrap();
    let file = folder.join("lowrho").join("capacity.json");
    let mut other = card();
    other.host.kernel = "2.6.32".into();
    fs::write(&file, other.to_json()).unwrap();

    let asked = lowrho(&["run", "--dry-run", "--sim", "--rate", "9", "--card", file.to_str().unwrap()]);
    assert_eq!(asked.status.code(), Some(2));
    assert!(stderr(&asked).contains("another kernel (\"2.6.32\""), "{}", stderr(&asked));
    let missing = lowrho(&["run", "--dry-run", "--sim", "--rate", "9", "--card", "no-such.json"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("--card no-such.json: No such file"), "{}", stderr(&missing));

    let usual = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowrho"));
        command.args(["run", "--dry-run", "--sim", "--rate", "1000"]).args(arguments);
        stdout(&command.env("XDG_CONFIG_HOME", &folder).output().unwrap())
    };
    let text = usual(&[]);
    assert!(
        text.contains("caveat: the capacity card is not used") && text.contains("8us an event"),
        "{text}"
    );
    assert!(!usual(&["--card", "none"]).contains("caveat"), "none asks for no card");
}
