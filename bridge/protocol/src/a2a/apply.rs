//! Applies the events of a task to it (specification 4.2).

use alloc::vec::Vec;

use super::{Artifact, Message, Metadata, Part, Role, StreamResponse, Task, TaskState, TaskStatus};

impl Task {
    /// Sets the status, and adds the metadata of that change. The message of the replaced status is added to the
    /// history, unless it is already there; the message of the new status is removed from it.
    pub fn set_status(&mut self, status: TaskStatus, metadata: Option<Metadata>) {
        self.replace_status(status, |_| true);
        if let Some(metadata) = metadata {
            self.metadata.get_or_insert_default().extend(metadata);
        }
    }

    /// Sets the status as [`Task::set_status`] does. The history is searched only for messages whose ids it may contain
    /// according to `may_contain`, because a search in a long history takes long.
    pub fn replace_status(&mut self, status: TaskStatus, may_contain: impl Fn(&str) -> bool) {
        let replaced = core::mem::replace(&mut self.status, status);
        let now = self.status.message.as_ref().map(|one| &one.message_id);
        if let Some(now) = now.filter(|id| may_contain(id)) {
            let is_it = |one: &Message| one.role == Role::Agent && one.message_id == *now;
            self.history.retain(|one| !is_it(one));
        }
        let Some(message) = replaced.message else {
            return;
        };
        let id = &message.message_id;
        // The caller makes the ids of its messages, and perhaps the same ones.
        let remembered = |one: &Message| one.role == message.role && one.message_id == *id;
        if now != Some(id) && !(may_contain(id) && self.history.iter().any(remembered)) {
            self.history.push(message);
        }
    }

    /// Applies an artifact: its parts are appended to the artifact with the same id, or it replaces that one, or it is
    /// added as the last one.
    pub fn add_artifact(&mut self, artifact: Artifact, append: bool) {
        let known = |one: &&mut Artifact| one.artifact_id == artifact.artifact_id;
        // An agent adds to the newest artifacts, of which a task may have many.
        match self.artifacts.iter_mut().rfind(known) {
            Some(present) if append => present.extend(artifact),
            Some(present) => *present = artifact,
            None => {
                // Most tasks have one artifact, and many tasks are cached: do not reserve room for further ones.
                if self.artifacts.is_empty() {
                    self.artifacts.reserve_exact(1);
                }
                self.artifacts.push(artifact);
            }
        }
    }

    /// Replaces a message of the agent, or removes it if `message` is `None`. The artifact that was made from a removed
    /// message is removed too; a new version of an artifact comes as an update.
    pub fn revise(&mut self, id: &str, message: Option<&Message>) {
        let is_it = |one: &Message| one.role == Role::Agent && one.message_id == id;
        let Some(message) = message else {
            self.history.retain(|one| !is_it(one));
            self.status.message = self.status.message.take().filter(|one| !is_it(one));
            self.artifacts.retain(|one| one.artifact_id != id);
            return;
        };
        let all = self.history.iter_mut().chain(&mut self.status.message);
        for one in all.filter(|one| is_it(one)) {
            one.clone_from(message);
        }
    }

    /// Applies an item of the task's stream. A message is not part of a task and changes nothing.
    pub fn apply(&mut self, item: StreamResponse) {
        match item {
            StreamResponse::Task(task) => *self = task,
            StreamResponse::StatusUpdate(update) => {
                self.set_status(update.status, update.metadata);
            }
            StreamResponse::ArtifactUpdate(update) => {
                self.add_artifact(update.artifact, update.append);
            }
            StreamResponse::Message(_) => {}
        }
    }

    /// Returns the artifacts that do not just repeat the status message: a result may be in both.
    pub fn produced(&self) -> impl Iterator<Item = &Artifact> {
        let message = self.status.message.as_ref();
        let is_new =
            move |one: &&Artifact| !message.is_some_and(|message| one.repeats(&message.parts));
        self.artifacts.iter().filter(is_new)
    }

    /// Returns the task at the beginning of a stream with this item: the task in it, or a task that is known only by
    /// this change. Returns `None` for a message.
    pub fn begun_by(item: StreamResponse) -> Option<Self> {
        let mut task = match &item {
            StreamResponse::Task(_) => Self::unseen("", ""),
            StreamResponse::StatusUpdate(update) => {
                Self::unseen(&update.task_id, &update.context_id)
            }
            StreamResponse::ArtifactUpdate(update) => {
                Self::unseen(&update.task_id, &update.context_id)
            }
            StreamResponse::Message(_) => return None,
        };
        task.apply(item);
        Some(task)
    }

    fn unseen(id: &str, context_id: &str) -> Self {
        Self {
            context_id: Some(context_id).filter(|id| !id.is_empty()).map(Into::into),
            ..Self::new(id, TaskStatus::new(TaskState::Unspecified))
        }
    }
}

impl Artifact {
    /// Returns whether the artifact has exactly these contents.
    pub fn repeats(&self, parts: &[Part]) -> bool {
        let contents = self.parts.iter().map(|part| &part.content);
        contents.eq(parts.iter().map(|part| &part.content))
    }

