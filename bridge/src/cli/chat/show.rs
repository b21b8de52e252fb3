//! What is seen of an agent's answers, on standard output.
//!
//! Agents tell one answer in several places: in the status, in an artifact and in the history. It is shown where
//! it comes first, and known again by its words.

use std::collections::{BTreeMap, BTreeSet};

use bridge_program::out;
use bridge_protocol::{
    a2a::{Artifact, Message, Metadata, Part, Role, StreamResponse, Task, TaskState, TaskStatus},
    activity::{Activity, ActivityType},
    translate::keys::EVENT,
    wire::{Wire as _, to_value},
};

use super::{
    choice::{self, Choice},
    content::{self, Said, key},
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

    /// A task as it stands may tell again what was told, by other ids too.
    fn whole(&mut self, task: &Task) -> String {
        self.enter(&task.id);
        let since = self.since(&task.history);
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

    /// What the agent said after the user's message. Who has forgotten that one may have told the rest before.
    fn since<'a>(&self, history: &'a [Message]) -> Vec<&'a Message> {
        let asked = self.turn.message.as_deref();
        let is_asked = |one: &Message| Some(one.message_id.as_str()) == asked;
        let is_users = |one: &Message| one.role == Role::User && !self.has_told();
        let place = history
            .iter()
            .rposition(is_asked)
            .or_else(|| history.iter().rposition(is_users));
        let after = place.map_or(&[][..], |place| &history[place + 1..]);
        after.iter().filter(|one| one.role != Role::User).collect()
    }

    fn status(&mut self, status: &TaskStatus, again: bool) -> String {
        let said = match (&status.message, &status.state) {
            (Some(message), TaskState::Working) if !again => self.piece(message),
            (Some(message), _) => self.message(message, again),
            (None, _) => String::new(),
        };
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
                let word = Some(word(&status.state));
                match self.turn.state == word {
                    true => said,
                    false => {
                        let closed = self.closed();
                        self.turn.state = word;
                        format!(
                            "{said}{closed}[{}]\n",
                            self.turn.state.as_deref().unwrap_or_default()
                        )
                    }
                }
            }
        }
    }

    fn message(&mut self, message: &Message, again: bool) -> String {
        if message.role == Role::User || !self.seen.insert(message.message_id.clone()) {
            return String::new();
        }
        let said = content::read(&message.parts);
        self.choose(&said, message.metadata.as_ref());
        let text = said.texts.join("\n");
        self.turn.texts += &key(&text);
        [text, said.lines.join("\n")]
            .into_iter()
            .map(|text| self.tell(&text, again))
            .collect()
    }

    /// A message of an agent at work: it goes on with the one before it if its beginning shows that.
    fn piece(&mut self, message: &Message) -> String {
        let [text] = &message.parts[..] else {
            return self.message(message, false);
        };
        let (Some(text), None) = (text.as_text(), &message.metadata) else {
            return self.message(message, false);
        };
        let goes_on = match &self.open {
            Some(Open::Message {
                is_pieces,
                is_spaced,
            }) => *is_pieces || *is_spaced || continues(text),
            Some(Open::Artifact(_)) | None => false,
        };
        let before = match goes_on {
            true => self.open.take(),
            false => None,
        };
        let told = self.message(message, false);
        if told.is_empty() {
            self.open = before.or(self.open.take());
            return told;
        }
        self.open = Some(Open::Message {
            is_pieces: goes_on,
            is_spaced: text.ends_with(char::is_whitespace),
        });
        // Its line ends when it is known that nothing goes on with it.
        told.strip_suffix('\n').unwrap_or(&told).to_owned()
    }

    fn tell(&mut self, text: &str, again: bool) -> String {
        let key = key(text);
        let is_known = self.turn.made.contains(&key) || (again && self.turn.told.contains(&key));
        match text.is_empty() || is_known {
            true => String::new(),
            false => {
                self.turn.told.insert(key);
                format!("{}{text}\n", self.closed())
            }
        }
    }

    /// A piece of an artifact goes on where the one before it ended. A text that a message has told is held back
    /// as long as it may be no more than that again.
    fn artifact(&mut self, artifact: &Artifact, append: bool, is_last: bool) -> String {
        let said = content::read(&artifact.parts);
        self.choose(&said, artifact.metadata.as_ref());
        let id = artifact.artifact_id.as_str();
        let piece = said.texts.concat();
        let shown = self.artifacts.entry(id.to_owned()).or_default();
        let mut begun = String::new();
        if append {
            shown.text += &piece;
        } else if piece.starts_with(&shown.text) {
            shown.text = piece;
        } else if !shown.text.starts_with(&piece) {
            *shown = Shown {
                text: piece,
                length: 0,
            };
            begun = self.closed();
        }
        begun + &self.more(id, is_last) + &self.made(&said.lines.join("\n"))
    }

    /// What of an artifact's text was not shown yet.
    fn more(&mut self, id: &str, is_last: bool) -> String {
        let Some(Shown { text, length }) = self.artifacts.get(id).cloned() else {
            return String::new();
        };
        let is_again = length == 0 && self.repeats(&text, is_last);
        if is_again || length == text.len() {
            return String::new();
        }
        let is_open = matches!(&self.open, Some(Open::Artifact(open)) if open == id);
        let before = match is_open {
            true => String::new(),
            false => self.closed(),
        };
        let more = format!("{before}{}", &text[length..]);
        self.turn.made.insert(key(&text));
        self.open = Some(Open::Artifact(id.to_owned()));
        let length = text.len();
        self.artifacts.insert(id.to_owned(), Shown { text, length });
        more
    }

    /// Whether messages have told this text, or may turn out to have: a text that is not whole yet.
    fn repeats(&self, text: &str, is_whole: bool) -> bool {
        let text = key(text);
        let mut told = self.turn.told.iter().chain([&self.turn.texts]);
        told.any(|one| match is_whole {
            true => *one == text,
            false => one.starts_with(&text),
        })
    }

    /// What was held back, and turned out to be more than a repetition.
    fn held(&mut self) -> String {
        let ids: Vec<String> = self.artifacts.keys().cloned().collect();
        ids.iter().map(|id| self.more(id, true)).collect()
    }

    /// What else there is in an artifact.
    fn made(&mut self, lines: &str) -> String {
        let key = key(lines);
        let is_known = self.turn.told.contains(&key) || !self.turn.made.insert(key);
        match lines.is_empty() || is_known {
            true => String::new(),
            false => format!("{}{lines}\n", self.closed()),
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

/// Whether messages are the pieces of what an artifact tells as a whole.
fn are_pieces(messages: &[&Message], artifacts: &[Artifact]) -> bool {
    let text = |parts: &[Part]| key(&content::read(parts).texts.concat());
    let all: String = messages
        .iter()
        .map(|message| text(&message.parts))
        .collect();
    messages.len() > 1
        && artifacts
            .iter()
            .any(|artifact| text(&artifact.parts) == all)
}

/// Whether a text begins as none does that stands by itself.
fn continues(text: &str) -> bool {
    text.starts_with(|first: char| first.is_whitespace() || ",.;:!?)".contains(first))
}

/// A state in a word.
pub(super) fn word(state: &TaskState) -> String {
    state
        .as_str()
        .trim_start_matches("TASK_STATE_")
        .to_lowercase()
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn said(id: &str, text: &str) -> Value {
        json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": text}]})
    }

    fn piece(text: &str, append: bool) -> Value {
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append,
            "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
    }

    fn status(state: &str, message: &Value) -> Value {
        json!({"statusUpdate": {"taskId": "t", "contextId": "c",
            "status": {"state": state, "message": message}}})
    }

    /// What is shown of these events, one after the other, and at their end.
    fn shown(events: &[Value]) -> Vec<String> {
        let mut show = Show::new(false);
        show.begin("asked");
        let events = events
            .iter()
            .map(|event| StreamResponse::read(event.clone()).unwrap());
        let mut all: Vec<String> = events.map(|event| show.text(&event)).collect();
        all.push(show.held() + &show.closed());
        all
    }

    #[test]
    fn an_answer_is_shown_once_and_as_it_comes() {
        let changed = |activity: Value| {
            json!({"statusUpdate": {"taskId": "t", "contextId": "c",
                "status": {"state": "TASK_STATE_WORKING", "message": said("1", "one")},
                "metadata": {"urn:activity:event": activity}}})
        };
        let events = [
            (
                json!({"task": {"id": "t", "status": {"state": "TASK_STATE_SUBMITTED"}}}),
                "",
            ),
            (status("TASK_STATE_WORKING", &said("1", "one")), "one"),
            (piece("Hel", false), "\nHel"),
            (piece("lo", true), "lo"),
            (status("TASK_STATE_WORKING", &said("2", "two")), "\ntwo"),
            (piece("new", false), "\nnew"),
            (status("TASK_STATE_COMPLETED", &said("2", "two")), ""),
            (
                status("TASK_STATE_FAILED", &said("3", "no")),
                "\nno\n[failed]\n",
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
        let (events, mut expected): (Vec<Value>, Vec<&str>) = events.into_iter().unzip();
        expected.push("");
        assert_eq!(shown(&events), expected);
    }

    #[test]
    fn an_answer_that_is_told_in_several_places_is_shown_once() {
        let task = |history: Value, artifacts: Value, message: Value| {
            json!({"task": {"id": "t", "history": history, "artifacts": artifacts,
                "status": {"state": "TASK_STATE_COMPLETED", "message": message}}})
        };
        let asked = json!({"messageId": "asked", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let artifact = json!([{"artifactId": "a", "parts": [{"text": "Hel"}, {"text": "lo"}]}]);
        let hello = || said("1", "Hello");
        let working = |id: &str, text: &str| status("TASK_STATE_WORKING", &said(id, text));
        let whole = |text: &str| json!([{"artifactId": "a", "parts": [{"text": text}]}]);
        for (events, expected) in [
            (
                vec![task(
                    json!([asked, hello()]),
                    artifact.clone(),
                    said("2", "Hello"),
                )],
                "Hello\n",
            ),
            (vec![task(json!([]), artifact, hello())], "Hello\n"),
            (
                vec![task(json!([hello(), asked]), json!([]), Value::Null)],
                "",
            ),
            // The whole comes after its pieces, and the other way round.
            (
                vec![
                    piece("Hel", false),
                    piece("lo", true),
                    status("TASK_STATE_COMPLETED", &hello()),
                ],
                "Hello\n",
            ),
            (
                vec![
                    working("1", "Hello"),
                    piece("Hel", false),
                    piece("lo", true),
                ],
                "Hello\n",
            ),
            (
                vec![
                    working("1", "Hel"),
                    working("2", "lo"),
                    piece("Hello", false),
                ],
                "Hel\nlo\n",
            ),
            // Pieces that are messages of their own.
            (
                vec![
                    working("1", "So"),
                    working("2", " it"),
                    working("3", "self"),
                    piece("So itself", false),
                ],
                "So itself\n",
            ),
            (
                vec![task(
                    json!([asked, said("1", "So"), said("2", " it")]),
                    whole("So it"),
                    Value::Null,
                )],
                "So it\n",
            ),
            // What begins alike and goes on is shown when that is known.
            (
                vec![working("1", "Hello"), piece("Hel", false), piece("m", true)],
                "Hello\nHelm\n",
            ),
            (
                vec![working("1", "Hello"), piece("Hel", false)],
                "Hello\nHel\n",
            ),
            // The same words in two messages are two messages.
            (
                vec![working("1", "Hello"), working("2", "Hello")],
                "Hello\nHello\n",
            ),
        ] {
            assert_eq!(shown(&events).concat(), expected, "{events:?}");
        }
    }
}
