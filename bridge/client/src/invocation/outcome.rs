//! The outcome of a call.

use bridge_protocol::{
    a2a::{Artifact, Message, Part, Role, SendMessageResponse, Task, TaskState},
    dialect::skill::result::{data_of_message, data_of_task, text_of_task},
    wire::to_value,
};
use serde::Serialize;
use serde_json::Value;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The state that the call ended in, or is in.
    pub state: State,
    /// The result as data: the first data part of the artifacts, or else of the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_data: Option<Value>,
    /// The agent's last message: the answer, the reason or the question.
    pub text: String,
    /// The artifacts of the task, except those that only repeat `text`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The task's id, unless the agent answered without a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The id of the task's context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
}

/// The state of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The call succeeded.
    Completed,
    /// The call failed.
    Failed,
    /// The agent rejected the call.
    Rejected,
    /// The task was canceled.
    Canceled,
    /// The agent asks for input; continue with the task's id.
    InputRequired,
    /// The agent asks for credentials; continue with the task's id when it has them.
    AuthRequired,
    /// The agent is still working.
    Working,
}

impl State {
    /// Returns the state's name, as in A2A 0.3.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Canceled => "canceled",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Working => "working",
        }
    }
}

impl From<&TaskState> for State {
    fn from(state: &TaskState) -> Self {
        match state {
            TaskState::Completed => Self::Completed,
            TaskState::Failed => Self::Failed,
            TaskState::Rejected => Self::Rejected,
            TaskState::Canceled => Self::Canceled,
            TaskState::InputRequired => Self::InputRequired,
            TaskState::AuthRequired => Self::AuthRequired,
            TaskState::Unspecified
            | TaskState::Submitted
            | TaskState::Working
            | TaskState::Unknown(_) => Self::Working,
        }
    }
}

impl Outcome {
    /// Returns the outcome as JSON, with the fields' names as here. Absent fields are left out.
    pub fn to_json(&self) -> Value {
        to_value(self)
    }
}

impl From<SendMessageResponse> for Outcome {
    fn from(answer: SendMessageResponse) -> Self {
        match answer {
            SendMessageResponse::Task(task) => task.into(),
            SendMessageResponse::Message(message) => message.into(),
        }
    }
}

impl From<Task> for Outcome {
    fn from(task: Task) -> Self {
        let answer = answer_in_history(&task);
        let text = match text_of_task(&task) {
            none if none.is_empty() => {
                let texts: Vec<String> = answer.iter().map(Message::text).collect();
                texts.join("\n")
            }
            text => text,
        };
        let data = data_of_task(&task).or_else(|| answer.iter().find_map(data_of_message));
        // An artifact without a name whose text is part of the answer adds nothing.
        let is_words = |one: &Artifact| one.parts.iter().all(|part| part.as_text().is_some());
        let is_told = |one: &Artifact| {
            one.name.is_none() && is_words(one) && text.contains(&artifact_text(one))
        };
        Self {
            state: State::from(&task.status.state),
            result_data: data.cloned(),
            artifacts: task.artifacts.iter().filter(|one| !is_told(one)).cloned().collect(),
            text,
            task_id: Some(task.id),
            context_id: task.context_id,
        }
    }
}

/// Returns the agent's messages after the user's last one in the history of a task, if the task has neither artifacts nor
/// a message in its status. Agents on agno answer so.
pub fn answer_in_history(task: &Task) -> &[Message] {
    if task.status.message.is_some() || !task.artifacts.is_empty() {
        return &[];
    }
    let asked = task.history.iter().rposition(|one| one.role == Role::User);
    &task.history[asked.map_or(0, |place| place + 1)..]
}

fn artifact_text(artifact: &Artifact) -> String {
    let texts: Vec<&str> = artifact.parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

/// A message without a task is a complete answer.
impl From<Message> for Outcome {
    fn from(message: Message) -> Self {
        Self {
            state: State::Completed,
            result_data: data_of_message(&message).cloned(),
            text: message.text(),
            artifacts: Vec::new(),
            task_id: message.task_id,
            context_id: message.context_id,
        }
    }
}
