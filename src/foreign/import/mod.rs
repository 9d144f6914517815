//! Another tool's configuration as one of ours, with a list of what it cannot say.
//!
//! It must not drop an option in silence: each is taken over, said to differ, said to have no equivalent, or said not to be
//! needed.

mod flags;
mod inference_perf;
mod vllm;
mod yaml;

use crate::plan::{Raw, Text, is_secret};
use std::fmt;

pub use inference_perf::inference_perf;
pub use vllm::{is_command, vllm_command};

/// A configuration of ours, made of another's.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Imported {
    /// The options.
    pub raw: Raw,
    /// What was taken over and means something else here.
    pub differs: Vec<String>,
    /// What cannot be said here.
    pub missing: Vec<String>,
    /// What needs no saying here.
    pub unneeded: Vec<String>,
}

/// Why nothing was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportError(String);

impl ImportError {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ImportError {}

impl Imported {
    /// The config file, what is to be known of it as comments at its head.
    #[must_use]
    pub fn text(&self, of: &str) -> String {
        let mut text = comment(&format!("Made from {of} by lowrho import-config."));
        for (heading, list) in [
            ("Taken over, and not quite the same here:", &self.differs),
            ("Without an equivalent, and left out:", &self.missing),
            ("Not needed here:", &self.unneeded),
        ] {
            if !list.is_empty() {
                text.push_str("#\n");
                text.push_str(&comment(heading));
                list.iter().for_each(|one| text.push_str(&comment(&format!("  {one}"))));
            }
        }
        text.push('\n');
        text.push_str(&self.raw.to_toml());
        text
    }

    /// A header, unless its value is a secret: those are not written into files.
    fn header(&mut self, of: &str, name: &str, value: &str) {
        if is_secret(name, &[]) {
            self.missing(format!(
                "{of} {name}: a secret is not written into a file; give it again with --header or --api-key"
            ));
        } else {
            self.raw.target.header.push(Text(format!("{name}: {value}")));
        }
    }

    fn differs(&mut self, what: impl Into<String>) {
        self.differs.push(what.into());
    }

    fn missing(&mut self, what: impl Into<String>) {
        self.missing.push(what.into());
    }

    fn unneeded(&mut self, what: impl Into<String>) {
        self.unneeded.push(what.into());
    }
}

/// One line of comment, whatever is in it.
fn comment(words: &str) -> String {
    let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("# {words}\n")
}

/// A number as an option writes it: `5`, `0.25`.
fn number(value: f64) -> String {
    value.to_string()
}
