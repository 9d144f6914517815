//! The events of a streamed answer, byte by byte as vLLM 0.32 behind uvicorn sends them: one chunk an event.
//!
//! It must not decide when, nor allocate: it appends to the caller's buffer.

use super::words::write_word;
use crate::wire::Api;

/// Who an answer is: the same in all of its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The dialect it is spoken in.
    pub api: Api,
    /// The response's id without its prefix: the client's `x-request-id`, or 16 hexadecimal digits.
    pub id: Box<str>,
    /// Unix seconds.
    pub created_s: u64,
    /// Chooses the words.
    pub hash: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of it that were not computed, where there is a prefix cache.
    pub cached_tokens: Option<u32>,
    /// Whether every event carries usage.
    pub continuous_usage: bool,
}

/// One token event of one choice.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The choice.
    pub choice: u16,
    /// The index of its first token in the choice.
    pub first: u32,
    /// How many it carries.
    pub count: u32,
    /// Why the choice ends with it, if it does.
    pub finish: Option<&'static str>,
}

/// What is the same in every event of a server.
#[derive(Debug)]
pub struct Phrases {
    /// `"model":"NAME"`, escaped.
    model: String,
    fingerprint: &'static str,
}

/// The end of a chunked body.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
const NULL_DETAILS: &str = r#","completion_tokens_details":null}"#;

impl Phrases {
    /// Phrases of a server of `model`.
    #[must_use]
    pub fn new(model: &str) -> Self {
        Self {
            model: format!("\"model\":{}", super::reply::quote(model)),
            fingerprint: super::reply::FINGERPRINT,
        }
    }

