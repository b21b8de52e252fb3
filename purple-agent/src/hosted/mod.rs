//! The agent as an A2A server: evaluators send it messages, as AgentBeats' green agents do.
//!
//! Each A2A context is one conversation: its messages go to one inbox, and one policy works on them, turn after
//! turn, until it ends; the next message then starts a new policy. A message that arrives while the policy works
//! is a turn of its own that only adds it to the inbox, so evaluators can send at any time.

mod acknowledge;
mod card;
mod conversation;
mod conversations;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge::{
    agent::{Agent, TurnSettings},
    caller::Caller,
    executor::{Executor, Turn, Update},
};
use bridge_protocol::a2a::{Message, Part, Role, Task, TaskState};

use crate::agent::{AgentSettings, Outcome, Progress, PurpleAgent, StopReason};
use conversation::Answer;
use conversations::{Conversations, Key};

/// The time that a turn may take in addition to its work, to close connections.
const CLOSING: Duration = Duration::from_secs(30);

impl PurpleAgent {
    /// Returns the agent to host under this name, with its card.
    pub fn into_agent(self, name: &str) -> Agent {
        let AgentSettings { limits, conversations, .. } = *self.settings();
        let limit = limits.time.saturating_add(CLOSING);
        let conversations = Conversations::new(conversations);
        Agent {
            name: name.into(),
            card: card::card(name),
            executor: Arc::new(Hosted { agent: self, conversations }),
            settings: TurnSettings { limit, ..TurnSettings::default() },
        }
    }
}

/// Implements the bridge's executor.
struct Hosted {
    agent: PurpleAgent,
    conversations: Conversations,
}

#[async_trait]
impl Executor for Hosted {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let key = Key::of(&turn.caller, &turn.task);
        let restored = || conversation::restored(&self.agent, &turn.task);
        let (task, number) = (turn.task.id.clone(), turn.number);
        let named = |state, text: String| reply_with(&task, number, state, text, None);
        let Some(conversation) = self.conversations.get(key, restored) else {
            return named(TaskState::Rejected, BUSY.to_owned());
        };
        match conversation.take(&self.agent, &turn).await {
            Answer::Queued { by } => {
                let text = format!("The message was passed to the work in task {by}.");
                named(TaskState::Completed, text)
            }
            Answer::Duplicate => {
                let text = "This message was received before.".to_owned();
                named(TaskState::Completed, text)
            }
            Answer::Worked(Progress::Waits { missing, .. }) => {
                let text = format!("Waiting for a message; what is missing: {missing}");
                named(TaskState::InputRequired, text)
            }
            Answer::Worked(Progress::Ended(outcome)) => ended(&task, number, outcome),
            // The task has already ended, so further updates are dropped.
            Answer::Canceled => Vec::new(),
        }
    }

    async fn canceled(&self, task: Arc<Task>, caller: Caller) {
        if let Some(conversation) = self.conversations.existing(&Key::of(&caller, &task)) {
            conversation.cancel(&task.id).await;
        }
    }
}

const BUSY: &str =
    "This agent works on as many conversations as it can; try again when one has ended.";

/// Returns the updates that end a task. An agent that a limit stopped must not look as if it had finished.
fn ended(task: &str, turn: u64, outcome: Outcome) -> Vec<Update> {
    let is_model_fault = outcome.ended.is_model_fault();
    let mut updates = match outcome.ended {
        StopReason::Finished => {
            reply_with(task, turn, TaskState::Completed, outcome.text, outcome.data)
        }
        stopped @ (StopReason::StepLimit(_)
        | StopReason::TimeLimit(_)
        | StopReason::MessageMissing(_)
        | StopReason::EvaluationOver
        | StopReason::Policy { .. }) => {
            reply_with(task, turn, TaskState::Failed, stopped.to_string(), None)
        }
    };
    if let (true, [Update::Status { message, .. }]) = (is_model_fault, &mut *updates)
        && let Some(message) = message
    {
        let metadata = message.metadata.get_or_insert_default();
        metadata.insert(FAULT.to_owned(), MODEL.into());
    }
    updates
}

/// The metadata key of a message that says which component caused the task's failure.
pub const FAULT: &str = "urn:a2a-evaluation:fault";
/// The value of [`FAULT`] if the language model's service failed.
pub const MODEL: &str = "model";

/// Returns a reply of text and data: an artifact if the task completes, otherwise the message of its status.
fn reply_with(
    task: &str,
    turn: u64,
    state: TaskState,
    text: String,
    data: Option<serde_json::Value>,
) -> Vec<Update> {
    let parts = std::iter::once(Part::text(text)).chain(data.map(Part::data));
    let id = format!("{task}.{turn}");
    let message = Message::new(id, Role::Agent, parts.collect());
    if state == TaskState::Completed {
        return Update::answer(&message);
    }
    vec![Update::Status { state, message: Some(message), metadata: None }]
}