    /// Appends the parts of a further piece. A text continues a previous plain text of its type:
    /// clients show each part on a separate line, and an agent that streams sends a text in many pieces.
    pub fn append_parts(&mut self, parts: impl IntoIterator<Item = Part>) {
        for part in parts {
            match (self.parts.last_mut(), part.as_text()) {
                (Some(last), Some(text)) if last.can_be_joined_with(&part) => last.push_str(text),
                (_, Some("")) if part.is_plain() => {}
                (_, Some(_) | None) => self.parts.push(part),
            }
        }
    }

    /// Appends a further piece: its parts, and the fields that it changes.
    fn extend(&mut self, piece: Self) {
        self.append_parts(piece.parts);
        self.name = piece.name.or(self.name.take());
        self.description = piece.description.or(self.description.take());
        if let Some(metadata) = piece.metadata {
            self.metadata.get_or_insert_default().extend(metadata);
        }
        let new: Vec<_> =
            piece.extensions.into_iter().filter(|uri| !self.extensions.contains(uri)).collect();
        self.extensions.extend(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;
    use alloc::vec;

    use serde_json::json;

    fn task() -> Task {
        Task::read(json!({
            "id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_WORKING", "message": message("one")},
            "artifacts": [{"artifactId": "a", "name": "Answer", "parts": [{"text": "Hel"}]}],
        }))
        .unwrap()
    }

    fn message(id: &str) -> serde_json::Value {
        json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": id}]})
    }

    fn after(items: &[serde_json::Value]) -> serde_json::Value {
        let mut task = task();
        for item in items {
            task.apply(StreamResponse::read(item.clone()).unwrap());
        }
        serde_json::to_value(task).unwrap()
    }

    #[test]
    fn a_replaced_status_goes_to_the_history() {
        let status = |id: &str| {
            json!({"statusUpdate": {"taskId": "t", "contextId": "c",
                "status": {"state": "TASK_STATE_WORKING", "message": message(id)}}})
        };
        let task = after(&[status("two"), status("two"), status("three")]);
        assert_eq!(task["history"], json!([message("one"), message("two")]));
        assert_eq!(task["status"]["message"], message("three"));
    }

    #[test]
    fn a_revised_message_is_replaced_and_a_deleted_one_removed() {
        let other = |id: &str, role: Role| Message {
            parts: [super::super::Part::text("new")].into(),
            ..Message::new(id, role, Vec::new())
        };
        let mut task = task();
        task.history = [other("old", Role::Agent), other("mine", Role::User)].into();
        let new = other("one", Role::Agent);
        task.revise("one", Some(&new));
        assert_eq!(task.status.message, Some(new));
        for id in ["one", "old", "mine", "a", "none"] {
            task.revise(id, None);
        }
        assert_eq!(task.status.message, None);
        assert_eq!(task.history, [other("mine", Role::User)]);
        assert!(task.artifacts.is_empty());
    }

    #[test]
    fn a_piece_extends_its_artifact_and_another_replaces_it() {
        let piece = |text: &str, append: bool| {
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append,
                "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
        };
        let appended = after(&[piece("lo", true)]);
        assert_eq!(
            appended["artifacts"],
            json!([{"artifactId": "a", "name": "Answer", "parts": [{"text": "Hello"}]}])
        );
        let replaced = after(&[piece("lo", true), piece("Bye", false)]);
        assert_eq!(replaced["artifacts"], json!([{"artifactId": "a", "parts": [{"text": "Bye"}]}]));
    }
    #[test]
    fn a_text_continues_the_part_before_it_unless_they_differ() {
        let piece = |parts: serde_json::Value| {
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true,
                "artifact": {"artifactId": "a", "parts": parts}}})
        };
        let marked = json!({"text": "# One", "mediaType": "text/markdown"});
        let named = json!({"text": "a,b", "filename": "one.csv"});
        for (pieces, expected) in [
            (vec![json!([{"text": ""}])], json!([{"text": "Hel"}])),
            (
                vec![json!([{"text": "lo"}]), json!([{"text": "!"}]), json!([{"text": ""}])],
                json!([{"text": "Hello!"}]),
            ),
            (
                vec![json!([{"data": 1}]), json!([{"text": ""}]), json!([{"text": "lo"}])],
                json!([{"text": "Hel"}, {"data": 1}, {"text": "lo"}]),
            ),
            (
                vec![json!([marked]), json!([{"text": " two", "mediaType": "text/markdown"}])],
                json!([{"text": "Hel"}, {"text": "# One two", "mediaType": "text/markdown"}]),
            ),
            (vec![json!([named]), json!([named])], json!([{"text": "Hel"}, named, named])),
            (
                vec![
                    json!([{"text": "lo", "metadata": {"n": 1}}]),
                    json!([{"text": "", "metadata": {"n": 2}}]),
                ],
                json!([{"text": "Hel"}, {"text": "lo", "metadata": {"n": 1}}, {"text": "", "metadata": {"n": 2}}]),
            ),
        ] {
            let pieces: Vec<_> = pieces.into_iter().map(piece).collect();
            assert_eq!(after(&pieces)["artifacts"][0]["parts"], expected);
        }
    }
}
