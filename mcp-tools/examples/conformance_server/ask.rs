//! Tools that send a request to the client while they run, which is possible up to 2025-11-25.

use rmcp::{
    ErrorData, RoleServer,
    model::{CreateMessageRequestParams, ElicitRequestParams, JsonObject},
    service::RequestContext,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::tools::{broken, text};

/// Asks the client's language model to answer a prompt.
pub(crate) async fn sampling(
    context: &RequestContext<RoleServer>,
    arguments: &JsonObject,
) -> Result<Value, ErrorData> {
    let request: CreateMessageRequestParams = read(json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": arguments.get("prompt")}}],
        "maxTokens": 100,
    }))?;
    let answer = context.peer.create_message(request).await.map_err(|error| broken(&error))?;
    Ok(text(format!("LLM response: {}", json!(answer))))
}

/// Asks the user for a name and an address.
pub(crate) async fn elicitation(
    context: &RequestContext<RoleServer>,
    arguments: &JsonObject,
) -> Result<Value, ErrorData> {
    let properties = json!({
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    });
    let required = json!(["username", "email"]);
    let message = arguments.get("message").cloned().unwrap_or_default();
    let answer = ask(context, message, properties, required).await?;
    Ok(text(format!("User response: {answer}")))
}

/// Asks for one field of each primitive type, with its default (SEP-1034).
pub(crate) async fn defaults(context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    let properties = json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": true},
    });
    completed(context, properties).await
}

/// Asks for a choice in each of five ways (SEP-1330).
pub(crate) async fn choices(context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    let options = ["option1", "option2", "option3"];
    let properties = json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    });
    completed(context, properties).await
}

fn titled(noun: &str) -> Value {
    json!([
        {"const": "value1", "title": format!("First {noun}")},
        {"const": "value2", "title": format!("Second {noun}")},
        {"const": "value3", "title": format!("Third {noun}")},
    ])
}

async fn completed(
    context: &RequestContext<RoleServer>,
    properties: Value,
) -> Result<Value, ErrorData> {
    let message = json!("Please look through this.");
    let answer = ask(context, message, properties, json!([])).await?;
    let (action, content) = (&answer["action"], &answer["content"]);
    Ok(text(format!("Elicitation completed: action={action}, content={content}")))
}

async fn ask(
    context: &RequestContext<RoleServer>,
    message: Value,
    properties: Value,
    required: Value,
) -> Result<Value, ErrorData> {
    let request: ElicitRequestParams = read(json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {"type": "object", "properties": properties, "required": required},
    }))?;
    let answer = context.peer.create_elicitation(request).await;
    Ok(json!(answer.map_err(|error| broken(&error))?))
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}
