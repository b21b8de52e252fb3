//! The shape of `[config]` for the built-in evaluator `episode`.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::harness::Limit;
use crate::{
    episode::{Delivery, DetailsShape, Direction, McpTransport, TokenKind, names},
    parse::EPISODE,
};

/// The settings of the built-in evaluator that has one participant work in an environment, over MCP.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Episode {
    /// The name of the built-in evaluator.
    #[schemars(extend("const" = EPISODE))]
    evaluator: String,
    /// The name of the built-in environment, which is created from the trial's seed.
    #[schemars(extend("enum" = mcp_tools::environments::BUILTINS.map(|(name, _)| name)))]
    environment: String,
    /// The direction of A2A calls: green-calls, as in AgentBeats, or purple-calls.
    #[schemars(extend("enum" = names::<Direction>(), "default" = "green-calls"))]
    direction: Option<String>,
    /// The form in which connection details are sent: data parts, nested in a data part, or a text.
    #[schemars(extend("enum" = names::<DetailsShape>(), "default" = "data"))]
    details: Option<String>,
    /// The MCP transport to the environment: http, or a program over stdio that relays to it.
    #[schemars(extend("enum" = names::<McpTransport>(), "default" = "http"))]
    transport: Option<String>,
    /// How details are delivered: in messages; with purple-calls also in a synchronous reply; or preset in a
    /// policy, which has them from the start.
    #[schemars(extend("enum" = names::<Delivery>(), "default" = "messages"))]
    delivery: Option<String>,
    /// The token in the details. A participant must get access with the valid one only.
    #[schemars(extend("enum" = names::<TokenKind>(), "default" = "valid"))]
    token: Option<String>,
    /// The participant's limits.
    limits: Option<Limits>,
    /// Whether messages are repeated until a participant that supports it acknowledges them.
    acknowledge: Option<Acknowledge>,
}

/// The participant's limits.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Limits {
    /// The most calls of the environment's tools.
    #[schemars(range(min = 1))]
    steps: Option<u32>,
    /// The longest time from the episode's beginning to its end.
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

/// The repetition of messages that are not acknowledged.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Resending {
    /// The time after which an unacknowledged message is sent again.
    #[schemars(extend("default" = "5s"))]
    after: Option<Limit>,
    /// The most repetitions of a message.
    #[schemars(range(min = 0), extend("default" = 2))]
    resend: Option<u32>,
}

/// Returns the condition that a config names this evaluator.
pub(super) fn named() -> Value {
    json!({
        "required": ["config"],
        "properties": {"config": {"required": ["evaluator"], "properties": {"evaluator": {"const": EPISODE}}}},
    })
}
