//! The TOML form of the options: read with the nearest key named, written in the same order; opens no file.

use super::{Raw, StageOptions, nearest, tree};
use serde_json::Value;
use std::fmt;

/// Why a text is not a config of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Raw {
    /// Reads the TOML form.
    ///
    /// # Errors
    /// Text that is not TOML, a key of the wrong kind, an unknown key: with the line, and the key that may be meant.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| ConfigError(e.to_string()))?;
        let strange = unknown_keys(&table);
        if !strange.is_empty() {
            return Err(ConfigError(strange.join("\n")));
        }
        toml::from_str(text).map_err(|e| ConfigError(e.to_string()))
    }

    /// Writes the TOML form, sections and keys in the order they are declared, options that were not given left out.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (section, options) in super::fields(tree(self)) {
            match options {
                Value::Array(stages) => {
                    stages
                        .into_iter()
                        .for_each(|stage| write_table(&mut text, &format!("[[{section}]]"), stage));
                }
                options => write_table(&mut text, &format!("[{section}]"), options),
            }
        }
        text
    }

    /// Every section and its keys, in the order they are declared.
    #[must_use]
    pub fn keys() -> Vec<(String, Vec<String>)> {
        let stage = serde_json::to_value(StageOptions::default()).expect("options are texts");
        super::fields(tree(&Self::default()))
            .map(|(section, options)| {
                let options = if options.is_array() { stage.clone() } else { options };
                (section, super::fields(options).map(|(key, _)| key).collect())
            })
            .collect()
    }
}

/// One table under its header; nothing when no key of it was given.
fn write_table(text: &mut String, header: &str, options: Value) {
    let given = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    let lines: Vec<String> = super::fields(options)
        .filter(|(_, value)| given(value))
        .map(|(key, value)| {
            let value = toml::Value::try_from(value).expect("texts, numbers, truths and lists are TOML");
            format!("{key} = {value}\n")
        })
        .collect();
    if lines.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("{header}\n{}", lines.concat()));
}

fn unknown_keys(table: &toml::Table) -> Vec<String> {
    let known = Raw::keys();
    let mut strange = Vec::new();
    for (section, value) in table {
        let Some((_, keys)) = known.iter().find(|(name, _)| name == section) else {
            let is_section = match value {
                toml::Value::Table(_) => true,
                toml::Value::Array(entries) => entries.iter().any(toml::Value::is_table),
                _ => false,
            };
            strange.push(if is_section {
                unknown_section(section, &known)
            } else {
                key_outside(section, &known)
            });
            continue;
        };
        let tables = match value {
            toml::Value::Table(table) => vec![table],
            toml::Value::Array(stages) => stages.iter().filter_map(toml::Value::as_table).collect(),
            _ => Vec::new(),
        };
        for key in tables.into_iter().flat_map(toml::Table::keys).filter(|key| !keys.contains(key)) {
            strange.push(unknown_key(section, key, keys, &known));
        }
    }
    strange
}

/// A key before the first section: what it may have been meant for.
fn key_outside(key: &str, known: &[(String, Vec<String>)]) -> String {
    let all = known.iter().flat_map(|(_, keys)| keys).map(String::as_str);
    let near = nearest(key, all);
    let home = near.and_then(|near| known.iter().find(|(_, keys)| keys.iter().any(|key| key == near)));
    match near.zip(home) {
        Some((near, (home, _))) if near == key => {
            format!("the key {key} stands outside of any section: write it under [{home}]")
        }
        Some((near, (home, _))) => {
            format!("unknown key {key}, outside of any section: did you mean {near}, under [{home}]?")
        }
        None => {
            format!("unknown key {key}, outside of any section: every key stands under one, as in [load]")
        }
    }
}

fn unknown_section(section: &str, known: &[(String, Vec<String>)]) -> String {
    if let Some((home, _)) = known.iter().find(|(_, keys)| keys.iter().any(|key| key == section)) {
        return format!("unknown section {section:?}: {section} is a key of [{home}]");
    }
    let names = known.iter().map(|(name, _)| name.as_str());
    match nearest(section, names.clone()) {
        Some(near) => format!("unknown section {section:?}: did you mean [{near}]?"),
        None => {
            format!("unknown section {section:?}: the sections are {}", names.collect::<Vec<_>>().join(", "))
        }
    }
}

fn unknown_key(section: &str, key: &str, keys: &[String], known: &[(String, Vec<String>)]) -> String {
    let elsewhere = known.iter().find(|(_, keys)| keys.iter().any(|k| k == key));
    if let Some((home, _)) = elsewhere {
        return format!("unknown key {section}.{key}: {key} belongs in [{home}]");
    }
    let names = keys.iter().map(String::as_str);
    match nearest(key, names.clone()) {
        Some(near) => format!("unknown key {section}.{key}: did you mean {section}.{near}?"),
        None => {
            format!(
                "unknown key {section}.{key}: the keys of [{section}] are {}",
                names.collect::<Vec<_>>().join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(toml: &str) -> String {
        Raw::from_toml(toml).expect_err(toml).to_string()
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        assert_eq!(refusal("[load]\nrat = 5"), "unknown key load.rat: did you mean load.rate?");
        assert_eq!(
            refusal("[load]\nmax_concurrency = 5"),
            "unknown key load.max_concurrency: did you mean load.max-concurrency?"
        );
        assert_eq!(
            refusal("[[stage]]\nrate_end = 5"),
            "unknown key stage.rate_end: did you mean stage.rate-end?"
        );
    }

    #[test]
    fn a_key_of_another_section_is_sent_there() {
        assert_eq!(
            refusal("[target]\nwarmup = \"5s\""),
            "unknown key target.warmup: warmup belongs in [load]"
        );
        assert_eq!(refusal("rate = 5"), "the key rate stands outside of any section: write it under [load]");
        assert_eq!(
            refusal("rte = 5"),
            "unknown key rte, outside of any section: did you mean rate, under [load]?"
        );
        assert!(refusal("xyzzy = 5").contains("outside of any section"));
        assert_eq!(refusal("[rate]\nx = 5"), "unknown section \"rate\": rate is a key of [load]");
    }

    #[test]
    fn an_unknown_section_names_the_nearest() {
        assert_eq!(refusal("[laod]\nrate = 5"), "unknown section \"laod\": did you mean [load]?");
        assert!(refusal("[xyzzy]\nrate = 5").contains("the sections are target, load, stage"));
    }

    #[test]
    fn all_unknown_keys_are_named_at_once() {
        assert_eq!(refusal("[load]\nrat = 5\nduraton = \"1s\"").lines().count(), 2);
    }

    #[test]
    fn text_that_is_not_toml_is_refused_with_its_line() {
        assert!(refusal("[load]\nrate = = 5").contains("line 2"));
        assert!(refusal("[load]\nrate = [1]").contains("line 2"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = "[target]\nheader = [\"A: 1\"]\nno-probe = true\n[load]\nrate = 2.5\nduration = \"10s\"\n\
                    [[stage]]\nrate = 1\n[[stage]]\nrate = 2\nrate-end = 9\nshape = \"linear\"";
        let raw = Raw::from_toml(text).unwrap();
        assert_eq!(Raw::from_toml(&raw.to_toml()).unwrap(), raw);
        assert!(!raw.to_toml().contains("secret-header"), "options not given are left out");
    }
}
