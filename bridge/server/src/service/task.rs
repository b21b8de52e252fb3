//! GetTask, CancelTask and SubscribeToTask (specification 3.1.3, 3.1.5, 3.1.6).

use std::sync::Arc;

use bridge_program::read_response;
use bridge_protocol::{
    a2a::{CancelTaskRequest, Error, ErrorKind, GetTaskRequest, SubscribeToTaskRequest, Task},
    dialect::Version,
};

use super::{
    Context, Position, Result, Service, StreamItems, error,
    history::{self, with_history},
    sequence, task_stream, tenant,
};
use crate::{
    run_to_completion,
    store::{Head, Snapshot, size},
    turns::TurnError,
};

impl Service {
    /// Returns a task in its current state.
    ///
    /// # Errors
    /// If the caller has no such task with this agent, if the length of the history is negative, or if the store fails.
    pub async fn get_task(&self, context: &Context, request: GetTaskRequest) -> Result<Arc<Task>> {
        history::check(request.history_length)?;
        let client_task = self.client_task(context).await?;
        let id = client_task.as_deref().unwrap_or(&request.id);
        self.await_news(context, id).await;
        self.task(context, id, request.history_length).await
    }

    /// Returns a task of this agent, once there is memory for sending it.
    async fn task(&self, context: &Context, id: &str, history: Option<i32>) -> Result<Arc<Task>> {
        let store = self.turns.store();
        let read = || async {
            let snapshot = store.task(&context.caller, id).await;
            let Snapshot { task, agent, seq, .. } = snapshot.map_err(error::of_store)?;
            if agent != context.agent {
                return Err(Error::task_not_found(id));
            }
            let task = with_history(task, history);
            Ok(sequence::numbered(context, task, seq))
        };
        let name = || history::sized_name(&context.caller, id, history);
        read_response(Some(name), read, |task| size::task(task)).await
    }

    /// Cancels a task at once; its agent is notified afterwards.
    ///
    /// # Errors
    /// If the caller has no such task with this agent, if the task has ended already, or if the store fails.
    pub async fn cancel_task(
        &self,
        context: &Context,
        request: CancelTaskRequest,
    ) -> Result<Arc<Task>> {
        let head = self.head(context, &request.id).await?;
        let (turns, agent) = (self.turns.clone(), context.agent.clone());
        let (caller, id) = (context.caller.clone(), head.task.clone());
        let canceling = async move { turns.cancel(&agent, &caller, &id).await };
        match run_to_completion(canceling).await {
            Ok(()) => self.task(context, &head.task, None).await,
            Err(TurnError::Ended { task }) => {
                let message = format!("task {task} has ended already");
                Err(Error::new(ErrorKind::TaskNotCancelable, message))
            }
            Err(error) => Err(error::of_turn(error)),
        }
    }

    /// Streams a task in its current state and then its further events until it ends. With `Last-Event-ID`, streams
    /// only later events, also of a task that has ended. Before 1.0, a task that has ended is streamed alone, because
    /// clients subscribe after a message that they did not wait for, and cannot know how fast the agent is.
    ///
    /// # Errors
    /// If the caller has no such task with this agent, if the store fails, and in 1.0 if the task has ended already and no stream of it
    /// is resumed.
    pub async fn subscribe_to_task(
        &self,
        context: &Context,
        request: SubscribeToTaskRequest,
    ) -> Result<StreamItems> {
        let head = self.head(context, &request.id).await?;
        let (task, end) = (Arc::clone(&head.task), task_stream::StreamEnd::Task);
        if let Some(last) = context.last_event.as_ref().filter(|last| last.task == task) {
            // A store that was restored from a copy may have fewer events than the client has seen.
            let seq = last.seq.min(head.seq);
            return Ok(task_stream::after(self, context, Position { task, seq }, end));
        }
        if head.state.is_terminal() && context.version == Version::V1_0 {
            let message = format!("task {task} has ended: get it instead");
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
        let position = Position { task, seq: head.seq };
        task_stream::from(self, context, position, end, None).await
    }

    /// Returns whether a task of this agent has an id of the client's own choice (A2A 0.1).
    ///
    /// # Errors
    /// If the caller may not use the tenant, or the store fails.
    pub async fn knows_client_task(&self, context: &Context, id: &str) -> Result<bool> {
        let context = tenant::resolve_tenant(context)?;
        let store = self.turns.store();
        let found = store.find_client_task(&context.caller, &context.agent, id).await;
        Ok(found.map_err(error::of_store)?.is_some())
    }

    /// Returns the task that a request names by our id or, in 0.1, by the client's own.
    pub(super) async fn head(&self, context: &Context, id: &str) -> Result<Arc<Head>> {
        let client_task = self.client_task(context).await?;
        self.head_of(context, client_task.as_deref().unwrap_or(id)).await
    }

    /// Returns a task of this agent by our id.
    pub(super) async fn head_of(&self, context: &Context, id: &str) -> Result<Arc<Head>> {
        let head = self.turns.store().head(&context.caller, id).await.map_err(error::of_store)?;
        if head.agent == context.agent { Ok(head) } else { Err(Error::task_not_found(id)) }
    }

    /// Returns our id of the task that the request names by the client's own id, if it does and there is such a task.
    async fn client_task(&self, context: &Context) -> Result<Option<String>> {
        let Some(client_id) = &context.client_id else {
            return Ok(None);
        };
        let store = self.turns.store();
        let found = store.find_client_task(&context.caller, &context.agent, client_id);
        found.await.map_err(error::of_store)
    }
}
