//! The options of what is sent to the payload; writes no body and opens no file.

use super::raw::Raw;
use super::reading::{Given, Reading, option};
use crate::random::{Counts, Law};
use crate::workload::{LEAST_IDS, LONGEST_INPUT, LONGEST_OUTPUT, MOST_IDS};

/// What is sent.
#[derive(Clone, PartialEq, Debug)]
pub struct Payload {
    /// Where prompts come from.
    pub prompts: Prompts,
    /// Tokens before each made-up prompt that all of them share.
    pub prefix_tokens: u32,
    /// Lengths asked of the answers, in tokens.
    pub output_tokens: Counts,
    /// How a prompt is written.
    pub prompt_as: PromptAs,
    /// Answers asked per request (`n`).
    pub choices: u32,
    /// Whether `ignore_eos` is sent.
    pub ignore_eos: bool,
    /// Whether `stream_options.include_usage` is sent.
    pub include_usage: bool,
    /// Whether every request carries `x-request-id: <run>-<index>`.
    pub request_id: bool,
}

/// Where prompts come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Prompts {
    /// Made up, of these lengths in tokens.
    Synthetic(Counts),
    /// Lines of this file, one JSON object each.
    File(String),
}

/// How a prompt is written in the body.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum PromptAs {
    /// As text.
    Text,
    /// As an array of token ids below this number (completions only).
    Ids(u32),
}

const FORMS: [(&str, bool); 2] = [("text", false), ("ids", true)];

/// Reads section `[payload]`.
pub(super) fn read(r: &mut Reading, raw: &Raw) -> Payload {
    let (input, file) = (option!(raw.payload.input_tokens), option!(raw.payload.prompts));
    if input.value.is_some() && file.value.is_some() {
        r.refuse(
            input,
            "--input-tokens or --prompts",
            "a file's prompts have their own lengths: leave one out",
        );
    }
    let prefix = option!(raw.payload.prefix_tokens);
    if prefix.value.is_some() && file.value.is_some() {
        r.refuse(prefix, "none with --prompts", "prompts of a file are sent as they are: leave one out");
    }
    let prompts = match r.text(file, "the name of a file") {
        Some(file) => Prompts::File(file),
        None => Prompts::Synthetic(counts(r, input, LONGEST_INPUT)),
    };
    let ids = r.word(option!(raw.payload.prompt_as), &FORMS).unwrap_or(false);
    let vocab_size = option!(raw.payload.vocab_size);
    if ids {
        let given = option!(raw.payload.prompt_as);
        if raw.target.api.as_ref().is_none_or(|api| api.as_str() != "completions") {
            r.refuse(
                given,
                "text for --api chat",
                "token ids go to the completions API: add --api completions",
            );
        }
        if file.value.is_some() {
            r.refuse(given, "text for --prompts", "prompts of a file are sent as they are: leave one out");
        }
    }
    let prompt_as = if ids {
        PromptAs::Ids(r.count(vocab_size, LEAST_IDS..=MOST_IDS).unwrap_or(LEAST_IDS))
    } else {
        if vocab_size.value.is_some() {
            r.refuse(vocab_size, "with --prompt-as ids only", "add --prompt-as ids, or leave it out");
        }
        PromptAs::Text
    };
    Payload {
        prompts,
        prefix_tokens: r.count(prefix, 0..=LONGEST_INPUT).unwrap_or(0),
        output_tokens: counts(r, option!(raw.payload.output_tokens), LONGEST_OUTPUT),
        prompt_as,
        choices: r.count(option!(raw.payload.choices), 1..=128).unwrap_or(1),
        ignore_eos: raw.payload.no_ignore_eos != Some(true),
        include_usage: raw.payload.no_include_usage != Some(true),
        request_id: raw.payload.no_request_id != Some(true),
    }
}

/// A distribution of lengths, of which a request may draw at most `longest`.
fn counts(r: &mut Reading, given: Given<'_>, longest: u32) -> Counts {
    let counts = r.parsed(given, "", str::parse::<Counts>).unwrap_or(Counts::constant(1));
    let most = match counts.law() {
        Law::Uniform(_, most) => most,
        law => law.mean(),
    };
    if most > f64::from(longest) {
        r.refuse(given, format!("at most {longest} tokens"), "");
    }
    counts
}
