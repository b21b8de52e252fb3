//! Calls a skill and follows the task's events, so that its id is known early and it can be canceled.

use bridge_protocol::{
    a2a::{SendMessageRequest, StreamResponse, Task},
    dialect::Version,
};
use futures_util::StreamExt as _;

use super::{Invocation, Invoker, Outcome, Result, State, invoker::AgentTransport};
use crate::{Client, ClientError, Fault};

impl Invoker<'_> {
    /// Calls a skill and waits for its outcome, as [`invoke`](Self::invoke) does. `begun` is called with the
    /// task's id as soon as it is known, so that the caller can cancel: before anything is sent to agents of
    /// 0.1, where the client chooses the id; with the first answer from agents that stream or answer early.
    /// Agents that call skills as methods have no tasks ([`Invoker::has_tasks`]).
    ///
    /// # Errors
    /// Returns the errors of [`invoke`](Self::invoke).
    pub async fn follow(
        &self,
        invocation: &Invocation,
        mut begun: impl FnMut(&str) + Send,
    ) -> Result<Outcome> {
        self.chosen(invocation).into_iter().for_each(&mut begun);
        let outcome = match &self.way {
            AgentTransport::Client(client) if client.card().capabilities.streams() => {
                self.check(invocation)?;
                let outcome = stream(client, invocation.request(false), &mut begun).await?;
                outcome.ok_or_else(|| self.nothing_said())?
            }
            AgentTransport::Client(_) | AgentTransport::Legacy(_) => self.begin(invocation).await?,
        };
        outcome.task_id.iter().for_each(|id| begun(id));
        self.ended(outcome).await
    }

    /// Returns the task's id if it is known before the agent answers: that of the continued task, or in 0.1, where the
    /// client chooses it, the message's id.
    fn chosen<'b>(&self, invocation: &'b Invocation) -> Option<&'b str> {
        let is_ours = match &self.way {
            AgentTransport::Client(client) => client.version() == Version::V0_1,
            AgentTransport::Legacy(legacy) if legacy.has_tasks() => true,
            AgentTransport::Legacy(_) => return None,
        };
        let lent = is_ours.then_some(&invocation.message_id);
        invocation.task_id.as_ref().or(lent).map(String::as_str)
    }

    fn nothing_said(&self) -> ClientError {
        let fault = Fault::StreamBroken("it ended without an answer".to_owned());
        fault.of(self.agent.endpoint.url(), "SendStreamingMessage")
    }
}

/// Returns the outcome of the agent's stream: a task or a message. `None` if the stream ends before any event. A message in the
/// stream of a task, as some agents of 0.3 send, only counts if the stream ends before its task.
async fn stream(
    client: &Client,
    request: SendMessageRequest,
    begun: &mut impl FnMut(&str),
) -> Result<Option<Outcome>, ClientError> {
    let mut events = client.send_streaming_message(request).await?;
    let mut task_so_far: Option<Task> = None;
    let mut said = None;
    while let Some(item) = events.next().await {
        match (item?, &mut task_so_far) {
            (StreamResponse::Message(message), None) => return Ok(Some(message.into())),
            (StreamResponse::Message(message), Some(_)) => said = Some(message),
            (item, Some(task)) => task.apply(item),
            (item, none) => {
                *none = Task::begun_by(item);
                none.iter().for_each(|task| begun(&task.id));
            }
        }
    }
    let outcome = task_so_far.map(Outcome::from);
    let is_open = outcome.as_ref().is_some_and(|outcome| outcome.state == State::Working);
    Ok(said.filter(|_| is_open).map(Outcome::from).or(outcome))
}
