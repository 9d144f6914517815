//! The server's own words: an error's message, the models' names. Read once in a while, so by a plain JSON parser.
//!
//! It must not decide whether something failed.

use serde_json::Value;
use std::borrow::Cow;

/// The longest message that is kept, in bytes: a record is a line, not a page.
const LONGEST_MESSAGE: usize = 512;

/// What a body says went wrong: the message of its JSON error, else the body's own first bytes. Event-stream
/// framing around the JSON is ignored, and of a page of HTML only the first words are kept. `None` for an empty body.
#[must_use]
pub fn error_message(body: &[u8]) -> Option<Box<str>> {
    let body = body.trim_ascii();
    let body = body.strip_prefix(b"data:").unwrap_or(body).trim_ascii_start();
    let mut values = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
    if let Some(Ok(value)) = values.next()
        && let Some(message) = message_of(&value)
    {
        return Some(cut(&message));
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * LONGEST_MESSAGE)]);
    if text.starts_with('<') {
        return Some(first_words(&text).into());
    }
    (!text.is_empty()).then(|| cut(&text))
}

/// What a page of HTML begins to say: its words outside tags, at most 100 characters of them.
fn first_words(page: &str) -> String {
    /// As much as fits on a line beside a URL.
    const MOST: usize = 100;
    let mut text = String::new();
    for part in page.split('<') {
        // Up to its end a part is the inside of a tag; the first part, before any tag, is empty.
        if let Some((_, outside)) = part.split_once('>') {
            text.push(' ');
            text.push_str(outside);
        }
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MOST) {
        _ if words.is_empty() => "a page of HTML".into(),
        Some((end, _)) => format!("a page of HTML: {}...", &words[..end]),
        None => format!("a page of HTML: {words}"),
    }
}

/// The names in the reply to `GET /v1/models`; empty when it is none.
#[must_use]
pub fn model_ids(body: &[u8]) -> Vec<String> {
    let Ok(reply) = serde_json::from_slice::<Value>(body) else { return Vec::new() };
    let models = reply.get("data").or_else(|| reply.get("models")).and_then(Value::as_array);
    let name = |model: &Value| {
        ["id", "name", "model"].iter().find_map(|key| model.get(key)?.as_str().map(str::to_owned))
    };
    models.into_iter().flatten().filter_map(name).collect()
}

/// The text of a raw JSON string's inside. What is no character (a lone surrogate, invalid UTF-8) becomes U+FFFD. A text that needs
/// none of this takes no memory: every request has one, why it finished.
#[must_use]
pub fn unescape(raw: &[u8]) -> Cow<'_, str> {
    if !raw.contains(&b'\\') {
        return String::from_utf8_lossy(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.push_str(&String::from_utf8_lossy(&rest[..at]));
        rest = &rest[at + 1..];
        let Some((&kind, after)) = rest.split_first() else { break };
        rest = after;
        match kind {
            b'n' => text.push('\n'),
            b't' => text.push('\t'),
            b'r' => text.push('\r'),
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'u' => text.push(code_point(&mut rest)),
            kind => text.push(char::from(kind)),
        }
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text.into()
}

/// The character of the four hex digits that `rest` begins with, and of a low surrogate's escape after them.
fn code_point(rest: &mut &[u8]) -> char {
    let Some(high) = hex4(rest) else { return char::REPLACEMENT_CHARACTER };
    *rest = &rest[4..];
    if (0xd800..0xdc00).contains(&high)
        && let Some(low) = rest.strip_prefix(b"\\u").and_then(hex4)
        && (0xdc00..0xe000).contains(&low)
    {
        *rest = &rest[6..];
        let both = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn hex4(digits: &[u8]) -> Option<u32> {
    let digits = digits.get(..4)?;
    digits.iter().try_fold(0, |sum, &digit| Some(sum * 16 + char::from(digit).to_digit(16)?))
}

fn message_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => all.first().and_then(message_of),
        Value::Object(fields) => ["error", "message", "detail", "msg", "errors"]
            .iter()
            .find_map(|key| fields.get(*key).filter(|v| !v.is_null()).and_then(message_of)),
        _ => None,
    }
}

/// A message, cut to what is kept.
pub(super) fn cut(text: &str) -> Box<str> {
    let text = text.trim();
    let mut end = text.len().min(LONGEST_MESSAGE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_of_error_is_understood() {
        for (body, message) in [
            (r#"{"error":{"message":"no such model","code":404}}"#, "no such model"),
            (r#"{"error":"CUDA out of memory","error_type":"generation"}"#, "CUDA out of memory"),
            (r#"{"object":"error","message":"too long"}"#, "too long"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, "field required"),
            (r#"[{"error":{"message":"quota"}}]"#, "quota"),
            ("data: {\"error\":{\"message\":\"boom\"}}\n\ndata: [DONE]\n\n", "boom"),
            ("no healthy upstream", "no healthy upstream"),
            (r#"{"error":{"code":3}}"#, r#"{"error":{"code":3}}"#),
        ] {
            assert_eq!(error_message(body.as_bytes()).as_deref(), Some(message), "{body}");
        }
        assert_eq!(error_message(b"  \n"), None);
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let body = "\u{e9}".repeat(2000);
        let message = error_message(body.as_bytes()).unwrap();
        assert!(message.len() <= LONGEST_MESSAGE && message.chars().all(|c| c == '\u{e9}'));
    }

    #[test]
    fn of_a_page_only_the_first_words_are_kept() {
        let page = "<!DOCTYPE HTML>\n<html lang=\"en\"><head><title>Error response</title></head>\n<body><h1>404</h1>";
        assert_eq!(error_message(page.as_bytes()).as_deref(), Some("a page of HTML: Error response 404"));
        assert_eq!(error_message(b"<html><body").as_deref(), Some("a page of HTML"));
        let long = error_message(format!("<p>{}", "\u{e9}".repeat(500)).as_bytes()).unwrap();
        assert_eq!(long.chars().filter(|c| *c == '\u{e9}').count(), 100);
    }

    #[test]
    fn models_are_named_by_id() {
        assert_eq!(model_ids(br#"{"object":"list","data":[{"id":"a"},{"id":"b"}]}"#), ["a", "b"]);
        assert!(model_ids(b"<html>").is_empty());
    }

    #[test]
    fn escapes_resolve_and_what_is_no_character_is_replaced() {
        assert_eq!(unescape(br#"\u4f60\ud83d\ude00\u000a\/\"\\"#), "\u{4f60}\u{1f600}\n/\"\\");
        assert_eq!(unescape(br"a\ud83db"), "a\u{fffd}b");
        assert_eq!(unescape(br"\ud83d\u0041"), "\u{fffd}A");
        assert_eq!(unescape(b"\xf0\x9f"), "\u{fffd}");
        assert_eq!(unescape(br"\u12"), "\u{fffd}12");
    }
}
