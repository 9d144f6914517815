//! The simulated server in virtual time: exact instants, exact bytes.

use super::*;
use crate::script::{Latencies, Said};
use crate::time::Span;
use std::fmt::Write as _;

mod faulty;
mod shape;

const UNIX_AT_ZERO_NS: u64 = 1_795_969_892_000_000_000;

/// A step, owned.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Sent {
    conn: usize,
    due_us: u64,
    text: String,
    marks: Vec<Mark>,
    then: Then,
}

fn script(ttft: &str, itl: &str) -> Script {
    Script {
        model: "tiny".into(),
        latencies: Latencies::parse(ttft, itl, "0s").unwrap(),
        ..Script::default()
    }
}

fn server(script: Script) -> Server {
    let mut server = Server::new(script, Seat::alone(UNIX_AT_ZERO_NS, true));
    server.opened(0);
    server
}

fn us(us: u64) -> Instant {
    Instant::from_ns(us * 1_000)
}

/// Everything that is planned up to `until_us`, each step taken at its instant.
fn play(server: &mut Server, until_us: u64) -> Vec<Sent> {
    let (mut step, mut sent) = (Step::default(), Vec::new());
    while let Some(due) = server.next_due().filter(|due| *due <= us(until_us)) {
        if !server.advance(due, &mut step) {
            continue;
        }
        sent.push(Sent {
            conn: step.conn,
            due_us: step.due.as_ns() / 1_000,
            text: String::from_utf8(step.bytes.clone()).expect("what we say is text"),
            marks: step.marks.clone(),
            then: step.then,
        });
    }
    sent
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-request-id: run-3\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn chat(rest: &str) -> String {
    unary_chat(&format!(r#","stream":true{rest}"#))
}

fn unary_chat(rest: &str) -> String {
    let body = format!(r#"{{"model":"tiny","messages":[{{"role":"user","content":"what is low?"}}]{rest}}}"#);
    post("/v1/chat/completions", &body)
}

/// What `request` is answered within ten seconds, all bytes joined.
fn answer(server: &mut Server, request: &str) -> String {
    server.read(0, request.as_bytes(), us(1_000));
    play(server, 10_000_000).into_iter().fold(String::new(), |mut all, sent| {
        write!(all, "{}", sent.text).unwrap();
        all
    })
}

fn metric(server: &mut Server, line: &str) -> String {
    let conn = 77;
    server.opened(conn);
    server.read(conn, b"GET /metrics HTTP/1.1\r\n\r\n", us(1));
    let mut step = Step::default();
    assert!(server.advance(us(1), &mut step));
    let page = String::from_utf8(step.bytes).unwrap();
    server.gone(conn, us(1));
    page.lines()
        .find_map(|l| l.strip_prefix(line))
        .unwrap_or_else(|| panic!("no {line} in\n{page}"))
        .trim()
        .into()
}

#[test]
fn a_stream_is_sent_at_its_planned_instants_whatever_the_delay_of_the_caller() {
    let mut server = server(script("20ms", "5ms"));
    server.read(0, chat(r#","max_tokens":3"#).as_bytes(), us(500));
    let sent = play(&mut server, 1_000_000);
    let dues: Vec<_> = sent.iter().map(|sent| sent.due_us).collect();
    assert_eq!(dues, [500, 20_500, 25_500, 30_500]);
    assert!(sent[0].text.starts_with("HTTP/1.1 200 OK\r\n") && sent[0].text.ends_with("\r\n\r\n"));
    assert!(sent[1].text.contains("\"role\":\"assistant\"") && sent[1].text.matches("data: ").count() == 2);
    assert!(sent[3].text.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"));
    assert!(sent.iter().all(|sent| sent.then == Then::Stay));
}

#[test]
fn a_prompt_that_begins_like_another_is_computed_from_where_it_differs() {
    let latencies = Latencies { prefill_per_token_ns: 1_000_000, ..script("0s", "0s").latencies };
    let script = Script { latencies, prefix_cache: Some(10_000), ..script("0s", "0s") };
    let mut server = server(script);
    let prompt = |own: &str| {
        let text = format!("{}{}", "same ".repeat(128), own.repeat(32));
        let rest = format!(
            r#""model":"tiny","prompt":"{text}","max_tokens":1,"stream":true,"stream_options":{{"include_usage":true}}"#
        );
        post("/v1/completions", &format!("{{{rest}}}"))
    };
    let mut told = Vec::new();
    for (own, at) in [("abcd", 0), ("efgh", 1_000_000), ("efgh", 2_000_000)] {
        server.read(0, prompt(own).as_bytes(), us(at));
        let sent = play(&mut server, at + 900_000);
        let usage = sent.iter().find_map(|sent| sent.text.split("cached_tokens\":").nth(1)).unwrap();
        let cached = usage.split('}').next().unwrap().to_owned();
        told.push((cached, (sent.last().unwrap().due_us - at) / 1_000));
    }
    // 640 bytes in common of 768: ten blocks of twelve; then all, but for the last block.
    let expected = [("0", 192), ("160", 32), ("176", 16)].map(|(cached, ms)| (cached.to_owned(), ms));
    assert_eq!(told, expected);
    let counted = metric(&mut server, "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"tiny\"}");
    assert_eq!(counted, "336.0");
}

#[test]
fn without_delays_a_stream_is_one_send() {
    let mut server = server(script("0s", "0s"));
    server.read(0, chat(r#","max_tokens":8"#).as_bytes(), us(500));
    let sent = play(&mut server, 500);
    assert_eq!((sent.len(), sent[0].text.matches("data: ").count()), (1, 1 + 8 + 1));
}

#[test]
fn a_server_that_is_behind_catches_up_with_one_send_an_answer_and_says_the_same() {
    let hear = |late_us: i64| {
        let mut server = Server::new(script("20ms", "5ms"), Seat::alone(UNIX_AT_ZERO_NS, false));
        server.opened(0);
        server.read(0, chat(r#","max_tokens":4"#).as_bytes(), us(0));
        let (mut step, mut text, mut sends) = (Step::default(), String::new(), Vec::new());
        while let Some(due) = server.next_due() {
            assert!(server.advance(due + Span::from_us(late_us), &mut step));
            text.push_str(std::str::from_utf8(&step.bytes).unwrap());
            sends.push(step.due.as_ns() / 1_000);
        }
        (text, sends)
    };
    let (on_time, sends) = hear(0);
    assert_eq!(sends, [0, 20_000, 25_000, 30_000, 35_000]);
    assert_eq!(hear(4_000), (on_time.clone(), sends));
    assert_eq!(hear(6_000), (on_time.clone(), vec![0, 20_000, 30_000]));
    assert_eq!(hear(1_000_000), (on_time, vec![0]));
}

#[test]
fn marks_tell_every_event_with_its_planned_instant() {
    let mut server = server(script("20ms", "5ms"));
    server.read(0, chat(r#","max_tokens":2,"stream_options":{"include_usage":true}"#).as_bytes(), us(500));
    let sent = play(&mut server, 1_000_000);
    let marks: Vec<_> = sent.iter().flat_map(|sent| sent.marks.clone()).collect();
    assert_eq!(marks[0], Mark::Request { id: Some("run-3".into()), received: us(500) });
    let said: Vec<_> = marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Said { what, planned, .. } => Some((what.name(), what.tokens(), planned.as_ns() / 1_000)),
            _ => None,
        })
        .collect();
    assert_eq!(
        said,
        [
            ("head", 0, 500),
            ("role", 0, 20_500),
            ("token", 1, 20_500),
            ("token", 1, 25_500),
            ("usage", 0, 25_500),
            ("done", 0, 25_500),
        ]
    );
    assert_eq!(marks.last(), Some(&Mark::End));
    for sent in &sent {
        for mark in &sent.marks {
            if let Mark::Said { what: Said::Tokens(_) | Said::Done, end, .. } = mark {
                assert!(sent.text[..*end].ends_with("\r\n"), "a mark stands at an event's end");
            }
        }
    }
}

#[test]
fn a_connection_serves_one_request_after_another_and_pipelined_ones_in_order() {
    let mut server = server(script("10ms", "0s"));
    let one = chat(r#","max_tokens":1"#);
    server.read(0, format!("{one}GET /health HTTP/1.1\r\n\r\n{one}").as_bytes(), us(0));
    let sent = play(&mut server, 1_000_000);
    let heads: Vec<_> =
        sent.iter().filter(|s| s.text.starts_with("HTTP/1.1 200")).map(|s| s.due_us).collect();
    assert_eq!(heads, [0, 10_000, 10_000]);
    assert_eq!(sent.last().map(|sent| sent.due_us), Some(20_000));
}

#[test]
fn a_client_that_goes_frees_its_place_for_the_one_that_waits() {
    let mut server = server(Script { max_running: Some(1), ..script("10ms", "1ms") });
    server.opened(1);
    server.read(0, chat(r#","max_tokens":50"#).as_bytes(), us(0));
    server.read(1, chat(r#","max_tokens":1"#).as_bytes(), us(0));
    play(&mut server, 5_000);
    let running = "vllm:num_requests_running{engine=\"0\",model_name=\"tiny\"}";
    let waiting = "vllm:num_requests_waiting{engine=\"0\",model_name=\"tiny\"}";
    assert_eq!((metric(&mut server, running), metric(&mut server, waiting)), ("1.0".into(), "1.0".into()));
    server.gone(0, us(5_000));
    let sent = play(&mut server, 1_000_000);
    assert_eq!(sent.iter().map(|sent| (sent.conn, sent.due_us)).collect::<Vec<_>>(), [(1, 15_000)]);
    let aborted = "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\",model_name=\"tiny\"}";
    assert_eq!((metric(&mut server, running), metric(&mut server, aborted)), ("0.0".into(), "1.0".into()));
}

#[test]
fn metrics_count_requests_tokens_and_latencies() {
    let mut server = server(script("20ms", "5ms"));
    for _ in 0..3 {
        answer(&mut server, &chat(r#","max_tokens":4"#));
    }
    let mut of =
        |name: &str| metric(&mut server, &format!("vllm:{name}{{engine=\"0\",model_name=\"tiny\"}}"));
    assert_eq!(of("generation_tokens_total"), "12.0");
    assert_eq!(of("prompt_tokens_total"), "30.0");
    assert_eq!(of("time_to_first_token_seconds_count"), "3.0");
    assert_eq!(of("inter_token_latency_seconds_count"), "9.0");
    assert_eq!(of("inter_token_latency_seconds_sum"), "0.045");
    assert_eq!(of("e2e_request_latency_seconds_count"), "3.0");
    let length = "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"tiny\"}";
    assert_eq!(metric(&mut server, length), "3.0");
}

#[test]
fn a_closing_client_gets_its_answer_and_then_the_end() {
    let mut server = server(script("10ms", "0s"));
    let request = chat(r#","max_tokens":1"#).replace("host: x", "connection: close");
    server.read(0, request.as_bytes(), us(0));
    let sent = play(&mut server, 1_000_000);
    assert!(sent[0].text.contains("connection: close\r\n"));
    assert_eq!(sent.iter().map(|sent| sent.then).collect::<Vec<_>>(), [Then::Stay, Then::Close]);
}

#[test]
fn a_body_asked_to_wait_is_invited() {
    let mut server = server(script("0s", "0s"));
    let request = chat(r#","max_tokens":1"#).replace("host: x", "expect: 100-continue");
    let head = request.find("\r\n\r\n").unwrap() + 4;
    server.read(0, &request.as_bytes()[..head], us(0));
    assert_eq!(play(&mut server, 0)[0].text, "HTTP/1.1 100 Continue\r\n\r\n");
    server.read(0, &request.as_bytes()[head..], us(9));
    assert!(play(&mut server, 9)[0].text.starts_with("HTTP/1.1 200 OK"));
}

#[test]
fn the_same_seed_says_the_same_and_the_shards_numbers_do_not_meet() {
    let hear = |seat: Seat| {
        let mut server = Server::new(script("exp:20ms", "exp:5ms"), seat);
        server.opened(0);
        let request = chat(r#","max_tokens":5"#).replace("x-request-id", "x-other");
        server.read(0, request.as_bytes(), us(0));
        play(&mut server, 60_000_000)
    };
    let alone = || Seat::alone(UNIX_AT_ZERO_NS, true);
    assert_eq!(hear(alone()), hear(alone()));
    let meters: Arc<[Meter]> = Arc::new([Meter::default(), Meter::default()]);
    let second = Seat { shard: 1, shards: 2, meters, ..alone() };
    assert_ne!(hear(alone()), hear(second));
}

#[test]
fn what_is_not_http_gets_a_400_and_the_end() {
    let mut server = server(script("0s", "0s"));
    server.read(0, b"\x16\x03\x01", us(0));
    let sent = play(&mut server, 0);
    assert!(sent[0].text.starts_with("HTTP/1.1 400 Bad Request\r\n") && sent[0].then == Then::Close);
    server.read(0, b"GET /health HTTP/1.1\r\n\r\n", us(1));
    assert!(play(&mut server, 10).is_empty(), "a closed connection is not heard");
}
