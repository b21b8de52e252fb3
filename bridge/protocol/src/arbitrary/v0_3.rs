//! JSON as agents of 0.3 write it: everything that its schema allows, in the spelling of this project.

use alloc::string::String;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::{assemble, maybe, metadata, object, text, texts, unknown};

/// Names that 0.3 does not have here, and that mean something in 1.0 or to the translation.
const V1_NAMES: &[&str] = &[
    "raw",
    "url",
    "text",
    "data",
    "filename",
    "mediaType",
    "tenant",
    "taskId",
    "scheme",
    "location",
    "returnImmediately",
    "taskPushNotificationConfig",
    "pageSize",
    "protocolBinding",
    "v0_3",
    "protocolVersion",
    "securityRequirements",
];

/// Unknown fields.
pub(crate) fn more() -> BoxedStrategy<super::Metadata> {
    unknown(V1_NAMES)
}

/// Generates a list that is left out if it is empty.
fn list() -> BoxedStrategy<Option<alloc::vec::Vec<String>>> {
    texts().prop_map(|list| Some(list).filter(|list| !list.is_empty())).boxed()
}

/// Generates a flag that is left out if it is false.
fn flag() -> BoxedStrategy<Option<bool>> {
    any::<bool>().prop_map(|flag| flag.then_some(true)).boxed()
}

pub(crate) fn part() -> BoxedStrategy<Value> {
    let text_part = text().prop_map(|text| json!({"kind": "text", "text": text}));
    let place = prop_oneof![
        vec(any::<u8>(), 0..5).prop_map(|raw| json!({"bytes": BASE64_STANDARD.encode(raw)})),
        text().prop_map(|uri| json!({"uri": uri})),
    ];
    let file =
        (place, maybe(text()), maybe(text()), more()).prop_map(|(place, name, mime, more)| {
            let named = assemble(json!({"name": name, "mimeType": mime}), more);
            let Value::Object(mut file) = named else { unreachable!() };
            file.retain(|key, _| key != "bytes" && key != "uri");
            json!({"kind": "file", "file": assemble(place, file)})
        });
    let wrapped = json_leaf().prop_map(|value| {
        let metadata = json!({"data_part_compat": true});
        json!({"kind": "data", "data": {"value": value}, "metadata": metadata})
    });
    let part = prop_oneof![
        3 => text_part,
        1 => file,
        1 => object().prop_map(|data| json!({"kind": "data", "data": data})),
        1 => wrapped,
        1 => object().prop_map(|more| assemble(json!({"kind": "hologram"}), more)),
    ];
    (part, metadata(), more())
        .prop_map(|(part, metadata, more)| {
            let more = assemble(json!({"metadata": metadata}), more);
            match more {
                Value::Object(more) => assemble(part, more),
                _ => unreachable!(),
            }
        })
        .boxed()
}

fn json_leaf() -> impl Strategy<Value = Value> {
    prop_oneof![Just(json!(7)), Just(json!([1])), Just(json!({"a": 1}))]
}

pub(crate) fn message() -> BoxedStrategy<Value> {
    let ids = (text(), maybe(text()), maybe(text()));
    let role = select(&["user", "agent", "critic"]);
    (ids, role, vec(part(), 0..3), metadata(), list(), list(), more())
        .prop_map(|(ids, role, parts, metadata, extensions, references, more)| {
            let fields = json!({
                "kind": "message", "messageId": ids.0, "contextId": ids.1, "taskId": ids.2,
                "role": role, "parts": parts, "metadata": metadata,
                "extensions": extensions, "referenceTaskIds": references,
            });
            let mut more = more;
            more.remove("taskId");
            assemble(fields, more)
        })
        .boxed()
}

const STATES: &[&str] = &[
    "submitted",
    "working",
    "input-required",
    "completed",
    "canceled",
    "failed",
    "rejected",
    "auth-required",
    "unknown",
    "asleep",
];

/// The states after which nothing follows for the message that was sent.
const FINAL: &[&str] =
    &["input-required", "completed", "canceled", "failed", "rejected", "auth-required"];

fn status() -> BoxedStrategy<(Value, bool)> {
    (select(STATES), maybe(message()), maybe(text()), more())
        .prop_map(|(state, message, timestamp, more)| {
            let fields = json!({"state": state, "message": message, "timestamp": timestamp});
            (assemble(fields, more), FINAL.contains(&state))
        })
        .boxed()
}

