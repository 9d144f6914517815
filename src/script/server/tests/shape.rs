//! What we send has the shape of what a real vLLM sent: heads line by line, events key by key, in order.

use super::*;
use serde_json::Value;

macro_rules! capture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire/captures/vllm-0.32-", $name))
    };
}

/// A response as the lines of its head and its body's chunks (or its one body).
fn taken_apart(response: &str) -> (Vec<String>, Vec<String>) {
    let (head, mut body) = response.split_once("\r\n\r\n").expect("a head");
    let lines: Vec<String> = head.lines().map(masked_line).collect();
    if !lines.iter().any(|line| line == "transfer-encoding: chunked") {
        return (lines, vec![body.to_string()]);
    }
    let mut chunks = Vec::new();
    loop {
        let (size, rest) = body.split_once("\r\n").expect("a chunk's size");
        let size = usize::from_str_radix(size, 16).expect("hexadecimal");
        let (chunk, rest) = rest.split_at(size);
        body = rest.strip_prefix("\r\n").expect("a chunk's end");
        if size == 0 {
            assert_eq!(body.trim_end(), "", "nothing follows the last chunk");
            return (lines, chunks);
        }
        chunks.push(chunk.to_string());
    }
}

fn masked_line(line: &str) -> String {
    match line.split_once(": ") {
        Some((name @ ("date" | "content-length"), value)) => {
            if name == "date" {
                assert_eq!((value.len(), value.ends_with(" GMT")), (29, true), "{value}");
            }
            format!("{name}: *")
        }
        _ => line.to_string(),
    }
}

/// The text of an event with what may differ masked: texts, names, numbers.
fn shape(chunk: &str) -> String {
    let (before, json, after) = match chunk.strip_prefix("data: ") {
        Some(rest) => ("data: ", rest.trim_end(), &rest[rest.trim_end().len()..]),
        None => ("", chunk.trim_end(), ""),
    };
    match serde_json::from_str::<Value>(json) {
        Ok(value) => format!("{before}{}{after:?}", masked("", &value)),
        Err(_) => format!("{before}{json}{after:?}"),
    }
}

fn masked(key: &str, value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> = fields.iter().map(|(k, v)| format!("{k}={}", masked(k, v))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| masked(key, item)).collect();
            format!("[{}]", items.join(","))
        }
        Value::String(text) => match key {
            "object" | "role" | "finish_reason" | "type" | "owned_by" | "param" => text.clone(),
            "id" => text.split('-').next().unwrap_or("").to_string(),
            _ => "text".into(),
        },
        Value::Number(number) if key == "index" || key == "code" => number.to_string(),
        Value::Number(_) => "number".into(),
        other => other.to_string(),
    }
}

fn shapes(response: &str) -> (Vec<String>, Vec<String>) {
    let (head, chunks) = taken_apart(response);
    (head, chunks.iter().map(|chunk| shape(chunk)).collect())
}

/// Both, whole; the captures' six empty and broken texts are texts all the same.
fn assert_same_shape(ours: &str, real: &str) {
    let (ours, real) = (shapes(ours), shapes(real));
    assert_eq!(ours.0, real.0, "heads");
    for (ours, real) in ours.1.iter().zip(&real.1) {
        assert_eq!(ours, real);
    }
    assert_eq!(ours.1.len(), real.1.len(), "as many events");
}

const USAGE: &str = r#","stream_options":{"include_usage":true}"#;

fn tiny() -> Server {
    server(Script { max_model_len: 2048, ..script("20ms", "5ms") })
}

