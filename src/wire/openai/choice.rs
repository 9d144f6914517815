//! One element of `choices`: what its delta bears.

use super::super::json::{Cursor, Value};
use crate::wire::{Listener, TextKind, Usage};

/// One choice of one event. Of a key that is repeated the last non-null value counts.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::wire) struct Choice<'a> {
    /// Its index, 0 where the server leaves it out.
    pub(in crate::wire) index: u16,
    /// Why it finished; null, empty or absent while it has not.
    pub(in crate::wire) finish_reason: Value<'a>,
    /// Tokens that `token_ids` lists.
    pub(in crate::wire) token_ids: u32,
    /// Tokens that `logprobs` lists.
    pub(in crate::wire) logprobs: u32,
    /// Some servers put the usage here.
    pub(in crate::wire) usage: Option<Usage>,
    delta: Delta<'a>,
    text: Value<'a>,
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

#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
struct Delta<'a> {
    role: bool,
    content: Value<'a>,
    reasoning_content: Value<'a>,
    reasoning: Value<'a>,
    refusal: Value<'a>,
    tool_calls: Value<'a>,
    function_call: Value<'a>,
}

impl<'a> Choice<'a> {
    /// Reads one element; `None` inside where it is no object.
    #[inline]
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Option<Option<Self>> {
        if cursor.peek()? != b'{' {
            cursor.value()?;
            return Some(None);
        }
        let mut choice = Self::default();
        cursor.object(|key, cursor| {
            match key {
                b"index" => choice.index = index(cursor.value()?),
                b"delta" if cursor.peek()? == b'{' => choice.delta = Delta::read(cursor)?,
                b"text" => choice.text.update(cursor.value()?),
                b"finish_reason" => choice.finish_reason.update(cursor.value()?),
                b"token_ids" => {
                    if let Value::Array(ids) = cursor.value()? {
                        choice.token_ids = elements(ids);
                    }
                }
                b"logprobs" => {
                    if let Value::Object(logprobs) = cursor.value()? {
                        choice.logprobs = logprobs_tokens(logprobs);
                    }
                }
                b"usage" if cursor.peek()? == b'{' => choice.usage = Some(super::usage::read(cursor)?),
                _ => {
                    cursor.value()?;
                }
            }
            Some(())
        })?;
        Some(Some(choice))
    }

    /// What its texts come to.
    #[inline]
    pub(in crate::wire) fn bearing(&self) -> Bearing {
        let Delta { role, content, reasoning_content, reasoning, refusal, tool_calls, function_call } =
            self.delta;
        let mut bearing = Bearing {
            answer: content.has_text() || self.text.has_text() || refusal.has_text(),
            reasoning: reasoning_content.has_text() || reasoning.has_text(),
            role,
            empty_text: false,
        };
        if let Value::Array(blocks) = content {
            each_block(blocks, |kind, text| match kind {
                TextKind::Reasoning => bearing.reasoning |= !text.is_empty(),
                TextKind::Answer | TextKind::Refusal => bearing.answer |= !text.is_empty(),
            });
        }
        if let Value::Array(calls) = tool_calls {
            bearing.answer |= any_call(calls);
        }
        if let Value::Object(call) = function_call {
            bearing.answer |= calls_something(call);
        }
        let there = [content, self.text, reasoning_content, reasoning];
        bearing.empty_text = !bearing.answer && !bearing.reasoning && there.iter().any(|v| *v != Value::Null);
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
            match value {
                Value::Text(text) => tell(kind, text),
                Value::Array(blocks) => each_block(blocks, &mut tell),
                _ => {}
            }
        }
    }
}

