//! JSON as agents of 0.1 write it: everything that its schema allows, in the spelling of this project.

use alloc::{string::String, vec::Vec};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::{Metadata, assemble, maybe, metadata, object, text, texts, unknown};

/// Names that 0.1 does not have here, and that mean something in 1.0 or to the translation.
const V1_NAMES: &[&str] = &[
    "kind",
    "raw",
    "url",
    "filename",
    "mediaType",
    "tenant",
    "returnImmediately",
    "configuration",
    "lastChunk",
    "v0_3",
    "v0_1",
    "securityRequirements",
    "securitySchemes",
];

fn more() -> BoxedStrategy<Metadata> {
    unknown(V1_NAMES)
}

/// Returns an object with `metadata`, if there is some, and `more`.
fn with_metadata(object: Value, metadata: Option<Metadata>, more: Metadata) -> Value {
    let mut more = more;
    more.extend(metadata.map(|metadata| ("metadata".into(), Value::Object(metadata))));
    assemble(object, more)
}

fn part() -> BoxedStrategy<Value> {
    let place = prop_oneof![
        vec(any::<u8>(), 0..5).prop_map(|raw| json!({"bytes": BASE64_STANDARD.encode(raw)})),
        text().prop_map(|uri| json!({"uri": uri})),
    ];
    let file = (place, maybe(text()), maybe(text())).prop_map(|(place, name, mime)| {
        let Value::Object(place) = place else { unreachable!() };
        let file = assemble(json!({"name": name, "mimeType": mime}), place);
        json!({"type": "file", "file": file})
    });
    let part = prop_oneof![
        3 => text().prop_map(|text| json!({"type": "text", "text": text})),
        1 => file,
        1 => object().prop_map(|data| json!({"type": "data", "data": data})),
        1 => object().prop_map(|mut more| {
            more.remove("kind");
            assemble(json!({"type": "hologram"}), more)
        }),
    ];
    (part, metadata(), more())
        .prop_map(|(part, metadata, more)| with_metadata(part, metadata, more))
        .boxed()
}

