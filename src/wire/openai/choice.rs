//! One element of `choices`: what its delta bears.

use super::super::json::{Json, Value};
use super::usage;
use crate::wire::{Listener, TextKind, Usage};

/// One choice of one event. Of a key that is repeated the last value counts; null is none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::wire) struct Choice<'a> {
    /// Its index, 0 where the server leaves it out.
    pub(in crate::wire) index: u16,
    /// Why it finished; empty or absent while it has not.
    pub(in crate::wire) finish_reason: Value<'a>,
    /// Tokens that `token_ids` lists.
    pub(in crate::wire) token_ids: u32,
    /// Tokens that `logprobs` lists.
    pub(in crate::wire) logprobs: u32,
    text: Value<'a>,
    delta: Delta<'a>,
}

/// What a choice's texts come to.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::wire) struct Bearing {
    /// Text of the answer, a refusal, or a tool call with a name or arguments.
    pub(in crate::wire) answer: bool,
    /// Reasoning.
    pub(in crate::wire) reasoning: bool,
    /// A role.
    pub(in crate::wire) role: bool,
    /// A text that is there but empty, and nothing else.
    pub(in crate::wire) empty_text: bool,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Delta<'a> {
    content: Value<'a>,
    reasoning_content: Value<'a>,
    reasoning: Value<'a>,
    refusal: Value<'a>,
    role: bool,
    /// It calls a tool, or a function as before there were tools.
    calls: bool,
}

