//! What was asked, before it is understood: every option optional, from flags or from TOML, one laid over the other.
//! Gives no option a meaning.

mod baseline;
mod client;
mod floor;
mod load;
mod nearest;
mod one_or_many;
mod output;
mod payload;
mod sim;
mod sweep;
mod target;
mod text;
mod toml_form;
mod yielding;

pub use baseline::BaselineOptions;
pub use client::ClientOptions;
pub use floor::FloorOptions;
pub use load::{LoadOptions, StageOptions};
pub use nearest::nearest;
pub use output::{OutputOptions, VerdictOptions};
pub use payload::PayloadOptions;
pub use sim::SimOptions;
pub use sweep::SweepOptions;
pub use target::TargetOptions;
pub use text::Text;
pub use toml_form::ConfigError;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Every option of a run. A key of the TOML form is its flag without the dashes in front, in the section of its kind;
/// the flags of `[sim]` start with `--sim-`.
#[derive(Args, Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Raw {
    /// Who is driven.
    #[command(flatten)]
    pub target: TargetOptions,
    /// How much and when.
    #[command(flatten)]
    pub load: LoadOptions,
    /// Stages, in the file only.
    #[arg(skip)]
    pub stage: Vec<StageOptions>,
    /// What a sweep looks for: flags of `lowrho sweep` alone.
    #[arg(skip)]
    pub sweep: SweepOptions,
    /// What is sent.
    #[command(flatten)]
    pub payload: PayloadOptions,
    /// Our own side.
    #[command(flatten)]
    pub client: ClientOptions,
    /// What is written.
    #[command(flatten)]
    pub output: OutputOptions,
    /// What decides the exit status.
    #[command(flatten)]
    pub verdict: VerdictOptions,
    /// The embedded simulator.
    #[command(flatten)]
    pub sim: SimOptions,
}

impl Raw {
    /// Every default of a run.
    #[must_use]
    pub fn defaults() -> Self {
        Self::from_toml(include_str!("defaults.toml")).expect("the defaults are keys of a run")
    }

    /// Every default as (flag, text).
    #[must_use]
    pub fn default_flags() -> Vec<(String, String)> {
        let mut flags = Vec::new();
        for (section, options) in fields(tree(&Self::defaults())) {
            let prefix = if section == "sim" { "--sim-" } else { "--" };
            let Value::Object(options) = options else { continue };
            for (key, value) in options {
                match value {
                    Value::String(text) => flags.push((format!("{prefix}{key}"), text)),
                    Value::Number(number) => flags.push((format!("{prefix}{key}"), number.to_string())),
                    _ => {}
                }
            }
        }
        flags
    }

    /// Every option that was given, as (section, key).
    #[must_use]
    pub fn given(&self) -> Vec<(String, String)> {
        let mut given = Vec::new();
        for (section, options) in fields(tree(self)) {
            match options {
                Value::Object(options) => {
                    let filled = |value: &Value| {
                        !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
                    };
                    let keys = options.into_iter().filter(|(_, value)| filled(value));
                    given.extend(keys.map(|(key, _)| (section.clone(), key)));
                }
                Value::Array(stages) if !stages.is_empty() => given.push((section, String::new())),
                _ => {}
            }
        }
        given
    }

    /// These options where given, those of `under` elsewhere. Of a list, the entries of `under` come first and the
    /// later of two with one name wins where the list is read; stages are taken whole. What the choices of these
    /// options exclude gives way.
    #[must_use]
    pub fn over(mut self, mut under: Self) -> Self {
        under.yield_to(&self);
        self.stage.splice(0..0, std::mem::take(&mut under.stage));
        let mut merged = tree(&under);
        for (section, options) in fields(tree(&self)) {
            match options {
                Value::Object(options) => {
                    for (key, value) in options {
                        let below = &mut merged[&section][&key];
                        match (value, below) {
                            (Value::Null, _) => {}
                            (Value::Array(mine), Value::Array(below)) => below.extend(mine),
                            (value, below) => *below = value,
                        }
                    }
                }
                stages => merged[&section] = stages,
            }
        }
        serde_json::from_value(merged).expect("two sets of options make a third")
    }
}

/// The options as a tree, `null` where not given: what is done alike to all of them is done here.
fn tree(raw: &Raw) -> Value {
    serde_json::to_value(raw).expect("options are texts, truths and lists")
}

fn fields(tree: Value) -> impl Iterator<Item = (String, Value)> {
    match tree {
        Value::Object(fields) => fields.into_iter(),
        other => unreachable!("options are a table, not {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(toml: &str) -> Raw {
        Raw::from_toml(toml).unwrap()
    }

    #[test]
    fn what_is_laid_over_wins_and_the_rest_shows_through() {
        let flags = raw("[load]\nrate = 5\n[target]\nheader = [\"A: 1\"]");
        let file = raw("[load]\nrate = 7\nseed = 3\n[target]\nheader = [\"B: 2\"]\nno-probe = true");
        let both = flags.over(file);
        assert_eq!(both.load.rate, Some("5".into()));
        assert_eq!(both.load.seed, Some("3".into()));
        assert_eq!(both.target.no_probe, Some(true));
        assert_eq!(both.target.header, ["B: 2".into(), "A: 1".into()]);
    }

    #[test]
    fn stages_are_taken_whole() {
        let one = raw("[[stage]]\nrate = 1");
        let two = raw("[[stage]]\nrate = 2\n[[stage]]\nrate = 3");
        assert_eq!(one.clone().over(two.clone()).stage, one.stage);
        assert_eq!(Raw::default().over(two.clone()).stage, two.stage);
    }

    #[test]
    fn nothing_over_something_is_something() {
        assert_eq!(Raw::default().over(Raw::defaults()), Raw::defaults());
        assert_eq!(Raw::defaults().over(Raw::default()), Raw::defaults());
    }
}
