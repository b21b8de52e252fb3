//! Prints an agent's answers on standard output.
//!
//! Agents repeat an answer in several places: in the status, in an artifact and in the history. It is printed
//! where it occurs first and recognized by its words afterwards.
//!
//! - `answers`: messages, states and whole tasks
//! - `pieces`: artifacts, and texts sent in pieces

mod answers;
mod pieces;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use bridge_program::out;
use bridge_protocol::{
    a2a::{Metadata, Part, StreamResponse, Task},
    activity::{Activity, ActivityType},
    wire::{Wire as _, to_value},
};
use bridge_translate::keys::{EVENT, EVENTS};
use serde_json::Value;

pub(super) use answers::word;

use super::{
    choice::{self, Choice},
    content::RenderedParts,
};

/// Prints events as they arrive.
#[derive(Default)]
pub(super) struct Printer {
    json: bool,
    /// The ids of printed messages, because updates may be repeated in the task.
    seen: BTreeSet<String>,
    /// The reported activities that are no messages, each with its task, which repeats them.
    reported: BTreeSet<(String, String)>,
    /// The output since the user's last message.
    turn: Turn,
    /// The artifacts of the task, by id.
    artifacts: BTreeMap<String, ShownArtifact>,
    /// The task of these artifacts.
    task: Option<String>,
    /// The unfinished line, if any.
    open: Option<Open>,
}

/// An unfinished line of output.
#[derive(PartialEq, Eq)]
enum Open {
    /// The text of this artifact.
    Artifact(String),
    /// A message of a working agent: some agents send a text in pieces, each as its own message.
    Message {
        /// Whether several messages have been joined.
        is_pieces: bool,
        is_spaced: bool,
    },
}

/// The output since the user's last message, with texts and lines by their keys.
#[derive(Default)]
struct Turn {
    /// The id of the user's message.
    message: Option<String>,
    /// The texts of messages, and all of them concatenated.
    told: BTreeSet<String>,
    texts: String,
    /// The content of artifacts, except for the texts that are in `growing`.
    made: BTreeSet<String>,
    /// The text of each artifact, by its id.
    growing: BTreeMap<String, GrowingText>,
    /// The reported state of the task.
    state: Option<String>,
    /// Whether an activity of the bot that is no message was reported.
    has_report: bool,
    choices: Vec<Choice>,
    /// Whether the user's message belongs to a dialog.
    is_of_dialog: bool,
}

/// A text that is printed piece by piece. Each of its beginnings counts as told; they are not kept one by one, because a long text
/// has thousands.
#[derive(Default)]
struct GrowingText {
    key: String,
    /// The lengths of the beginnings.
    ends: BTreeSet<usize>,
}

impl GrowingText {
    fn grow(&mut self, key: &str) {
        self.key += key;
        self.ends.insert(self.key.len());
    }

    fn has(&self, key: &str) -> bool {
        self.ends.contains(&key.len()) && self.key.starts_with(key)
    }
}

impl Turn {
    /// Returns whether an artifact has shown this.
    fn has_made(&self, key: &str) -> bool {
        self.made.contains(key) || self.growing.values().any(|text| text.has(key))
    }
}

