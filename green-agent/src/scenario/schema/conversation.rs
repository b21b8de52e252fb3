//! The shape of `[config]` for the built-in evaluator.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::harness::Duration;
use crate::scenario::parse::{CONTENTS, CONVERSATION, endings};

/// What the built-in evaluator is told: it says these turns, one after the other.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Conversation {
    /// The built-in evaluator.
    #[schemars(extend("const" = CONVERSATION))]
    evaluator: String,
    /// What is said, in this order.
    #[schemars(length(min = 1))]
    turn: Vec<Turn>,
}

/// One scripted turn: what is said, and what must follow.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("anyOf" = says_something(), "not" = {"required": ["text", "parts"]})
)]
#[expect(dead_code, reason = "only its shape is used")]
struct Turn {
    /// The role that this is said to.
    to: String,
    /// The message, if it is one text.
    text: Option<String>,
    /// The message's parts, in A2A 1.0 form.
    #[schemars(length(min = 1))]
    parts: Option<Vec<Part>>,
    /// The A2A version to speak; what the agent's card offers if absent.
    version: Option<Version>,
    /// How calls are carried: JSON-RPC, HTTP+JSON (rest) or gRPC; what the agent's card offers if absent.
    binding: Option<Binding>,
    /// The extensions of A2A to speak in, by their URIs; an agent that requires another one is not spoken to.
    extensions: Option<Vec<String>>,
    /// Use the streaming operation.
    #[schemars(extend("default" = false))]
    stream: Option<bool>,
    /// Cancel the task; without text and parts this is the whole turn, with them it comes while the turn runs.
    #[schemars(extend("default" = false))]
    cancel: Option<bool>,
    /// Wait so long before the turn; with a message and cancel, between the two.
    after: Option<Duration>,
    /// Begin a new task and context although the role's last task is still open.
    #[schemars(extend("default" = false))]
    fresh: Option<bool>,
    /// The state that the task must be in after the turn; message where the answer must be a bare Message.
    #[schemars(extend("enum" = endings()))]
    state: Option<String>,
    /// A text that the answer must contain.
    contains: Option<String>,
}

/// A part of a message: exactly one of text, data, url and raw, and what is known about it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("oneOf" = one_content()))]
#[expect(dead_code, reason = "only its shape is used")]
struct Part {
    /// Plain text.
    text: Option<String>,
    /// JSON of any kind.
    data: Option<Value>,
    /// Where the content can be fetched.
    url: Option<String>,
    /// The content itself, in base64.
    raw: Option<String>,
    /// The content's media type.
    #[schemars(rename = "mediaType")]
    media_type: Option<String>,
    /// The content's file name.
    filename: Option<String>,
    /// Whatever else is to be said about the part.
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

/// A way to carry calls.
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
