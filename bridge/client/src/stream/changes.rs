//! Computes the events that lead from one state of a task to another.

use bridge_protocol::a2a::{
    Artifact, Message, Metadata, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};

use super::recent_set::RecentSet;

/// The events between the task as it was reported and the task as it is now: messages that are in the history
/// (without those in `messages`, which were reported), then artifacts, then the status.
pub(super) fn between(shown: &Task, now: &Task, messages: &RecentSet) -> Vec<StreamResponse> {
    let passed = passed(now, messages).map(|message| said(now, message));
    let artifacts = now.artifacts.iter().filter_map(|artifact| {
        let known = |one: &&Artifact| one.artifact_id == artifact.artifact_id;
        grown(now, shown.artifacts.iter().find(known), artifact)
    });
    let metadata = new_metadata(shown, now);
    let is_new = metadata.is_some() || shown.status != now.status;
    let status = is_new.then(|| status(now, now.status.clone(), metadata));
    passed.chain(artifacts).chain(status).collect()
}

/// The agent's messages from earlier statuses.
fn passed<'a>(now: &'a Task, shown: &'a RecentSet) -> impl Iterator<Item = &'a Message> {
    let last = now.status.message.as_ref();
    let last = last.map(|message| message.message_id.as_str());
    let unseen = move |message: &&Message| {
        let id = message.message_id.as_str();
        message.role != Role::User && last != Some(id) && !shown.contains(id)
    };
    now.history.iter().filter(unseen)
}

/// A status event for a message of an earlier status. The state at that time is not recorded; working is
/// certain, since the task continued.
fn said(task: &Task, message: &Message) -> StreamResponse {
    let working = TaskStatus {
        message: Some(message.clone()),
        ..TaskStatus::new(TaskState::Working)
    };
    status(task, working, None)
}

fn status(task: &Task, status: TaskStatus, metadata: Option<Metadata>) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone().unwrap_or_default(),
        status,
        metadata,
        extra: Metadata::new(),
    })
}

/// The parts appended to an artifact, or the whole artifact if it changed otherwise.
fn grown(task: &Task, shown: Option<&Artifact>, now: &Artifact) -> Option<StreamResponse> {
    let appended = shown.and_then(|shown| appended(shown, now));
    match (shown, appended) {
        (Some(shown), _) if shown == now => None,
        (Some(_), Some(piece)) => Some(artifact(task, piece, true)),
        (Some(_) | None, _) => Some(artifact(task, now.clone(), false)),
    }
}

/// The artifact with only its new parts, if nothing else changed.
fn appended(shown: &Artifact, now: &Artifact) -> Option<Artifact> {
    let parts = now.parts.strip_prefix(shown.parts.as_slice())?;
    let parts = parts.to_vec();
    let same = Artifact {
        parts: shown.parts.clone(),
        ..now.clone()
    };
    (*shown == same).then(|| Artifact {
        parts,
        ..now.clone()
    })
}

fn artifact(task: &Task, artifact: Artifact, append: bool) -> StreamResponse {
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone().unwrap_or_default(),
        artifact,
        append,
        last_chunk: false,
        metadata: None,
        extra: Metadata::new(),
    })
}

/// The task's metadata that are new or changed.
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
