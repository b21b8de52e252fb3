//! Snapshots of the names of all fields, to compare with `specification/a2a.proto`.

use bridge_protocol::{
    a2a::*,
    wire::{Wire as _, to_value},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a value with every field of the type and writes it. An unknown name would go into `extra`, which
/// must be empty.
macro_rules! shown {
    ($type:ident, $value:expr) => {{
        let read: $type = parse($value);
        assert_eq!(read.extra, Metadata::new(), stringify!($type));
        insta::assert_json_snapshot!(stringify!($type), to_value(&read));
    }};
}

fn parse<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn part() -> Value {
    json!({"raw": "AAE=", "metadata": {"k": 1}, "filename": "a.bin", "mediaType": "a/b"})
}

fn message() -> Value {
    json!({
        "messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_USER",
        "parts": [{"text": "t"}, {"url": "u"}, {"data": null}, part()], "metadata": {"k": 1},
        "extensions": ["e"], "referenceTaskIds": ["r"],
    })
}

fn artifact() -> Value {
    json!({
        "artifactId": "a", "name": "n", "description": "d", "parts": [part()],
        "metadata": {"k": 1}, "extensions": ["e"],
    })
}

fn status() -> Value {
    json!({"state": "TASK_STATE_WORKING", "message": message(), "timestamp": "2026-01-01T00:00:00Z"})
}

fn task() -> Value {
    json!({
        "id": "t", "contextId": "c", "status": status(), "artifacts": [artifact()],
        "history": [message()], "metadata": {"k": 1},
    })
}

fn push_config() -> Value {
    json!({
        "tenant": "o", "id": "p", "taskId": "t", "url": "u", "token": "k",
        "authentication": {"scheme": "Bearer", "credentials": "s"},
    })
}

#[test]
fn content() {
    shown!(Part, part());
    shown!(Message, message());
    shown!(Artifact, artifact());
    shown!(Task, task());
    shown!(
        TaskStatusUpdateEvent,
        json!({"taskId": "t", "contextId": "c", "status": status(), "metadata": {"k": 1}})
    );
    shown!(
        TaskArtifactUpdateEvent,
        json!({
            "taskId": "t", "contextId": "c", "artifact": artifact(), "append": true,
            "lastChunk": true, "metadata": {"k": 1},
        })
    );
}

#[test]
fn wrappers() {
    let items = json!([
        {"task": task()},
        {"message": message()},
        {"statusUpdate": {"taskId": "t", "contextId": "c", "status": status()}},
        {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact()}},
    ]);
    let read: Vec<StreamResponse> = parse(items.clone());
    assert_eq!(to_value(&read), items);
    let read: Vec<SendMessageResponse> = parse(json!([items[0], items[1]]));
    assert_eq!(to_value(&read), json!([items[0], items[1]]));
}

#[test]
fn requests() {
    shown!(
        SendMessageRequest,
        json!({
            "tenant": "o", "message": message(), "metadata": {"k": 1},
            "configuration": {
                "acceptedOutputModes": ["a/b"], "taskPushNotificationConfig": push_config(),
                "historyLength": 1, "returnImmediately": true,
            },
        })
    );
    shown!(GetTaskRequest, json!({"tenant": "o", "id": "t", "historyLength": 1}));
    shown!(CancelTaskRequest, json!({"tenant": "o", "id": "t", "metadata": {"k": 1}}));
    shown!(SubscribeToTaskRequest, json!({"tenant": "o", "id": "t"}));
    shown!(
        ListTasksRequest,
        json!({
            "tenant": "o", "contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 1,
            "pageToken": "p", "historyLength": 1, "statusTimestampAfter": "2026-01-01T00:00:00Z",
            "includeArtifacts": true,
        })
    );
    shown!(
        ListTasksResponse,
        json!({"tasks": [task()], "nextPageToken": "n", "pageSize": 1, "totalSize": 2})
    );
    shown!(GetExtendedAgentCardRequest, json!({"tenant": "o"}));
}

#[test]
fn push() {
    shown!(TaskPushNotificationConfig, push_config());
    shown!(GetTaskPushNotificationConfigRequest, json!({"tenant": "o", "taskId": "t", "id": "p"}));
    shown!(
        DeleteTaskPushNotificationConfigRequest,
        json!({"tenant": "o", "taskId": "t", "id": "p"})
    );
    shown!(
        ListTaskPushNotificationConfigsRequest,
        json!({"tenant": "o", "taskId": "t", "pageSize": 1, "pageToken": "p"})
    );
    shown!(
        ListTaskPushNotificationConfigsResponse,
        json!({"configs": [push_config()], "nextPageToken": "n"})
    );
}

#[test]
fn card() {
    let requirement = json!({"schemes": {"key": {"list": ["s"]}}});
    let code = json!({
        "authorizationUrl": "a", "tokenUrl": "t", "refreshUrl": "r", "scopes": {"s": "d"},
        "pkceRequired": true,
    });
    let token = json!({"tokenUrl": "t", "refreshUrl": "r", "scopes": {"s": "d"}});
    let implicit = json!({"authorizationUrl": "a", "refreshUrl": "r", "scopes": {"s": "d"}});
    let mut device = token.clone();
    device["deviceAuthorizationUrl"] = "d".into();
    let flows = json!({
        "authorizationCode": code, "clientCredentials": token, "implicit": implicit,
        "password": token, "deviceCode": device,
    });
    let schemes = json!({
        "key": {"apiKeySecurityScheme": {"description": "d", "location": "header", "name": "n"}},
        "http": {"httpAuthSecurityScheme": {"description": "d", "scheme": "Bearer", "bearerFormat": "JWT"}},
        "oauth2": {"oauth2SecurityScheme": {"description": "d", "flows": flows, "oauth2MetadataUrl": "m"}},
        "oidc": {"openIdConnectSecurityScheme": {"description": "d", "openIdConnectUrl": "u"}},
        "mtls": {"mtlsSecurityScheme": {"description": "d"}},
    });
    shown!(
        AgentCard,
        json!({
            "name": "n", "description": "d", "version": "1", "documentationUrl": "u", "iconUrl": "i",
            "supportedInterfaces": [
                {"url": "u", "protocolBinding": "JSONRPC", "tenant": "o", "protocolVersion": "1.0"},
            ],
            "provider": {"url": "u", "organization": "o"},
            "capabilities": {
                "streaming": true, "pushNotifications": true, "extendedAgentCard": true,
                "extensions": [
                    {"uri": "u", "description": "d", "required": true, "params": {"k": 1}},
                ],
            },
            "securitySchemes": schemes, "securityRequirements": [requirement],
            "defaultInputModes": ["a/b"], "defaultOutputModes": ["a/b"],
            "skills": [{
                "id": "s", "name": "n", "description": "d", "tags": ["t"], "examples": ["e"],
                "inputModes": ["a/b"], "outputModes": ["a/b"], "securityRequirements": [requirement],
            }],
            "signatures": [{"protected": "p", "signature": "s", "header": {"k": 1}}],
        })
    );
}

/// As ProtoJSON has it, and as the official SDKs read it.
#[test]
fn values_of_enums_may_be_numbers() {
    assert_eq!(Role::read(json!(1)), Ok(Role::User));
    assert_eq!(TaskState::read(json!(8)), Ok(TaskState::AuthRequired));
    for unknown in [json!(3), json!(-1), json!(1.5), json!(u64::MAX)] {
        assert!(Role::read(unknown).is_err());
    }
}
