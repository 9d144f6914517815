//! Several servers, several addresses, sources, sockets: whole runs against simulators, counted by target.

use crate::program::{Folder, lowrho, run, start, text};
use serde_json::Value;
use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Answers at once.
const FAST: &str = "--ttft 1ms";

/// A simulator in a process of its own, which ends with it.
pub struct Server(Child);

impl Server {
    /// Listens at `place`, and answers when this returns.
    pub fn start(folder: &Folder, place: &str, more: &str) -> Self {
        let mut command = lowrho(folder);
        command.args(["sim", "--listen", place, "--itl", "0s"]).args(more.split_whitespace());
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut server = Self(child);
        let mut said = String::new();
        let mut errors = std::io::BufReader::new(server.0.stderr.take().unwrap());
        std::io::BufRead::read_line(&mut errors, &mut said).unwrap();
        assert!(said.starts_with("simulator at"), "{said}");
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port of an address that nobody listens on now.
pub fn free(ip: &str) -> String {
    std::net::TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap().to_string()
}

pub fn good_summary(folder: &Folder, arguments: &str) -> Value {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{}\n{}", text(&output.stderr), text(&output.stdout));
    folder.summary()
}

fn begun(target: &Value) -> u64 {
    target["load"]["begun"].as_u64().unwrap()
}

#[test]
fn servers_get_their_shares_and_are_told_apart() {
    let folder = Folder::new();
    let (a, b) = (free("127.0.0.1"), free("127.0.0.1"));
    let _servers = [Server::start(&folder, &a, FAST), Server::start(&folder, &b, "--ttft 30ms")];
    let arguments = format!("--url http://{a} --url http://{b}/v1 --weights 3,1 --rate 400 --requests 80");
    let summary = good_summary(&folder, &arguments);
    let targets = summary["targets"].as_array().unwrap();
    assert_eq!(targets.iter().map(begun).collect::<Vec<_>>(), [60, 20]);
    assert_eq!(summary["load"]["begun"], 80);
    assert_eq!((targets[0]["weight"].as_u64(), targets[1]["weight"].as_u64()), (Some(3), Some(1)));
    assert_eq!(targets[1]["addresses"][0], b.as_str());
    assert!(targets[1]["url"].as_str().unwrap().starts_with(&format!("http://{b}/v1/")));
    let ttft = |target: &Value| target["latency"]["ttft_ns"]["min"].as_i64().unwrap();
    assert!(ttft(&targets[1]) >= 30_000_000 && ttft(&targets[0]) < ttft(&targets[1]));
    for row in folder.rows() {
        let index = row["index"].as_u64().unwrap();
        assert_eq!(row["target"].as_u64().unwrap_or(0), u64::from(index % 4 == 2), "{row}");
    }
}

#[test]
fn the_one_of_several_that_went_away_is_named() {
    let folder = Folder::new();
    let (a, b) = (free("127.0.0.1"), free("127.0.0.1"));
    let stays = Server::start(&folder, &a, FAST);
    let goes = Server::start(&folder, &b, FAST);
    let run = start(&folder, &format!("--url http://{a} --url http://{b} --rate 100 --duration 4s"));
    let begun =
        || fs::read_to_string(folder.results().join("records.jsonl")).is_ok_and(|rows| rows.contains('\n'));
    let until = Instant::now() + Duration::from_secs(30);
    while !begun() {
        assert!(Instant::now() < until, "no row within 30 s");
        thread::sleep(Duration::from_millis(20));
    }
    drop(goes);
    let output = run.wait_with_output().unwrap();
    drop(stays);
    let summary = folder.summary();
    let servers: Vec<&Value> =
        summary["targets"].as_array().unwrap().iter().map(|target| &target["server"]).collect();
    assert!(servers[0]["went_away"].is_null(), "{}", servers[0]);
    assert!(servers[1]["went_away"]["failed"].as_u64().unwrap() >= 5, "{}", servers[1]);
    assert_eq!((&servers[1]["kept_up"], &summary["server"]["kept_up"]), (&false.into(), &false.into()));
    assert!(summary["server"]["went_away"].is_null(), "the other one was there until the end");
    let said = text(&output.stdout);
    assert!(said.contains("target 1 went away") && said.contains("went away\n"), "{said}");
}

#[test]
fn a_window_of_requests_is_no_longer_than_its_run() {
    let folder = Folder::new();
    let summary =
        good_summary(&folder, "--sim --sim-ttft 1ms --sim-itl 0s --rate 20 --requests 4 --warmup 0s");
    let of_run = |key: &str| summary["run"][key].as_i64().unwrap();
    assert!(of_run("window_ns") <= of_run("duration_ns"), "{}", summary["run"]);
}

#[test]
fn a_session_always_meets_the_same_server() {
    let folder = Folder::new();
    let (a, b) = (free("127.0.0.1"), free("127.0.0.1"));
    let _servers = [Server::start(&folder, &a, FAST), Server::start(&folder, &b, FAST)];
    let prompts: String = (0..40)
        .map(|line| format!("{{\"prompt\": \"turn {line}\", \"session\": \"s{}\"}}\n", line % 8))
        .collect();
    std::fs::write(folder.path().join("prompts.jsonl"), prompts).unwrap();
    let arguments = format!(
        "--url http://{a} --url http://{b} --balance sticky --prompts prompts.jsonl --rate 400 --requests 80"
    );
    let summary = good_summary(&folder, &arguments);
    assert!(summary["targets"].as_array().unwrap().iter().all(|target| begun(target) > 0));
    let mut met = [None; 8];
    for row in folder.rows() {
        let session = usize::try_from(row["index"].as_u64().unwrap() % 8).unwrap();
        let target = row["target"].as_u64().unwrap_or(0);
        assert_eq!(*met[session].get_or_insert(target), target, "session {session}");
    }
}

#[test]
fn servers_of_different_models_need_to_be_told_which() {
    let folder = Folder::new();
    let (a, b) = (free("127.0.0.1"), free("127.0.0.1"));
    let _servers = [Server::start(&folder, &a, "--model one"), Server::start(&folder, &b, "--model two")];
    let output = run(&folder, &format!("--url http://{a} --url http://{b} --rate 10"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("no model in common") && said.contains("--model"), "{said}");
}

#[test]
fn a_server_of_several_that_is_not_there_is_named() {
    let folder = Folder::new();
    let (a, gone) = (free("127.0.0.1"), free("127.0.0.1"));
    let _server = Server::start(&folder, &a, FAST);
    let output = run(&folder, &format!("--url http://{a} --url http://{gone} --model lowrho-sim --rate 10"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains(&gone) && said.contains("cannot connect"), "{said}");
}

#[test]
fn a_unix_socket_is_driven_and_its_stamps_are_said_to_be_ours() {
    let folder = Folder::new();
    let socket = folder.path().join("llm.sock");
    let _server = Server::start(&folder, &format!("unix:{}", socket.display()), FAST);
    let summary = good_summary(&folder, &format!("--url unix:{} --rate 200 --requests 40", socket.display()));
    assert_eq!(summary["load"]["completed"], 40);
    let stamps = &summary["client"]["stamps"];
    assert_eq!((&stamps["software"], &stamps["lost"]), (&0.into(), &0.into()), "{stamps}");
    assert!(stamps["user"].as_u64().unwrap() >= 40);
    let caveats = summary["client"]["caveats"].to_string();
    assert!(caveats.contains("Unix sockets"), "{caveats}");
    assert!(summary["client"]["bias"]["ttft_ns"]["p99"].as_i64().is_none_or(|bound| bound > 0));
    assert!(folder.rows().iter().all(|row| row["stamp"] == "user"));
}

#[test]
fn every_address_of_a_server_is_used_from_every_source() {
    let folder = Folder::new();
    let summary = good_summary(
        &folder,
        "--sim --sim-listen 127.0.0.1:0,127.0.0.2:0 --source-ip 127.0.0.5,127.0.0.7-127.0.0.8 --sim-ttft 1ms \
         --sim-itl 0s --concurrency 24 --requests 240 --sim-log truth.jsonl",
    );
    assert_eq!(summary["load"]["completed"], 240);
    let addresses = summary["targets"][0]["addresses"].as_array().unwrap();
    assert_eq!(addresses.len(), 2);
    assert!(addresses[1].as_str().unwrap().starts_with("127.0.0.2:"));
}

#[test]
fn a_source_that_is_not_ours_is_a_bad_plan() {
    let folder = Folder::new();
    let output = run(&folder, "--sim --rate 10 --requests 1 --source-ip 192.0.2.1");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--source-ip: 192.0.2.1") && said.contains("address of this host"), "{said}");
}

#[test]
fn ipv6_is_driven_like_ipv4() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let folder = Folder::new();
    let summary =
        good_summary(&folder, "--sim --sim-listen [::1]:0 --source-ip ::1 --rate 200 --requests 20");
    assert_eq!(summary["load"]["completed"], 20);
    assert!(summary["target"]["url"].as_str().unwrap().starts_with("http://[::1]:"));
    assert_eq!(summary["client"]["stamps"]["lost"], 0);
}

#[test]
fn each_request_can_have_a_connection_of_its_own() {
    let folder = Folder::new();
    let common = "--sim --no-probe --sim-ttft 1ms --sim-itl 0s --concurrency 2 --requests 40";
    let summary = good_summary(&folder, &format!("{common} --connections-per-request new"));
    assert_eq!(summary["load"]["completed"], 40);
    assert_eq!(summary["latency"]["connect_ns"]["count"], 40);
    assert!(folder.rows().iter().all(|row| row["reused"] == false && row["retries"] == 0));
    let shared = Folder::new();
    good_summary(&shared, common);
    assert!(shared.rows().iter().filter(|row| row["reused"] == true).count() >= 36);
}

#[test]
fn an_ignored_proxy_is_named_in_the_report() {
    let folder = Folder::new();
    let output = lowrho(&folder)
        .args(["run", "--sim", "--rate", "100", "--requests", "5", "--out", "results", "--require", "any"])
        .env("HTTP_PROXY", "http://me:hunter2@nowhere:1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let caveats = folder.summary()["client"]["caveats"].to_string();
    assert!(caveats.contains("HTTP_PROXY") && !caveats.contains("hunter2"), "{caveats}");
    assert_eq!(folder.summary()["load"]["completed"], 5, "and the run went straight to the target");
}

#[test]
fn a_name_with_an_address_that_nobody_listens_on_is_driven_at_the_other() {
    let folder = Folder::new();
    let port = free("127.0.0.1");
    let _server = Server::start(&folder, &port, FAST);
    let port = port.rsplit_once(':').unwrap().1;
    let summary = good_summary(&folder, &format!("--url http://localhost:{port} --rate 100 --requests 10"));
    assert_eq!(summary["load"]["completed"], 10);
    assert_eq!(summary["targets"][0]["addresses"], serde_json::json!([format!("127.0.0.1:{port}")]));
}