fn message() -> BoxedStrategy<Value> {
    let role = select(&["user", "agent", "critic"]);
    let id = proptest::option::weighted(0.2, text());
    (id, role, vec(part(), 0..3), metadata(), more())
        .prop_map(|(id, role, parts, metadata, more)| {
            let fields = json!({"role": role, "parts": parts, "messageId": id});
            with_metadata(assemble(fields, Metadata::new()), metadata, more)
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
    "unknown",
    "asleep",
];

/// The states after which nothing follows for the message that was sent.
const FINAL: &[&str] = &["input-required", "completed", "canceled", "failed"];

fn status() -> BoxedStrategy<(Value, bool)> {
    (select(STATES), maybe(message()), maybe(text()), more())
        .prop_map(|(state, message, timestamp, more)| {
            let fields = json!({"state": state, "message": message, "timestamp": timestamp});
            (assemble(fields, more), FINAL.contains(&state))
        })
        .boxed()
}

fn artifact() -> BoxedStrategy<Value> {
    let names = (maybe(text()), maybe(text()));
    let index = prop_oneof![0..3, any::<i32>()];
    (index, names, vec(part(), 0..3), metadata(), more())
        .prop_map(|(index, names, parts, metadata, more)| {
            let fields = json!({
                "index": index, "name": names.0, "description": names.1, "parts": parts,
            });
            with_metadata(assemble(fields, Metadata::new()), metadata, more)
        })
        .boxed()
}

/// Returns a task, which always has a field that distinguishes it from a status update.
pub(crate) fn task() -> BoxedStrategy<Value> {
    let work = (status(), vec(artifact(), 1..4), vec(message(), 1..3));
    (text(), maybe(text()), work, metadata(), more())
        .prop_map(|(id, session, work, metadata, more)| {
            let fields = json!({
                "id": id, "sessionId": session, "status": work.0.0, "artifacts": work.1,
                "history": work.2,
            });
            with_metadata(assemble(fields, Metadata::new()), metadata, more)
        })
        .boxed()
}

pub(crate) fn stream_item() -> BoxedStrategy<Value> {
    let status_update =
        (text(), status(), metadata(), more()).prop_map(|(id, status, metadata, more)| {
            let fields = json!({"id": id, "status": status.0, "final": status.1});
            with_metadata(fields, metadata, more)
        });
    let flag = || any::<bool>().prop_map(|flag| flag.then_some(true));
    let artifact_update = (text(), artifact(), flag(), flag(), metadata(), more()).prop_map(
        |(id, mut artifact, append, last, metadata, more)| {
            if let Value::Object(fields) = &mut artifact {
                fields.remove("append");
                fields.remove("lastChunk");
            }
            let flags = assemble(json!({"append": append, "lastChunk": last}), Metadata::new());
            let Value::Object(flags) = flags else { unreachable!() };
            let fields = json!({"id": id, "artifact": assemble(artifact, flags)});
            with_metadata(fields, metadata, more)
        },
    );
    prop_oneof![task(), status_update, artifact_update].boxed()
}

fn push_config() -> BoxedStrategy<Value> {
    let authentication = (texts(), maybe(text())).prop_map(|(schemes, credentials)| {
        assemble(json!({"schemes": schemes, "credentials": credentials}), Metadata::new())
    });
    (text(), maybe(text()), maybe(authentication))
        .prop_map(|(url, token, authentication)| {
            let fields = json!({"url": url, "token": token, "authentication": authentication});
            assemble(fields, Metadata::new())
        })
        .boxed()
}

/// Parameters of every method, with the method.
pub(crate) fn call() -> BoxedStrategy<(&'static str, Value)> {
    let modes = texts().prop_map(|list: Vec<String>| Some(list).filter(|list| !list.is_empty()));
    let beside = (modes, maybe(push_config()), maybe(any::<i32>()));
    let send = (text(), maybe(text()), message(), beside, metadata(), more())
        .prop_map(|(id, session, message, beside, metadata, more)| {
            let fields = json!({
                "id": id, "sessionId": session, "message": message,
                "acceptedOutputModes": beside.0, "pushNotification": beside.1,
                "historyLength": beside.2,
            });
            with_metadata(assemble(fields, Metadata::new()), metadata, more)
        })
        .boxed();
    let of_task = || {
        (text(), metadata(), more())
            .prop_map(|(id, metadata, more)| with_metadata(json!({"id": id}), metadata, more))
    };
    let get = (text(), maybe(any::<i32>()), metadata(), more())
        .prop_map(|(id, length, metadata, more)| {
            let fields = assemble(json!({"id": id, "historyLength": length}), Metadata::new());
            with_metadata(fields, metadata, more)
        })
        .boxed();
    let set = (text(), push_config(), more()).prop_map(|(id, config, more)| {
        assemble(json!({"id": id, "pushNotificationConfig": config}), more)
    });
    prop_oneof![
        (Just("tasks/send"), send.clone()),
        (Just("tasks/sendSubscribe"), send),
        (Just("tasks/get"), get.clone()),
        (Just("tasks/resubscribe"), get),
        (Just("tasks/cancel"), of_task()),
        (Just("tasks/pushNotification/set"), set),
        (Just("tasks/pushNotification/get"), of_task()),
    ]
    .boxed()
}

pub(crate) fn card() -> BoxedStrategy<Value> {
    let names = select(&["Bearer", "basic", "bearer", "apiKey", "none"]);
    let authentication = (vec(names, 0..4), maybe(text())).prop_map(|(schemes, credentials)| {
        assemble(json!({"schemes": schemes, "credentials": credentials}), Metadata::new())
    });
    let skill = (text(), text(), texts(), more()).prop_map(|(id, name, tags, more)| {
        let fields = json!({"id": id, "name": name, "description": "", "tags": tags});
        assemble(fields, more)
    });
    (text(), authentication, vec(skill, 0..3), any::<bool>(), more())
        .prop_map(|(url, authentication, skills, streaming, more)| {
            let fields = json!({
                "name": "n", "description": "", "url": url, "version": "1",
                "authentication": authentication, "skills": skills,
                "capabilities": {"streaming": streaming, "stateTransitionHistory": false},
                "defaultInputModes": ["text"], "defaultOutputModes": [],
            });
            assemble(fields, more)
        })
        .boxed()
}
