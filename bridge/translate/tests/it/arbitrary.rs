//! Generates activities and messages with any of their fields, as JSON.

use proptest::{
    collection::{btree_map, vec},
    option::of,
    prelude::*,
    sample::select,
};
use serde_json::{Map, Value, json};

/// Returns a short text, never empty.
fn text() -> BoxedStrategy<Value> {
    "[a-zé /:,{\"]{1,8}".prop_map(Value::from).boxed()
}

fn one_of(names: &'static [&'static str]) -> BoxedStrategy<Value> {
    select(names).prop_map(Value::from).boxed()
}

fn flag() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(Value::from).boxed()
}

fn list(item: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    vec(item, 1..3).prop_map(Value::from).boxed()
}

/// Any JSON but null, which means the same as an absent field.
pub(super) fn json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![text(), flag(), any::<i32>().prop_map(Value::from)];
    let some = leaf.prop_recursive(3, 16, 4, |inner| {
        let key = prop_oneof![Just("type".into()), Just("value".into()), "[a-z]{1,6}"];
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(key, inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    });
    some.boxed()
}

/// Returns an object with any of these fields.
fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    let values: Vec<_> = values.into_iter().map(of).collect();
    values
        .prop_map(move |values| {
            let fields = names.iter().zip(values);
            let some = fields.filter_map(|(name, value)| Some(((*name).to_string(), value?)));
            some.collect()
        })
        .boxed()
}

/// Does the same with required fields.
fn with(object: BoxedStrategy<Value>, fields: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    (object, fields)
        .prop_map(|(mut object, fields)| {
            let all = object.as_object_mut().unwrap();
            all.extend(fields.as_object().unwrap().clone());
            object
        })
        .boxed()
}

fn always(name: &'static str, value: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    value.prop_map(move |value| json!({ name: value })).boxed()
}

fn account() -> BoxedStrategy<Value> {
    object(vec![("id", text()), ("name", text()), ("role", text()), ("x-more", json())])
}

fn url() -> BoxedStrategy<Value> {
    one_of(&[
        "https://example.com/a.png",
        "data:image/png;base64,AAEC",
        "data:image/png;base64,AAE",
        "data:text/plain,a%20b",
        "data:,",
        "data:;base64,*",
        "cid:1",
        "",
    ])
}

fn attachment() -> BoxedStrategy<Value> {
    let kinds = one_of(&[
        "image/png",
        "text/html",
        "application/json",
        "application/vnd.microsoft.card.hero",
        "application/vnd.microsoft.entity.mention",
        "",
    ]);
    let content = prop_oneof![json(), one_of(&["AAEC", "AAE=", "AAE", "a b", ""])];
    let name = prop_oneof![text(), one_of(&["A2A DataPart", ""])];
    object(vec![
        ("contentType", kinds),
        ("contentUrl", url()),
        ("content", content.boxed()),
        ("name", name.boxed()),
        ("thumbnailUrl", url()),
        ("x-more", json()),
    ])
}

fn entity() -> BoxedStrategy<Value> {
    let kinds = one_of(&["mention", "streaminfo", "https://schema.org/Message", ""]);
    let members = object(vec![
        ("citation", list(json())),
        ("streamType", one_of(&["informative", "streaming", "final", "other"])),
        ("streamId", one_of(&["s-1", "s-2"])),
        ("streamSequence", prop_oneof![(-1..4).prop_map(Value::from), text()].boxed()),
        ("streamResult", one_of(&["success", "error", "other"])),
        ("x-more", json()),
    ]);
    with(members, always("type", kinds))
}

fn action() -> BoxedStrategy<Value> {
    object(vec![("type", text()), ("title", text()), ("value", json()), ("x-more", json())])
}

