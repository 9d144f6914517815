//! A slow, plain decoder of one event: the whole JSON into a tree, then the rules of `docs/METHOD.md` on the tree. It
//! is the measure of the fast one, so it shares nothing with it but the resolving of escapes.

use lowrho::wire::{Bears, Delta, Heard, unescape};

/// Deeper nesting is no JSON to either decoder; how deep exactly is each one's own affair.
const DEEPEST: u32 = 100;

/// A value. Strings keep their escapes, objects their repeated keys.
#[derive(Clone, Debug)]
enum Json {
    Null,
    Scalar(String),
    Text(Vec<u8>),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// What one payload means at the start of a stream with one choice.
#[derive(Clone, PartialEq, Debug)]
pub enum Meaning {
    NotJson,
    Error,
    Said {
        heard: Vec<Heard>,
        text: String,
        reasoning: String,
        completion_tokens: Option<u64>,
        finished: bool,
    },
}

/// Decodes a payload.
pub fn meaning(payload: &[u8]) -> Meaning {
    let mut rest = payload;
    let Some(json) = value(&mut rest, 0) else { return Meaning::NotJson };
    space(&mut rest);
    if !rest.is_empty() {
        return Meaning::NotJson;
    }
    if is_error(&json) {
        return Meaning::Error;
    }
    said(&json)
}

fn space(rest: &mut &[u8]) {
    while let [b' ' | b'\t' | b'\n' | b'\r', after @ ..] = rest {
        *rest = after;
    }
}

fn eat(rest: &mut &[u8], byte: u8) -> Option<()> {
    space(rest);
    let after = rest.strip_prefix(&[byte])?;
    *rest = after;
    Some(())
}

fn value(rest: &mut &[u8], depth: u32) -> Option<Json> {
    space(rest);
    if depth > DEEPEST {
        return None;
    }
    match rest.first()? {
        b'"' => string(rest).map(Json::Text),
        b'[' => {
            eat(rest, b'[')?;
            let mut all = Vec::new();
            if eat(rest, b']').is_some() {
                return Some(Json::Array(all));
            }
            loop {
                all.push(value(rest, depth + 1)?);
                if eat(rest, b',').is_none() {
                    eat(rest, b']')?;
                    return Some(Json::Array(all));
                }
            }
        }
        b'{' => {
            eat(rest, b'{')?;
            let mut all = Vec::new();
            if eat(rest, b'}').is_some() {
                return Some(Json::Object(all));
            }
            loop {
                space(rest);
                let key = unescape(&string(rest)?).into_owned();
                eat(rest, b':')?;
                all.push((key, value(rest, depth + 1)?));
                if eat(rest, b',').is_none() {
                    eat(rest, b'}')?;
                    return Some(Json::Object(all));
                }
            }
        }
        _ => {
            let word = |b: &&u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
            let length = rest.iter().take_while(word).count();
            let word = String::from_utf8(rest[..length].to_vec()).ok()?;
            *rest = &rest[length..];
            match word.as_str() {
                "null" => Some(Json::Null),
                "true" | "false" | "NaN" | "Infinity" | "-Infinity" => Some(Json::Scalar(word)),
                number if number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                    number.parse::<f64>().ok().map(|_| Json::Scalar(word))
                }
                _ => None,
            }
        }
    }
}

fn string(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let inside = rest.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        match inside.get(at)? {
            b'"' => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    *rest = &inside[at + 1..];
    Some(inside[..at].to_vec())
}

impl Json {
    /// The last value of a key that is not null and that `fits`.
    fn last(&self, key: &str, fits: impl Fn(&Json) -> bool) -> &Json {
        let Self::Object(members) = self else { return &Json::Null };
        let found = members
            .iter()
            .rev()
            .find(|(own, value)| own == key && !matches!(value, Json::Null) && fits(value));
        found.map_or(&Json::Null, |(_, value)| value)
    }

    fn get(&self, key: &str) -> &Json {
        self.last(key, |_| true)
    }

    fn has_text(&self) -> bool {
        matches!(self, Self::Text(text) if !text.is_empty())
    }

    fn count(&self) -> Option<u64> {
        let digits = match self {
            Self::Scalar(digits) => digits.clone(),
            Self::Text(raw) => String::from_utf8(raw.clone()).ok()?.trim().to_owned(),
            _ => return None,
        };
        let float = || digits.parse::<f64>().ok().filter(|n| (0.0..=9_007_199_254_740_992.0).contains(n));
        digits.parse().ok().or_else(|| format!("{:.0}", float()?.trunc().abs()).parse().ok())
    }

    fn is_something(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Text(text) => !text.is_empty(),
            Self::Scalar(word) => word != "false" && self.count() != Some(0),
            Self::Array(all) => !all.is_empty(),
            Self::Object(all) => !all.is_empty(),
        }
    }

    fn elements(&self) -> u32 {
        if let Self::Array(all) = self { u32::try_from(all.len()).expect("few") } else { 0 }
    }
}

