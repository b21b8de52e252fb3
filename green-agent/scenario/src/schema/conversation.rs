//! The shape of `[config]` for the built-in evaluator.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::harness::Duration;
use crate::parse::{CONTENTS, CONVERSATION, endings};

/// The settings of the built-in evaluator that sends these turns, one after the other.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Conversation {
    /// The name of the built-in evaluator.
    #[schemars(extend("const" = CONVERSATION))]
    evaluator: String,
    /// The turns, in this order.
    #[schemars(length(min = 1))]
    turn: Vec<Turn>,
}

/// One scripted turn: a message, and what the answer must be.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("anyOf" = says_something(), "not" = {"required": ["text", "parts"]})
)]
#[expect(dead_code, reason = "only its shape is used")]
struct Turn {
    /// The role of the receiver.
    to: String,
    /// The message, if it is one text.
    text: Option<String>,
    /// The message's parts, in A2A 1.0 form.
    #[schemars(length(min = 1))]
    parts: Option<Vec<Part>>,
    /// The A2A version to use; chosen from the agent's card if absent.
    version: Option<Version>,
    /// The protocol binding to use: JSON-RPC, HTTP+JSON (rest) or gRPC; chosen from the agent's card if
    /// absent.
    binding: Option<Binding>,
    /// The URIs of the A2A extensions to activate; the turn fails if the agent requires another one.
    extensions: Option<Vec<String>>,
    /// Whether to use the streaming operation.
    #[schemars(extend("default" = false))]
    stream: Option<bool>,
    /// Whether to cancel the task. Without text and parts this is the whole turn; with them, the task is
    /// canceled while the turn runs.
    #[schemars(extend("default" = false))]
    cancel: Option<bool>,
    /// The pause before the turn; with a message and cancel, the pause between the two.
    after: Option<Duration>,
    /// Whether to begin a new task and context although the role's last task is still open.
    #[schemars(extend("default" = false))]
    fresh: Option<bool>,
    /// The state that the task must have after the turn; message if the answer must be a bare Message.
    #[schemars(extend("enum" = endings()))]
    state: Option<String>,
    /// A text that the answer must contain.
    contains: Option<String>,
}

/// A part of a message: exactly one of text, data, url and raw, and optional details.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("oneOf" = one_content()))]
#[expect(dead_code, reason = "only its shape is used")]
struct Part {
    /// Plain text.
    text: Option<String>,
    /// JSON of any kind.
    data: Option<Value>,
    /// The URL of the content.
    url: Option<String>,
    /// The content itself, in base64.
    raw: Option<String>,
    /// The content's media type.
    #[schemars(rename = "mediaType")]
    media_type: Option<String>,
    /// The content's file name.
    filename: Option<String>,
    /// Further data about the part.
    metadata: Option<Map<String, Value>>,
}

/// An A2A version.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
enum Version {
    #[schemars(rename = "0.1")]
    V0_1,
    #[schemars(rename = "0.3")]
    V0_3,
    #[schemars(rename = "1.0")]
    V1_0,
}

/// A protocol binding.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its shape is used")]
enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

fn says_something() -> Value {
    json!([
        {"required": ["text"]},
        {"required": ["parts"]},
        {"required": ["cancel"], "properties": {"cancel": {"const": true}}},
    ])
}

fn one_content() -> Value {
    json!(CONTENTS.map(|name| json!({"required": [name]})))
}
