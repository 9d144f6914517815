//! JSON Merge Patch (RFC 7396): how `--extra-body` changes the bodies.
//! It must not know which keys are ours.

use serde_json::{Map, Value};

/// Merges `patch` into `target`: its values win, objects are merged key by key, and a null removes.
pub fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match value {
            Value::Null => {
                // Keeps the order of the keys that stay.
                target.shift_remove(key);
            }
            Value::Object(inner) => {
                let slot = target.entry(key.as_str()).or_insert_with(|| Value::Object(Map::new()));
                if !slot.is_object() {
                    *slot = Value::Object(Map::new());
                }
                if let Value::Object(object) = slot {
                    merge(object, inner);
                }
            }
            value => {
                target.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 7396, appendix A, whose target and patch are objects.
    #[test]
    fn the_examples_of_the_rfc_hold() {
        for (target, patch, result) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            let mut merged: Map<String, Value> = serde_json::from_str(target).unwrap();
            merge(&mut merged, &serde_json::from_str(patch).unwrap());
            assert_eq!(serde_json::to_string(&merged).unwrap(), result, "{target} and {patch}");
        }
    }
}
