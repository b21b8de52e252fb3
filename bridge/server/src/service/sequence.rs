//! The extension that numbers the events of tasks: [`EXTENSION`].
//!
//! While the extension is active (specification 4.6), each task has the number of its last event under the URI in
//! its metadata, and each stream item has its own number: `{"sequence": 7}`. Numbers grow within a task, not always
//! by one, since events that streams do not show are numbered too. The service parameter `Last-Event-ID: TASK/7`
//! resumes a stream after that event, and makes GetTask wait for a later event. A message with `{"ifSequence": 7}`
//! under the URI in the metadata of its request is refused if its task has visible changes after that event.
//!
//! A2A 1.1 will have fields for this: `generation` of tasks and events, `currentGeneration` of GetTask,
//! `ifGenerationMatch` of SendMessage.

use std::{sync::Arc, time::Duration};

use bridge_protocol::{
    a2a::{AgentExtension, Metadata, SendMessageRequest, StreamResponse, Task},
    wire::FieldError,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Context, Result, Service};
use crate::store::Seq;

/// The URI, and the key in metadata.
pub use bridge_protocol::a2a::SEQUENCE_EXTENSION as EXTENSION;

/// The time limit for GetTask to wait for a later event, shorter than usual proxy timeouts.
const LONGEST: Duration = Duration::from_secs(30);

/// Returns the extension for cards. Every agent offers it, because the log is the same for all.
pub(super) fn offer() -> AgentExtension {
    AgentExtension::new(
        EXTENSION,
        "Numbers the events of tasks, so that a stream can be resumed after any of them",
    )
}

/// Returns whether the client requests numbers.
pub(super) fn is_wanted(context: &Context) -> bool {
    context.extensions.contains(EXTENSION)
}

/// Adds the number of the task's last event, if the client requests numbers.
pub(super) fn numbered(context: &Context, mut task: Arc<Task>, seq: Seq) -> Arc<Task> {
    if is_wanted(context) {
        number(&mut Arc::make_mut(&mut task).metadata, seq);
    }
    task
}

/// Adds the number to a stream item. A bare message has none, since it belongs to no task.
pub(super) fn number_item(item: &mut StreamResponse<Arc<Task>>, seq: Seq) {
    match item {
        StreamResponse::Task(task) => number(&mut Arc::make_mut(task).metadata, seq),
        StreamResponse::StatusUpdate(update) => number(&mut update.metadata, seq),
        StreamResponse::ArtifactUpdate(update) => number(&mut update.metadata, seq),
        StreamResponse::Message(_) => {}
    }
}

fn number(metadata: &mut Option<Metadata>, seq: Seq) {
    let metadata = metadata.get_or_insert_default();
    metadata.insert(EXTENSION.to_owned(), json!({ "sequence": seq }));
}

/// The key of the condition under the URI.
const CONDITION: &str = "ifSequence";

/// Takes the condition out of a request: the last event of the task that the caller has seen. It is also read if
/// the extension is not active, since ignoring it would seem to satisfy it. It does not become metadata of the
/// task.
pub(super) fn seen(request: &mut SendMessageRequest) -> Result<Option<Seq>> {
    let metadata = request.metadata.as_mut();
    let Some(mut said) = metadata.and_then(|metadata| metadata.remove(EXTENSION)) else {
        return Ok(None);
    };
    let Some(seen) = said.get_mut(CONDITION).map(Value::take) else {
        return Ok(None);
    };
    // Numbers in protocol buffers are doubles.
    let number = seen.as_u64().or_else(|| {
        let number = seen.as_f64()?;
        let is_whole = (0.0..9e15).contains(&number) && number.fract() == 0.0;
        is_whole.then_some(number as Seq)
    });
    let Some(number) = number else {
        return Err(not_met(FieldError::new("the number of an event", seen.to_string())).into());
    };
    if request.message.task_id.is_none() {
        let error = FieldError::new("the id of the task to which ifSequence applies", "nothing");
        return Err(error.inside("taskId").inside("message").into());
    }
    Ok(Some(number))
}

/// Returns a field error with the path of the condition.
pub(super) fn not_met(error: FieldError) -> FieldError {
    error.inside(CONDITION).inside(EXTENSION).inside("metadata")
}

impl Service {
    /// Waits until the task has an event after the one that the client of a GetTask request has seen, if the client names
    /// one. An error of the store is returned when the task is read.
    pub(super) async fn await_news(&self, context: &Context, task: &str) {
        let seen = context.last_event.as_ref().filter(|last| *last.task == *task);
        let Some(last) = seen.filter(|_| is_wanted(context)) else {
            return;
        };
        let Ok(head) = self.head_of(context, task).await else {
            return;
        };
        if head.seq > last.seq || !head.is_open() {
            return;
        }
        if let Ok(mut watch) = self.turns.store().watch(&context.caller, task).await {
            // A store that was restored from a copy may have fewer events than the client has seen: the next one is news.
            // At the limit, and when the service stops, GetTask returns the task in its current state.
            let limit = LONGEST.min(self.settings.wait);
            tokio::select! {
                _ = timeout(limit, watch.after(head.seq)) => {}
                () = self.draining.over() => {}
            }
        }
    }
}
