//! The shape of `[config]` for the built-in evaluator `episode`.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::harness::Limit;
use crate::scenario::{
    episode::{Delivery, DetailsShape, Direction, McpTransport, TokenKind, names},
    parse::EPISODE,
};

/// What the built-in evaluator is told: one participant works in an environment, over MCP.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Episode {
    /// The built-in evaluator.
    #[schemars(extend("const" = EPISODE))]
    evaluator: String,
    /// The built-in environment. The trial's seed makes it.
    #[schemars(extend("enum" = mcp_tools::environments::BUILTINS.map(|(name, _)| name)))]
    environment: String,
    /// Who calls whom over A2A: green-calls, as in AgentBeats, or purple-calls.
    #[schemars(extend("enum" = names::<Direction>(), "default" = "green-calls"))]
    direction: Option<String>,
    /// The shape in which connection details are sent: data parts, nested in a data part, or a text.
    #[schemars(extend("enum" = names::<DetailsShape>(), "default" = "data"))]
    details: Option<String>,
    /// How the environment is reached: http, or a program over stdio that passes on to it.
    #[schemars(extend("enum" = names::<McpTransport>(), "default" = "http"))]
    transport: Option<String>,
    /// How details are handed over: in messages, where purple calls at once in a synchronous reply, or preset
    /// in a policy that has them from the beginning.
    #[schemars(extend("enum" = names::<Delivery>(), "default" = "messages"))]
    delivery: Option<String>,
    /// Which token the details hold. With any but the valid one, a participant must not get anywhere.
    #[schemars(extend("enum" = names::<TokenKind>(), "default" = "valid"))]
    token: Option<String>,
    /// What the participant may use up.
    limits: Option<Limits>,
    /// Whether messages are to be acknowledged by a participant that can, and sent again until they are.
    acknowledge: Option<Acknowledge>,
}

/// What the participant may use up.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Limits {
    /// Calls of the environment's tools.
    #[schemars(range(min = 1))]
    steps: Option<u32>,
    /// From the episode's beginning to its end.
    time: Option<Limit>,
}

/// Whether messages are to be acknowledged: true, false, or a table with details.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Acknowledge {
    Asked(bool),
    Settings(Resending),
}

/// What is done about messages that are not acknowledged.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Resending {
    /// How long each copy may go unacknowledged before the next one is sent.
    #[schemars(extend("default" = "5s"))]
    after: Option<Limit>,
    /// How many more times a message is sent at the most.
    #[schemars(range(min = 0), extend("default" = 2))]
    resend: Option<u32>,
}

/// A config that names this evaluator.
pub(super) fn named() -> Value {
    json!({
        "required": ["config"],
        "properties": {"config": {"required": ["evaluator"], "properties": {"evaluator": {"const": EPISODE}}}},
    })
}
