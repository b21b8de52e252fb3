//! The JSON Schema of the file, derived from its types: with `#:schema PATH/bridge.schema.json` as the first
//! line, editors complete and check the file.

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use super::Config;

/// Returns the schema, draft 2020-12, as stored in `bridge/bridge.schema.json`.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(plain))
        .into_generator()
        .into_root_schema_for::<Config>()
        .to_value()
}

/// Joins the lines of descriptions, because editors would show our line breaks, and removes formats of numbers, which only Rust
/// has: strict validators refuse them.
fn plain(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_schema_in_the_tree_is_the_codes() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bridge.schema.json");
        let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "run `bridge config schema > {}`", path.display());
    }

    #[test]
    fn every_key_is_described() {
        let schema = schema();
        let roots = [("bridge", &schema)];
        let definitions = schema["$defs"].as_object().unwrap();
        let definitions = definitions.iter().map(|(name, schema)| (name.as_str(), schema));
        for (name, definition) in roots.into_iter().chain(definitions) {
            let properties = definition["properties"].as_object();
            for (key, property) in properties.into_iter().flatten() {
                assert!(property["description"].is_string(), "{name}.{key}");
            }
        }
    }
}