#[test]
fn a_chat_stream_has_the_shape_of_vllms() {
    let ours = answer(&mut tiny(), &chat(&format!(r#","max_tokens":6{USAGE}"#)));
    assert_same_shape(&ours, capture!("chat.http"));
}

#[test]
fn a_completions_stream_has_the_shape_of_vllms() {
    let body = format!(r#"{{"model":"tiny","prompt":"low","stream":true,"max_tokens":6{USAGE}}}"#);
    let ours = answer(&mut tiny(), &post("/v1/completions", &body));
    assert_same_shape(&ours, capture!("completions.http"));
}

#[test]
fn a_unary_chat_has_the_shape_of_vllms() {
    let request = unary_chat(r#","max_tokens":3"#);
    assert_same_shape(&answer(&mut tiny(), &request), capture!("chat-unary.http"));
}

#[test]
fn models_and_errors_have_the_shape_of_vllms() {
    let mut server = tiny();
    assert_same_shape(&answer(&mut server, "GET /v1/models HTTP/1.1\r\n\r\n"), capture!("models.http"));
    let nope = post("/v1/chat/completions", r#"{"model":"nope","messages":[]}"#);
    let ours = answer(&mut server, &nope);
    assert_same_shape(&ours, capture!("model-not-found.http"));
    let message = |response: &str| response.split("\"message\":").nth(1).unwrap().to_string();
    assert_eq!(message(&ours), message(capture!("model-not-found.http")));
    let ours = answer(&mut server, &chat(r#","max_tokens":300000"#));
    assert_same_shape(&ours, capture!("too-long.http"));
    assert_eq!(message(&ours), message(capture!("too-long.http")));
}

#[test]
fn content_lengths_are_those_of_the_bodies() {
    let mut server = tiny();
    for request in [
        "GET /v1/models HTTP/1.1\r\n\r\n".to_string(),
        "GET /health HTTP/1.1\r\n\r\n".to_string(),
        "GET /metrics HTTP/1.1\r\n\r\n".to_string(),
        "GET /nowhere HTTP/1.1\r\n\r\n".to_string(),
        "GET /v1/completions HTTP/1.1\r\n\r\n".to_string(),
        unary_chat(""),
        chat(r#","max_tokens":"x""#),
    ] {
        let response = answer(&mut server, &request);
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        assert_eq!(length, body.len().to_string(), "{request}");
    }
}

#[test]
fn every_metric_we_show_is_one_of_vllms_in_its_shape() {
    let mut server = tiny();
    let page = answer(&mut server, "GET /metrics HTTP/1.1\r\n\r\n");
    let real: Vec<String> = capture!("metrics.txt").lines().map(nameless).collect();
    let mut seen = 0;
    for line in page.split("\r\n\r\n").nth(1).unwrap().lines() {
        // Real buckets of counts end at the model's length; ours go on.
        if line.contains("_bucket{") && line.contains("000") {
            continue;
        }
        assert!(real.contains(&nameless(line)), "vLLM has no such line: {line}");
        seen += 1;
    }
    assert!(seen > 100, "{seen} lines compared");
}

/// A line of metrics without its value; comments as they are.
fn nameless(line: &str) -> String {
    if line.starts_with('#') { line.into() } else { line.rsplit_once(' ').expect("a value").0.into() }
}

#[test]
fn usage_and_text_agree_with_what_was_asked_for_every_choice() {
    let request = chat(&format!(
        r#","max_tokens":5,"n":2{}"#,
        USAGE.replace("}", r#","continuous_usage_stats":true}"#)
    ));
    let (_, chunks) = taken_apart(&answer(
        &mut server(Script { tokens_per_event: "2".parse().unwrap(), ..script("1ms", "1ms") }),
        &request,
    ));
    let events: Vec<Value> =
        chunks.iter().filter_map(|chunk| serde_json::from_str(chunk.strip_prefix("data: ")?).ok()).collect();
    assert_eq!(events.len(), 2 + 3 * 2 + 1, "roles, token events of both choices, usage");
    let last = &events[events.len() - 1]["usage"];
    assert_eq!((last["completion_tokens"].as_u64(), last["prompt_tokens"].as_u64()), (Some(10), Some(10)));
    for choice in 0..2 {
        let of_choice: Vec<&Value> = events.iter().filter(|e| e["choices"][0]["index"] == choice).collect();
        let grown: Vec<_> =
            of_choice.iter().map(|e| e["usage"]["completion_tokens"].as_u64().unwrap()).collect();
        assert_eq!(grown, [0, 2, 4, 5]);
        let finish: Vec<_> =
            of_choice.iter().filter(|e| e["choices"][0]["finish_reason"] == "length").collect();
        assert_eq!(finish.len(), 1);
    }
}

#[test]
fn an_answer_nobody_bounded_stops_by_itself() {
    let ours = answer(&mut tiny(), &chat(""));
    assert_eq!(ours.matches("\"finish_reason\":\"stop\"").count(), 1);
    assert_eq!(ours.matches("\"content\":").count(), 1 + 16, "the role, and vLLM's default of 16 tokens");
}

#[test]
fn the_clients_id_is_echoed_as_vllm_does_unless_it_would_break_the_json() {
    let echoed = answer(&mut tiny(), &chat(""));
    assert!(echoed.contains("{\"id\":\"chatcmpl-run-3\","));
    let odd = answer(&mut tiny(), &chat("").replace("run-3", "a\"b"));
    assert!(!odd.contains("a\"b") && odd.contains("{\"id\":\"chatcmpl-"));
}