fn is_object(value: &Json) -> bool {
    matches!(value, Json::Object(_))
}

fn is_array(value: &Json) -> bool {
    matches!(value, Json::Array(_))
}

fn is_error(json: &Json) -> bool {
    let Json::Object(members) = json else { return false };
    let is_word = |value: &Json| matches!(value, Json::Text(text) if text == b"error");
    let typed = members.iter().any(|(key, value)| (key == "type" || key == "object") && is_word(value));
    let mut told = members.iter().filter(|(_, value)| !matches!(value, Json::Null));
    let lone = told.next().filter(|_| told.next().is_none());
    let detail = lone.is_some_and(|(key, value)| key == "detail" && value.is_something());
    json.get("error").is_something() || typed || detail
}

fn said(json: &Json) -> Meaning {
    let choices = match json.last("choices", is_array) {
        Json::Array(all) => all.iter().filter(|choice| is_object(choice)).cloned().collect(),
        _ => Vec::new(),
    };
    let own_usage = |choice: &Json| completion_tokens(choice.last("usage", is_object));
    let has_usage = is_object(json.last("usage", is_object));
    let usage = if has_usage {
        completion_tokens(json.last("usage", is_object))
    } else {
        choices.iter().rfind(|choice| is_object(choice.last("usage", is_object))).and_then(own_usage)
    };
    let (mut heard, mut text, mut reasoning) = (Vec::new(), String::new(), String::new());
    let (mut finished, mut lost) = (false, false);
    for choice in &choices {
        let said = texts(choice);
        text.push_str(&said.answer_text);
        reasoning.push_str(&said.reasoning_text);
        let reason = choice.get("finish_reason");
        let finishes = reason.is_something() && !matches!(reason, Json::Text(word) if word == b"null");
        let ids = choice.last("token_ids", is_array).elements();
        let logprobs = logprobs(choice.last("logprobs", is_object));
        let shown = said.answer || said.reasoning || ids > 0 || logprobs > 0;
        let held_back = said.empty_text && !said.role && !finishes && !finished;
        let open = !finishes && !finished;
        let growth = if choices.len() == 1 && (shown || open) && !lost { usage } else { None };
        lost |= choices.len() > 1 && (shown || held_back);
        let growth = growth.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        let bears = match growth {
            _ if shown => Bears::Token,
            Some(1..) => Bears::Token,
            Some(0) => Bears::Nothing,
            None if held_back => Bears::Undecided,
            None => Bears::Nothing,
        };
        finished |= finishes;
        heard.push(Heard::Delta(Delta {
            // One choice was asked for: it is that one, whatever its index.
            choice: 0,
            opens_event: heard.is_empty(),
            bears,
            answer: said.answer,
            tokens: [growth.unwrap_or(0), ids, logprobs].into_iter().find(|n| *n > 0).unwrap_or(0),
        }));
    }
    if heard.is_empty() {
        heard.push(Heard::Other);
    }
    Meaning::Said { heard, text, reasoning, completion_tokens: usage, finished }
}

/// `completion_tokens`, the last that is a count; else the first `output_tokens` that is one.
fn completion_tokens(usage: &Json) -> Option<u64> {
    let is_count = |value: &Json| value.count().is_some_and(|count| count <= 1_000_000_000);
    let Json::Object(members) = usage else { return None };
    let legacy = members.iter().find(|(key, value)| key == "output_tokens" && is_count(value));
    usage.last("completion_tokens", is_count).count().or_else(|| legacy?.1.count())
}

