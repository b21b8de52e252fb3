//! The JSON Schemas of the files that a run writes for other programs, derived from the types that write them.
//!
//! They describe what this program writes, and leave room for members that a later one adds. Values that only one kind of
//! number in Rust has, such as `uint64`, are no formats of JSON Schema, and strict validators refuse them.

use clap::ValueEnum;
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use crate::{
    comparison::Comparison,
    record::{Manifest, TrialRecord},
    run::{RunReport, TrialReport},
};
use green_agent_transcript::Entry;

/// The files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResultFile {
    /// The settings of a run, run.json.
    Run,
    /// A line of records.jsonl.
    Record,
    /// A line of transcript.jsonl.
    Transcript,
    /// The report of a trial, report.json in its folder.
    Trial,
    /// The report of a run, which `--report json` writes.
    Report,
    /// The comparison of two runs, which `green-agent diff --json` prints.
    Comparison,
}

impl ResultFile {
    /// Returns the schema of the file, or of a line of it: draft 2020-12.
    pub fn schema(self) -> Value {
        match self {
            Self::Run => schema::<Manifest>(),
            Self::Record => schema::<TrialRecord>(),
            Self::Transcript => schema::<Entry>(),
            Self::Trial => schema::<TrialReport>(),
            Self::Report => schema::<RunReport>(),
            Self::Comparison => schema::<Comparison>(),
        }
    }
}

fn schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(open))
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Allows further members, removes formats that only Rust has, and joins the lines of descriptions, which end where those of the
/// source end.
fn open(schema: &mut Schema) {
    for name in ["additionalProperties", "unevaluatedProperties"] {
        if schema.get(name) == Some(&Value::Bool(false)) {
            schema.remove(name);
        }
    }
    schema.remove("format");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace("\n\n", "\n").replace('\n', " ");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Set the environment variable `UPDATE_SCHEMA` to write the files again.
    #[test]
    fn the_kept_files_are_the_generated_ones() {
        for &file in ResultFile::value_variants() {
            let name = file.to_possible_value().unwrap().get_name().to_owned();
            let kept = format!("{}/../schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
            let text = format!("{:#}\n", file.schema());
            if std::env::var_os("UPDATE_SCHEMA").is_some() {
                fs::write(&kept, &text).unwrap();
            }
            let kept = fs::read_to_string(kept).unwrap_or_default();
            assert!(
                kept == text,
                "{name}: run this test with UPDATE_SCHEMA=1 and look at the difference"
            );
        }
    }
}
