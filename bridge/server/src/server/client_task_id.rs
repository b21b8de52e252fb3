//! Replaces task ids by the ids that clients of A2A 0.1 chose (see [`crate::store::Created::client_id`]).

use std::sync::Arc;

use bridge_protocol::a2a::{Message, StreamResponse, Task};

/// Returns the task with the client's id; unchanged if the client did not choose one.
pub(super) fn task(mut task: Task, client_id: Option<&str>) -> Task {
    let Some(client_id) = client_id else {
        return task;
    };
    task.id = client_id.to_owned();
    let messages = task.status.message.iter_mut().chain(&mut task.history);
    messages.for_each(|message| rename(message, client_id));
    task
}

/// Does the same for an item of a stream.
pub(super) fn item(item: StreamResponse<Arc<Task>>, client_id: Option<&str>) -> StreamResponse {
    let mut item = item.map_task(|whole| task(Arc::unwrap_or_clone(whole), client_id));
    let Some(id) = client_id else {
        return item;
    };
    match &mut item {
        StreamResponse::Task(_) => {}
        StreamResponse::Message(message) => rename(message, id),
        StreamResponse::StatusUpdate(update) => {
            id.clone_into(&mut update.task_id);
            update.status.message.iter_mut().for_each(|message| rename(message, id));
        }
        StreamResponse::ArtifactUpdate(update) => id.clone_into(&mut update.task_id),
    }
    item
}

fn rename(message: &mut Message, client_id: &str) {
    if message.task_id.is_some() {
        message.task_id = Some(client_id.to_owned());
    }
}
