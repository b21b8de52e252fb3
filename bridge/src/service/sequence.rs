//! The extension by which a client knows how far it has seen a task: [`EXTENSION`].
//!
//! While it is in use (specification 4.6), each task has the number of its last event under the URI in its metadata,
//! and each event of a stream its own: `{"sequence": 7}`. Numbers grow within a task, and not always by one: what
//! streams do not show is numbered too. The service parameter `Last-Event-ID: TASK/7` takes a stream up again behind
//! that event, and has GetTask wait until the task has a later one. A message with `{"ifSequence": 7}` under the URI in
//! the metadata of its request is refused if more was said or shown in its task since.
//!
//! A2A 1.1 will have fields for it: `generation` of tasks and events, `currentGeneration` of GetTask, `ifGenerationMatch` of
//! SendMessage.

use std::{sync::Arc, time::Duration};

use bridge_protocol::{
    a2a::{AgentExtension, Error, Metadata, SendMessageRequest, StreamResponse, Task},
    dialect::Call,
    wire::FieldError,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Context, Service, tenant};
use crate::store::Seq;

/// The URI, and the key in metadata.
pub const EXTENSION: &str = "urn:activity:sequence:v1";

/// How long GetTask waits for something new at most: less than proxies wait for an answer.
const LONGEST: Duration = Duration::from_secs(30);

/// What cards say of it. Every agent offers it: the log is the same for all.
pub(super) fn offer() -> AgentExtension {
    AgentExtension::new(
        EXTENSION,
        "Numbers the events of tasks, so that streams are taken up again behind any of them",
    )
}

/// Whether the client wants numbers.
pub(super) fn is_wanted(context: &Context) -> bool {
    context.extensions.contains(EXTENSION)
}

/// The task with the number of its last event, for those who want it.
pub(super) fn numbered(context: &Context, mut task: Arc<Task>, seq: Seq) -> Arc<Task> {
    if is_wanted(context) {
        number(&mut Arc::make_mut(&mut task).metadata, seq);
    }
    task
}

/// The same for an item of a stream. A bare message is of no task.
pub(super) fn number_item(item: &mut StreamResponse, seq: Seq) {
    match item {
        StreamResponse::Task(task) => number(&mut task.metadata, seq),
        StreamResponse::StatusUpdate(update) => number(&mut update.metadata, seq),
        StreamResponse::ArtifactUpdate(update) => number(&mut update.metadata, seq),
        StreamResponse::Message(_) => {}
    }
}

fn number(metadata: &mut Option<Metadata>, seq: Seq) {
    let metadata = metadata.get_or_insert_default();
    metadata.insert(EXTENSION.to_owned(), json!({ "sequence": seq }));
}

/// What a request says under the URI.
const CONDITION: &str = "ifSequence";

/// The last event that the caller has seen of the task that its message is for, if it says so; whether the extension
/// is in use or not, since a condition that is not looked at would be taken for met. It is no data of the task.
pub(super) fn seen(request: &mut SendMessageRequest) -> Result<Option<Seq>, Error> {
    let metadata = request.metadata.as_mut();
    let Some(mut said) = metadata.and_then(|metadata| metadata.remove(EXTENSION)) else {
        return Ok(None);
    };
    let Some(seen) = said.get_mut(CONDITION).map(Value::take) else {
        return Ok(None);
    };
    // Numbers of protocol buffers are doubles.
    let number = seen.as_u64().or_else(|| {
        let number = seen.as_f64()?;
        let is_whole = (0.0..9e15).contains(&number) && number.fract() == 0.0;
        is_whole.then_some(number as Seq)
    });
    let Some(number) = number else {
        return Err(not_met(FieldError::new("the number of an event", seen.to_string())).into());
    };
    if request.message.task_id.is_none() {
        let error = FieldError::new("the id of the task that ifSequence is about", "nothing");
        return Err(error.inside("taskId").inside("message").into());
    }
    Ok(Some(number))
}

/// What is wrong with the condition, at its place.
pub(super) fn not_met(error: FieldError) -> FieldError {
    error.inside(CONDITION).inside(EXTENSION).inside("metadata")
}

impl Service {
    /// Waits until the task that GetTask asks for has an event after the one that its client has seen, if the client
    /// says so. Whatever is wrong with the call, carrying it out says it.
    pub(crate) async fn await_news(&self, context: &Context, call: &Call) {
        let (Call::GetTask(request), Some(last)) = (call, &context.last_event) else {
            return;
        };
        let Ok(context) = tenant::resolve_tenant(context) else {
            return;
        };
        if !is_wanted(&context) {
            return;
        }
        let Ok(head) = self.head(&context, &request.id).await else {
            return;
        };
        let is_behind = head.task == last.task && head.seq <= last.seq;
        if !is_behind || !head.is_open() {
            return;
        }
        if let Ok(mut watch) = self.turns.store().watch(&context.caller, &head.task).await {
            // It is answered with the task as it stands then.
            let limit = LONGEST.min(self.settings.wait);
            let _ = timeout(limit, watch.after(last.seq)).await;
        }
    }
}
