//! Computes the events that lead from one state of a task to another.

use bridge_protocol::a2a::{
    Artifact, Content, Message, Metadata, Part, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};

use super::reported::RecentSet;

/// Returns the events between the task as it was reported and the task as it is now: messages that are in the history
/// (without those in `messages`, which were reported), then artifacts, then the status.
pub(super) fn between(shown: &Task, now: &Task, messages: &RecentSet) -> Vec<StreamResponse> {
    let passed = passed(now, messages).map(|message| message_event(now, message));
    let artifacts = now.artifacts.iter().filter_map(|artifact| {
        let known = |one: &&Artifact| one.artifact_id == artifact.artifact_id;
        grown(now, shown.artifacts.iter().find(known), artifact)
    });
    let metadata = new_metadata(shown, now);
    let is_new = metadata.is_some() || shown.status != now.status;
    let status = is_new.then(|| status(now, now.status.clone(), metadata));
    passed.chain(artifacts).chain(status).collect()
}

/// Returns the agent's messages from earlier statuses.
fn passed<'a>(now: &'a Task, shown: &'a RecentSet) -> impl Iterator<Item = &'a Message> {
    let last = now.status.message.as_ref();
    let last = last.map(|message| message.message_id.as_str());
    let unseen = move |message: &&Message| {
        let id = message.message_id.as_str();
        message.role != Role::User && last != Some(id) && !shown.contains(id)
    };
    now.history.iter().filter(unseen)
}

/// Returns a status event for a message of an earlier status. The state at that time is not recorded; working is
/// certain, since the task continued.
fn message_event(task: &Task, message: &Message) -> StreamResponse {
    let working =
        TaskStatus { message: Some(message.clone()), ..TaskStatus::new(TaskState::Working) };
    status(task, working, None)
}

fn status(task: &Task, status: TaskStatus, metadata: Option<Metadata>) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone().unwrap_or_default(),
        status,
        metadata,
        ..TaskStatusUpdateEvent::default()
    })
}

/// Returns the parts appended to an artifact, or the whole artifact if it changed otherwise.
fn grown(task: &Task, shown: Option<&Artifact>, now: &Artifact) -> Option<StreamResponse> {
    match shown.and_then(|shown| appended(shown, now)) {
        Some(piece) if piece.parts.is_empty() => None,
        Some(piece) => Some(artifact(task, piece, true)),
        None => Some(artifact(task, now.clone(), false)),
    }
}

/// Returns the artifact with only its new parts, if nothing else changed.
fn appended(shown: &Artifact, now: &Artifact) -> Option<Artifact> {
    let same = Artifact { parts: shown.parts.clone(), ..now.clone() };
    let parts = || new_parts(&joined(shown), &joined(now));
    let parts = (*shown == same).then(parts)??;
    Some(Artifact { parts, ..now.clone() })
}

/// Returns the parts, with texts joined that some agents keep in the pieces in which they came.
fn joined(artifact: &Artifact) -> Vec<Part> {
    let mut joined = Artifact::new("", Vec::new());
    joined.append_parts(artifact.parts.iter().cloned());
    joined.parts
}

/// Returns the parts after those that were shown; the last shown part may have become a longer text.
fn new_parts(shown: &[Part], now: &[Part]) -> Option<Vec<Part>> {
    let Some((last, before)) = shown.split_last() else {
        return Some(now.to_vec());
    };
    let (next, rest) = now.strip_prefix(before)?.split_first()?;
    if last == next {
        return Some(rest.to_vec());
    }
    let more = next.as_text()?.strip_prefix(last.as_text()?)?;
    let grown = Part { content: Content::Text(more.to_owned()), ..next.clone() };
    last.can_be_joined_with(next).then(|| [&[grown], rest].concat())
}

fn artifact(task: &Task, artifact: Artifact, append: bool) -> StreamResponse {
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone().unwrap_or_default(),
        artifact,
        append,
        ..TaskArtifactUpdateEvent::default()
    })
}

/// Returns the members of the task's metadata that are new or changed.
fn new_metadata(shown: &Task, now: &Task) -> Option<Metadata> {
    let known = shown.metadata.as_ref();
    let now = now.metadata.as_ref()?;
    let is_new = |key: &String, value: &_| known.and_then(|known| known.get(key)) != Some(value);
    let new: Metadata = now
        .iter()
        .filter(|(key, value)| is_new(key, value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!new.is_empty()).then_some(new)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::wire::Wire as _;
    use serde_json::{Value, json};

    use super::*;

    fn task(parts: &Value) -> Task {
        Task::read(json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"},
            "artifacts": [{"artifactId": "a", "parts": parts}]}))
        .unwrap()
    }

    #[test]
    fn a_text_that_grew_is_a_piece_however_the_agent_keeps_it() {
        let text = |text: &str| json!({"text": text});
        for (shown, now, expected) in [
            (json!([text("Hel")]), json!([text("Hel")]), None),
            (json!([text("Hel")]), json!([text("Hello")]), Some((true, json!([text("lo")])))),
            (
                json!([text("Hello")]),
                json!([text("Hel"), text("lo"), text("!"), {"data": 1}]),
                Some((true, json!([text("!"), {"data": 1}]))),
            ),
            (json!([text("Hello")]), json!([text("Hel"), text("lo")]), None),
            (json!([text("Hel"), text("lo")]), json!([text("Hello")]), None),
            (json!([text("Hello")]), json!([text("Help")]), Some((false, json!([text("Help")])))),
            (
                json!([{"data": 1}]),
                json!([{"data": 1}, text("one")]),
                Some((true, json!([text("one")]))),
            ),
            (
                json!([text("a"), {"data": 1}]),
                json!([text("ab"), {"data": 1}]),
                Some((false, json!([text("ab"), {"data": 1}]))),
            ),
        ] {
            let events = between(&task(&shown), &task(&now), &RecentSet::default());
            let changes: Vec<_> = events
                .iter()
                .map(|event| match event {
                    StreamResponse::ArtifactUpdate(update) => {
                        let artifact = serde_json::to_value(&update.artifact).unwrap();
                        (update.append, artifact["parts"].clone())
                    }
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(changes, Vec::from_iter(expected), "{shown} {now}");
        }
    }
}
