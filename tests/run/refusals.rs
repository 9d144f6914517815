//! What servers refuse, and when they say so: recorded by class, sent again only where asked, timed from the first attempt.

use crate::program::{Folder, run, text};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 94\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy";
const AT_A_DATE: &str = "HTTP/1.1 429 Too Many Requests\r\nDate: Sun, 06 Nov 1994 08:49:30 GMT\r\n\
    Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 5\r\n\r\nlater";
const LATER: &str = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nlater";

/// Reads one request whole; `None` when the client is gone.
fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length: usize = text.split("content-length:").nth(1)?.lines().next()?.trim().parse().ok()?;
            if bytes.len() >= head + 4 + length {
                return Some(());
            }
        }
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}

/// A server whose `nth` request, from 0, gets `answer(nth)`; ends with its test.
fn server(answer: impl Fn(usize) -> &'static str + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, answer) = (AtomicUsize::new(0), Arc::new(answer));
    let asked = Arc::new(asked);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (asked, answer) = (asked.clone(), answer.clone());
            thread::spawn(move || {
                while read_request(&mut stream).is_some() {
                    let nth = asked.fetch_add(1, Ordering::SeqCst);
                    if stream.write_all(answer(nth).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

fn measured(folder: &Folder, arguments: &str) -> Value {
    let output = run(folder, &format!("{arguments} --model m --no-probe --no-preconnect --output-tokens 1"));
    assert!(folder.results().join("summary.json").is_file(), "{}", text(&output.stderr));
    folder.summary()
}

#[test]
fn a_refusal_is_a_failure_with_its_retry_after_and_nothing_is_sent_again() {
    let folder = Folder::new();
    let url = server(|nth| if nth % 2 == 0 { LATER } else { STREAM });
    let summary = measured(&folder, &format!("--url {url} --concurrency 1 --requests 10"));
    assert_eq!((&summary["errors"]["http_429"], &summary["load"]["retried"]), (&5.into(), &0.into()));
    let told = summary["server"]["reasons"].to_string();
    assert!(told.contains("5 refusals said when to ask again (Retry-After, at most 7 s)"), "{told}");
    for row in folder.rows() {
        let refused = row["error"] == "http_429";
        assert_eq!(row["retry_after_s"].as_u64(), refused.then_some(7), "{row}");
        assert_eq!(row["retries"], 0);
        assert_eq!(
            row["reused"],
            row["index"].as_u64().unwrap() > 0,
            "a refusal keeps its connection: {row}"
        );
    }
}

#[test]
fn a_refused_request_is_sent_again_where_asked_and_timed_from_its_first_attempt() {
    let folder = Folder::new();
    let url = server(|nth| if nth % 3 == 2 { STREAM } else { BUSY });
    let summary = measured(&folder, &format!("--url {url} --concurrency 1 --requests 8 --retry 2"));
    assert_eq!(summary["load"]["completed"], 8, "{}", summary["errors"]);
    assert_eq!(summary["load"]["retried"], 8);
    for row in folder.rows() {
        assert_eq!(
            (&row["retries"], &row["status"], &row["ok"]),
            (&2.into(), &200.into(), &true.into()),
            "{row}"
        );
        assert!(row.get("retry_after_s").is_none(), "the last attempt was no refusal");
        let at = |key: &str| row[key].as_i64().unwrap();
        assert!(at("begun_ns") <= at("sent_ns") && at("sent_ns") < at("first_ns"));
    }
}

#[test]
fn retries_end_where_they_were_allowed_to() {
    let folder = Folder::new();
    let url = server(|_| BUSY);
    let summary = measured(&folder, &format!("--url {url} --concurrency 2 --requests 6 --retry 3"));
    assert_eq!((&summary["errors"]["http_5xx"], &summary["load"]["completed"]), (&6.into(), &0.into()));
    assert!(folder.rows().iter().all(|row| row["retries"] == 3 && row["retry_after_s"] == 0));
}

#[test]
fn a_wait_longer_than_the_request_may_take_is_not_waited_for() {
    let folder = Folder::new();
    let url = server(|_| LATER);
    let summary =
        measured(&folder, &format!("--url {url} --concurrency 1 --requests 3 --retry 3 --timeout 5s"));
    assert_eq!(summary["errors"]["http_429"], 3);
    assert!(folder.rows().iter().all(|row| row["retries"] == 0));
}

#[test]
fn a_redirect_is_refused_by_its_class_and_names_where_it_led() {
    let folder = Folder::new();
    let url = server(
        |_| "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://elsewhere/v1\r\nContent-Length: 0\r\n\r\n",
    );
    let summary = measured(&folder, &format!("--url {url} --concurrency 1 --requests 3"));
    assert_eq!(summary["errors"]["http_redirect"], 3);
    assert!(folder.rows().iter().all(|row| row["detail"].as_str().unwrap().contains("http://elsewhere/v1")));
}

#[test]
fn an_early_answer_is_heard_and_its_connection_not_used_again_while_the_body_is_still_on_its_way() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            // A head and a little of the body; the rest stays in the sockets, so the client cannot be done sending.
            let _ = stream.read(&mut [0; 1000]);
            let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\n\r\ntoo long";
            let _ = stream.write_all(answer.as_bytes());
            kept.push(stream);
        }
    });
    let folder = Folder::new();
    // Text of some ten megabytes: more than the buffers of both sockets hold.
    std::fs::write(
        folder.path().join("prompts.jsonl"),
        serde_json::json!({"prompt": "word ".repeat(2_000_000)}).to_string(),
    )
    .unwrap();
    let summary =
        measured(&folder, &format!("--url {url} --prompts prompts.jsonl --concurrency 1 --requests 4"));
    assert_eq!(summary["errors"]["http_4xx"], 4, "{}", summary["errors"]);
    for row in folder.rows() {
        assert_eq!(
            (&row["status"], &row["reused"], &row["retries"]),
            (&413.into(), &false.into(), &0.into())
        );
    }
}

#[test]
fn a_retry_after_may_be_a_date_which_is_set_against_the_servers_own() {
    let folder = Folder::new();
    let url = server(|_| AT_A_DATE);
    measured(&folder, &format!("--url {url} --concurrency 1 --requests 3"));
    assert!(folder.rows().iter().all(|row| row["error"] == "http_429" && row["retry_after_s"] == 7));
}
