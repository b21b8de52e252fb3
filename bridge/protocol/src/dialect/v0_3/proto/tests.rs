//! Tests that ProtoJSON of 0.3 has the same meaning as its JSON-RPC form.

use std::string::ToString;

use serde_json::{Value, json};

use super::{part::from_v1 as part_from_v1, part::to_v1 as part_to_v1, *};
use crate::{
    a2a::{Part, Task, TaskState, TaskStatus},
    dialect::{
        Losses,
        v0_3::{Form, message, request, task},
    },
    wire::{Wire, to_value},
};

#[test]
fn a_message_says_the_same_in_both_forms() {
    let proto = json!({
        "messageId": "m", "contextId": "c", "role": "ROLE_USER", "metadata": {"k": 1},
        "extensions": ["urn:x"],
        "content": [
            {"text": "hi", "metadata": {"a": 1}},
            {"file": {"fileWithBytes": "QUFFPQ==", "mimeType": "b/c", "name": "n"}},
            {"file": {"fileWithUri": "https://a.test/b"}},
            {"data": {"data": {"a": [1]}}},
        ],
    });
    let plain = json!({
        "kind": "message", "messageId": "m", "contextId": "c", "role": "user", "metadata": {"k": 1},
        "extensions": ["urn:x"],
        "parts": [
            {"kind": "text", "text": "hi", "metadata": {"a": 1}},
            {"kind": "file", "file": {"bytes": "AAE=", "mimeType": "b/c", "name": "n"}},
            {"kind": "file", "file": {"uri": "https://a.test/b"}},
            {"kind": "data", "data": {"a": [1]}},
        ],
    });
    let message = message::to_v1(proto.clone(), Form::Proto).unwrap();
    assert_eq!(message, message::to_v1(plain, Form::JsonRpc).unwrap());
    let mut losses = Losses::new();
    assert_eq!(message::from_v1(&message, Form::Proto, &mut losses), proto);
    assert!(losses.is_empty());
}

#[test]
fn the_content_of_a_file_is_base64_once_or_twice() {
    let read = |bytes| part_to_v1(json!({"file": {"fileWithBytes": bytes}})).unwrap();
    assert_eq!(read("AAE="), read("QUFFPQ=="));
}

#[test]
fn a_field_is_read_by_either_name() {
    let json = json!({
        "message": {
            "messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_USER",
            "content": [
                {"file": {"fileWithBytes": "AAE=", "mimeType": "b/c"}},
                {"file": {"fileWithUri": "https://a.test/b"}},
            ],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": true,
            "pushNotification": {"url": "https://a.test/w"},
        },
    });
    let proto = json!({
        "request": {
            "message_id": "m", "context_id": "c", "task_id": "t", "role": "ROLE_USER",
            "content": [
                {"file": {"file_with_bytes": "AAE=", "mime_type": "b/c"}},
                {"file": {"file_with_uri": "https://a.test/b"}},
            ],
        },
        "configuration": {
            "accepted_output_modes": ["text/plain"], "history_length": 3, "blocking": true,
            "push_notification": {"url": "https://a.test/w", "id": "", "token": "", "authentication": {}},
        },
    });
    assert!(is_like(&proto));
    let read = request::send_to_v1(proto, Form::Proto).unwrap();
    assert_eq!(read, request::send_to_v1(json, Form::Proto).unwrap());
    assert!(read.extra.is_empty() && read.message.extra.is_empty());
    let inner = json!({"id": "p", "url": "https://a.test/w", "authentication": {}});
    let json = json!({"parent": "tasks/t", "configId": "p", "config": {
        "name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": inner}});
    let proto = json!({"parent": "tasks/t", "config_id": "p", "config": {
        "name": "tasks/t/pushNotificationConfigs/p", "push_notification_config": inner}});
    let read = |body| create_push_to_v1(body, "t").unwrap();
    assert_eq!(read(proto), read(json));
}

