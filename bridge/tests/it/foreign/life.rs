//! Runs the whole life of a task with the client.

use bridge_client::{Client, Fault};
use bridge_protocol::{
    a2a::{
        CancelTaskRequest, ErrorKind, GetTaskRequest, Message, Part, Role, SendMessageRequest,
        SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
        TaskPushNotificationConfig, TaskState,
    },
    wire::Wire,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use uuid::Uuid;

/// The abilities of an agent.
#[derive(Clone, Copy)]
pub(super) struct Life {
    pub(super) streams: bool,
    /// Open streams hear that their task is canceled.
    pub(super) tells_cancel: bool,
    pub(super) lists: bool,
    pub(super) pushes: bool,
    pub(super) lists_pushes: bool,
    pub(super) extends: bool,
}

pub(super) async fn live(client: &Client, life: Life) {
    let task = answer(client).await;
    streamed(client).await;
    asked(client).await;
    if life.streams {
        canceled(client, life).await;
    }
    if life.pushes {
        pushed(client, &task, life).await;
    }
    if life.extends {
        let request = read(json!({}));
        let card = client.get_extended_agent_card(request).await.unwrap();
        assert_eq!(card.name, client.card().name);
    }
    refused(client).await;
}

fn read<T: Wire>(value: Value) -> T {
    T::read(value).unwrap()
}

fn request(text: &str, task: Option<&Task>) -> SendMessageRequest {
    let id = Uuid::now_v7().to_string();
    SendMessageRequest::new(Message {
        task_id: task.map(|task| task.id.clone()),
        context_id: task.and_then(|task| task.context_id.clone()),
        ..Message::new(id, Role::User, vec![Part::text(text)])
    })
}

pub(super) async fn send(client: &Client, text: &str, task: Option<&Task>) -> Task {
    match client.send_message(request(text, task)).await.unwrap() {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("a task was expected, found {message:?}"),
    }
}

async fn get(client: &Client, task: &Task) -> Task {
    client.get_task(GetTaskRequest::new(task.id.as_str())).await.unwrap()
}

fn said(task: &Task) -> String {
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    parts.filter_map(Part::as_text).collect()
}

/// Sends a message and waits for its task.
async fn answer(client: &Client) -> Task {
    let task = send(client, "hi", None).await;
    assert_eq!((&task.status.state, &*said(&task)), (&TaskState::Completed, "You said: hi"));
    let got = get(client, &task).await;
    assert_eq!((&got.status.state, said(&got)), (&TaskState::Completed, said(&task)));
    task
}

/// Receives the same answer as events, whether the agent streams or has to be polled.
async fn streamed(client: &Client) {
    let stream = client.send_streaming_message(request("hi", None)).await.unwrap();
    let events: Vec<_> = stream.map(Result::unwrap).collect().await;
    let mut events = events.into_iter();
    let mut task = Task::begun_by(events.next().unwrap()).unwrap();
    events.for_each(|event| task.apply(event));
    assert_eq!((&task.status.state, &*said(&task)), (&TaskState::Completed, "You said: hi"));
}

/// Runs a task of two turns.
async fn asked(client: &Client) {
    let task = send(client, "ask", None).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    let ended = send(client, "end", Some(&task)).await;
    assert_eq!((&ended.id, &ended.status.state), (&task.id, &TaskState::Completed));
}

/// Subscribes to a task, lists it and cancels it while it is worked on.
async fn canceled(client: &Client, life: Life) {
    let mut stream = client.send_streaming_message(request("wait", None)).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    let mut task = Task::begun_by(first).unwrap();
    while task.status.state != TaskState::Working {
        task.apply(stream.next().await.unwrap().unwrap());
    }
    let subscribe = SubscribeToTaskRequest::new(task.id.as_str());
    let subscribed = client.subscribe_to_task(subscribe).await.unwrap();
    if life.lists {
        let of_context = json!({"contextId": task.context_id});
        let listed = client.list_tasks(read(of_context)).await.unwrap();
        let ids: Vec<_> = listed.tasks.iter().map(|one| &one.id).collect();
        assert_eq!(ids, [&task.id]);
    }
    let ended = client.cancel_task(CancelTaskRequest::new(task.id.as_str())).await.unwrap();
    assert_eq!(ended.status.state, TaskState::Canceled);
    let streams = [stream, subscribed].into_iter();
    for events in streams.filter(|_| life.tells_cancel) {
        let events: Vec<_> = events.map(Result::unwrap).collect().await;
        assert_eq!(last_state(&events), Some(&TaskState::Canceled), "{events:?}");
    }
    assert_eq!(get(client, &task).await.status.state, TaskState::Canceled);
}

fn last_state(events: &[StreamResponse]) -> Option<&TaskState> {
    events.iter().rev().find_map(|event| match event {
        StreamResponse::Task(task) => Some(&task.status.state),
        StreamResponse::StatusUpdate(update) => Some(&update.status.state),
        StreamResponse::Message(_) | StreamResponse::ArtifactUpdate(_) => None,
    })
}

/// Creates, reads, lists and deletes a push configuration of a task.
async fn pushed(client: &Client, task: &Task, life: Life) {
    let config = json!({"taskId": task.id, "id": "p", "url": "https://hook.test/", "token": "t"});
    let config: TaskPushNotificationConfig = read(config);
    let made = client.create_task_push_notification_config(config.clone()).await.unwrap();
    assert_eq!((&made.url, &made.token), (&config.url, &config.token));
    let named = json!({"taskId": task.id, "id": made.id});
    let got = client.get_task_push_notification_config(read(named.clone())).await.unwrap();
    assert_eq!((&got.id, &got.url), (&made.id, &made.url));
    if !life.lists_pushes {
        return;
    }
    let of_task = json!({"taskId": task.id});
    let all = client.list_task_push_notification_configs(read(of_task.clone())).await.unwrap();
    assert_eq!(all.configs.len(), 1);
    client.delete_task_push_notification_config(read(named)).await.unwrap();
    let all = client.list_task_push_notification_configs(read(of_task)).await.unwrap();
    assert!(all.configs.is_empty());
}

/// Asks for a task that does not exist.
async fn refused(client: &Client) {
    let unknown = GetTaskRequest::new(Uuid::now_v7().to_string());
    let error = client.get_task(unknown).await.unwrap_err();
    let Fault::Rpc(said) = &error.fault else {
        panic!("{error}");
    };
    // Bindings without error codes have words instead.
    let is_told = said.message.starts_with("Task not found");
    assert!(is_told || said.kind() == Some(ErrorKind::TaskNotFound), "{error}");
}
