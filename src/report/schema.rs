//! The JSON Schemas of `summary.json` and `sweep.json`, generated from the structs that write them.

use super::{Summary, Sweep};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

/// The version of the summary's format.
pub const SCHEMA_VERSION: u32 = 1;

/// The text of `docs/summary.schema.json` (JSON Schema, draft 2020-12).
#[must_use]
pub fn summary_schema() -> String {
    schema::<Summary>()
}

/// The text of `docs/sweep.schema.json` (JSON Schema, draft 2020-12).
#[must_use]
pub fn sweep_schema() -> String {
    schema::<Sweep>()
}

fn schema<T: JsonSchema>() -> String {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    text.push('\n');
    text
}
