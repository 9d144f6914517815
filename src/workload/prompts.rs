//! A file of prompts: one JSON object a line, `{"prompt": ...}` or `{"messages": [...]}`, and `"output_tokens"` and
//! `"session"` if wanted.
//! It must not open the file: the text is handed in.

use super::tokens::{LONGEST_OUTPUT, of_characters};
use super::{InputTokens, WorkloadError};
use crate::random::{Purpose, Stream};
use crate::wire::Api;
use serde_json::Value;
use std::ops::Range;

/// Prompts in the order of their file.
#[derive(Clone, PartialEq, Debug)]
pub struct Prompts(Vec<Line>);

#[derive(Clone, PartialEq, Debug)]
struct Line {
    number: usize,
    /// The value of `prompt` or of `messages`.
    asked: Value,
    output_tokens: Option<u32>,
    session: Option<String>,
}

/// One prompt as it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Where its JSON lies in the shared bytes.
    pub(super) json: Range<u32>,
    pub(super) output_tokens: Option<u32>,
    pub(super) input: InputTokens,
    /// What a sticky route goes by: that of its session, else of its own.
    pub(super) key: u64,
}

impl Prompts {
    /// Reads the text of a file. Blank lines and keys of other names are passed over.
    ///
    /// # Errors
    /// The first line that is no prompt: its number, what is wrong with it, and what a line looks like.
    pub fn parse(text: &str) -> Result<Self, WorkloadError> {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let read = lines.map(|(line, number)| {
            read(line, number).map_err(|why| {
                WorkloadError::new(format!(
                    "line {number}: {why}; a line is {{\"prompt\": \"...\"}} or {{\"messages\": [...]}}, \
                     with \"output_tokens\": N and \"session\": NAME if wanted"
                ))
            })
        });
        let lines: Vec<Line> = read.collect::<Result<_, _>>()?;
        if lines.is_empty() {
            return Err(WorkloadError::new("there is no prompt in it: write one JSON object a line"));
        }
        Ok(Self(lines))
    }

    /// How many there are; request `index` sends number `index % len`.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes every prompt as the value that the API wants, one after another.
    pub(super) fn write(&self, api: Api) -> Result<(Vec<u8>, Vec<Entry>), WorkloadError> {
        let mut bytes = Vec::new();
        let place = |bytes: &[u8]| {
            u32::try_from(bytes.len())
                .map_err(|_| WorkloadError::new("the prompts take over 4 GiB: use fewer"))
        };
        let mut entries = Vec::with_capacity(self.0.len());
        for (line, nth) in self.0.iter().zip(0..) {
            let begin = place(&bytes)?;
            let json = match (api, &line.asked) {
                (Api::Chat, Value::String(text)) => {
                    serde_json::json!([{"role": "user", "content": text}]).to_string()
                }
                (Api::Chat, messages) => messages.to_string(),
                (Api::Completions, text @ Value::String(_)) => text.to_string(),
                (Api::Completions, _) => {
                    return Err(WorkloadError::new(format!(
                        "line {}: has messages, but --api completions sends a prompt; use --api chat",
                        line.number
                    )));
                }
            };
            bytes.extend_from_slice(json.as_bytes());
            let count = of_characters(characters(&line.asked));
            entries.push(Entry {
                json: begin..place(&bytes)?,
                output_tokens: line.output_tokens,
                input: InputTokens { count, exact: false },
                key: line
                    .session
                    .as_ref()
                    .map_or(nth, |session| Stream::key(0, Purpose::named(session), u64::MAX)),
            });
        }
        Ok((bytes, entries))
    }
}

fn read(line: &str, number: usize) -> Result<Line, String> {
    let value: Value = serde_json::from_str(line).map_err(|why| format!("is not JSON ({why})"))?;
    let Value::Object(mut object) = value else { return Err("is not a JSON object".into()) };
    let asked = match (object.remove("prompt"), object.remove("messages")) {
        (Some(prompt @ Value::String(_)), None) => prompt,
        (Some(_), None) => return Err("\"prompt\" is not a text".into()),
        (None, Some(messages)) => {
            let well = messages.as_array().is_some_and(|all| {
                !all.is_empty() && all.iter().all(|one| one.get("role").is_some_and(Value::is_string))
            });
            if !well {
                return Err("\"messages\" is not a list of objects with a \"role\"".into());
            }
            messages
        }
        (Some(_), Some(_)) => return Err("has both \"prompt\" and \"messages\"".into()),
        (None, None) => return Err("has neither \"prompt\" nor \"messages\"".into()),
    };
    let output_tokens = match object.remove("output_tokens") {
        None | Some(Value::Null) => None,
        Some(count) => {
            let count = count.as_u64().and_then(|n| u32::try_from(n).ok());
            let count = count.filter(|n| (1..=LONGEST_OUTPUT).contains(n));
            Some(count.ok_or_else(|| format!("\"output_tokens\" is not a number of 1 to {LONGEST_OUTPUT}"))?)
        }
    };
    let session = match object.remove("session") {
        None | Some(Value::Null) => None,
        Some(Value::String(session)) => Some(session),
        Some(Value::Number(session)) => Some(session.to_string()),
        Some(_) => return Err("\"session\" is neither a text nor a number".into()),
    };
    Ok(Line { number, asked, output_tokens, session })
}

