//! What is sent: request `index` to the bytes of one HTTP request, the same for the same seed wherever it is made.
//!
//! No tokenizer: lengths in tokens are exact for token ids, and estimates, called so, for text.

mod corpus;
mod error;
mod merge;
mod prompts;
mod request;
mod route;
mod synthetic;
mod template;
mod tokens;
mod vocabulary;
#[expect(clippy::module_inception, reason = "the room is named for its main idea")]
mod workload;

pub use error::WorkloadError;
pub use merge::merge;
pub use prompts::Prompts;
pub use request::{Piece, Request};
pub use route::Route;
pub use tokens::{InputTokens, LONGEST_INPUT, LONGEST_OUTPUT, TokenFit};
pub use vocabulary::{LEAST_IDS, MOST_IDS, PromptForm, ids_below};
pub use workload::{Source, Workload, WorkloadSpec};

#[cfg(test)]
mod tests;
