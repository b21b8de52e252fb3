//! The tables of a scenario file.

use serde_json::{Map, Value, json};

use super::{
    agents::{AgentKeys, GreenAgent},
    episode::EpisodeKeys,
    evaluator::{EPISODE, PIPELINE},
    harness::HarnessKeys,
    pipeline::PipelineKeys,
    turns::ConversationKeys,
};
use crate::reader::{Key, kind, table};

table! {
    /// A scenario: agents, the evaluator's settings, and how the harness runs and judges it. AgentBeats'
    /// `scenario.toml`, plus the table `[harness]`.
    pub(crate) struct FileKeys<'a> as "scenario", spelled, with(|_| built_in_evaluator()) {
        /// The evaluator. Without endpoint and cmd it is the built-in evaluator that config.evaluator names.
        later_required green_agent: Key<'a> as GreenAgent,
        /// The agents that are evaluated, and servers that they use.
        later participants: Key<'a> as Vec<AgentKeys<'a>>,
        /// The settings of the evaluator.
        later config: Key<'a> as Config,
        /// How the harness runs and judges the scenario; AgentBeats' own tools ignore this table.
        later harness: Key<'a> as HarnessKeys<'a>,
    }
}

kind! {
    /// The settings of the evaluator: of a conversation, an episode or a pipeline for the built-in ones, anything
    /// for another one.
    enum Config;
    |generator| json!({"anyOf": [
        generator.subschema_for::<ConversationKeys<'_>>(),
        generator.subschema_for::<EpisodeKeys<'_>>(),
        generator.subschema_for::<PipelineKeys<'_>>(),
        generator.subschema_for::<Map<String, Value>>(),
    ]})
}

/// Returns conditions on the evaluator's name, so that editors report mistakes in its own keys only.
fn built_in_evaluator() -> Value {
    let others = ["endpoint", "image", "agentbeats_id"];
    let others = others.map(|name| json!({"required": [name]}));
    let config =
        |name: &str| json!({"properties": {"config": {"$ref": format!("#/$defs/{name}")}}});
    let named = |evaluator: &str| {
        let evaluator =
            json!({"required": ["evaluator"], "properties": {"evaluator": {"const": evaluator}}});
        json!({"required": ["config"], "properties": {"config": evaluator}})
    };
    json!({
        "if": {"properties": {"green_agent": {"not": {"anyOf": others}}}},
        "then": {
            "required": ["config"],
            "if": named(EPISODE),
            "then": config("Episode"),
            "else": {"if": named(PIPELINE), "then": config("Pipeline"), "else": config("Conversation")},
        },
    })
}
