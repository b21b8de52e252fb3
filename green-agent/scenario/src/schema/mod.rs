//! The JSON Schema of the scenario file, with which editors complete and check it: `#:schema
//! PATH/scenario.schema.json` as a scenario's first line.
//!
//! It is made of the tables with which [`parse`](mod@super::parse) reads a file, and agrees with it as far as a schema
//! can: it knows no roles and compiles no expressions. Tests compare the two, file by file.

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use crate::parse::FileKeys;

/// Returns the schema, draft 2020-12; `scenarios/scenario.schema.json` contains it.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(without_format))
        .into_generator()
        .into_root_schema_for::<FileKeys<'_>>()
        .to_value()
}

/// Removes formats of numbers, which only Rust has: strict validators refuse them.
fn without_format(schema: &mut Schema) {
    schema.remove("format");
}

#[cfg(test)]
mod tests;
