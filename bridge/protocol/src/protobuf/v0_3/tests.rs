//! Tests that the messages of 0.3 mean what its ProtoJSON means.

use std::{string::ToString as _, sync::LazyLock};

use proptest::prelude::*;
use prost::Message as _;
use prost_types::{FileDescriptorSet, MethodDescriptorProto};
use serde_json::{Value, json};

use super::SERVICE;
use crate::{
    a2a::{AgentCard, Operation, StreamResponse, Task},
    arbitrary,
    dialect::{
        Call, Losses, Version, card,
        v0_3::{
            Form, event, message,
            proto::{self, answer},
            request, task,
        },
    },
    protobuf::{self, DESCRIPTOR, Messages, properties::carried},
    wire::{Wire as _, to_value},
};

static MESSAGES: LazyLock<Messages> = LazyLock::new(Messages::new);

proptest! {
    #![proptest_config(arbitrary::config())]

    #[test]
    fn a_task_comes_back(task in arbitrary::v1_0::task()) {
        let task = Task::read(carried(named(to_value(&task)))).unwrap();
        let json = task::from_v1(&task, Form::Proto, &mut Losses::new());
        let read = come_back(Operation::GetTask, &json);
        prop_assert_eq!(answer::task_to_v1(read), answer::task_to_v1(json));
    }

    #[test]
    fn a_stream_item_comes_back(item in arbitrary::v1_0::stream_item()) {
        let mut losses = Losses::new();
        let json = match StreamResponse::read(carried(named(to_value(&item)))).unwrap() {
            StreamResponse::Task(task) => {
                json!({"task": task::from_v1(&task, Form::Proto, &mut losses)})
            }
            StreamResponse::Message(message) => {
                json!({"message": message::from_v1(&message, Form::Proto, &mut losses)})
            }
            StreamResponse::StatusUpdate(update) => {
                let update = event::status_update_from_v1(&update, true, Form::Proto, &mut losses);
                json!({ "statusUpdate": update })
            }
            StreamResponse::ArtifactUpdate(update) => {
                let update = event::artifact_update_from_v1(&update, Form::Proto, &mut losses);
                json!({ "artifactUpdate": update })
            }
        };
        let read = come_back(Operation::SubscribeToTask, &json);
        prop_assert_eq!(answer::stream_item_to_v1(read), answer::stream_item_to_v1(json));
    }

    #[test]
    fn a_call_comes_back(call in arbitrary::call::call()) {
        let json = Version::V1_0.params_from_v1(&call, &mut Losses::new());
        let json = carried(named(json));
        let call = Version::V1_0.params_to_v1(call.operation(), json, "m").unwrap();
        let bytes = MESSAGES.write_call(&call, &mut Losses::new());
        let read = MESSAGES.read_call(call.operation(), &bytes);
        match &call {
            Call::SendMessage(send) => {
                let json = request::send_from_v1(send, Form::Proto, &mut Losses::new());
                let expected = request::send_to_v1(json, Form::Proto).map(Call::SendMessage);
                prop_assert_eq!(read, expected.map_err(Into::into));
            }
            // It is read in the same way.
            Call::SendStreamingMessage(_) => {}
            Call::CreateTaskPushNotificationConfig(config) => {
                let json = proto::create_push_from_v1(config, &mut Losses::new());
                let task = config.task_id.clone().unwrap_or_default();
                let expected = proto::create_push_to_v1(json, &task);
                let expected = expected.map(Call::CreateTaskPushNotificationConfig);
                prop_assert_eq!(read, expected.map_err(Into::into));
            }
            _ => {
                let again = MESSAGES.write_call(&read.unwrap(), &mut Losses::new());
                prop_assert_eq!(again, bytes);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        for operation in Operation::ALL {
            let _ = MESSAGES.read_call(operation, &bytes);
            let _ = MESSAGES.read_answer(operation, &bytes);
        }
    }
}

fn come_back(operation: Operation, json: &Value) -> Value {
    let bytes = MESSAGES.write_answer(operation, json);
    MESSAGES.read_answer(operation, &bytes).unwrap()
}

/// Gives an id to what has an empty one, which counts as none, and takes slashes out of ids, which names cannot have.
fn named(json: Value) -> Value {
    match json {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| match value {
                Value::String(text) if key.ends_with("Id") || key == "id" || key == "url" => {
                    let id = match text.as_str() {
                        "" => "x".into(),
                        other => other.replace('/', "-"),
                    };
                    (key, id.into())
                }
                other => (key, named(other)),
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.into_iter().map(named).collect(),
        other => other,
    }
}

#[test]
fn every_method_of_the_service_has_an_operation() {
    let files = FileDescriptorSet::decode(DESCRIPTOR).unwrap();
    let services = files.file.iter().flat_map(|file| {
        let name = |one: &str| std::format!("{}.{one}", file.package());
        file.service.iter().map(move |one| (name(one.name()), one))
    });
    let (_, service) = services.into_iter().find(|(name, _)| name == SERVICE).unwrap();
    let name = |method: &MethodDescriptorProto| std::format!("/{SERVICE}/{}", method.name());
    let all: std::vec::Vec<_> = service.method.iter().map(name).collect();
    assert_eq!(all.len(), Operation::ALL.len() - 1);
    for path in all {
        let (version, operation) = protobuf::called(&path).unwrap();
        assert_eq!(version, Version::V0_3);
        assert_eq!(protobuf::path(version, operation), Some(path));
    }
    assert_eq!(protobuf::path(Version::V0_3, Operation::ListTasks), None);
    assert_eq!(protobuf::called("/a2a.v1.A2AService/ListTasks"), None);
    assert_eq!(protobuf::called("/a2a.v2.A2AService/GetTask"), None);
}

/// The bytes are those that PyPI a2a-sdk 0.3.26 writes.
#[test]
fn what_an_sdk_wrote_is_read() {
    let bytes = include_bytes!("../../../../../snapshots/wire/sdk/python-0.3.26-grpc-send.bin");
    let call = MESSAGES.read_call(Operation::SendMessage, bytes).unwrap();
    let json = Version::V1_0.params_from_v1(&call, &mut Losses::new());
    assert_eq!(
        json,
        json!({
            "message": {
                "messageId": "m-1", "role": "ROLE_USER", "contextId": "c-1", "taskId": "t-1",
                "parts": [
                    {"text": "hi"},
                    {"raw": "AAEC/w==", "filename": "a.b", "mediaType": "a/b", "metadata": {"k": 1}},
                    {"url": "https://a.test/f"},
                    {"data": {"n": 1.5, "deep": {"list": [true, null, "x"]}}},
                ],
                "metadata": {"m": "d"},
                "extensions": ["urn:x"],
            },
            "configuration": {
                "acceptedOutputModes": ["text/plain"],
                "historyLength": 3,
                "taskPushNotificationConfig": {
                    "id": "p", "url": "https://hook.test/", "token": "t",
                    "authentication": {"scheme": "Bearer", "credentials": "s"},
                },
            },
            "metadata": {"of": "the request"},
        })
    );
    let again = MESSAGES.write_call(&call, &mut Losses::new());
    assert_eq!(MESSAGES.read_call(Operation::SendMessage, &again), Ok(call));
}

#[test]
fn what_is_wrong_is_named() {
    for (operation, json, error) in [
        (Operation::GetTask, json!({"name": "t"}), "name: expected tasks/TASK, found \"t\""),
        (
            Operation::GetTask,
            json!({"name": "tasks/"}),
            "name: expected tasks/TASK, found \"tasks/\"",
        ),
        (
            Operation::ListTaskPushNotificationConfigs,
            json!({}),
            "parent: expected tasks/TASK, found \"\"",
        ),
        (
            Operation::SendMessage,
            json!({"configuration": {}}),
            "message: expected an object, found nothing",
        ),
        (
            Operation::SendMessage,
            json!({"message": {"messageId": "m", "content": [{}]}}),
            "message.content[0]: expected exactly one of text, file, data, found none of them",
        ),
    ] {
        let bytes = MESSAGES.write(MESSAGES.params(Version::V0_3, operation), &json);
        let found = MESSAGES.read_call(operation, &bytes).unwrap_err();
        assert_eq!(found.to_string(), error);
    }
}

#[test]
fn a_card_comes_back() {
    let flow = json!({"authorizationUrl": "https://a.test/a", "tokenUrl": "https://a.test/t", "scopes": {"s": "d"}});
    let card = json!({
        "name": "n", "description": "d", "version": "1", "iconUrl": "https://a.test/i",
        "documentationUrl": "https://a.test/d",
        "provider": {"organization": "o", "url": "https://a.test/"},
        "supportedInterfaces": [
            {"url": "h:1", "protocolBinding": "GRPC", "protocolVersion": "0.3"},
            {"url": "https://a.test/", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": true, "extendedAgentCard": true,
            "extensions": [{"uri": "urn:x", "required": true, "params": {"k": [1]}}]},
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "basic": {"httpAuthSecurityScheme": {"scheme": "Basic"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"authorizationCode": flow}}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://a.test/o"}},
            "tls": {"mtlsSecurityScheme": {}},
        },
        "securityRequirements": [{"schemes": {"oauth": {"list": ["s"]}, "key": {}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "d", "tags": ["t"], "examples": ["e"],
            "securityRequirements": [{"schemes": {"basic": {}}}]}],
        "signatures": [{"protected": "p", "signature": "s", "header": {"k": "v"}}],
    });
    let card = AgentCard::read(card).unwrap();
    let mut losses = Losses::new();
    let json = proto::card::from_v1(&card, &mut losses);
    assert!(losses.is_empty());
    let read = come_back(Operation::GetExtendedAgentCard, &json);
    assert_eq!(card::read(read).unwrap().0, card);
}