    /// The event that opens a choice of a chat. Completions have none.
    pub fn role(&self, who: &Identity, choice: u16, into: &mut Vec<u8>) {
        chunk(into, |into| {
            self.open(who, into);
            put(into, r#"{"index":"#);
            put_number(into, choice);
            put(into, r#","delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#);
            if who.continuous_usage {
                put(into, ",\"usage\":");
                usage(who, 0, NULL_DETAILS, into);
            }
            put(into, r#","prompt_token_ids":null,"prompt_text":null}"#);
        });
    }

    /// An event that bears tokens.
    pub fn tokens(&self, who: &Identity, tokens: Tokens, into: &mut Vec<u8>) {
        chunk(into, |into| {
            self.open(who, into);
            put(into, r#"{"index":"#);
            put_number(into, tokens.choice);
            put(
                into,
                match who.api {
                    Api::Chat => r#","delta":{"content":""#,
                    Api::Completions => r#","text":""#,
                },
            );
            text(who.hash, tokens, into);
            put(
                into,
                match who.api {
                    Api::Chat => r#""},"logprobs":null,"finish_reason":"#,
                    Api::Completions => r#"","logprobs":null,"finish_reason":"#,
                },
            );
            put(
                into,
                match (who.api, tokens.finish) {
                    (_, Some("stop")) => r#""stop""#,
                    (_, Some(_)) => r#""length""#,
                    (_, None) => "null",
                },
            );
            put(
                into,
                match (who.api, tokens.finish) {
                    (Api::Chat, None) => r#","token_ids":null}]"#,
                    (Api::Chat, Some(_)) => r#","stop_reason":null,"token_ids":null}]"#,
                    (Api::Completions, _) => {
                        r#","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#
                    }
                },
            );
            if who.continuous_usage {
                put(into, ",\"usage\":");
                usage(who, tokens.first + tokens.count, NULL_DETAILS, into);
            }
            put(into, "}");
        });
    }

    /// The event of `stream_options.include_usage`; `completion_tokens` is over all choices.
    pub fn usage(&self, who: &Identity, completion_tokens: u32, into: &mut Vec<u8>) {
        chunk(into, |into| {
            self.open(who, into);
            put(into, "],\"usage\":");
            usage(who, completion_tokens, "}", into);
            put(into, ",\"system_fingerprint\":\"");
            put(into, self.fingerprint);
            put(into, "\"}");
        });
    }

    fn open(&self, who: &Identity, into: &mut Vec<u8>) {
        put(into, r#"{"id":""#);
        put(into, prefix(who.api));
        put(into, &who.id);
        put(
            into,
            match who.api {
                Api::Chat => r#"","object":"chat.completion.chunk","created":"#,
                Api::Completions => r#"","object":"text_completion","created":"#,
            },
        );
        put_number(into, who.created_s);
        put(into, ",");
        put(into, &self.model);
        put(into, r#","choices":["#);
    }

    /// A whole answer, for a client that did not ask to stream; not framed.
    pub(super) fn unary(
        &self,
        who: &Identity,
        choices: u16,
        tokens: u32,
        finish: &'static str,
        into: &mut Vec<u8>,
    ) {
        put(into, r#"{"id":""#);
        put(into, prefix(who.api));
        put(into, &who.id);
        put(
            into,
            match who.api {
                Api::Chat => r#"","object":"chat.completion","created":"#,
                Api::Completions => r#"","object":"text_completion","created":"#,
            },
        );
        put_number(into, who.created_s);
        put(into, ",");
        put(into, &self.model);
        put(into, r#","choices":["#);
        for choice in 0..choices {
            put(into, if choice == 0 { r#"{"index":"# } else { r#",{"index":"# });
            put_number(into, choice);
            put(
                into,
                match who.api {
                    Api::Chat => r#","message":{"role":"assistant","content":""#,
                    Api::Completions => r#","text":""#,
                },
            );
            text(who.hash, Tokens { choice, first: 0, count: tokens, finish: None }, into);
            put(
                into,
                match who.api {
                    Api::Chat => {
                        r#"","refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":null},"logprobs":null,"finish_reason":""#
                    }
                    Api::Completions => r#"","logprobs":null,"finish_reason":""#,
                },
            );
            put(into, finish);
            put(
                into,
                match who.api {
                    Api::Chat => r#"","stop_reason":null,"token_ids":null,"routed_experts":null}"#,
                    Api::Completions => {
                        r#"","stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null}"#
                    }
                },
            );
        }
        put(into, r#"],"service_tier":null,"system_fingerprint":""#);
        put(into, self.fingerprint);
        put(into, r#"","usage":"#);
        let total = tokens.saturating_mul(u32::from(choices));
        let details = match who.cached_tokens {
            Some(_) => r#","completion_tokens_details":null}"#,
            None => r#","prompt_tokens_details":null,"completion_tokens_details":null}"#,
        };
        usage(who, total, details, into);
        put(
            into,
            match who.api {
                Api::Chat => {
                    r#","prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#
                }
                Api::Completions => r#","kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#,
            },
        );
    }
}

/// `data: [DONE]` and the end of the body.
pub(super) fn done(into: &mut Vec<u8>) {
    into.extend_from_slice(b"e\r\ndata: [DONE]\n\n\r\n");
    into.extend_from_slice(LAST_CHUNK);
}

/// An error in the midst of a stream, as vLLM's engine reports its death.
pub(super) fn error(into: &mut Vec<u8>) {
    let json = r#"{"error": {"message": "EngineCore encountered an issue. See stack trace (above) for the root cause.", "type": "InternalServerError", "param": null, "code": 500}}"#;
    chunk(into, |into| put(into, json));
}

/// A comment that keeps the connection busy and says nothing.
pub(super) fn comment(into: &mut Vec<u8>) {
    into.extend_from_slice(b"e\r\n: keep-alive\n\n\r\n");
}

fn prefix(api: Api) -> &'static str {
    match api {
        Api::Chat => "chatcmpl-",
        Api::Completions => "cmpl-",
    }
}

/// Choices of one answer say different things.
fn text(hash: u64, tokens: Tokens, into: &mut Vec<u8>) {
    let answer = hash ^ (u64::from(tokens.choice) << 32);
    for index in tokens.first..tokens.first + tokens.count {
        write_word(answer, index, into);
    }
}

fn usage(who: &Identity, completion_tokens: u32, end: &str, into: &mut Vec<u8>) {
    put(into, r#"{"prompt_tokens":"#);
    put_number(into, who.prompt_tokens);
    put(into, r#","total_tokens":"#);
    put_number(into, u64::from(who.prompt_tokens) + u64::from(completion_tokens));
    put(into, r#","completion_tokens":"#);
    put_number(into, completion_tokens);
    if let Some(cached) = who.cached_tokens {
        put(into, r#","prompt_tokens_details":{"cached_tokens":"#);
        put_number(into, cached);
        put(into, "}");
    }
    put(into, end);
}

/// Frames what `event` writes as one `data:` event in one chunk.
fn chunk(into: &mut Vec<u8>, event: impl FnOnce(&mut Vec<u8>)) {
    /// Room for the size of any event below 256 MiB.
    const ROOM: usize = 9;
    let start = into.len();
    into.extend_from_slice(&[0; ROOM]);
    into.extend_from_slice(b"data: ");
    event(into);
    into.extend_from_slice(b"\n\n");
    let mut size = into.len() - start - ROOM;
    into.extend_from_slice(b"\r\n");
    let mut header = [b'\n'; ROOM];
    header[ROOM - 2] = b'\r';
    let mut at = ROOM - 2;
    while size > 0 {
        at -= 1;
        header[at] = b"0123456789abcdef"[size % 16];
        size /= 16;
    }
    into[start..start + ROOM - at].copy_from_slice(&header[at..]);
    // The size was not known before; what is over of its room is closed up.
    into.copy_within(start + ROOM.., start + ROOM - at);
    into.truncate(into.len() - at);
}

fn put(into: &mut Vec<u8>, text: &str) {
    into.extend_from_slice(text.as_bytes());
}

fn put_number(into: &mut Vec<u8>, number: impl itoa::Integer) {
    into.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_of_any_size_is_framed_as_its_size_says() {
        for size in [1, 7, 8, 9, 10, 200, 247, 248, 249, 4_087, 4_088, 70_000] {
            let mut wire = b"before".to_vec();
            chunk(&mut wire, |into| into.extend(std::iter::repeat_n(b'x', size)));
            let payload = size + "data: \n\n".len();
            let framed = format!("before{payload:x}\r\ndata: {}\n\n\r\n", "x".repeat(size));
            assert_eq!(wire, framed.as_bytes());
        }
    }

    #[test]
    fn the_fixed_chunks_are_framed_right() {
        let mut wire = Vec::new();
        done(&mut wire);
        assert_eq!(wire, b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
        wire.clear();
        comment(&mut wire);
        let payload = &wire[3..wire.len() - 2];
        assert_eq!((payload, payload.len()), (&b": keep-alive\n\n"[..], 0xe));
    }
}