#[test]
fn fields_that_the_proto_lacks_are_omitted_and_reported() {
    let mut task = Task::read(json!({
        "id": "t", "x": 1,
        "status": {"state": "TASK_STATE_CANCELED"},
        "history": [{"messageId": "m", "role": "ROLE_AGENT", "referenceTaskIds": ["o"],
            "parts": [{"text": "a", "mediaType": "text/markdown"}, {"data": 7}]}],
    }))
    .unwrap();
    task.status = TaskStatus::new(TaskState::Canceled);
    let mut losses = Losses::new();
    assert_eq!(
        task::from_v1(&task, Form::Proto, &mut losses),
        json!({
            "id": "t", "contextId": "", "status": {"state": "TASK_STATE_CANCELLED"},
            "history": [{"messageId": "m", "role": "ROLE_AGENT", "content": [
                {"text": "a", "metadata": {"mimeType": "text/markdown"}},
                {"data": {"data": {"value": 7}}, "metadata": {"data_part_compat": true}},
            ]}],
        })
    );
    let paths: std::vec::Vec<&str> = losses.iter().map(|loss| loss.path.as_str()).collect();
    assert_eq!(paths, ["history[0].parts[0].mediaType", "history[0].referenceTaskIds", "x"]);
}

#[test]
fn absence_means_what_it_means_in_protos() {
    let read = |configuration: Value| {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "content": []});
        let body = json!({"message": message, "configuration": configuration});
        assert!(is_like(&body));
        request::send_to_v1(body, Form::Proto).unwrap().configuration.unwrap()
    };
    for (configuration, at_once, history) in [
        (json!({}), true, None),
        (json!({"blocking": true, "historyLength": 0}), false, None),
        (json!({"blocking": false, "historyLength": 2}), true, Some(2)),
    ] {
        let read = read(configuration);
        assert_eq!((read.return_immediately, read.history_length), (at_once, history));
    }
}

#[test]
fn errors_name_the_field_by_its_name_in_the_proto() {
    for (part, error) in [
        (json!({}), "expected exactly one of text, file, data, found none of them"),
        (
            json!({"text": "", "data": {"data": {}}}),
            "expected exactly one of text, file, data, found several of them",
        ),
        (
            json!({"file": {}}),
            "file: expected exactly one of fileWithBytes, fileWithUri, found neither",
        ),
        (
            json!({"file": {"fileWithBytes": "*"}}),
            "file.fileWithBytes: expected base64, found a string that is not",
        ),
        (json!({"data": {}}), "data.data: expected an object, found nothing"),
    ] {
        assert_eq!(part_to_v1(part).unwrap_err().to_string(), error);
    }
}

#[test]
fn a_setting_is_named_after_its_task() {
    let body = json!({
        "parent": "tasks/t", "configId": "p",
        "config": {"name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": {
            "url": "u", "authentication": {"schemes": ["Bearer"], "credentials": "s"}}},
    });
    let config = create_push_to_v1(body, "t").unwrap();
    assert_eq!(to_value(&config)["id"], "p");
    let mut losses = Losses::new();
    assert_eq!(
        push_from_v1(&config, &mut losses),
        json!({
            "name": "tasks/t/pushNotificationConfigs/p",
            "pushNotificationConfig": {
                "id": "p", "url": "u", "authentication": {"schemes": ["Bearer"], "credentials": "s"}},
        })
    );
    assert!(losses.is_empty());
}

#[test]
fn parts_come_back() {
    for part in [
        json!({"text": ""}),
        json!({"raw": "AAE=", "filename": "n", "mediaType": "b/c"}),
        json!({"url": "u", "metadata": {"k": 1}}),
        json!({"data": {"a": 1}}),
        json!({"data": ["a", null]}),
        json!({"data": 7, "mediaType": "b/c", "metadata": {"mimeType": "b/c"}}),
    ] {
        let part = Part::read(part).unwrap();
        let mut losses = Losses::new();
        let written = part_from_v1(&part, &mut losses);
        assert_eq!(part_to_v1(written).unwrap(), part);
        assert!(losses.is_empty());
    }
}
