//! What a request's body asks for: the few keys the simulator obeys, read in one pass over borrowed bytes.
//!
//! It must not copy the prompt, however long, nor judge what the server can serve: [`super::Server`] does.

use crate::wire::Api;
use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Characters of a token, as every vendor's rule of thumb has it for English.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens of the chat template: around each message, and to open the answer (the `ChatML` count).
const TOKENS_PER_MESSAGE: u64 = 4;
const TOKENS_TO_ANSWER: u64 = 3;

/// One asked generation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ask<'a> {
    /// The model's name; `None` = whichever is served.
    pub model: Option<Cow<'a, str>>,
    /// Whether to stream.
    pub stream: bool,
    /// `stream_options.include_usage`.
    pub include_usage: bool,
    /// `stream_options.continuous_usage_stats`: usage in every event.
    pub continuous_usage: bool,
    /// `max_completion_tokens`, else `max_tokens`.
    pub max_tokens: Option<u32>,
    /// Choices; 1 when left out.
    pub choices: u16,
    /// Tokens of the prompt: exact for arrays of token ids, else estimated from its bytes.
    pub prompt_tokens: u32,
    /// The prompt as it stands in the body, JSON and all: what a prefix cache goes by.
    pub prompt: &'a [u8],
    /// `ignore_eos`: the answer has the asked length exactly.
    pub ignore_eos: bool,
}

/// Why a body cannot be obeyed, worded as vLLM's validation does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadAsk {
    /// The message of the error object.
    pub message: String,
    /// The parameter at fault.
    pub param: Option<&'static str>,
}

/// Reads the body of a request to `api`.
///
/// # Errors
/// Not JSON, not an object, a missing prompt, a value of the wrong type.
pub fn read_ask(api: Api, body: &[u8]) -> Result<Ask<'_>, BadAsk> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let fields = json.deserialize_map(Fields).and_then(|fields| json.end().map(|()| fields));
    let fields = fields.map_err(|error| BadAsk {
        message: format!(
            "[{{'type': 'json_invalid', 'loc': ('body',), 'msg': 'JSON decode error: {error}'}}]"
        ),
        param: None,
    })?;
    let (param, prompt) = match api {
        Api::Chat => ("messages", fields.messages),
        Api::Completions => ("prompt", fields.prompt),
    };
    let Some((prompt_tokens, prompt)) = prompt else {
        return Err(BadAsk {
            message: format!("[{{'type': 'missing', 'loc': ('body', '{param}'), 'msg': 'Field required'}}]"),
            param: Some(param),
        });
    };
    let mut ask = fields.ask;
    let at_least_1 = |value: u64, param: &'static str| {
        let read = u32::try_from(value).ok().filter(|value| *value >= 1);
        read.ok_or_else(|| BadAsk {
            message: format!("{param} must be at least 1, got {value}."),
            param: Some(param),
        })
    };
    ask.max_tokens = match (fields.max_completion_tokens, fields.max_tokens) {
        (Some(n), _) => Some(at_least_1(n, "max_completion_tokens")?),
        (None, Some(n)) => Some(at_least_1(n, "max_tokens")?),
        (None, None) => None,
    };
    ask.choices = match fields.n {
        None => 1,
        Some(n) => u16::try_from(n).ok().filter(|n| (1..=128).contains(n)).ok_or_else(|| BadAsk {
            message: format!("n must be between 1 and 128, got {n}."),
            param: Some("n"),
        })?,
    };
    ask.prompt_tokens = u32::try_from(prompt_tokens.max(1)).unwrap_or(u32::MAX);
    ask.prompt = prompt.as_bytes();
    Ok(ask)
}