fn logprobs(logprobs: &Json) -> u32 {
    let Json::Object(members) = logprobs else { return 0 };
    let listed = members.iter().filter(|(key, _)| ["content", "refusal", "tokens"].contains(&key.as_str()));
    listed.map(|(_, tokens)| tokens.elements()).sum()
}

#[derive(Default)]
struct Texts {
    answer: bool,
    reasoning: bool,
    role: bool,
    empty_text: bool,
    answer_text: String,
    reasoning_text: String,
}

fn texts(choice: &Json) -> Texts {
    let delta = choice.last("delta", is_object);
    let named = |name: &'static str| {
        let members = if let Json::Object(members) = delta { members.as_slice() } else { &[] };
        members.iter().filter(move |(key, _)| key == name).map(|(_, value)| value)
    };
    let [content, reasoning, reasoning_content, refusal] =
        ["content", "reasoning", "reasoning_content", "refusal"].map(|key| delta.get(key));
    let text = choice.get("text");
    let mut texts = Texts { role: named("role").any(Json::has_text), ..Texts::default() };
    let thought = if reasoning_content.has_text() { reasoning_content } else { reasoning };
    for (value, thinking) in [(thought, true), (content, false), (text, false)] {
        if let Json::Text(raw) = value {
            tell(raw, thinking, &mut texts);
        }
    }
    blocks(content, &mut texts, false);
    texts.answer |= refusal.has_text()
        || named("tool_calls").any(any_call)
        || named("function_call").any(calls_something);
    let there =
        [content, text, reasoning, reasoning_content].iter().any(|value| !matches!(value, Json::Null));
    texts.empty_text = there && !texts.answer && !texts.reasoning;
    texts
}

fn any_call(calls: &Json) -> bool {
    let Json::Array(calls) = calls else { return false };
    calls.iter().any(|call| {
        let Json::Object(members) = call else { return false };
        members.iter().any(|(key, value)| (key == "function" || key == "custom") && calls_something(value))
    })
}

fn calls_something(function: &Json) -> bool {
    let Json::Object(members) = function else { return false };
    let tells = |(key, value): &(String, Json)| {
        ["name", "arguments", "input"].contains(&key.as_str())
            && (value.has_text() || (is_object(value) && value.is_something()))
    };
    members.iter().any(tells)
}

/// Adds the texts of typed blocks.
fn blocks(value: &Json, texts: &mut Texts, thinking: bool) {
    let Json::Array(blocks) = value else { return };
    for block in blocks {
        match block {
            Json::Text(raw) => tell(raw, thinking, texts),
            Json::Object(members) => {
                let is = |words: [&[u8]; 2]| {
                    let typed = |(key, value): &&(String, Json)| {
                        key == "type" && matches!(value, Json::Text(text) if words.contains(&text.as_slice()))
                    };
                    members.iter().rposition(|member| typed(&member))
                };
                let (thinks, refuses) = (is([b"thinking", b"reasoning"]), is([b"refusal", b"refusal"]));
                let either = |a: &str, b: &str| {
                    let named = members
                        .iter()
                        .rev()
                        .find(|(key, value)| (key == a || key == b) && !matches!(value, Json::Null));
                    named.map_or(&Json::Null, |(_, value)| value)
                };
                if let Json::Text(raw) = either("text", "refusal") {
                    if refuses > thinks {
                        texts.answer |= !raw.is_empty();
                    } else {
                        tell(raw, thinking || thinks.is_some(), texts);
                    }
                }
                match either("thinking", "reasoning") {
                    Json::Text(raw) => tell(raw, true, texts),
                    inner @ Json::Array(_) if !thinking => self::blocks(inner, texts, true),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

fn tell(raw: &[u8], thinking: bool, texts: &mut Texts) {
    if thinking {
        texts.reasoning |= !raw.is_empty();
        texts.reasoning_text.push_str(&unescape(raw));
    } else {
        texts.answer |= !raw.is_empty();
        texts.answer_text.push_str(&unescape(raw));
    }
}
