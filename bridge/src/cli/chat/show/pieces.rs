//! Prints content that arrives in pieces: artifacts, and texts sent as one message per piece.

use bridge_protocol::a2a::{Artifact, Message, Part, Role};

use super::{GrowingText, Open, Printer, ShownArtifact};
use crate::cli::chat::content::{self, key};

impl Printer {
    /// Prints a message of a working agent, which continues the previous one if its beginning suggests so.
    pub(super) fn piece(&mut self, message: &Message) -> String {
        let [text] = &message.parts[..] else {
            return self.message(message, false);
        };
        let (Some(text), None) = (text.as_text(), &message.metadata) else {
            return self.message(message, false);
        };
        let goes_on = match &self.open {
            Some(Open::Message { is_pieces, is_spaced }) => {
                *is_pieces || *is_spaced || continues(text)
            }
            Some(Open::Artifact(_)) | None => false,
        };
        let before = if goes_on { self.open.take() } else { None };
        let shown = self.message(message, false);
        if shown.is_empty() {
            self.open = before.or(self.open.take());
            return shown;
        }
        self.open = Some(Open::Message {
            is_pieces: goes_on,
            is_spaced: text.ends_with(char::is_whitespace),
        });
        // The line ends when it is certain that no message continues it.
        shown.strip_suffix('\n').unwrap_or(&shown).to_owned()
    }

    /// Prints a message that is repeated with more text in repeated tasks: VoltAgent's server streams like
    /// this.
    pub(super) fn growth(&mut self, message: &Message) -> String {
        if message.role == Role::User {
            return String::new();
        }
        let id = message.message_id.as_str();
        let is_new = self.seen.insert(id.to_owned());
        if !is_new && !self.artifacts.contains_key(id) {
            return String::new();
        }
        self.artifact(&as_artifact(message), false, false)
    }

    /// Prints a message of a stream. Agno's server streams the text of a task as several messages with one id; each message
    /// contains a piece of the text.
    pub(super) fn streamed(&mut self, message: &Message) -> String {
        let Some(task) = message.task_id.as_deref() else {
            return self.message(message, false);
        };
        if message.role == Role::User {
            return String::new();
        }
        self.enter(task);
        let id = message.message_id.as_str();
        let is_next = self.artifacts.contains_key(id);
        match self.seen.insert(id.to_owned()) || is_next {
            true => self.artifact(&as_artifact(message), is_next, false),
            false => String::new(),
        }
    }

    /// Prints a piece of an artifact after the previous one. A text that a message has already shown is held
    /// back as long as it may be only a repetition.
    pub(super) fn artifact(&mut self, artifact: &Artifact, append: bool, is_last: bool) -> String {
        let rendered = content::read(&artifact.parts);
        self.choose(&rendered, artifact.metadata.as_ref());
        let id = artifact.artifact_id.as_str();
        let piece = rendered.texts.concat();
        let shown = self.artifacts.entry(id.to_owned()).or_default();
        let mut begun = String::new();
        if append {
            shown.text += &piece;
        } else if piece.starts_with(&shown.text) {
            shown.text = piece;
        } else if !shown.text.starts_with(&piece) {
            *shown = ShownArtifact { text: piece, length: 0 };
            begun = self.closed();
        }
        begun + &self.new_text(id, is_last) + &self.other_content(&rendered.lines.join("\n"))
    }

    /// Prints the new part of an artifact's text.
    fn new_text(&mut self, id: &str, is_last: bool) -> String {
        let Some(ShownArtifact { text, length }) = self.artifacts.get(id) else {
            return String::new();
        };
        let is_again = *length == 0 && self.repeats(text, is_last);
        if is_again || *length == text.len() {
            return String::new();
        }
        let more = text[*length..].to_owned();
        match self.turn.growing.get_mut(id) {
            Some(growing) if *length > 0 => growing.grow(&key(&more)),
            _ => {
                let mut growing = GrowingText::default();
                growing.grow(&key(text));
                let replaced = self.turn.growing.insert(id.to_owned(), growing);
                self.turn.made.extend(replaced.map(|text| text.key));
            }
        }
        if let Some(shown) = self.artifacts.get_mut(id) {
            shown.length = shown.text.len();
        }
        let is_open = matches!(&self.open, Some(Open::Artifact(open)) if open == id);
        let before = if is_open { String::new() } else { self.closed() };
        self.open = Some(Open::Artifact(id.to_owned()));
        before + &more
    }

    /// Returns whether messages have already shown this text, or the beginning of it if it is not complete.
    fn repeats(&self, text: &str, is_whole: bool) -> bool {
        let text = key(text);
        let mut shown = self.turn.told.iter().chain([&self.turn.texts]);
        shown.any(|one| if is_whole { *one == text } else { one.starts_with(&text) })
    }

    /// Prints text that was held back and is not a repetition.
    pub(super) fn held(&mut self) -> String {
        let ids: Vec<String> = self.artifacts.keys().cloned().collect();
        ids.iter().map(|id| self.new_text(id, true)).collect()
    }

    /// Prints the other content of an artifact.
    fn other_content(&mut self, lines: &str) -> String {
        if lines.is_empty() {
            return String::new();
        }
        let key = key(lines);
        let is_known = self.turn.told.contains(&key)
            || self.turn.has_made(&key)
            || !self.turn.made.insert(key);
        if is_known { String::new() } else { format!("{}{lines}\n", self.closed()) }
    }
}

/// Converts a message to an artifact, whose text can be extended.
fn as_artifact(message: &Message) -> Artifact {
    Artifact {
        metadata: message.metadata.clone(),
        ..Artifact::new(message.message_id.as_str(), message.parts.clone())
    }
}

/// Returns whether the messages are pieces of the text of an artifact.
pub(super) fn are_pieces(messages: &[&Message], artifacts: &[Artifact]) -> bool {
    let text = |parts: &[Part]| key(&content::read(parts).texts.concat());
    let all: String = messages.iter().map(|message| text(&message.parts)).collect();
    messages.len() > 1 && artifacts.iter().any(|artifact| text(&artifact.parts) == all)
}

/// Returns whether a text begins like the continuation of another.
fn continues(text: &str) -> bool {
    text.starts_with(|first: char| first.is_whitespace() || ",.;:!?)".contains(first))
}
