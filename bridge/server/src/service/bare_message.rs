//! Answers with a message instead of a task (specification 3.1.1, 3.1.2), if the task contains nothing else.

use std::future::ready;

use bridge_protocol::a2a::{
    Message, Metadata, Role, SendMessageRequest, StreamResponse, Task, TaskState,
};
use bridge_translate::answer;
use futures_util::{StreamExt as _, stream};

use super::{Context, Position, Result, Service, StreamItem, StreamItems, error};
use crate::{agent::AnswerKind, turns::is_bare_message};

/// A request that may be answered with a bare message.
pub(super) struct BareReply {
    /// The metadata of the request, which became the task's.
    asked: Option<Metadata>,
}

impl Service {
    /// Returns whether a request may be answered with a bare message: the agent's settings allow it, the client's
    /// version supports it, and the message names no task.
    pub(super) fn bare_reply(
        &self,
        context: &Context,
        request: &SendMessageRequest,
    ) -> Option<BareReply> {
        let agent = self.turns.agent(&context.agent)?;
        let wants_task = request.message.task_id.is_some() || context.wants_task;
        let is_plain = agent.settings.answers == AnswerKind::Messages && !wants_task;
        is_plain.then(|| BareReply { asked: request.metadata.clone() })
    }
}

impl BareReply {
    /// Returns the bare message if it represents the whole task. Metadata that the agent set on the task is moved to
    /// the message.
    pub(super) fn answer(&self, task: &Task) -> Option<Message> {
        let is_done = task.status.state == TaskState::Completed;
        if !is_done || !is_bare_message(task) {
            return None;
        }
        let answers = task.artifacts.iter().filter_map(answer::message);
        let mut message = answers.chain(agent_messages(task).cloned()).next()?;
        message.context_id.clone_from(&task.context_id);
        message.task_id = None;
        for (key, value) in task.metadata.iter().flatten() {
            let is_asked = |asked: &Metadata| asked.get(key) == Some(value);
            if !self.asked.as_ref().is_some_and(is_asked) {
                let metadata = message.metadata.get_or_insert_default();
                metadata.entry(key).or_insert_with(|| value.clone());
            }
        }
        Some(message)
    }

    /// Waits for the bare message and returns it as the only stream item; `None` if the answer is a task.
    pub(super) async fn stream(
        self,
        service: Service,
        context: Context,
        begin: Position,
    ) -> Result<Option<StreamItem>> {
        let (store, caller) = (service.turns.store(), &context.caller);
        let watch = store.watch(caller, &begin.task).await;
        let mut watch = watch.map_err(error::of_store)?;
        // The log only ends when the store is closed.
        let mut seen = begin.seq.saturating_sub(1);
        while let Some(head) = watch.after(seen).await {
            seen = head.seq;
            let snapshot = store.task(caller, &begin.task).await;
            let snapshot = snapshot.map_err(error::of_store)?;
            if let Some(message) = self.answer(&snapshot.task) {
                return Ok(Some(StreamItem {
                    position: Position { seq: snapshot.seq, ..begin },
                    response: StreamResponse::Message(message),
                    is_behind: false,
                }));
            }
            // The task may still end with a single message of the agent while it is at work.
            let state = &snapshot.task.status.state;
            let is_at_work = matches!(state, TaskState::Submitted | TaskState::Working);
            if head.turns.is_empty() || !is_at_work || !is_bare_message(&snapshot.task) {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

/// Returns the agent's messages that are not artifacts.
fn agent_messages(task: &Task) -> impl Iterator<Item = &Message> {
    let all = task.history.iter().chain(&task.status.message);
    all.filter(|one| one.role != Role::User)
}

/// Returns a stream of the item alone, or the other stream if there is no item.
pub(super) fn bare_or_stream(
    item: impl Future<Output = Result<Option<StreamItem>>> + Send + 'static,
    otherwise: impl Future<Output = Result<StreamItems>> + Send + 'static,
) -> StreamItems {
    let one = |item| stream::once(ready(item)).boxed();
    let items = async move {
        match item.await {
            Ok(Some(item)) => one(Ok(item)),
            Ok(None) => otherwise.await.unwrap_or_else(|error| one(Err(error))),
            Err(error) => one(Err(error)),
        }
    };
    stream::once(items).flatten().boxed()
}
