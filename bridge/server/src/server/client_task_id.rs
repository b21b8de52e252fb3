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

#[cfg(test)]
mod tests {
    use bridge_protocol::{
        a2a::{Part, Role, TaskState, TaskStatus, TaskStatusUpdateEvent},
        wire::{Wire as _, to_value},
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn the_message_of_a_status_names_the_clients_task_too() {
        let message = |task: &str| Message {
            task_id: Some(task.to_owned()),
            ..Message::new("m", Role::Agent, vec![Part::text("Which one?")])
        };
        let status = |task: &str| TaskStatus {
            message: Some(message(task)),
            ..TaskStatus::new(TaskState::InputRequired)
        };
        let whole = |id: &str| Task {
            history: vec![message(id)],
            context_id: Some("c".to_owned()),
            ..Task::new(id, status(id))
        };
        assert_eq!(task(whole("own"), Some("theirs")), whole("theirs"));
        assert_eq!(task(whole("own"), None), whole("own"));
        let update = |id: &str| {
            let update = json!({"taskId": id, "contextId": "c", "status": to_value(&status(id))});
            TaskStatusUpdateEvent::read(update).unwrap()
        };
        let changed = item(StreamResponse::StatusUpdate(update("own")), Some("theirs"));
        assert_eq!(changed, StreamResponse::StatusUpdate(update("theirs")));
    }
}