#[derive(Default)]
struct Found<'a> {
    ask: Ask<'a>,
    /// Tokens, and the JSON that they were counted in.
    messages: Option<(u64, &'a str)>,
    prompt: Option<(u64, &'a str)>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    n: Option<u64>,
}

/// The body's object. A key given twice counts as its last value, as in Python.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request's object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Found::default();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            match &*key.0 {
                "model" => found.ask.model = map.next_value::<Option<Key<'de>>>()?.map(|model| model.0),
                "stream" => found.ask.stream = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "ignore_eos" => found.ask.ignore_eos = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "max_tokens" => found.max_tokens = map.next_value()?,
                "max_completion_tokens" => found.max_completion_tokens = map.next_value()?,
                "n" => found.n = map.next_value()?,
                "stream_options" => {
                    let options = map.next_value::<Option<StreamOptions>>()?.unwrap_or_default();
                    found.ask.include_usage = options.include_usage.unwrap_or(false);
                    found.ask.continuous_usage = options.continuous_usage_stats.unwrap_or(false);
                }
                "prompt" => {
                    let raw = map.next_value::<&RawValue>()?.get();
                    found.prompt = size(raw)?.map(|size| (size.tokens(), raw));
                }
                "messages" => {
                    let raw = map.next_value::<&RawValue>()?.get();
                    let around = |size: Size| TOKENS_PER_MESSAGE * size.items + TOKENS_TO_ANSWER;
                    found.messages = size(raw)?.map(|size| (size.tokens() + around(size), raw));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// What a prompt's JSON amounts to; `None` for null.
fn size<E: serde::de::Error>(json: &str) -> Result<Option<Size>, E> {
    Tokens.deserialize(&mut serde_json::Deserializer::from_str(json)).map_err(E::custom)
}

#[derive(serde::Deserialize, Default)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

/// A string, borrowed unless it holds escapes (a bare `Cow` is always copied by serde).
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// What a prompt amounts to.
#[derive(Default, Clone, Copy)]
struct Size {
    /// Numbers found: token ids.
    ids: u64,
    /// Bytes of the strings found.
    text_bytes: u64,
    /// Objects of the outermost array: messages.
    items: u64,
}

impl Size {
    fn tokens(self) -> u64 {
        self.ids + self.text_bytes.div_ceil(BYTES_PER_TOKEN)
    }

    fn add(&mut self, other: Self) {
        self.ids += other.ids;
        self.text_bytes += other.text_bytes;
    }
}

/// Measures a prompt of any form: a string, token ids, messages, typed parts; `None` for null.
struct Tokens;

impl<'de> DeserializeSeed<'de> for Tokens {
    type Value = Option<Size>;

    fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tokens {
    type Value = Option<Size>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a prompt: text, token ids, or messages")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Size { text_bytes: u64::try_from(text.len()).unwrap_or(u64::MAX), ..Size::default() }))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Some(Size { ids: 1, ..Size::default() }))
    }

    fn visit_i64<E: serde::de::Error>(self, id: i64) -> Result<Self::Value, E> {
        Err(E::custom(format!("a token id is at least 0, got {id}")))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut total = Size::default();
        while let Some(item) = seq.next_element_seed(Self)? {
            total.items += 1;
            total.add(item.unwrap_or_default());
        }
        Ok(Some(total))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut total = Size::default();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            match &*key.0 {
                "content" | "text" => total.add(map.next_value_seed(Self)?.unwrap_or_default()),
                "role" => {
                    map.next_value::<Key<'de>>().map_err(|_| A::Error::custom("a message's role is text"))?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Some(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_whole_chat_request_is_understood() {
        let body = br#"{"model":"tiny","messages":[{"role":"system","content":"12345678"},
            {"role":"user","content":[{"type":"text","text":"1234"},{"type":"image_url","image_url":{"url":"data:"}}]}],
            "stream":true,"stream_options":{"include_usage":true},"max_tokens":9,"max_completion_tokens":6,
            "temperature":0.5,"n":2,"ignore_eos":true,"extra":{"a":[1,{"b":null}]}}"#;
        let ask = read_ask(Api::Chat, body).expect("a good request");
        assert_eq!(ask.model.as_deref(), Some("tiny"));
        assert!(matches!(ask.model, Some(Cow::Borrowed(_))), "the model's name is not copied");
        assert!(ask.stream && ask.include_usage && ask.ignore_eos && !ask.continuous_usage);
        assert_eq!((ask.max_tokens, ask.choices), (Some(6), 2));
        assert_eq!(ask.prompt_tokens, 3 + 2 * 4 + 3);
        assert!(ask.prompt.starts_with(br#"[{"role":"system""#) && ask.prompt.ends_with(b"}]}]"));
    }

    #[test]
    fn a_prompt_of_token_ids_is_counted_exactly() {
        let of = |prompt: &str| {
            read_ask(Api::Completions, format!(r#"{{"prompt":{prompt}}}"#).as_bytes())
                .map(|ask| ask.prompt_tokens)
        };
        assert_eq!(of("[5,6,7]"), Ok(3));
        assert_eq!(of("[[5,6,7],[8]]"), Ok(4));
        assert_eq!(of("\"123456789\""), Ok(3));
        assert_eq!(of("\"\""), Ok(1));
        assert!(of("[-1]").is_err() && of("null").is_err() && of("1.5").is_err());
    }

    #[test]
    fn a_key_given_twice_counts_as_its_last_value() {
        let ask =
            read_ask(Api::Completions, br#"{"max_tokens":1,"prompt":"a","max_tokens":7,"stream":null}"#);
        assert_eq!(ask.map(|ask| (ask.max_tokens, ask.stream)), Ok((Some(7), false)));
    }

    #[test]
    fn what_cannot_be_obeyed_names_the_parameter() {
        let param = |body: &str| read_ask(Api::Chat, body.as_bytes()).expect_err(body).param;
        assert_eq!(param(r#"{"prompt":"for the other API"}"#), Some("messages"));
        assert_eq!(param(r#"{"messages":[],"max_tokens":0}"#), Some("max_tokens"));
        assert_eq!(param(r#"{"messages":[],"n":0}"#), Some("n"));
        for broken in ["", "{", "[]", "7", r#"{"messages":[]} x"#, r#"{"messages":[],"stream":"yes"}"#] {
            assert_eq!(param(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_counted_by_its_bytes_however_it_is_escaped(text in ".{0,200}") {
            let body = serde_json::json!({ "prompt": text, "stream": true }).to_string();
            let ask = read_ask(Api::Completions, body.as_bytes()).expect("valid JSON");
            prop_assert_eq!(ask.prompt_tokens as usize, text.len().div_ceil(4).max(1));
        }
    }
}
