//! A commented config file to start from; overwrites nothing.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

/// Every key with its meaning: runs as it stands.
pub(super) const EXAMPLE: &str = include_str!("example.toml");

/// Writes the example to a new file, or to stdout.
pub(super) fn write(file: Option<&PathBuf>) -> io::Result<()> {
    let Some(path) = file else { return io::stdout().lock().write_all(EXAMPLE.as_bytes()) };
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(named)?;
    file.write_all(EXAMPLE.as_bytes()).map_err(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Raw;

    /// The example with every commented key taken in. Words of comments never look like `# key = value`.
    fn uncommented() -> String {
        let key = |line: &str| {
            let bare = line.strip_prefix("# ")?;
            let (name, _) = bare.split_once(" = ")?;
            let is_key = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            is_key.then(|| bare.to_owned())
        };
        let section =
            |line: &str| line.strip_prefix("# ").filter(|bare| bare.starts_with("[[")).map(str::to_owned);
        EXAMPLE
            .lines()
            .map(|line| key(line).or_else(|| section(line)).unwrap_or_else(|| line.to_owned()) + "\n")
            .collect()
    }

    #[test]
    fn the_example_is_a_config() {
        let raw = Raw::from_toml(EXAMPLE).unwrap();
        assert!(!raw.target.url.is_empty() && raw.load.rate.is_some());
    }

    #[test]
    fn every_key_is_in_the_example_in_its_section() {
        let table: toml::Table = uncommented().parse().unwrap();
        for (section, keys) in Raw::keys() {
            let there = match &table[&section] {
                toml::Value::Array(stages) => stages.iter().filter_map(toml::Value::as_table).collect(),
                section => vec![section.as_table().unwrap()],
            };
            for key in keys {
                assert!(there.iter().any(|table| table.contains_key(&key)), "{section}.{key}");
            }
        }
        Raw::from_toml(&uncommented()).unwrap();
    }

    #[test]
    fn the_example_shows_the_defaults_as_they_are() {
        let text = uncommented();
        let table: toml::Table = text.parse().unwrap();
        let defaults: toml::Table = Raw::defaults().to_toml().parse().unwrap();
        for (section, keys) in &defaults {
            for (key, default) in keys.as_table().unwrap() {
                assert_eq!(&table[section][key], default, "{section}.{key}");
            }
        }
    }
}
