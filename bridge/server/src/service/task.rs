//! GetTask, CancelTask and SubscribeToTask (specification 3.1.3, 3.1.5, 3.1.6).

use std::sync::Arc;

use bridge_program::read_response;
use bridge_protocol::{
    a2a::{CancelTaskRequest, Error, ErrorKind, GetTaskRequest, SubscribeToTaskRequest, Task},
    dialect::Version,
};

use super::{
    Context, Position, Service, StreamItems, error,
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
    pub async fn get_task(
        &self,
        context: &Context,
        request: GetTaskRequest,
    ) -> Result<Arc<Task>, Error> {
        history::check(request.history_length)?;
        let head = self.head(context, &request.id).await?;
        self.await_news(context, &head).await;
        self.task(context, &head.task, request.history_length).await
    }

    /// Returns a task, once there is memory for sending it.
    async fn task(
        &self,
        context: &Context,
        id: &str,
        history: Option<i32>,
    ) -> Result<Arc<Task>, Error> {
        let store = self.turns.store();
        let read = || async {
            let snapshot = store.task(&context.caller, id).await;
            let Snapshot { task, seq, .. } = snapshot.map_err(error::of_store)?;
            let task = with_history(task, history);
            Ok(sequence::numbered(context, task, seq))
        };
        let name = || history::sized_name(id, history);
        read_response(Some(name), read, |task| size::task(task)).await
    }

    /// Cancels a task at once; its agent is notified afterwards.
    pub async fn cancel_task(
        &self,
        context: &Context,
        request: CancelTaskRequest,
    ) -> Result<Arc<Task>, Error> {
        let head = self.head(context, &request.id).await?;
        let (turns, agent) = (self.turns.clone(), context.agent.clone());
        let (caller, id) = (context.caller.clone(), head.task.clone());
        let canceling = async move { turns.cancel(&agent, &caller, &id).await };
        match run_to_completion(canceling).await.map(drop) {
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
    pub async fn subscribe_to_task(
        &self,
        context: &Context,
        request: SubscribeToTaskRequest,
    ) -> Result<StreamItems, Error> {
        let head = self.head(context, &request.id).await?;
        match &context.last_event {
            Some(last) if last.task == head.task => {
                // A store that was restored from a copy may have fewer events than the client has seen.
                let (task, seq) = (Arc::clone(&head.task), last.seq.min(head.seq));
                let end = task_stream::StreamEnd::Task;
                return Ok(task_stream::after(self, context, Position { task, seq }, end));
            }
            Some(_) | None => {}
        }
        if head.state.is_terminal() && context.version == Version::V1_0 {
            let message = format!("task {} has ended: get it instead", head.task);
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
        let (task, seq) = (Arc::clone(&head.task), head.seq);
        task_stream::from(self, context, Position { task, seq }, task_stream::StreamEnd::Task, None)
            .await
    }

    /// Returns whether a task of this agent has an id of the client's own choice (A2A 0.1).
    pub async fn knows_client_task(&self, context: &Context, id: &str) -> Result<bool, Error> {
        let context = tenant::resolve_tenant(context)?;
        let store = self.turns.store();
        let found = store.find_client_task(&context.caller, &context.agent, id).await;
        Ok(found.map_err(error::of_store)?.is_some())
    }

    /// Returns the task that a request names by our id or, in 0.1, by the client's own.
    pub(super) async fn head(&self, context: &Context, id: &str) -> Result<Arc<Head>, Error> {
        let store = self.turns.store();
        let known = match &context.client_id {
            Some(client_id) => {
                let found = store.find_client_task(&context.caller, &context.agent, client_id);
                found.await.map_err(error::of_store)?
            }
            None => None,
        };
        let id = known.as_deref().unwrap_or(id);
        let head = store.head(&context.caller, id).await.map_err(error::of_store)?;
        if head.agent == context.agent { Ok(head) } else { Err(Error::task_not_found(id)) }
    }
}
