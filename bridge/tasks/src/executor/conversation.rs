//! The conversation that a turn continues, for agents that keep none of their own.

use bridge_protocol::a2a::{Message, Part, Role, Task};

use super::{EmitError, Turn};

impl Turn {
    /// Returns the messages of the conversation, oldest first, up to the caller's message: those of at most `tasks` earlier
    /// tasks of this caller in the context, and those of this task. An agent over a language model needs them because a
    /// completed task accepts no message: the caller's next one begins another task, which has only the context in common.
    ///
    /// The artifacts of a task are one message of the agent, without those that the message of the status repeats.
    /// Tasks are in the order of their last status.
    ///
    /// ```
    /// use bridge_protocol::a2a::{Message, Role};
    /// use bridge_tasks::executor::{EmitError, Turn};
    /// use serde_json::{Value, json};
    ///
    /// /// Returns the messages in the form of OpenAI's API.
    /// async fn messages(turn: &Turn) -> Result<Vec<Value>, EmitError> {
    ///     let conversation = turn.conversation(20).await?;
    ///     let role = |role: &Role| if *role == Role::Agent { "assistant" } else { "user" };
    ///     let message = |one: &Message| json!({"role": role(&one.role), "content": one.text()});
    ///     Ok(conversation.iter().map(message).collect())
    /// }
    /// # let _ = messages;
    /// ```
    ///
    /// # Errors
    /// Returns [`EmitError::Store`] if the earlier tasks cannot be read.
    pub async fn conversation(&self, tasks: usize) -> Result<Vec<Message>, EmitError> {
        let earlier = self.handle.earlier_tasks(tasks).await?;
        let mut messages: Vec<Message> =
            earlier.iter().flat_map(|task| messages_of(task)).collect();
        // Later messages of the caller may be queued already.
        messages.extend_from_slice(self.message.earlier());
        messages.extend(artifacts_of(&self.task));
        messages.push(Message::clone(&self.message));
        Ok(messages)
    }
}

fn messages_of(task: &Task) -> Vec<Message> {
    let last = task.status.message.iter().cloned();
    task.history.iter().cloned().chain(artifacts_of(task)).chain(last).collect()
}

/// Returns the artifacts that the message of the status does not repeat, as one message.
fn artifacts_of(task: &Task) -> Option<Message> {
    let parts = task.produced().flat_map(|artifact| &artifact.parts);
    let parts: Vec<Part> = parts.cloned().collect();
    let id = format!("{}.artifacts", task.id);
    (!parts.is_empty()).then(|| Message::new(id, Role::Agent, parts))
}
