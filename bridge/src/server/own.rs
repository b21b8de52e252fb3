//! Tasks under the ids that their clients chose: A2A 0.1 (see [`crate::store::Created::client_id`]).

use bridge_protocol::a2a::{Message, StreamResponse, Task};

/// The task as its client knows it; as it is, if the client has no id of its own for it.
pub(super) fn task(mut task: Task, client_id: Option<&str>) -> Task {
    let Some(client_id) = client_id else {
        return task;
    };
    task.id = client_id.to_owned();
    let said = task.status.message.iter_mut().chain(&mut task.history);
    said.for_each(|message| rename(message, client_id));
    task
}

/// The same for an item of a stream.
pub(super) fn item(mut item: StreamResponse, client_id: Option<&str>) -> StreamResponse {
    let Some(id) = client_id else {
        return item;
    };
    match &mut item {
        StreamResponse::Task(whole) => *whole = task(whole.clone(), client_id),
        StreamResponse::Message(message) => rename(message, id),
        StreamResponse::StatusUpdate(update) => {
            update.task_id = id.to_owned();
            update
                .status
                .message
                .iter_mut()
                .for_each(|message| rename(message, id));
        }
        StreamResponse::ArtifactUpdate(update) => update.task_id = id.to_owned(),
    }
    item
}

fn rename(message: &mut Message, client_id: &str) {
    if message.task_id.is_some() {
        message.task_id = Some(client_id.to_owned());
    }
}
