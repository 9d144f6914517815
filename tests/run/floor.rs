//! `lowrho floor` on loopback: what it measures is there and joined with the truth; how much it is depends on the machine.

use crate::program::{Folder, engine, lowrho, text};
use serde_json::Value;
use std::process::Output;

fn floor(folder: &Folder, arguments: &str) -> Output {
    lowrho(folder).arg("floor").args(engine()).args(arguments.split_whitespace()).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn one_rung_is_measured_with_whole_and_with_streamed_answers_beside_the_truth() {
    let folder = Folder::new();
    let output = floor(&folder, "--rates 300 --rung 500ms --shards 1 --card card.json --json --out kept");
    let found = json(&output);
    let rungs = found["rungs"].as_array().unwrap();
    assert_eq!(
        rungs.iter().map(|rung| rung["answers"].as_str().unwrap()).collect::<Vec<_>>(),
        ["whole", "streamed"]
    );
    for rung in rungs {
        let requests = rung["requests"].as_u64().unwrap();
        assert!((75..300).contains(&requests), "150 are expected: {rung}");
        assert_eq!((rung["failed"].as_u64(), rung["compared"].as_u64()), (Some(0), Some(requests)), "{rung}");
        // A request is on its way for some time, and its server begins to answer only then.
        for over in ["ttft_over_ns", "e2e_over_ns"] {
            let [p50, p99] = ["p50", "p99"].map(|q| rung[over][q].as_i64().unwrap());
            assert!(0 < p50 && p50 <= p99, "{over}: {rung}");
        }
        for positive in ["cpu_s_per_1k_requests", "cpu_s_per_1k_events", "rho", "service_mean_ns", "sim_rho"]
        {
            assert!(rung[positive].as_f64().unwrap() > 0.0, "{positive}: {rung}");
        }
    }
    assert_eq!(found["ends"].as_array().unwrap().len(), 2, "every ladder says why it ended");
    let said = text(&output.stderr);
    assert_eq!(said.lines().filter(|line| line.contains("requests/s, rho")).count(), 2, "{said}");

    // Two short rungs need not be valid on a busy machine; where they are, they make a card, and plans read it.
    let card = folder.path().join("card.json");
    assert_eq!(card.is_file(), !found["costs"].is_null(), "{found}");
    if card.is_file() {
        let plan = lowrho(&folder)
            .args(["run", "--sim", "--rate", "100", "--dry-run", "--card", "card.json"])
            // A card holds for its engine.
            .args(engine())
            .output()
            .unwrap();
        assert!(text(&plan.stdout).contains("(capacity card card.json)"), "{}", text(&plan.stderr));
    }
    let kept = folder.path().join("kept");
    let summary = kept.join("001").join("summary.json");
    assert!(summary.is_file() && kept.join("001.truth.jsonl").is_file(), "--out keeps every run");
}

#[test]
fn every_way_of_waiting_is_compared_at_the_same_rate() {
    let folder = Folder::new();
    let output = floor(&folder, "--compare-waiting --rates 200 --rung 200ms --quiet");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let shown = text(&output.stdout);
    let ways = [
        "coalescing off",
        "coalescing 100us",
        "coalescing auto",
        "coalescing 250us",
        "coalescing 500us",
        "coalescing 1ms",
        "busy-polling",
    ];
    let places: Vec<usize> =
        ways.iter().map(|way| shown.find(way).unwrap_or_else(|| panic!("{way} in {shown}"))).collect();
    assert!(places.is_sorted(), "{shown}");
    assert!(shown.contains("The trade"), "{shown}");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "nothing is kept unless asked for");
}

#[test]
fn a_floor_against_another_process_tells_what_was_reported() {
    let folder = Folder::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut server = lowrho(&folder);
    server.args(["sim", "--ttft", "0s", "--itl", "0s", "--listen", &address]);
    let mut server = server.stderr(std::process::Stdio::null()).spawn().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while std::net::TcpStream::connect(&address).is_err() {
        assert!(std::time::Instant::now() < until, "the simulator listens");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let arguments =
        format!("--url http://{address} --rates 200 --rung 300ms --shards 1 --card card.json --json --quiet");
    let output = floor(&folder, &arguments);
    server.kill().unwrap();
    server.wait().unwrap();
    let found = json(&output);
    let rungs = found["rungs"].as_array().unwrap();
    assert_eq!(rungs.len(), 1);
    assert_eq!(rungs[0]["answers"], "foreign");
    assert!(rungs[0]["e2e_over_ns"]["p50"].as_i64().unwrap() > 0);
    assert!(
        found["costs"].is_null() && !folder.path().join("card.json").exists(),
        "one kind of answers makes no card"
    );
}
