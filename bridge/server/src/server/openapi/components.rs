//! The bodies and parameters that the operations share.

use bridge_protocol::{
    a2a::{ErrorKind, Operation, TaskState},
    dialect::Version,
    wire::Schemas,
};
use serde_json::{Value, json};

use crate::server::rest::{
    query::{Kind, Parameter},
    route::RESERVED,
};

/// Returns a reference to a schema that [`with_common`] adds.
pub(super) fn common(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Adds the schemas that do not belong to protocol objects.
pub(super) fn with_common(mut schemas: Schemas) -> Value {
    schemas.named("Status", status);
    schemas.named("JsonRpcRequest", || {
        json!({
            "type": "object",
            "required": ["jsonrpc", "id", "method"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "number", "null"]},
                "method": {"type": "string"},
                "params": {"anyOf": [{"type": "object"}, {"type": "null"}]},
            },
        })
    });
    schemas.named("JsonRpcResponse", || {
        json!({
            "type": "object",
            "required": ["jsonrpc", "id"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "number", "null"]},
                "result": {},
                "error": {"type": "object", "required": ["code", "message"], "properties": {
                    "code": {"type": "integer"},
                    "message": {"type": "string"},
                    "data": {"type": "array", "items": {"type": "object"}},
                }},
            },
            "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
        })
    });
    schemas.into_value()
}

/// Returns the schema of `google.rpc.Status` (specification 11.6).
fn status() -> Value {
    let reasons: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.reason()).collect();
    let detail = json!({
        "type": "object",
        "required": ["@type"],
        "properties": {
            "@type": {"type": "string"},
            "reason": {"enum": reasons},
            "domain": {"type": "string"},
            "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
            "fieldViolations": {"type": "array", "items": {"type": "object", "properties": {
                "field": {"type": "string"},
                "description": {"type": "string"},
            }}},
            "retryDelay": {"type": "string"},
        },
    });
    json!({
        "type": "object",
        "description": "An error, in the form of google.rpc.Status",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "status", "message", "details"],
            "properties": {
                "code": {"type": "integer", "description": "The HTTP status"},
                "status": {"type": "string", "description": "The name of the google.rpc.Code"},
                "message": {"type": "string", "description": "What was expected, for a person"},
                "details": {"type": "array", "minItems": 1, "items": detail},
            },
        }},
    })
}

/// Returns the header that names one of these versions. Clients must send it (specification 3.6.1), but a path is of one version
/// also without it.
pub(super) fn version(spoken: &[Version]) -> Value {
    let names = spoken.iter().map(|version| version.as_str()).chain([""]);
    json!({
        "name": "A2A-Version", "in": "header", "required": false,
        "description": "The version of A2A that the client uses",
        "schema": {"enum": names.collect::<Vec<_>>()},
    })
}

/// Returns the header that requests extensions.
pub(super) fn extensions() -> Value {
    json!({
        "name": "A2A-Extensions", "in": "header",
        "description": "URIs of the requested extensions, separated by commas",
        "schema": {"type": "string"},
    })
}

/// Returns the header with which a client resumes a stream.
pub(super) fn last_event() -> Value {
    json!({
        "name": "Last-Event-ID", "in": "header",
        "description": "The id of the last event that the client received: only later ones are sent",
        "schema": {"type": "string", "pattern": "^([^/]+/[0-9]{1,18})?$"},
    })
}

/// Returns the tenant as the first segment of a path.
pub(super) fn tenant() -> Value {
    let begin = RESERVED.join(", ");
    json!({
        "name": "tenant", "in": "path", "required": true,
        "description": format!("The tenant; use the field tenant instead for one that is called {begin}"),
        "schema": {"type": "string", "minLength": 1},
        "example": "acme",
    })
}

/// Returns a parameter in the path. The first is the id of a task, which contains no colon; the second that of a webhook.
pub(super) fn in_path((index, name): (usize, &str)) -> Value {
    let (pattern, example) = match index {
        0 => ("^[^:/]+$", "task-1"),
        _ => ("^[^/]+$", "webhook-1"),
    };
    json!({
        "name": name, "in": "path", "required": true,
        "schema": {"type": "string", "pattern": pattern},
        "example": example,
    })
}

