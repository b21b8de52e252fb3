//! Prints messages, states and whole tasks, without repeating words.

use bridge_protocol::a2a::{Message, Role, Task, TaskState, TaskStatus, join_texts};

use super::{Printer, pieces::are_pieces};
use crate::cli::chat::content::{self, key};

impl Printer {
    /// Prints a whole task, which may repeat earlier output under other ids.
    pub(super) fn whole(&mut self, task: &Task) -> String {
        let is_new = self.task.as_deref() != Some(task.id.as_str());
        self.enter(&task.id);
        let mut since = self.since(&task.history, is_new);
        if let Some(growing) = growing(task) {
            since.retain(|message| message.message_id != growing.message_id);
        }
        let mut text = String::new();
        match are_pieces(&since, &task.artifacts) {
            true => {
                let ids = since.iter().map(|message| message.message_id.clone());
                self.seen.extend(ids);
            }
            false => text.extend(since.iter().map(|message| self.message(message, true))),
        }
        for artifact in &task.artifacts {
            text += &self.artifact(artifact, false, true);
        }
        text + &self.status(&task.status, true)
    }

    /// Returns the agent's messages after the user's message. If the history does not have that message, all of them
    /// may be old; but if the task is new and its history has no message of a user, none of them is.
    fn since<'a>(&self, history: &'a [Message], is_new: bool) -> Vec<&'a Message> {
        let asked = self.turn.message.as_deref();
        let is_asked = |one: &Message| Some(one.message_id.as_str()) == asked;
        let is_users = |one: &Message| one.role == Role::User && !self.has_told();
        let place =
            history.iter().rposition(is_asked).or_else(|| history.iter().rposition(is_users));
        let is_all_new = is_new && history.iter().all(|one| one.role != Role::User);
        let after = match place {
            Some(place) => &history[place + 1..],
            None if is_all_new => history,
            None => &[],
        };
        after.iter().filter(|one| one.role != Role::User).collect()
    }

    pub(super) fn status(&mut self, status: &TaskStatus, again: bool) -> String {
        let text = match (&status.message, &status.state) {
            (Some(message), TaskState::Working) if !again => self.piece(message),
            (Some(message), TaskState::Working) => self.growth(message),
            (Some(message), _) if self.artifacts.contains_key(&message.message_id) => {
                self.growth(message)
            }
            (Some(message), _) => self.message(message, again),
            (None, _) => String::new(),
        };
        match &status.state {
            // The agent's messages make these states clear.
            TaskState::Submitted
            | TaskState::Working
            | TaskState::Completed
            | TaskState::InputRequired
            | TaskState::Unspecified => text,
            TaskState::Failed
            | TaskState::Canceled
            | TaskState::Rejected
            | TaskState::AuthRequired
            | TaskState::Unknown(_) => {
                let word = Some(word(&status.state));
                match self.turn.state == word {
                    true => text,
                    false => {
                        let closed = self.closed();
                        self.turn.state = word;
                        format!(
                            "{text}{closed}[{}]\n",
                            self.turn.state.as_deref().unwrap_or_default()
                        )
                    }
                }
            }
        }
    }

    pub(super) fn message(&mut self, message: &Message, again: bool) -> String {
        if message.role == Role::User || !self.seen.insert(message.message_id.clone()) {
            return String::new();
        }
        let rendered = content::read(&message.parts);
        self.choose(&rendered, message.metadata.as_ref());
        let text = join_texts(rendered.texts.iter().map(String::as_str));
        self.turn.texts += &key(&text);
        [text, rendered.lines.join("\n")]
            .into_iter()
            .map(|text| self.format_message(&text, again))
            .collect()
    }

    fn format_message(&mut self, text: &str, again: bool) -> String {
        let key = key(text);
        let is_known = self.turn.has_made(&key) || (again && self.turn.told.contains(&key));
        match text.is_empty() || is_known {
            true => String::new(),
            false => {
                self.turn.told.insert(key);
                format!("{}{text}\n", self.closed())
            }
        }
    }
}

/// Returns the message of a working agent in the task itself, which may be repeated with more text.
fn growing(task: &Task) -> Option<&Message> {
    let message = task.status.message.as_ref();
    message.filter(|_| task.status.state == TaskState::Working)
}

/// Returns a state in a word.
pub(in crate::cli::chat) fn word(state: &TaskState) -> String {
    state.as_str().trim_start_matches("TASK_STATE_").to_lowercase()
}
