//! The options of what is sent, each declared once: flag, key and help; decides nothing.

use super::Text;
use clap::Args;
use serde::{Deserialize, Serialize};

/// What is sent. Section `[payload]`.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Payload")]
pub struct PayloadOptions {
    /// Tokens of a synthetic prompt: N, uniform:a:b, normal:mean:sd, lognormal:mean:sd, exp:mean
    #[arg(long, value_name = "TOKENS")]
    pub input_tokens: Option<Text>,
    /// Tokens before each synthetic prompt that are the same in all of them, as of one system prompt [default: 0]
    #[arg(long, value_name = "N")]
    pub prefix_tokens: Option<Text>,
    /// Tokens asked of an answer: N, uniform:a:b, normal:mean:sd, lognormal:mean:sd, exp:mean
    #[arg(long, value_name = "TOKENS")]
    pub output_tokens: Option<Text>,
    /// Prompts from a file instead: a line is {"prompt" or "messages", "output_tokens"?}
    #[arg(long, value_name = "FILE.jsonl")]
    pub prompts: Option<Text>,
    /// How prompts are written: text, or ids (exact lengths; completions only)
    #[arg(long, value_name = "FORM")]
    pub prompt_as: Option<Text>,
    /// Token ids of --prompt-as ids stay below this number
    #[arg(long, value_name = "N")]
    pub vocab_size: Option<Text>,
    /// Answers asked per request (n)
    #[arg(long, value_name = "N")]
    pub choices: Option<Text>,
    /// Do not send ignore_eos: answers may be shorter than asked
    #[arg(long, value_name = "BOOL")]
    pub no_ignore_eos: Option<bool>,
    /// Do not ask for usage in the stream: tokens are then estimated from events
    #[arg(long, value_name = "BOOL")]
    pub no_include_usage: Option<bool>,
    /// Do not send x-request-id: RUN-INDEX
    #[arg(long, value_name = "BOOL")]
    pub no_request_id: Option<bool>,
}