/// Returns a query parameter with the limits that the server checks.
pub(super) fn in_query(operation: Operation, parameter: &Parameter, description: &Value) -> Value {
    let schema = match (parameter.kind, parameter.name) {
        (Kind::Number, "pageSize") => {
            // Zero stands for an absent size in lists of webhooks, see `service::push`.
            let minimum = u8::from(operation == Operation::ListTasks);
            json!({"type": "integer", "minimum": minimum, "maximum": 100})
        }
        (Kind::Number, _) => json!({"type": "integer", "minimum": 0, "maximum": i32::MAX}),
        (Kind::Flag, _) => json!({"type": "boolean"}),
        (Kind::Text, "status") => json!({"enum": states()}),
        (Kind::Text, "statusTimestampAfter") => json!({"type": "string", "format": "date-time"}),
        (Kind::Text, _) => json!({"type": "string"}),
    };
    json!({"name": parameter.name, "in": "query", "description": description, "schema": schema})
}

fn states() -> Vec<String> {
    let all = [
        TaskState::Unspecified,
        TaskState::Submitted,
        TaskState::Working,
        TaskState::Completed,
        TaskState::Failed,
        TaskState::Canceled,
        TaskState::InputRequired,
        TaskState::Rejected,
        TaskState::AuthRequired,
    ];
    all.iter().map(ToString::to_string).collect()
}

/// Returns the body of a request.
pub(super) fn body(version: Version, operation: Operation, schema: Value) -> Value {
    let sends = matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage);
    let schema = match version {
        Version::V1_0 => schema,
        // 0.3 has two formats, defined by its specification and its proto file.
        Version::V0_1 | Version::V0_3 => json!({"type": "object"}),
    };
    let mut content = json!({"schema": schema});
    if sends {
        content["example"] = example(version);
    }
    let content: Value = match version {
        Version::V1_0 => json!({"application/a2a+json": content, "application/json": content}),
        Version::V0_1 | Version::V0_3 => json!({"application/json": content}),
    };
    json!({"required": operation != Operation::CancelTask, "content": content})
}

/// Returns an example of a message.
pub(super) fn example(version: Version) -> Value {
    match version {
        Version::V1_0 => json!({"message": {
            "messageId": "message-1", "role": "ROLE_USER", "parts": [{"text": "Hello"}],
        }}),
        Version::V0_1 | Version::V0_3 => json!({"message": {
            "kind": "message", "messageId": "message-1", "role": "user",
            "parts": [{"kind": "text", "text": "Hello"}],
        }}),
    }
}

/// Returns the responses: an object with this schema or a stream of them, and the errors.
pub(super) fn responses(version: Version, streams: bool, schema: Value) -> Value {
    let schema = match version {
        Version::V1_0 => schema,
        Version::V0_1 | Version::V0_3 => json!({}),
    };
    let found = match (version, streams) {
        (_, true) => json!({"text/event-stream": {"schema": events(&schema)}}),
        (Version::V1_0, false) => json!({
            "application/a2a+json": {"schema": schema}, "application/json": {"schema": schema},
        }),
        (Version::V0_1 | Version::V0_3, false) => json!({"application/json": {"schema": schema}}),
    };
    json!({
        "200": {"description": "Success", "content": found},
        "400": refused("The request is not valid, or the operation is not possible"),
        "404": refused("The task or the path does not exist"),
        "405": refused("The path has other methods"),
        "413": refused("The body is too large"),
        "429": limited("The caller has reached a limit"),
        "500": refused("The agent or the bridge failed"),
        "503": limited("The request cannot be answered at present"),
    })
}

/// Returns the response to a request that can be sent again. It is a problem (RFC 9457) if the request was not read.
fn limited(description: &str) -> Value {
    let mut response = refused(description);
    response["content"]["application/problem+json"] = json!({"schema": common("Status")});
    response["headers"] = retry_after();
    response
}

/// Returns the header that says when a request can be sent again.
pub(super) fn retry_after() -> Value {
    json!({"Retry-After": {
        "description": "The seconds after which to send the request again", "schema": {"type": "integer"},
    }})
}

/// Returns an error response, with both media types.
pub(super) fn refused(description: &str) -> Value {
    let status = json!({"schema": common("Status")});
    json!({"description": description, "content": {
        "application/a2a+json": status, "application/json": status,
    }})
}

/// Returns the schema of an event of a stream, with the schema of its data.
pub(super) fn events(schema: &Value) -> Value {
    json!({
        "type": "object",
        "description": "One event; all except errors have an id for Last-Event-ID",
        "required": ["data"],
        "properties": {
            "id": {"type": "string"},
            "event": {"type": "string"},
            "data": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": schema,
            },
        },
    })
}

/// Returns a response with plain text.
pub(super) fn text(description: &str) -> Value {
    json!({
        "description": description,
        "content": {"text/plain": {"schema": {"type": "string"}}},
    })
}