impl<'a> Choice<'a> {
    /// Reads an object.
    #[inline]
    pub(super) fn read(&mut self, json: Json<'a>, usage: &mut Option<Usage>) -> Option<Json<'a>> {
        json.object(|key, value| match key {
            b"delta" if value.is_object() => {
                self.delta = Delta::default();
                self.delta.read(value)
            }
            b"index" => value.give(|value| self.index = index(value)),
            b"text" => value.give(|value| self.text = value),
            b"finish_reason" => value.give(|value| self.finish_reason = value),
            b"token_ids" if value.is_array() => {
                self.token_ids = elements(value);
                value.skip()
            }
            b"logprobs" if value.is_object() => {
                self.logprobs = logprobs_tokens(value);
                value.skip()
            }
            b"usage" if value.is_object() => usage::read(value, usage.insert(Usage::default())),
            _ => value.skip(),
        })
    }

    /// Whether it finishes here. Some servers write none as an empty text, or as the word null.
    #[inline]
    pub(in crate::wire) fn finishes(&self) -> bool {
        self.finish_reason.is_something() && self.finish_reason.text() != Some(b"null")
    }

    /// What its texts come to.
    #[inline]
    pub(in crate::wire) fn bearing(&self) -> Bearing {
        let Delta { content, reasoning_content, reasoning, refusal, role, calls } = &self.delta;
        let mut bearing = Bearing {
            answer: content.has_text() || self.text.has_text() || refusal.has_text() || *calls,
            reasoning: reasoning_content.has_text() || reasoning.has_text(),
            role: *role,
            empty_text: false,
        };
        if let Some(blocks) = content.as_array() {
            each_block(blocks, |kind, text| match kind {
                TextKind::Reasoning => bearing.reasoning |= !text.is_empty(),
                TextKind::Answer | TextKind::Refusal => bearing.answer |= !text.is_empty(),
            });
        }
        let there = content.is_there()
            || self.text.is_there()
            || reasoning_content.is_there()
            || reasoning.is_there();
        bearing.empty_text = there && !bearing.answer && !bearing.reasoning;
        bearing
    }

    /// Tells its texts. Reasoning under two names is told once.
    pub(in crate::wire) fn tell(&self, listener: &mut impl Listener) {
        let mut tell = |kind, text: &[u8]| {
            if !text.is_empty() {
                listener.text(self.index, kind, text);
            }
        };
        let reasoning = if self.delta.reasoning_content.has_text() {
            self.delta.reasoning_content
        } else {
            self.delta.reasoning
        };
        for (kind, value) in [
            (TextKind::Reasoning, reasoning),
            (TextKind::Answer, self.delta.content),
            (TextKind::Answer, self.text),
            (TextKind::Refusal, self.delta.refusal),
        ] {
            if let Some(text) = value.text() {
                tell(kind, text);
            }
        }
        if let Some(blocks) = self.delta.content.as_array() {
            each_block(blocks, tell);
        }
    }
}

impl<'a> Delta<'a> {
    #[inline]
    fn read(&mut self, json: Json<'a>) -> Option<Json<'a>> {
        json.object(|key, value| match key {
            b"content" => value.give(|value| self.content = value),
            b"role" => value.give(|value| self.role |= value.has_text()),
            b"reasoning_content" => value.give(|value| self.reasoning_content = value),
            b"reasoning" => value.give(|value| self.reasoning = value),
            b"refusal" => value.give(|value| self.refusal = value),
            b"tool_calls" if value.is_array() => {
                self.calls |= any_call(value);
                value.skip()
            }
            b"function_call" if value.is_object() => {
                self.calls |= calls_something(value);
                value.skip()
            }
            _ => value.skip(),
        })
    }
}

fn index(value: Value<'_>) -> u16 {
    value.count().map_or(0, |index| u16::try_from(index).unwrap_or(u16::MAX))
}

// What is malformed inside an array or object was skipped by its brackets, and counts as far as it goes.

fn elements(array: Json<'_>) -> u32 {
    let mut count = 0;
    let _ = array.array(|element| {
        let rest = element.skip()?;
        count += 1;
        Some(rest)
    });
    count
}

/// Chat lists them under `content` (and `refusal`), completions under `tokens`.
fn logprobs_tokens(logprobs: Json<'_>) -> u32 {
    let mut count = 0;
    let _ = logprobs.object(|key, value| {
        let (value, rest) = value.value()?;
        if let (b"content" | b"refusal" | b"tokens", Some(tokens)) = (key, value.as_array()) {
            count += elements(tokens);
        }
        Some(rest)
    });
    count
}

/// The texts of typed blocks: `{"type":"text","text":...}`, `{"type":"thinking","thinking":...}`, or plain strings.
#[cold]
fn each_block(blocks: Json<'_>, mut tell: impl FnMut(TextKind, &[u8])) {
    walk_blocks(blocks, TextKind::Answer, &mut tell);
}

fn walk_blocks(blocks: Json<'_>, outer: TextKind, tell: &mut impl FnMut(TextKind, &[u8])) {
    let _ = blocks.array(|value| {
        let (value, rest) = value.value()?;
        if let Some(text) = value.text() {
            tell(outer, text);
        } else if let Some(block) = value.as_object() {
            walk_block(block, outer, tell);
        }
        Some(rest)
    });
}

fn walk_block(block: Json<'_>, outer: TextKind, tell: &mut impl FnMut(TextKind, &[u8])) {
    let (mut text, mut thinking, mut kind) = (Value::default(), Value::default(), outer);
    let _ = block.object(|key, value| {
        let (value, rest) = value.value()?;
        match key {
            b"text" | b"refusal" => text = value,
            b"thinking" | b"reasoning" => thinking = value,
            b"type" if matches!(value.text(), Some(b"thinking" | b"reasoning")) => kind = TextKind::Reasoning,
            b"type" if value.text() == Some(b"refusal") => kind = TextKind::Refusal,
            _ => {}
        }
        Some(rest)
    });
    if let Some(text) = text.text() {
        tell(kind, text);
    }
    if let Some(text) = thinking.text() {
        tell(TextKind::Reasoning, text);
    } else if let Some(blocks) = thinking.as_array()
        // One level only: no server nests thinking in thinking.
        && outer != TextKind::Reasoning
    {
        walk_blocks(blocks, TextKind::Reasoning, tell);
    }
}

#[cold]
fn any_call(calls: Json<'_>) -> bool {
    let mut any = false;
    let _ = calls.array(|value| {
        let (value, rest) = value.value()?;
        if let Some(call) = value.as_object() {
            let _ = call.object(|key, value| {
                let (value, rest) = value.value()?;
                if let (b"function" | b"custom", Some(function)) = (key, value.as_object()) {
                    any |= calls_something(function);
                }
                Some(rest)
            });
        }
        Some(rest)
    });
    any
}

/// Whether a function has a name or arguments (a custom tool: input).
#[cold]
fn calls_something(function: Json<'_>) -> bool {
    let mut something = false;
    let _ = function.object(|key, value| {
        let (value, rest) = value.value()?;
        if matches!(key, b"name" | b"arguments" | b"input") {
            something |= value.has_text() || (value.as_object().is_some() && value.is_something());
        }
        Some(rest)
    });
    something
}
