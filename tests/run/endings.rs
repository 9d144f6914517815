//! However a run ends, what was measured is written: signals, a kill, a full queue of failures.

use crate::program::{Folder, lowrho, run, start, text};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Output};
use std::thread;
use std::time::{Duration, Instant};

/// Waits until the run has written a row: it has begun, and something is measured.
fn await_rows(folder: &Folder, child: &mut Child) {
    let until = Instant::now() + Duration::from_secs(30);
    let rows =
        || fs::read_to_string(folder.results().join("records.jsonl")).is_ok_and(|text| text.contains('\n'));
    while !rows() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended early");
        assert!(Instant::now() < until, "no row within 30 s");
        thread::sleep(Duration::from_millis(20));
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().try_into().unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn a_signal_stops_sending_drains_and_reports() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = Folder::new();
        let mut child = start(&folder, "--sim --rate 200 --duration 60s");
        await_rows(&folder, &mut child);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        let summary = folder.summary();
        assert_eq!(summary["run"]["ended"], "interrupted");
        let load = &summary["load"];
        let sum: u64 =
            ["completed", "failed", "cancelled"].iter().map(|key| load[key].as_u64().unwrap()).sum();
        assert_eq!(load["begun"].as_u64(), Some(sum));
        assert!(load["completed"].as_u64().unwrap() > 0);
        assert!(text(&output.stdout).contains("TTFT"), "the report is printed");
    }
}

#[test]
fn the_drain_of_an_interrupted_run_is_no_part_of_its_window() {
    let folder = Folder::new();
    // Answers of some three seconds: the drain takes as long as the window did.
    let mut child =
        start(&folder, "--sim --no-probe --rate 100 --duration 60s --sim-ttft 3s --output-tokens 2");
    await_rows(&folder, &mut child);
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let summary = folder.summary();
    let (run, load) = (&summary["run"], &summary["load"]);
    let [window, whole] = ["window_ns", "duration_ns"].map(|key| run[key].as_u64().unwrap());
    assert!(window + 2_000_000_000 < whole, "the window has {window} ns of {whole}");
    // All were begun within the window, and only what was answered within it is achieved.
    let sent = load["sent_rate"].as_f64().unwrap();
    let begun = load["begun"].as_f64().unwrap();
    assert!(
        (sent * window as f64 / 1e9 - begun).abs() < begun * 0.02 + 2.0,
        "{sent} per second, {begun} begun"
    );
    let achieved = load["achieved_rate"].as_f64().unwrap();
    assert!(achieved < sent / 2.0, "{achieved} of {sent} per second");
    assert_eq!(load["completed"], load["begun"], "what was in flight could end");
}

#[test]
fn an_answer_that_never_ends_does_not_keep_a_terminated_run_from_its_report() {
    let folder = Folder::new();
    let mut child =
        start(&folder, "--sim --no-probe --rate 100 --duration 60s --sim-fault stall@5 --timeout 600s");
    await_rows(&folder, &mut child);
    send(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("within 5s"), "{}", text(&output.stderr));
    assert_eq!(folder.summary()["load"]["cancelled"], 1);
}

#[test]
fn a_second_signal_does_not_wait_for_what_is_in_flight() {
    let folder = Folder::new();
    // Answers of a minute: a drain would wait for them.
    let mut child =
        start(&folder, "--sim --no-probe --rate 100 --duration 60s --sim-fault stall:0.5 --output-tokens 3");
    await_rows(&folder, &mut child);
    send(&child, Signal::INT);
    thread::sleep(Duration::from_millis(300));
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(folder.summary()["load"]["cancelled"].as_u64().unwrap() > 0);
}