/// The printed part of an artifact.
#[derive(Default)]
struct ShownArtifact {
    text: String,
    /// The number of bytes printed.
    length: usize,
}

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        Self { json, ..Self::default() }
    }

    /// Starts a turn with the user's message of this id and content.
    pub(super) fn begin(&mut self, message: &str, parts: &[Part]) {
        let (message, is_of_dialog) = (Some(message.to_owned()), choice::is_of_dialog(parts));
        self.turn = Turn { message, is_of_dialog, ..Turn::default() };
    }

    pub(super) fn event(&mut self, event: &StreamResponse) {
        match self.json {
            true => {
                // In JSON mode the text is still evaluated, for the choices and to know whether anything was
                // said.
                self.text(event);
                out!("{}\n", to_value(event));
            }
            false => out!("{}", self.text(event)),
        }
    }

    /// Prints an unsolicited event after `before`; returns whether anything was printed.
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

    /// Ends the unfinished line and prints the choices.
    pub(super) fn end(&mut self) {
        let held = self.held();
        let closed = self.closed();
        if !self.json {
            out!("{held}{closed}{}", choice::listed(&self.turn.choices));
        }
    }

    /// Returns whether anything was printed since the user's last message.
    pub(super) fn has_told(&self) -> bool {
        let Turn { told, made, growing, state, has_report, .. } = &self.turn;
        !told.is_empty()
            || !made.is_empty()
            || !growing.is_empty()
            || state.is_some()
            || *has_report
    }

    /// Returns the current choices.
    pub(super) fn choices(&self) -> &[Choice] {
        &self.turn.choices
    }

    fn text(&mut self, event: &StreamResponse) -> String {
        match event {
            StreamResponse::Task(task) => self.whole(task) + &self.new_reports(task),
            StreamResponse::Message(message) => self.streamed(message),
            StreamResponse::StatusUpdate(update) => {
                self.enter(&update.task_id);
                let status = self.status(&update.status, false);
                let activity = update.metadata.as_ref().and_then(|metadata| metadata.get(EVENT));
                let report = activity.map(|activity| {
                    self.reported.insert((update.task_id.clone(), activity.to_string()));
                    self.report(activity)
                });
                status + &report.unwrap_or_default()
            }
            StreamResponse::ArtifactUpdate(update) => {
                self.enter(&update.task_id);
                self.artifact(&update.artifact, update.append, update.last_chunk)
            }
        }
    }

    /// Prints the activities in a task's metadata that were not reported before. Clients that do not stream see only these.
    fn new_reports(&mut self, task: &Task) -> String {
        let Some(metadata) = &task.metadata else {
            return String::new();
        };
        let kept = metadata.get(EVENTS).and_then(Value::as_array);
        let mut text = String::new();
        for activity in kept.into_iter().flatten().chain(metadata.get(EVENT)) {
            if self.reported.insert((task.id.clone(), activity.to_string())) {
                text += &self.report(activity);
            }
        }
        text
    }

    /// Prints an activity of a bot that is no message.
    fn report(&mut self, activity: &Value) -> String {
        let described = described(activity);
        self.turn.has_report |= described.is_some();
        described.map_or_else(String::new, |report| format!("{}[{report}]\n", self.closed()))
    }

    /// Forgets the artifacts when the task changes.
    fn enter(&mut self, task: &str) {
        if self.task.as_deref() != Some(task) {
            self.task = Some(task.to_owned());
            self.artifacts.clear();
        }
    }

    fn choose(&mut self, rendered: &RenderedParts, metadata: Option<&Metadata>) {
        let is_of_dialog = self.turn.is_of_dialog;
        let of_cards = rendered.choices.iter().cloned().map(|choice| match is_of_dialog {
            true => choice.of_dialog(),
            false => choice,
        });
        for choice in of_cards.chain(choice::suggested(metadata)) {
            let choices = &mut self.turn.choices;
            if choices.len() < choice::MOST && !choices.contains(&choice) {
                choices.push(choice);
            }
        }
    }

    fn closed(&mut self) -> String {
        self.open.take().map_or_else(String::new, |_| "\n".to_owned())
    }
}

/// Describes an activity of a bot that is no message: a change of an earlier message, or an event.
fn described(activity: &Value) -> Option<String> {
    let activity = Activity::read(activity.clone()).ok()?;
    match &activity.kind {
        ActivityType::MessageUpdate => Some(match activity.text.filter(|text| !text.is_empty()) {
            Some(text) => format!("an earlier message is now: {text}"),
            None => "an earlier message was changed".to_owned(),
        }),
        ActivityType::MessageDelete => Some("an earlier message was deleted".to_owned()),
        ActivityType::Event
        | ActivityType::Handoff
        | ActivityType::Command
        | ActivityType::CommandResult => {
            let name = activity.name.unwrap_or_default();
            let value = activity.value.map_or_else(String::new, |value| format!(" {value}"));
            Some(format!("{} {name}{value}", activity.kind))
        }
        // Others are for programs.
        _ => None,
    }
}