/// Characters of all text in a prompt, roles and other short words aside.
fn characters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(all) => all.iter().map(characters).sum(),
        Value::Object(object) => object
            .iter()
            .filter(|(key, _)| matches!(key.as_str(), "content" | "text"))
            .map(|(_, v)| characters(v))
            .sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_are_read_and_written_for_the_api() {
        let text = "{\"prompt\": \"a \\\"b\\\"\", \"output_tokens\": 7, \"id\": 1}\n\n\
                    {\"messages\": [{\"role\": \"system\", \"content\": \"be brief\"}]}\n";
        let prompts = Prompts::parse(text).unwrap();
        let (bytes, entries) = prompts.write(Api::Chat).unwrap();
        let json = |n: usize| {
            std::str::from_utf8(&bytes[entries[n].json.start as usize..entries[n].json.end as usize]).unwrap()
        };
        assert_eq!(json(0), r#"[{"role":"user","content":"a \"b\""}]"#);
        assert_eq!(json(1), r#"[{"role":"system","content":"be brief"}]"#);
        assert_eq!((entries[0].output_tokens, entries[1].output_tokens), (Some(7), None));
        assert_eq!(entries[1].input, InputTokens { count: 2, exact: false });
        let error = prompts.write(Api::Completions).unwrap_err().to_string();
        assert!(error.starts_with("line 3: has messages"), "{error}");
    }

    #[test]
    fn a_bad_line_is_named_with_what_is_wrong() {
        for (line, words) in [
            ("{\"prompt\": ", "is not JSON"),
            ("[1]", "is not a JSON object"),
            ("{}", "has neither"),
            ("{\"prompt\": 5}", "\"prompt\" is not a text"),
            ("{\"prompt\": \"a\", \"messages\": []}", "has both"),
            ("{\"messages\": []}", "is not a list of objects"),
            ("{\"messages\": [{\"content\": \"x\"}]}", "with a \"role\""),
            ("{\"prompt\": \"a\", \"output_tokens\": 0}", "1 to 10000000"),
            ("{\"prompt\": \"a\", \"output_tokens\": 1.5}", "\"output_tokens\" is not a number"),
            ("{\"prompt\": \"a\", \"session\": []}", "\"session\" is neither"),
        ] {
            let error =
                Prompts::parse(&format!("{{\"prompt\":\"ok\"}}\n\n{line}\n")).unwrap_err().to_string();
            assert!(error.starts_with("line 3: ") && error.contains(words), "{error}");
        }
        assert!(Prompts::parse(" \n\n").unwrap_err().to_string().contains("no prompt"));
    }

    #[test]
    fn lines_of_one_session_have_one_key_and_others_have_their_own() {
        let text = r#"{"prompt": "a", "session": "x"}
            {"prompt": "b"}
            {"prompt": "c", "session": "x"}
            {"prompt": "d", "session": 7}"#;
        let (_, entries) = Prompts::parse(text).unwrap().write(Api::Completions).unwrap();
        let keys: Vec<u64> = entries.iter().map(|entry| entry.key).collect();
        assert_eq!((keys[0], keys[1]), (keys[2], 1));
        assert!(keys[3] != keys[0] && keys[3] != keys[1]);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,40}|(\\{\"(prompt|messages)\": ?[\\[\"{].{0,20}\n?){1,3}") {
            let _ = Prompts::parse(&text);
        }

        #[test]
        fn any_text_survives_the_way_into_a_body(text: String) {
            let line = serde_json::json!({"prompt": text}).to_string();
            let (bytes, _) = Prompts::parse(&line).unwrap().write(Api::Completions).unwrap();
            prop_assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), text);
        }
    }
}
