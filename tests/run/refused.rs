//! What cannot work is said in one line before the run, in the server's own words where it has some.

use crate::program::{Folder, lowrho, run, text};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// A server that answers every request with `answer` and closes; ends with its test.
fn server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().take(20).flatten() {
            let mut request = [0; 65536];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

fn refusal(arguments: &str) -> (Option<i32>, String) {
    let folder = Folder::new();
    let output = run(&folder, arguments);
    assert!(!folder.results().exists(), "nothing was measured, so nothing is written");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_server_that_is_not_there_is_status_4_with_the_remedy() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (status, said) = refusal(&format!("--url http://{nobody} --rate 10"));
    assert_eq!(status, Some(4));
    assert!(said.contains("refused") && said.contains("--wait-ready"), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

#[test]
fn a_wrong_path_is_told_in_the_servers_own_words() {
    let url = server(
        "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 52\r\nConnection: close\r\n\r\n\
         {\"error\":{\"message\":\"no such route here\",\"code\":404}}",
    );
    let (status, said) = refusal(&format!("--url {url} --model m --rate 10"));
    assert_eq!(status, Some(4));
    assert!(said.contains("no such route here") && said.contains("404"), "{said}");
}

#[test]
fn a_server_that_does_not_stream_is_told_so() {
    let url = server(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 75\r\nConnection: close\r\n\r\n\
         {\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"whole\"}}]}    ",
    );
    let (status, said) = refusal(&format!("--url {url} --model m --rate 10"));
    assert_eq!(status, Some(4));
    assert!(said.contains("without streaming"), "{said}");
}

#[test]
fn a_bad_plan_sends_nothing_and_is_status_2() {
    let folder = Folder::new();
    for (arguments, named) in [
        ("run --sim", "--rate"),
        ("run --sim --rate 10 --duration 10", "--duration"),
        ("run --sim --rate 10 --duration 5s --requests 5", "--requests"),
        ("run --url ftp://x --rate 1", "--url"),
        ("report nowhere", "nowhere"),
    ] {
        let output = lowrho(&folder).args(arguments.split_whitespace()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(named), "{arguments}: {said}");
    }
}

#[test]
fn results_that_cannot_be_written_are_found_before_a_byte_is_sent() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("file"), "mine").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let output = lowrho(&folder)
        .args(["run", "--url", &url, "--model", "m", "--rate", "5", "--out", "file/results"])
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--out: cannot create file/results"), "{said}");
    assert!(listener.accept().is_err(), "nobody called");
    assert_eq!(std::fs::read_to_string(folder.path().join("file")).unwrap(), "mine");
}

#[test]
fn a_dry_run_prints_the_plan_and_a_request_without_the_secret() {
    let folder = Folder::new();
    let output = lowrho(&folder)
        .args(["run", "--url", "http://127.0.0.1:9", "--rate", "5", "--api-key", "s3cret", "--dry-run"])
        .output()
        .unwrap();
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(shown.contains("curl") && shown.contains("rho") && !shown.contains("s3cret"), "{shown}");
}

#[test]
fn a_secret_is_in_no_file() {
    let folder = Folder::new();
    let output = run(
        &folder,
        "--sim --rate 50 --requests 5 --api-key s3cret --header X-Mine:s3cret --secret-header X-Mine",
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for entry in std::fs::read_dir(folder.results()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!text(&bytes).contains("s3cret"));
    }
    assert!(!text(&output.stdout).contains("s3cret"));
}
