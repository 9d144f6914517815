//! The log of the truth: every request once, every event in order, the clock where it belongs.

use crate::client::{Client, chat_request};
use crate::{config, script};
use lowrho::sim::{Sim, SimConfig, SimReport};
use lowrho::wire::{Api, Response};
use serde_json::Value;
use std::path::PathBuf;

fn log_of(name: &str, fault: Option<&str>, talk: impl FnOnce(&mut Client)) -> (Vec<Value>, SimReport) {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.jsonl", std::process::id()));
    let script = script("3ms", "1ms").with_faults(&fault.into_iter().collect::<Vec<_>>()).expect("a fault");
    let sim = Sim::start(&SimConfig { script, log: Some(path.clone()), ..config() }).expect("a simulator");
    talk(&mut Client::new(sim.address()));
    let report = sim.join();
    let text = std::fs::read_to_string(&path).expect("the log");
    std::fs::remove_file(&path).expect("it is ours");
    (text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect(), report)
}

fn ns(event: &Value, key: &str) -> u64 {
    event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"))
}

#[test]
fn every_event_is_logged_once_with_the_clock_around_its_send() {
    let (rows, report) = log_of("whole", None, |client| {
        for n in 0..3 {
            client.send(&chat_request(&format!("run-{n}"), 5, ""));
            let answer = client.hear(Response::new(client.expect(Api::Chat)));
            assert_eq!(answer.tokens, 5);
        }
    });
    assert_eq!(rows.len(), 3);
    let log = report.log.expect("a log was kept");
    assert_eq!((log.written, log.dropped, log.error), (3, 0, None));
    for (n, row) in rows.iter().enumerate() {
        assert_eq!(row["x_request_id"], format!("run-{n}"));
        assert_eq!(row["complete"], true);
        let events = row["events"].as_array().expect("events");
        let what: Vec<_> = events.iter().map(|event| event["what"].as_str().unwrap()).collect();
        assert_eq!(what, ["head", "role", "token", "token", "token", "token", "token", "done"]);
        assert_eq!(row["first_token"], 2);
        let received = ns(row, "received_ns");
        assert_eq!(ns(&events[2], "planned_ns"), received + 3_000_000);
        assert_eq!(ns(&events[6], "planned_ns"), received + 7_000_000);
        for event in events {
            assert!(ns(event, "before_ns") <= ns(event, "after_ns"));
            // A stamp is mapped with an error of microseconds.
            assert!(
                ns(event, "before_ns") + 100_000 > ns(event, "planned_ns"),
                "sent before it was due: {event}"
            );
        }
        assert!(events.windows(2).all(|pair| ns(&pair[0], "before_ns") <= ns(&pair[1], "before_ns")));
    }
}

#[test]
fn an_answer_cut_short_is_logged_as_far_as_it_went() {
    let (rows, _) = log_of("cut", Some("reset=2@0"), |client| {
        assert_eq!(client.chat(5, "").tokens, 2);
    });
    let tokens =
        rows[0]["events"].as_array().expect("events").iter().filter(|event| event["what"] == "token").count();
    assert_eq!((rows.len(), tokens), (1, 2));
    let (rows, _) = log_of("gone", Some("stall=1@0"), |client| {
        client.patience(200);
        assert_eq!(client.chat(5, "").tokens, 1);
    });
    assert_eq!((rows.len(), &rows[0]["complete"]), (1, &Value::Bool(false)));
}
