//! A client that is stopped again and again: its values stay within their own bounds, its verdict says it, and it blames nobody.
//!
//! The simulator is a process of its own, which nobody stops; its log is the truth.

use crate::program::{Folder, lowrho, start, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::Duration;

/// A simulator in a process of its own, which ends with its owner.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(folder: &Folder) -> Self {
        let mut child = lowrho(folder)
            .args(["sim", "--listen", "127.0.0.1:0", "--log", "truth.jsonl"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().nth(2).unwrap_or_else(|| panic!("no address: {line}")).to_owned();
        Self { child, url }
    }

    /// Ends it, and gives the lines of its log by their request's name.
    fn truth(mut self, folder: &Folder) -> HashMap<String, Value> {
        signal(&self.child, Signal::TERM);
        self.child.wait().unwrap();
        let log = fs::read_to_string(folder.path().join("truth.jsonl")).unwrap();
        log.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter_map(|line| Some((line["x_request_id"].as_str()?.to_owned(), line)))
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().try_into().unwrap()).unwrap(), signal).unwrap();
}

/// Stops `child` for `stop` after each `go`, until it has ended.
fn hold_up(mut child: Child, stop: Duration, go: Duration) -> Output {
    loop {
        thread::sleep(go);
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap();
        }
        signal(&child, Signal::STOP);
        thread::sleep(stop);
        signal(&child, Signal::CONT);
    }
}

fn all_ns(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|ns| ns.as_i64().unwrap()).collect()
}

#[test]
fn a_client_that_is_stopped_again_and_again_knows_how_far_each_value_can_be_off_and_says_so() {
    const STOP: Duration = Duration::from_millis(100);
    /// What a send's way to the socket may take on a busy machine; stamps taken by the client would be late by up to a stop.
    const WAY_NS: i64 = 25_000_000;
    let folder = Folder::new();
    let server = Server::start(&folder);
    let load = "--rate 200 --duration 3s --cooldown 0s --output-tokens 5 --record-gaps";
    let output = hold_up(start(&folder, &format!("--url {} {load}", server.url)), STOP, STOP);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let truth = server.truth(&folder);

    let (summary, rows) = (folder.summary(), folder.rows());
    let load = &summary["load"];
    for key in ["begun", "completed"] {
        assert_eq!(load[key], load["due"], "{load}");
    }
    assert_eq!(rows.len() as u64, load["due"].as_u64().unwrap());
    let run = &summary["run"];
    let start = run["start_mono_ns"].as_i64().unwrap();
    let clock = summary["client"]["stamps"]["clock_bound_ns"].as_i64().unwrap();
    let (mut events, mut beyond) = (0, 0);
    for row in &rows {
        let line = &truth[&format!("{}-{}", run["id"].as_str().unwrap(), row["index"])];
        let sends: Vec<&Value> =
            line["events"].as_array().unwrap().iter().filter(|event| event["what"] == "token").collect();
        let (gaps, uncertainties) = (all_ns(&row["gaps_ns"]), all_ns(&row["uncertainties_ns"]));
        assert_eq!((sends.len(), uncertainties.len()), (5, 5), "{row}");
        let mut at = start + row["first_ns"].as_i64().unwrap();
        for (place, send) in sends.iter().enumerate() {
            at += if place > 0 { gaps[place - 1] } else { 0 };
            assert!(at >= send["before_ns"].as_i64().unwrap() - clock, "stamped before it was sent: {row}");
            let earliest = at - uncertainties[place];
            events += 1;
            beyond += i32::from(earliest > send["after_ns"].as_i64().unwrap() + clock + WAY_NS);
        }
        assert!(start + row["sent_ns"].as_i64().unwrap() <= line["received_ns"].as_i64().unwrap() + clock);
    }
    assert!(beyond * 100 <= events, "{beyond} of {events} events are not where their bounds say");

    let client = &summary["client"];
    assert_eq!(client["verdict"], "invalid", "half of the requests were due while it was stopped: {client}");
    assert!(client["reasons"].as_array().unwrap().iter().any(|reason| reason["check"] == "on_schedule"));
    let interrupted = &client["shards"][0]["interrupted_ns"];
    // A dozen stops of 100 ms at least, and the audit knows its own work from them.
    assert!(interrupted.as_i64().unwrap() > 500_000_000, "{client}");
}

#[test]
fn a_client_that_was_stopped_for_longer_than_its_timeouts_does_not_take_its_absence_for_the_servers() {
    let folder = Folder::new();
    let server = Server::start(&folder);
    let load = "--rate 100 --duration 3s --cooldown 0s --output-tokens 20";
    let timeouts = "--timeout-first-byte 2s --timeout-first-token 2s --timeout-idle 2s";
    let child = start(&folder, &format!("--url {} {load} {timeouts}", server.url));
    let output = hold_up(child, Duration::from_secs(3), Duration::from_secs(2));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let load = &folder.summary()["load"];
    assert_eq!((load["failed"].as_u64(), &load["completed"]), (Some(0), &load["due"]), "{load}");
}