#[test]
fn a_killed_run_leaves_its_rows_and_its_config() {
    let folder = Folder::new();
    let mut child = start(&folder, "--sim --rate 500 --duration 60s --sim-ttft 1ms --sim-itl 0s");
    await_rows(&folder, &mut child);
    thread::sleep(Duration::from_millis(1500));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(folder.results().join("config.toml").is_file());
    let left = fs::read_to_string(folder.results().join("records.jsonl")).unwrap();
    let whole: Vec<&str> = left.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
    // 1.5 s at 500/s: all but the last second's must be there; a slow machine has fewer, never none.
    assert!(whole.len() > 50, "{} rows", whole.len());
    for line in whole {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    assert!(!folder.results().join("summary.json").exists());
    let report = lowrho(&folder).args(["report", "results"]).output().unwrap();
    assert_eq!(report.status.code(), Some(2));
    let said = text(&report.stderr);
    let rows = left.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count();
    assert!(said.contains("has no summary.json: the run was killed"), "{said}");
    assert!(said.contains(&format!("the rows of {rows} finished requests (0 failed)")), "{said}");
}

/// `lowrho run ARGUMENTS --out results`, where no file may grow beyond so many blocks of 512 or 1,024 bytes.
fn run_with_small_files(folder: &Folder, blocks: u32, arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_lowrho");
    Command::new("sh")
        .args([
            "-c",
            &format!("ulimit -f {blocks} && exec {program} run {arguments} --out results --require any"),
        ])
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[test]
fn rows_that_fill_the_disk_do_not_cost_the_summary() {
    let folder = Folder::new();
    let output = run_with_small_files(
        &folder,
        1024,
        "--sim --concurrency 8 --requests 3000 --output-tokens 2 --sim-ttft 1ms --sim-itl 0s",
    );
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("rows are missing from records.jsonl") && said.contains("the statistics are whole"),
        "{said}"
    );
    assert_eq!(folder.summary()["load"]["completed"], 3000);
    assert_eq!(folder.summary()["run"]["ended"], "failed");
    assert!(text(&output.stdout).contains("TTFT"), "the report is printed");
}

#[test]
fn a_disk_without_room_for_a_summary_is_found_before_anything_is_sent() {
    let folder = Folder::new();
    let output = run_with_small_files(&folder, 16, "--sim --rate 100 --requests 10");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--out") && said.contains("summary.json") && said.contains("ulimit -f"), "{said}");
    assert!(!folder.results().exists(), "what was tried is taken away again");
}

#[test]
fn failures_are_measurements_by_class() {
    let folder = Folder::new();
    let faults =
        "--sim-fault status=503:0.2 --sim-fault reset:0.2 --sim-fault truncate:0.2 --sim-fault error:0.2";
    let output = run(&folder, &format!("--sim --no-probe --rate 200 --requests 200 {faults}"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let summary = folder.summary();
    let errors = summary["errors"].as_object().unwrap();
    // A reset after some tokens, and a stream cut before its `[DONE]`, are what they are.
    for class in ["http_5xx", "stream_error", "reset", "truncated_body"] {
        assert!(errors.get(class).is_some_and(|count| count.as_u64() > Some(5)), "{class}: {errors:?}");
    }
    let failed: u64 = errors.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(summary["load"]["failed"].as_u64(), Some(failed));
    assert_eq!(failed + summary["load"]["completed"].as_u64().unwrap(), 200);
    // More than half of them failed: with every failure as infinity there is no median.
    assert!(summary["latency"]["ttft_ns"]["with_failures"]["p50"].is_null());
}

#[test]
fn a_target_that_fails_too_often_is_status_4() {
    let folder = Folder::new();
    let output = run(
        &folder,
        "--sim --no-probe --rate 100 --requests 50 --sim-fault status=500:0.5 --max-error-share 0.1",
    );
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let failures = &folder.summary()["failures"];
    let told = failures[0]["detail"].as_str().unwrap().to_owned();
    assert_eq!(failures[0]["class"], "http_5xx");
    assert_eq!(failures[0]["count"], folder.summary()["errors"]["http_5xx"]);
    assert!(text(&output.stdout).contains(&told), "the server's words {told:?} in {}", text(&output.stdout));
}

/// A server that answers a few requests of one connection, and then is not there any more.
fn dying_server(answers: usize) -> String {
    const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
        43\r\ndata: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n\n\r\n\
        e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for _ in 0..answers {
            let mut request = [0; 65536];
            if stream.read(&mut request).unwrap() == 0 {
                break;
            }
            stream.write_all(STREAM.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn a_closed_loop_does_not_hammer_a_server_that_went_away() {
    let folder = Folder::new();
    let url = dying_server(20);
    let output = run(
        &folder,
        &format!(
            "--url {url} --api completions --model m --no-probe --concurrency 2 --no-preconnect --duration 4s --cooldown 0s"
        ),
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let summary = folder.summary();
    let failed = summary["errors"]["connect"].as_u64().unwrap();
    // By the pauses a slot asks at most seven times in its first second and once in each later one: never thousands.
    assert!((4..=24).contains(&failed), "{failed} connects of two slots in four seconds");
    let away = &summary["server"]["went_away"];
    assert!(away["failed"].as_u64().unwrap() >= failed - 1 && away["since_ns"].is_i64(), "{away}");
    assert_eq!(summary["server"]["kept_up"], false);
    assert!(
        text(&output.stdout).contains("it went away: nothing came from it after"),
        "{}",
        text(&output.stdout)
    );
    let rows = folder.rows();
    let refused: Vec<_> = rows.iter().filter(|row| row["error"] == "connect").collect();
    assert_eq!(refused.len() as u64, failed, "every one of them is a row, with its own due instant");
    assert!(refused.iter().all(|row| row["due_ns"].as_i64() <= row["begun_ns"].as_i64()));
}

#[test]
fn a_crossed_service_level_is_exit_99_and_a_kept_one_is_not() {
    let folder = Folder::new();
    let output =
        run(&folder, "--sim --rate 100 --requests 60 --slo ttft_p50<10s,error_rate<1%,requests_per_s>0.1");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let slo = &folder.summary()["slo"];
    assert_eq!(
        (slo["held"].as_bool(), slo["good"].as_u64(), slo["judged"].as_u64()),
        (Some(true), Some(60), Some(60))
    );
    let folder = Folder::new();
    // The simulator takes 20 ms.
    let output = run(&folder, "--sim --rate 100 --requests 60 --slo ttft_p99<5ms,e2e_due_p90<10s");
    assert_eq!(output.status.code(), Some(99), "{}", text(&output.stderr));
    let slo = &folder.summary()["slo"];
    assert_eq!((slo["held"].as_bool(), slo["good"].as_u64()), (Some(false), Some(0)));
    assert_eq!((&slo["terms"][0]["state"], &slo["terms"][1]["state"]), (&"crossed".into(), &"held".into()));
    assert!(text(&output.stdout).contains("ttft_p99<5ms: crossed"), "{}", text(&output.stdout));
}
