//! The JSON Schema of the scenario file, with which editors complete and check it: `#:schema
//! PATH/scenario.schema.json` as a scenario's first line.
//!
//! It agrees with [`parse`](mod@super::parse) as far as a schema can: it knows no roles and compiles no
//! expressions. Tests compare the two, key by key and file by file.

mod agents;

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value, json};

use self::agents::{GreenAgent, Participant};
use crate::parse::{ConversationKeys, EPISODE, EpisodeKeys, HarnessKeys, PIPELINE, PipelineKeys};

/// Returns the schema, draft 2020-12; `scenarios/scenario.schema.json` contains it.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(drop_null))
        .with_transform(RecursiveTransform(join_lines))
        .into_generator()
        .into_root_schema_for::<ScenarioFile>()
        .to_value()
}

/// A scenario: agents, the evaluator's settings, and how the harness runs and judges it. AgentBeats'
/// `scenario.toml`, plus the table `[harness]`.
#[derive(JsonSchema)]
#[schemars(rename = "scenario", extend("if" = without_green_endpoint(), "then" = with_builtin()))]
#[expect(dead_code, reason = "only its shape is used")]
struct ScenarioFile {
    /// The evaluator. Without endpoint and cmd it is the built-in evaluator that config.evaluator names.
    green_agent: GreenAgent,
    /// The agents that are evaluated, and servers that they use.
    participants: Option<Vec<Participant>>,
    /// The settings of the evaluator.
    config: Option<Config>,
    /// How the harness runs and judges the scenario; AgentBeats' own tools ignore this table.
    harness: Option<HarnessKeys<'static>>,
}

/// The settings of the evaluator: of a conversation, an episode or a pipeline for the built-in ones, anything
/// for another one.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Config {
    Conversation(ConversationKeys<'static>),
    Episode(EpisodeKeys<'static>),
    Pipeline(PipelineKeys<'static>),
    Other(Map<String, Value>),
}

fn without_green_endpoint() -> Value {
    let others = ["endpoint", "image", "agentbeats_id"];
    let others = others.map(|name| json!({"required": [name]}));
    json!({"properties": {"green_agent": {"not": {"anyOf": others}}}})
}

/// Returns conditions on the evaluator's name, so that editors report mistakes in its own keys only.
fn with_builtin() -> Value {
    let config =
        |name: &str| json!({"properties": {"config": {"$ref": format!("#/$defs/{name}")}}});
    json!({
        "required": ["config"],
        "if": named(EPISODE),
        "then": config("Episode"),
        "else": {"if": named(PIPELINE), "then": config("Pipeline"), "else": config("Conversation")},
    })
}

/// Returns the condition that a config names this evaluator.
fn named(evaluator: &str) -> Value {
    json!({
        "required": ["config"],
        "properties": {"config": {"required": ["evaluator"], "properties": {"evaluator": {"const": evaluator}}}},
    })
}

/// Removes null: TOML has none, and an optional key is left out instead.
fn drop_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    let null = json!({"type": "null"});
    if let Some(Value::Array(choices)) = object.get_mut("anyOf")
        && choices.contains(&null)
    {
        choices.retain(|choice| *choice != null);
        if let [Value::Object(only)] = &choices[..] {
            let only = only.clone();
            object.remove("anyOf");
            object.extend(only);
        }
    }
}

/// Joins the lines of descriptions, because editors would show the line breaks of the source.
fn join_lines(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
}

#[cfg(test)]
mod tests;
