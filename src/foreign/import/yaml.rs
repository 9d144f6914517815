//! YAML to a JSON value, by saphyr (YAML 1.2, kept up, bounds what aliases expand to).
//!
//! It must not be led into a stack's end: what nests too deep is refused before a tree is built.

use super::ImportError;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Number, Value};

/// Levels of nesting: a configuration has five.
const DEEPEST: usize = 32;

/// Bytes of a configuration.
const LONGEST: usize = 1 << 20;

/// The one document of a text.
pub(super) fn value(text: &str) -> Result<Value, ImportError> {
    if text.len() > LONGEST {
        return Err(ImportError::new(format!("it has {} bytes; read are up to {LONGEST}", text.len())));
    }
    let mut depth = 0_usize;
    for event in Parser::new_from_str(text) {
        match event.map_err(|error| ImportError::new(format!("no YAML: {error}")))?.0 {
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(ImportError::new(format!("it nests deeper than {DEEPEST} levels")));
        }
    }
    let documents =
        Yaml::load_from_str(text).map_err(|error| ImportError::new(format!("no YAML: {error}")))?;
    match documents.as_slice() {
        [one] => json(one, 0),
        [] => Err(ImportError::new("it is empty")),
        several => Err(ImportError::new(format!("it holds {} documents, not one", several.len()))),
    }
}

fn json(node: &Yaml<'_>, depth: usize) -> Result<Value, ImportError> {
    // Aliases can nest deeper than the text does.
    if depth > DEEPEST {
        return Err(ImportError::new(format!("it nests deeper than {DEEPEST} levels")));
    }
    Ok(match node {
        Yaml::Value(scalar) => match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(truth) => Value::Bool(*truth),
            Scalar::Integer(whole) => Value::from(*whole),
            Scalar::FloatingPoint(number) => Number::from_f64(number.into_inner())
                .map(Value::Number)
                .ok_or_else(|| ImportError::new("it holds a number that is not finite"))?,
            Scalar::String(text) => Value::String(text.to_string()),
        },
        Yaml::Sequence(list) => {
            Value::Array(list.iter().map(|one| json(one, depth + 1)).collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                let key = match key {
                    Yaml::Value(Scalar::String(text)) => text.to_string(),
                    Yaml::Value(Scalar::Integer(whole)) => whole.to_string(),
                    _ => return Err(ImportError::new("a key of it is neither a text nor a number")),
                };
                map.insert(key, json(value, depth + 1)?);
            }
            Value::Object(map)
        }
        _ => return Err(ImportError::new("it holds a tag or an alias that is not understood")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_configuration_is_read() {
        let read = value("a: 1\nb: [x, 2.5, true, null]\nc:\n  d: \"7\"\n").unwrap();
        assert_eq!(read, serde_json::json!({"a": 1, "b": ["x", 2.5, true, null], "c": {"d": "7"}}));
    }

    #[test]
    fn what_is_hostile_or_broken_is_refused() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
            + &('b'..'k')
                .map(|c| {
                    let before = char::from_u32(u32::from(c) - 1).unwrap();
                    format!("{c}: &{c} [{}]\n", vec![format!("*{before}"); 9].join(","))
                })
                .collect::<String>();
        for bad in [
            "",
            "a: [",
            "a: b: c",
            &"[".repeat(10_000),
            &"- ".repeat(10_000),
            "a: .nan",
            "--- 1\n--- 2\n",
            &bomb,
        ] {
            assert!(value(bad).is_err(), "{}", &bad[..bad.len().min(40)]);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-:\\[\\]{}&*!|>'\"#%@ a-c0-9.\\n]{0,80}") {
            let _ = value(&text);
        }
    }
}