/// Returns a message, or another activity with its fields.
pub(super) fn activity() -> BoxedStrategy<Value> {
    let kind = one_of(&[
        "message",
        "message",
        "typing",
        "endOfConversation",
        "event",
        "messageUpdate",
        "x-vendor",
    ]);
    let suggested = object(vec![("to", list(text())), ("actions", list(action()))]);
    let reference = object(vec![("activityId", text()), ("user", account()), ("bot", account())]);
    let highlight = object(vec![("text", text()), ("occurrence", Just(json!(1)).boxed())]);
    let fields = object(vec![
        ("id", text()),
        ("timestamp", text()),
        ("localTimestamp", text()),
        ("localTimezone", text()),
        ("callerId", text()),
        ("serviceUrl", text()),
        ("channelId", one_of(&["a2a", "webchat"])),
        ("from", account()),
        ("conversation", account()),
        ("recipient", account()),
        ("textFormat", one_of(&["plain", "markdown", "other"])),
        ("attachmentLayout", one_of(&["list", "carousel", "other"])),
        ("membersAdded", list(account())),
        ("membersRemoved", list(account())),
        ("reactionsAdded", list(object(vec![("type", text())]))),
        ("reactionsRemoved", list(object(vec![("type", text())]))),
        ("topicName", text()),
        ("historyDisclosed", flag()),
        ("locale", text()),
        ("text", prop_oneof![text(), one_of(&["", "a\nb"])].boxed()),
        ("speak", text()),
        ("inputHint", one_of(&["acceptingInput", "expectingInput", "ignoring", "other"])),
        ("summary", text()),
        ("suggestedActions", suggested),
        ("attachments", list(attachment())),
        ("entities", list(entity())),
        ("channelData", json()),
        ("action", text()),
        ("replyToId", text()),
        ("label", text()),
        ("valueType", text()),
        ("value", json()),
        ("name", text()),
        ("relatesTo", reference),
        ("code", one_of(&["error", "completedSuccessfully", "other"])),
        ("expiration", text()),
        ("importance", one_of(&["high", "other"])),
        ("deliveryMode", one_of(&["normal", "other"])),
        ("listenFor", list(text())),
        ("textHighlights", list(highlight)),
        ("semanticAction", object(vec![("id", text()), ("state", text())])),
        ("x-more", json()),
    ]);
    with(fields, always("type", kind))
}

/// Metadata with marks that must be ignored.
fn metadata() -> BoxedStrategy<Value> {
    object(vec![
        ("urn:activity:fields", prop_oneof![activity(), json()].boxed()),
        ("urn:activity:stream", entity()),
        ("urn:activity:attachment", always("fields", attachment())),
        ("urn:activity:value", json()),
        ("x-more", json()),
    ])
}

fn part() -> BoxedStrategy<Value> {
    let content = prop_oneof![
        always("text", text()),
        always("url", url()),
        always("raw", one_of(&["AAEC", "AAE=", ""])),
        always("data", prop_oneof![json(), Just(Value::Null)].boxed()),
        always("x-content", json()),
    ];
    let kinds = one_of(&["application/json", "text/plain", "application/vnd.microsoft.entity.a"]);
    let fields = object(vec![
        ("metadata", metadata()),
        ("filename", text()),
        ("mediaType", kinds),
        ("x-more", json()),
    ]);
    with(fields, content.boxed())
}

/// Returns a message of A2A.
pub(super) fn message() -> BoxedStrategy<Value> {
    let must = (text(), one_of(&["ROLE_USER", "ROLE_AGENT"]), vec(part(), 0..4));
    let must =
        must.prop_map(|(id, role, parts)| json!({"messageId": id, "role": role, "parts": parts}));
    let fields = object(vec![
        ("contextId", text()),
        ("taskId", text()),
        ("metadata", metadata()),
        ("extensions", list(text())),
        ("referenceTaskIds", list(text())),
        ("x-more", json()),
    ]);
    with(fields, must.boxed())
}

/// Any JSON with member names of activities.
pub(super) fn anything() -> BoxedStrategy<Value> {
    const NAMES: [&str; 8] =
        ["type", "text", "entities", "attachments", "value", "code", "inputHint", "id"];
    let any = btree_map(select(&NAMES[..]), prop_oneof![json(), Just(Value::Null)], 0..6);
    any.prop_map(|map| {
        let fields = map.into_iter().map(|(name, value)| (name.to_string(), value));
        Value::Object(fields.collect::<Map<_, _>>())
    })
    .boxed()
}