fn artifact() -> BoxedStrategy<Value> {
    let names = (text(), maybe(text()), maybe(text()));
    (names, vec(part(), 0..3), metadata(), list(), more())
        .prop_map(|(names, parts, metadata, extensions, more)| {
            let fields = json!({
                "artifactId": names.0, "name": names.1, "description": names.2,
                "parts": parts, "metadata": metadata, "extensions": extensions,
            });
            assemble(fields, more)
        })
        .boxed()
}

pub(crate) fn task() -> BoxedStrategy<Value> {
    let work = (status(), vec(artifact(), 1..3), vec(message(), 1..3));
    (text(), text(), work, metadata(), more())
        .prop_map(|(id, context_id, work, metadata, more)| {
            let fields = json!({
                "kind": "task", "id": id, "contextId": context_id, "status": work.0.0,
                "artifacts": work.1, "history": work.2, "metadata": metadata,
            });
            assemble(fields, more)
        })
        .boxed()
}

pub(crate) fn stream_item() -> BoxedStrategy<Value> {
    let status_update = (text(), text(), status(), metadata(), more()).prop_map(
        |(task_id, context_id, status, metadata, more)| {
            let fields = json!({
                "kind": "status-update", "taskId": task_id, "contextId": context_id,
                "status": status.0, "final": status.1, "metadata": metadata,
            });
            assemble(fields, more)
        },
    );
    let artifact_update = (text(), text(), artifact(), flag(), flag(), metadata(), more())
        .prop_map(|(task_id, context_id, artifact, append, last, metadata, more)| {
            let fields = json!({
                "kind": "artifact-update", "taskId": task_id, "contextId": context_id,
                "artifact": artifact, "append": append, "lastChunk": last, "metadata": metadata,
            });
            assemble(fields, more)
        });
    prop_oneof![task(), message(), status_update, artifact_update].boxed()
}

fn push_config() -> BoxedStrategy<Value> {
    let authentication =
        (texts(), maybe(text()), more()).prop_map(|(schemes, credentials, more)| {
            assemble(json!({"schemes": schemes, "credentials": credentials}), more)
        });
    (maybe(text()), text(), maybe(text()), maybe(authentication), more())
        .prop_map(|(id, url, token, authentication, more)| {
            let fields = json!({
                "id": id, "url": url, "token": token, "authentication": authentication,
            });
            assemble(fields, more)
        })
        .boxed()
}

/// Parameters of every method, with the method.
pub(crate) fn call() -> BoxedStrategy<(&'static str, Value)> {
    let configuration = (list(), maybe(push_config()), maybe(any::<i32>()), any::<bool>(), more())
        .prop_map(|(modes, config, length, blocking, more)| {
            let fields = json!({
                "acceptedOutputModes": modes, "pushNotificationConfig": config,
                "historyLength": length, "blocking": blocking,
            });
            assemble(fields, more)
        });
    let send = (message(), maybe(configuration), metadata(), more()).prop_map(
        |(message, configuration, metadata, more)| {
            let fields = json!({
                "message": message, "configuration": configuration, "metadata": metadata,
            });
            assemble(fields, more)
        },
    );
    let of_task = || {
        (text(), metadata(), more()).prop_map(|(id, metadata, more)| {
            assemble(json!({"id": id, "metadata": metadata}), more)
        })
    };
    let with = |key: &'static str, value: BoxedStrategy<Value>| {
        (of_task(), value).prop_map(move |(params, value)| match params {
            Value::Object(more) => assemble(json!({ key: value }), more),
            _ => unreachable!(),
        })
    };
    let id = || text().prop_map(Value::from).boxed();
    let set = (text(), push_config(), more()).prop_map(|(task_id, config, more)| {
        assemble(json!({"taskId": task_id, "pushNotificationConfig": config}), more)
    });
    prop_oneof![
        (Just("message/send"), send.clone()),
        (Just("message/stream"), send),
        (Just("tasks/get"), with("historyLength", Just(json!(3)).boxed())),
        (Just("tasks/cancel"), of_task()),
        (Just("tasks/resubscribe"), of_task()),
        (Just("tasks/pushNotificationConfig/set"), set),
        (Just("tasks/pushNotificationConfig/get"), of_task()),
        (Just("tasks/pushNotificationConfig/get"), with("pushNotificationConfigId", id())),
        (Just("tasks/pushNotificationConfig/list"), of_task()),
        (Just("tasks/pushNotificationConfig/delete"), with("pushNotificationConfigId", id())),
    ]
    .boxed()
}
