//! The cases of `cases.jsonl` and `own_cases.jsonl`: example bytes of a whole response, and what is to come of them.
//!
//! It must not know how they are played: a test here gives them to the decoder, another over a socket.
#![allow(dead_code, reason = "each test that plays the cases uses its own part of them")]

use serde_json::Value;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    pub id: String,
    pub title: String,
    /// `chat`, `completions`, or another API.
    pub api: String,
    /// Choices asked for.
    pub choices: u16,
    /// The response, cut where the server waits between two writes.
    pub segments: Vec<Vec<u8>>,
    /// What the server does after the last byte.
    pub end: End,
    /// The connection had carried a request before.
    pub reused: bool,
    /// What came while it was idle.
    pub pre_wire: Vec<u8>,
    pub pre_end: Option<End>,
    pub expect: Expected,
}

/// What a server does after its last byte.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// Keeps the connection.
    Open,
    Fin,
    Rst,
    /// Keeps silent: a timer of the client's has to fire.
    Stall,
    /// FIN without close_notify.
    TlsEof,
}

/// The right outcome. The outer `Option` of the later fields: checked when present.
#[derive(Clone, Debug)]
pub struct Expected {
    pub ok: bool,
    pub error_class: Option<String>,
    pub output_tokens: Option<u64>,
    pub first_token_event: Option<u64>,
    pub first_output_event: Option<Option<u64>>,
    pub token_events: Option<u64>,
    pub token_source: Option<String>,
    pub text: Option<String>,
    pub reasoning: Option<String>,
    pub prompt_tokens: Option<Option<u64>>,
    pub cached_tokens: Option<Option<u64>>,
    pub reasoning_tokens: Option<Option<u64>>,
    pub reusable: Option<bool>,
}

impl Case {
    /// The bytes without the cuts.
    pub fn wire(&self) -> Vec<u8> {
        self.segments.concat()
    }

    /// Where the cuts are.
    pub fn boundaries(&self) -> Vec<usize> {
        let lengths = self.segments.iter().map(Vec::len);
        lengths
            .scan(0, |at, length| {
                *at += length;
                Some(*at)
            })
            .collect()
    }
}

/// Every case of a chat or completions stream, in the clear, that one response decides.
pub fn streams() -> Vec<Case> {
    let cases = all().into_iter().filter(|case| {
        // C01 and C03 are about the pool: their bytes come over a second connection.
        matches!(case.api.as_str(), "chat" | "completions")
            && !case.id.starts_with('T')
            && case.end != End::TlsEof
            && !["C01", "C03"].contains(&case.id.as_str())
    });
    cases.collect()
}

/// Every case, the given ones first.
pub fn all() -> Vec<Case> {
    let files = [include_str!("cases.jsonl"), include_str!("own_cases.jsonl")];
    let lines = files.iter().flat_map(|file| file.lines()).filter(|line| !line.is_empty());
    lines.map(|line| read(&serde_json::from_str(line).expect("a line of cases is JSON"))).collect()
}

fn read(case: &Value) -> Case {
    let text = |key: &str| case.get(key).and_then(Value::as_str);
    let latin1 = text("encoding") == Some("latin1");
    let bytes = |wire: &str| {
        if latin1 {
            wire.chars().map(|c| u8::try_from(u32::from(c)).expect("latin1 is one byte each")).collect()
        } else {
            wire.as_bytes().to_vec()
        }
    };
    let wire = text("wire").expect("a case has a wire");
    Case {
        id: text("id").expect("a case has an id").into(),
        title: text("title").expect("a case has a title").into(),
        api: text("api").unwrap_or("chat").into(),
        choices: case
            .get("n")
            .map_or(1, |n| n.as_u64().and_then(|n| u16::try_from(n).ok()).expect("n is small")),
        segments: wire.split('\u{241e}').map(bytes).filter(|segment: &Vec<u8>| !segment.is_empty()).collect(),
        end: end(text("end").unwrap_or("open")),
        reused: case.get("reused").and_then(Value::as_bool).unwrap_or(false),
        pre_wire: text("pre_wire").map(bytes).unwrap_or_default(),
        pre_end: text("pre_end").map(end),
        expect: expected(&case["expect"]),
    }
}

fn end(word: &str) -> End {
    match word {
        "open" => End::Open,
        "fin" => End::Fin,
        "rst" => End::Rst,
        "stall" => End::Stall,
        "tls_eof" => End::TlsEof,
        other => panic!("{other} is no end"),
    }
}

fn expected(expect: &Value) -> Expected {
    let word = |key: &str| expect.get(key).and_then(Value::as_str).map(str::to_owned);
    let count = |key: &str| expect.get(key).map(Value::as_u64);
    Expected {
        ok: expect["ok"].as_bool().expect("ok is said"),
        error_class: word("error_class"),
        output_tokens: count("output_tokens").expect("output_tokens is said"),
        first_token_event: count("first_token_event_index").expect("first_token_event_index is said"),
        first_output_event: count("first_output_event_index"),
        token_events: count("token_events").flatten(),
        token_source: word("token_source"),
        text: word("text"),
        reasoning: word("reasoning"),
        prompt_tokens: count("prompt_tokens"),
        cached_tokens: count("cached_tokens"),
        reasoning_tokens: count("reasoning_tokens"),
        reusable: expect.get("reusable").and_then(Value::as_bool),
    }
}
