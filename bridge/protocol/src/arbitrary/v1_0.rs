//! Values of the types of 1.0.

use proptest::{collection::vec, prelude::*};
use serde_json::Value;

use super::{json, maybe, metadata, object, text, texts, unknown};
use crate::a2a::*;

/// Names that no type of 1.0 has, and that mean something in 0.3.
const V0_3_NAMES: &[&str] = &["kind", "final", "file", "blocking", "pushNotificationConfig"];

/// Unknown fields. A flag could say by chance what 0.3 says anyway, which is no loss but does not come back.
pub(crate) fn extra() -> BoxedStrategy<Metadata> {
    let without_flags = |mut fields: Metadata| {
        fields.retain(|_, value| !value.is_boolean());
        fields
    };
    unknown(V0_3_NAMES).prop_map(without_flags).boxed()
}

pub(crate) fn part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        3 => text().prop_map(Content::Text),
        1 => vec(any::<u8>(), 0..5).prop_map(Content::Raw),
        1 => text().prop_map(Content::Url),
        1 => json().prop_map(Content::Data),
        1 => object().prop_map(|map| Content::Data(Value::Object(map))),
    ];
    // Rare on text, or hardly any message would come through without a loss.
    let rare = || proptest::option::weighted(0.1, text());
    (content, metadata(), rare(), rare(), extra()).prop_map(
        |(content, metadata, filename, media_type, extra)| Part {
            content,
            metadata,
            filename,
            media_type,
            extra,
        },
    )
}

pub(crate) fn message() -> BoxedStrategy<Message> {
    let role = prop_oneof![
        4 => Just(Role::User),
        4 => Just(Role::Agent),
        1 => Just(Role::Unspecified),
        1 => Just(Role::Unknown("ROLE_CRITIC".into())),
    ];
    let ids = (text(), maybe(text()), maybe(text()));
    let parts = vec(part(), 0..3);
    (ids, role, parts, metadata(), texts(), texts(), extra())
        .prop_map(|(ids, role, parts, metadata, extensions, references, extra)| Message {
            message_id: ids.0,
            context_id: ids.1,
            task_id: ids.2,
            role,
            parts,
            metadata,
            extensions,
            reference_task_ids: references,
            extra,
        })
        .boxed()
}

pub(crate) fn state() -> impl Strategy<Value = TaskState> {
    prop_oneof![
        Just(TaskState::Unspecified),
        Just(TaskState::Submitted),
        Just(TaskState::Working),
        Just(TaskState::Completed),
        Just(TaskState::Failed),
        Just(TaskState::Canceled),
        Just(TaskState::InputRequired),
        Just(TaskState::Rejected),
        Just(TaskState::AuthRequired),
        Just(TaskState::Unknown("TASK_STATE_ASLEEP".into())),
    ]
}

pub(crate) fn status() -> BoxedStrategy<TaskStatus> {
    (state(), maybe(message()), maybe(text()), extra())
        .prop_map(|(state, message, timestamp, extra)| TaskStatus {
            state,
            message,
            timestamp,
            extra,
        })
        .boxed()
}

pub(crate) fn artifact() -> BoxedStrategy<Artifact> {
    let names = (text(), maybe(text()), maybe(text()));
    (names, vec(part(), 0..3), metadata(), texts(), extra())
        .prop_map(|(names, parts, metadata, extensions, extra)| Artifact {
            artifact_id: names.0,
            name: names.1,
            description: names.2,
            parts,
            metadata,
            extensions,
            extra,
        })
        .boxed()
}

pub(crate) fn task() -> BoxedStrategy<Task> {
    let work = (status(), vec(artifact(), 0..2), vec(message(), 0..2));
    (text(), maybe(text()), work, metadata(), extra())
        .prop_map(|(id, context_id, work, metadata, extra)| Task {
            id,
            context_id,
            status: work.0,
            artifacts: work.1,
            history: work.2,
            metadata,
            extra,
        })
        .boxed()
}

fn status_update() -> impl Strategy<Value = TaskStatusUpdateEvent> {
    (text(), text(), status(), metadata(), extra()).prop_map(
        |(task_id, context_id, status, metadata, extra)| TaskStatusUpdateEvent {
            task_id,
            context_id,
            status,
            metadata,
            extra,
        },
    )
}

fn artifact_update() -> impl Strategy<Value = TaskArtifactUpdateEvent> {
    let flags = any::<(bool, bool)>();
    (text(), text(), artifact(), flags, metadata(), extra()).prop_map(
        |(task_id, context_id, artifact, flags, metadata, extra)| TaskArtifactUpdateEvent {
            task_id,
            context_id,
            artifact,
            append: flags.0,
            last_chunk: flags.1,
            metadata,
            extra,
        },
    )
}

pub(crate) fn stream_item() -> BoxedStrategy<StreamResponse> {
    prop_oneof![
        task().prop_map(StreamResponse::Task),
        message().prop_map(StreamResponse::Message),
        status_update().prop_map(StreamResponse::StatusUpdate),
        artifact_update().prop_map(StreamResponse::ArtifactUpdate),
    ]
    .boxed()
}

pub(crate) fn push_config() -> BoxedStrategy<TaskPushNotificationConfig> {
    let rare = || proptest::option::weighted(0.1, text());
    let authentication = (text(), maybe(text()), extra())
        .prop_map(|(scheme, credentials, extra)| AuthenticationInfo { scheme, credentials, extra });
    let ids = (rare(), maybe(text()), rare());
    (ids, text(), maybe(text()), maybe(authentication), extra())
        .prop_map(|(ids, url, token, authentication, extra)| TaskPushNotificationConfig {
            tenant: ids.0,
            id: ids.1,
            task_id: ids.2,
            url,
            token,
            authentication,
            extra,
        })
        .boxed()
}
