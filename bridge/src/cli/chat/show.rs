//! What is seen of an agent's answers, on standard output.
//!
//! Agents tell one answer in several places: in the status, in an artifact and in the history. It is shown where
//! it comes first, and known again by its words.
//!
//! - `answers`: messages, states, the task as it stands
//! - `pieces`: artifacts, and texts in pieces

mod answers;
mod pieces;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use bridge_program::out;
use bridge_protocol::{
    a2a::{Metadata, StreamResponse},
    activity::{Activity, ActivityType},
    translate::keys::EVENT,
    wire::{Wire as _, to_value},
};

pub(super) use answers::word;

use super::{
    choice::{self, Choice},
    content::Said,
};

/// Shows events as they come.
pub(super) struct Show {
    json: bool,
    /// Messages that were shown: an update may be told again by the task.
    seen: BTreeSet<String>,
    /// What was shown since the user spoke last.
    turn: Turn,
    /// The artifacts of the task, by their ids.
    artifacts: BTreeMap<String, Shown>,
    /// The task that these belong to.
    task: Option<String>,
    /// What is being written, and its line not ended.
    open: Option<Open>,
}

/// What may go on.
#[derive(PartialEq, Eq)]
enum Open {
    /// The text of this artifact.
    Artifact(String),
    /// A message of an agent at work: some agents tell a text in pieces, each as a message of its own.
    Message {
        /// More than one has been joined already.
        is_pieces: bool,
        is_spaced: bool,
    },
}

/// What was shown since the user spoke last: texts and lines by their keys.
#[derive(Default)]
struct Turn {
    /// The message by which the user began it.
    message: Option<String>,
    /// What messages said, and all their texts as one.
    told: BTreeSet<String>,
    texts: String,
    /// What artifacts said.
    made: BTreeSet<String>,
    /// What was said of the task's state.
    state: Option<String>,
    choices: Vec<Choice>,
}

/// How far an artifact was shown.
#[derive(Clone, Default)]
struct Shown {
    text: String,
    /// So many bytes of it.
    length: usize,
}

impl Show {
    pub(super) fn new(json: bool) -> Self {
        Self {
            json,
            seen: BTreeSet::new(),
            turn: Turn::default(),
            artifacts: BTreeMap::new(),
            task: None,
            open: None,
        }
    }

    /// The user has said something, by a message of this id.
    pub(super) fn begin(&mut self, message: &str) {
        let message = Some(message.to_owned());
        self.turn = Turn {
            message,
            ..Turn::default()
        };
    }

    pub(super) fn event(&mut self, event: &StreamResponse) {
        match self.json {
            true => {
                // What is not shown is still what can be chosen, and whether anything was said.
                self.text(event);
                out!("{}\n", to_value(event));
            }
            false => out!("{}", self.text(event)),
        }
    }

    /// Shows an event that nobody asked for, after `before`; whether there was anything to show.
    pub(super) fn news(&mut self, event: &StreamResponse, before: &str) -> bool {
        let offered = self.turn.choices.len();
        let text = self.text(event);
        let text = format!("{text}{}{}", self.held(), self.closed());
        let has_more = self.turn.choices.len() > offered;
        match (self.json, text.is_empty()) {
            (true, _) => out!("{}\n", to_value(event)),
            (false, true) => return false,
            (false, false) if has_more => {
                out!("{before}{text}{}", choice::listed(&self.turn.choices));
            }
            (false, false) => out!("{before}{text}"),
        }
        true
    }

    /// Ends what is open, and shows what can be chosen.
    pub(super) fn end(&mut self) {
        let held = self.held();
        let closed = self.closed();
        if !self.json {
            out!("{held}{closed}{}", choice::listed(&self.turn.choices));
        }
    }

    /// Whether anything was said since the user spoke last.
    pub(super) fn has_told(&self) -> bool {
        let Turn {
            told, made, state, ..
        } = &self.turn;
        !told.is_empty() || !made.is_empty() || state.is_some()
    }

    /// What can be chosen at present.
    pub(super) fn choices(&self) -> &[Choice] {
        &self.turn.choices
    }

    fn text(&mut self, event: &StreamResponse) -> String {
        match event {
            StreamResponse::Task(task) => self.whole(task),
            StreamResponse::Message(message) => self.message(message, false),
            StreamResponse::StatusUpdate(update) => {
                self.enter(&update.task_id);
                let status = self.status(&update.status, false);
                let change = update.metadata.as_ref().and_then(change);
                match change {
                    Some(change) => format!("{status}{}[{change}]\n", self.closed()),
                    None => status,
                }
            }
            StreamResponse::ArtifactUpdate(update) => {
                self.enter(&update.task_id);
                self.artifact(&update.artifact, update.append, update.last_chunk)
            }
        }
    }

    /// Artifacts are told by the task that they are of.
    fn enter(&mut self, task: &str) {
        if self.task.as_deref() != Some(task) {
            self.task = Some(task.to_owned());
            self.artifacts.clear();
        }
    }

    fn choose(&mut self, said: &Said, metadata: Option<&Metadata>) {
        let suggested = choice::suggested(metadata);
        for choice in said.choices.iter().chain(&suggested) {
            let choices = &mut self.turn.choices;
            if choices.len() < choice::MOST && !choices.contains(choice) {
                choices.push(choice.clone());
            }
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