impl<'a> Delta<'a> {
    #[inline]
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut delta = Self::default();
        cursor.object(|key, cursor| {
            match key {
                b"content" => delta.content.update(cursor.value()?),
                b"role" => delta.role |= cursor.value()?.has_text(),
                b"reasoning_content" => delta.reasoning_content.update(cursor.value()?),
                b"reasoning" => delta.reasoning.update(cursor.value()?),
                b"refusal" => delta.refusal.update(cursor.value()?),
                b"tool_calls" => delta.tool_calls.update(cursor.value()?),
                b"function_call" => delta.function_call.update(cursor.value()?),
                _ => {
                    cursor.value()?;
                }
            }
            Some(())
        })?;
        Some(delta)
    }
}

fn index(value: Value<'_>) -> u16 {
    value.count().map_or(0, |index| u16::try_from(index).unwrap_or(u16::MAX))
}

/// How many elements an array has. What is malformed inside it was skipped, and counts as far as it goes.
fn elements(array: &[u8]) -> u32 {
    let mut count = 0;
    let _ = Cursor::new(array).array(|cursor| {
        cursor.value()?;
        count += 1;
        Some(())
    });
    count
}

/// Chat lists them under `content` (and `refusal`), completions under `tokens`.
fn logprobs_tokens(logprobs: &[u8]) -> u32 {
    let mut count = 0;
    let _ = Cursor::new(logprobs).object(|key, cursor| {
        let value = cursor.value()?;
        if let (b"content" | b"refusal" | b"tokens", Value::Array(tokens)) = (key, value) {
            count += elements(tokens);
        }
        Some(())
    });
    count
}

/// The texts of typed blocks: `{"type":"text","text":...}`, `{"type":"thinking","thinking":...}`, or plain strings.
fn each_block(blocks: &[u8], mut tell: impl FnMut(TextKind, &[u8])) {
    walk_blocks(blocks, TextKind::Answer, &mut tell);
}

fn walk_blocks(blocks: &[u8], outer: TextKind, tell: &mut impl FnMut(TextKind, &[u8])) {
    let _ = Cursor::new(blocks).array(|cursor| {
        match cursor.value()? {
            Value::Text(text) => tell(outer, text),
            Value::Object(block) => walk_block(block, outer, tell),
            _ => {}
        }
        Some(())
    });
}

fn walk_block(block: &[u8], outer: TextKind, tell: &mut impl FnMut(TextKind, &[u8])) {
    let (mut text, mut thinking, mut kind) = (Value::Null, Value::Null, outer);
    let _ = Cursor::new(block).object(|key, cursor| {
        let value = cursor.value()?;
        match key {
            b"text" => text.update(value),
            b"thinking" | b"reasoning" => thinking.update(value),
            b"type" if matches!(value, Value::Text(b"thinking" | b"reasoning")) => kind = TextKind::Reasoning,
            b"type" if value == Value::Text(b"refusal") => kind = TextKind::Refusal,
            b"refusal" => text.update(value),
            _ => {}
        }
        Some(())
    });
    if let Value::Text(text) = text {
        tell(kind, text);
    }
    match thinking {
        Value::Text(text) => tell(TextKind::Reasoning, text),
        // One level only: no server nests thinking in thinking.
        Value::Array(blocks) if outer != TextKind::Reasoning => {
            walk_blocks(blocks, TextKind::Reasoning, tell)
        }
        _ => {}
    }
}

fn any_call(calls: &[u8]) -> bool {
    let mut any = false;
    let _ = Cursor::new(calls).array(|cursor| {
        if let Value::Object(call) = cursor.value()? {
            let _ = Cursor::new(call).object(|key, cursor| {
                let value = cursor.value()?;
                if let (b"function" | b"custom", Value::Object(function)) = (key, value) {
                    any |= calls_something(function);
                }
                Some(())
            });
        }
        Some(())
    });
    any
}

/// Whether a function has a name or arguments (a custom tool: input).
fn calls_something(function: &[u8]) -> bool {
    let mut something = false;
    let _ = Cursor::new(function).object(|key, cursor| {
        let value = cursor.value()?;
        if matches!(key, b"name" | b"arguments" | b"input") {
            something |= value.has_text() || matches!(value, Value::Object(_)) && value.is_something();
        }
        Some(())
    });
    something
}
