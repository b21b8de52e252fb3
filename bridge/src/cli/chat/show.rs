//! What is seen of an agent's answers, on standard output.

use std::{
    collections::BTreeSet,
    io::{Write as _, stdout},
};

use bridge_protocol::{
    a2a::{
        Artifact, Content, Message, Metadata, Part, Role, StreamResponse, TaskState, TaskStatus,
    },
    activity::{Activity, ActivityType},
    translate::keys::EVENT,
    wire::{Wire as _, to_value},
};

/// Shows events as they come.
pub(super) struct Show {
    json: bool,
    /// Messages that were shown: an update may be told again by the task.
    seen: BTreeSet<String>,
    /// The artifact whose text is being written, and its line not ended.
    open: Option<String>,
}

impl Show {
    pub(super) fn new(json: bool) -> Self {
        Self {
            json,
            seen: BTreeSet::new(),
            open: None,
        }
    }

    pub(super) fn event(&mut self, event: &StreamResponse) {
        let text = match self.json {
            true => format!("{}\n", to_value(event)),
            false => self.text(event),
        };
        let mut out = stdout().lock();
        // Nobody reads any more: what is left to do is to end.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Ends a line that is open.
    pub(super) fn end(&mut self) {
        if self.open.take().is_some() {
            println!();
        }
    }

    fn text(&mut self, event: &StreamResponse) -> String {
        match event {
            StreamResponse::Task(task) => {
                let artifacts = task.artifacts.iter();
                let artifacts: String = artifacts
                    .map(|artifact| self.artifact(artifact, false))
                    .collect();
                artifacts + &self.status(&task.status)
            }
            StreamResponse::Message(message) => self.message(message),
            StreamResponse::StatusUpdate(update) => {
                let status = self.status(&update.status);
                let change = update.metadata.as_ref().and_then(change);
                match change {
                    Some(change) => format!("{status}{}[{change}]\n", self.closed()),
                    None => status,
                }
            }
            StreamResponse::ArtifactUpdate(update) => {
                self.artifact(&update.artifact, update.append)
            }
        }
    }

    fn status(&mut self, status: &TaskStatus) -> String {
        let said = status.message.as_ref();
        let said = said
            .map(|message| self.message(message))
            .unwrap_or_default();
        match &status.state {
            // What the agent said, or will say, tells as much.
            TaskState::Submitted
            | TaskState::Working
            | TaskState::Completed
            | TaskState::InputRequired
            | TaskState::Unspecified => said,
            TaskState::Failed
            | TaskState::Canceled
            | TaskState::Rejected
            | TaskState::AuthRequired
            | TaskState::Unknown(_) => {
                let word = status.state.as_str().trim_start_matches("TASK_STATE_");
                format!("{said}{}[{}]\n", self.closed(), word.to_lowercase())
            }
        }
    }

    fn message(&mut self, message: &Message) -> String {
        if message.role == Role::User || !self.seen.insert(message.message_id.clone()) {
            return String::new();
        }
        format!("{}{}", self.closed(), lines(&message.parts))
    }

    /// A piece of an artifact goes on where the one before it ended.
    fn artifact(&mut self, artifact: &Artifact, append: bool) -> String {
        let texts: Option<Vec<&str>> = artifact.parts.iter().map(Part::as_text).collect();
        let goes_on = append && self.open.as_deref() == Some(&artifact.artifact_id);
        let before = if goes_on {
            String::new()
        } else {
            self.closed()
        };
        match texts {
            Some(texts) => {
                self.open = Some(artifact.artifact_id.clone());
                format!("{before}{}", texts.concat())
            }
            None => format!("{}{before}{}", self.closed(), lines(&artifact.parts)),
        }
    }

    fn closed(&mut self) -> String {
        self.open
            .take()
            .map_or_else(String::new, |_| "\n".to_owned())
    }
}

/// What a bot has done to an earlier message.
fn change(metadata: &Metadata) -> Option<String> {
    let activity = Activity::read(metadata.get(EVENT)?.clone()).ok()?;
    match activity.kind {
        ActivityType::MessageUpdate => {
            let text = activity.text.unwrap_or_default();
            Some(format!("an earlier message is now: {text}"))
        }
        ActivityType::MessageDelete => Some("an earlier message was taken back".to_owned()),
        _ => None,
    }
}

/// A line a part.
fn lines(parts: &[Part]) -> String {
    parts
        .iter()
        .map(|part| format!("{}\n", line(part)))
        .collect()
}

fn line(part: &Part) -> String {
    let name = part.filename.as_deref().unwrap_or("a file");
    let kind = part.media_type.as_deref().unwrap_or("unknown type");
    match &part.content {
        Content::Text(text) => text.clone(),
        Content::Data(data) => data.to_string(),
        Content::Raw(bytes) => format!("[{name}, {kind}, {} bytes]", bytes.len()),
        Content::Url(url) => format!("[{name}, {kind}, {url}]"),
        Content::Unknown => "[content of an unknown kind]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_shown_once_and_as_it_comes() {
        let said = |id: &str, text: &str| json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": text}]});
        let piece = |text: &str, append: bool| {
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append,
                "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
        };
        let status = |state: &str, message: serde_json::Value| {
            json!({"statusUpdate": {"taskId": "t", "contextId": "c",
                "status": {"state": state, "message": message}}})
        };
        let changed = |activity: serde_json::Value| {
            json!({"statusUpdate": {"taskId": "t", "contextId": "c",
                "status": {"state": "TASK_STATE_WORKING", "message": said("1", "one")},
                "metadata": {"urn:activity:event": activity}}})
        };
        let mut show = Show::new(false);
        let events = [
            (
                json!({"task": {"id": "t", "status": {"state": "TASK_STATE_SUBMITTED"}}}),
                "",
            ),
            (status("TASK_STATE_WORKING", said("1", "one")), "one\n"),
            (piece("Hel", false), "Hel"),
            (piece("lo", true), "lo"),
            (status("TASK_STATE_WORKING", said("2", "two")), "\ntwo\n"),
            (piece("new", false), "new"),
            (status("TASK_STATE_COMPLETED", said("2", "two")), ""),
            (
                status("TASK_STATE_FAILED", said("3", "no")),
                "\nno\n[failed]\n",
            ),
            (
                json!({"message": {"messageId": "4", "role": "ROLE_AGENT", "parts": [
                    {"raw": "AAA=", "filename": "x.bin"}, {"data": {"a": 1}},
                ]}}),
                "[x.bin, unknown type, 2 bytes]\n{\"a\":1}\n",
            ),
            (
                changed(json!({"type": "messageUpdate", "id": "1", "text": "uno"})),
                "[an earlier message is now: uno]\n",
            ),
            (
                changed(json!({"type": "messageDelete", "id": "1"})),
                "[an earlier message was taken back]\n",
            ),
            (changed(json!({"type": "trace", "id": "1"})), ""),
        ];
        for (event, expected) in events {
            let event = StreamResponse::read(event).unwrap();
            assert_eq!(show.text(&event), expected, "{event:?}");
        }
    }
}
