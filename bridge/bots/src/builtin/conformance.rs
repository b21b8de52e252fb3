//! The agent for conformance test kits. The prefix of a message's id selects its behavior, as reserved by the
//! official kit (a2aproject/a2a-tck).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_protocol::a2a::{AgentCard, AgentSkill, Content, Message, Part, Role, TaskState};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    agent::{Agent, AnswerKind, RepeatPolicy, TurnSettings},
    executor::{Executor, Turn, Update},
};

/// The duration of a task for subscriptions: twice the time that the kit waits for an event.
const LONG: Duration = Duration::from_secs(4);

/// One step of the agent's behavior.
#[derive(Clone, Copy)]
enum Step {
    /// Reports the state working, so that the answer is a task and not a bare message.
    Work,
    /// Adds a text artifact.
    Text(&'static str),
    /// Adds a piece of a text artifact.
    Piece(&'static str, bool),
    /// Adds an artifact with a file.
    File,
    /// Adds an artifact with a file's URL.
    Link,
    /// Adds an artifact with data.
    Data,
    /// Waits.
    Wait,
    /// Completes the task.
    Done,
    /// Completes the task with a message.
    Say(&'static str),
    /// Asks the caller for input.
    Ask,
    /// Rejects the task.
    Reject,
}

use Step::{Ask, Data, Done, File, Link, Piece, Reject, Say, Text, Wait, Work};

/// The behavior for each prefix of message ids. If one prefix begins with another, the longer one comes first.
static SCRIPTS: [(&str, &[Step]); 18] = [
    ("tck-complete-task", &[Work, Say("Hello from TCK")]),
    ("tck-artifact-text", &[Work, Text("Generated text content"), Done]),
    ("tck-artifact-file-url", &[Work, Link, Done]),
    ("tck-artifact-file", &[Work, File, Done]),
    ("tck-artifact-data", &[Work, Data, Done]),
    ("tck-message-response", &[Say("Direct message response")]),
    ("tck-input-required", &[Work, Ask]),
    ("tck-reject-task", &[Work, Reject]),
    ("tck-stream-001", &[Work, Text("Stream hello from TCK"), Done]),
    ("tck-stream-002", &[Say("Stream hello from TCK")]),
    ("tck-stream-003", &[Work, Text("Stream task lifecycle"), Done]),
    ("tck-stream-ordering-001", &[Work, Text("Ordered output"), Done]),
    ("tck-stream-artifact-text", &[Work, Text("Streamed text content"), Done]),
    ("tck-stream-artifact-file", &[Work, File, Done]),
    (
        "tck-stream-artifact-chunked",
        &[Work, Piece("chunk-1 ", false), Piece("chunk-2", true), Done],
    ),
    ("test-resubscribe-message-id", &[Work, Wait, Done]),
    // For all other messages the kit for 1.0 only expects a task.
    ("tck-", &[Work, Say("Hello from TCK")]),
    // The kit for 0.3 uses no prefixes: it waits for tasks, continues and cancels them.
    ("", &[Work, Ask]),
];

/// Returns the agent under this name.
pub(super) fn agent(name: &str) -> Agent {
    let card = AgentCard::named(name, "Answers as the official test kits for A2A expect.");
    let modes = |modes: &[&str]| modes.iter().copied().map(String::from).collect();
    let skill = AgentSkill {
        tags: vec!["conformance".into()],
        ..AgentSkill::new(
            "conformance",
            "Conformance",
            "Does what the beginning of the message's id says",
        )
    };
    Agent {
        name: name.into(),
        card: AgentCard {
            skills: vec![skill],
            // The kit for 0.3 expects names of kinds.
            default_input_modes: modes(&["text", "file", "data", "*/*"]),
            default_output_modes: modes(&["text/plain", "application/json"]),
            ..card
        },
        executor: Arc::new(Conformance),
        settings: TurnSettings {
            answers: AnswerKind::Messages,
            // The kit reuses message ids.
            repeats: RepeatPolicy::Another,
            ..TurnSettings::default()
        },
    }
}

struct Conformance;

#[async_trait]
impl Executor for Conformance {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let steps = script(&turn.message.message_id);
        let Some((last, steps)) = steps.split_last() else {
            return Vec::new();
        };
        for (place, step) in steps.iter().enumerate() {
            let emitted = match step {
                Wait => tokio::select! {
                    () = sleep(LONG) => true,
                    () = turn.cancel_signal.canceled() => false,
                },
                step => turn.handle.emit(step.updates(&turn, place)).await.is_ok(),
            };
            // The task has ended meanwhile and accepts no changes.
            if !emitted {
                return Vec::new();
            }
        }
        last.updates(&turn, steps.len())
    }
}

fn script(message: &str) -> &'static [Step] {
    let mut scripts = SCRIPTS.iter();
    let found = scripts.find(|(beginning, _)| message.starts_with(beginning));
    found.map_or(&[], |(_, steps)| steps)
}

impl Step {
    /// Returns the changes that the step makes at its position in the turn; none if it only waits.
    fn updates(self, turn: &Turn, place: usize) -> Vec<Update> {
        let id = format!("{}.{}.{place}", turn.task.id, turn.number);
        let artifact = |name, parts| vec![Update::artifact(id.clone(), name, parts)];
        match self {
            Work => vec![Update::said(TaskState::Working, id, "At work.")],
            Text(text) => artifact("text", vec![Part::text(text)]),
            Piece(text, last) => {
                let artifact = format!("{}.{}.pieces", turn.task.id, turn.number);
                vec![Update::piece(artifact, vec![Part::text(text)], last)]
            }
            File => artifact("file", vec![file(Content::Raw(b"tck".into()))]),
            Link => {
                let url = "https://example.com/output.txt".to_owned();
                artifact("file", vec![file(Content::Url(url))])
            }
            Data => artifact("data", vec![Part::data(json!({"key": "value", "count": 42}))]),
            Wait => Vec::new(),
            Done => vec![Update::state(TaskState::Completed)],
            Say(text) => Update::answer(&Message::new(id, Role::Agent, vec![Part::text(text)])),
            Ask => vec![Update::said(TaskState::InputRequired, id, "What else?")],
            Reject => vec![Update::said(TaskState::Rejected, id, "rejected")],
        }
    }
}

fn file(content: Content) -> Part {
    Part {
        filename: Some("output.txt".into()),
        media_type: Some("text/plain".into()),
        ..Part::new(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_beginning_is_found_before_a_shorter_one() {
        for (beginning, steps) in SCRIPTS {
            let found = script(&format!("{beginning}-7"));
            assert!(std::ptr::eq(found, steps), "{beginning}");
        }
    }
}
