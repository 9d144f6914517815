//! The JSON Schema of `summary.json`, generated from the structs that write it.

use super::Summary;
use schemars::generate::SchemaSettings;

/// The version of the summary's format.
pub const SCHEMA_VERSION: u32 = 1;

/// The text of `docs/summary.schema.json` (JSON Schema, draft 2020-12).
///
/// # Panics
/// Never: a schema is plain JSON.
#[must_use]
pub fn summary_schema() -> String {
    let schema =
        SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Summary>();
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    text.push('\n');
    text
}
