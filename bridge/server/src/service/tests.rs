//! Tests waiting for an answer that the disk has no room for, and for one that comes in pieces.

use std::sync::{Arc, atomic::Ordering};

use async_trait::async_trait;
use bridge_protocol::a2a::{
    AgentCard, ErrorKind, GetTaskRequest, ListTasksRequest, Message, Part, Role,
    SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, TaskState,
};
use futures_util::StreamExt as _;
use tokio::{sync::Semaphore, task::JoinHandle};

use super::*;
use crate::{
    agent::{Agent, TurnSettings},
    executor::{Executor, Turn, Update},
    store::{MemoryStore, SimulatedDisk, SledSettings, SledStore, Store, testing::FailingStore},
};

/// An agent that signals its start, and answers when it is allowed to.
struct Patient {
    has_begun: Semaphore,
    may_answer: Semaphore,
}

#[async_trait]
impl Executor for Patient {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        self.has_begun.add_permits(1);
        self.may_answer.acquire().await.unwrap().forget();
        let id = format!("{}-answer", turn.message.message_id);
        vec![Update::said(TaskState::Completed, id, "done")]
    }
}

/// Returns a service whose agent no client leaves before it has answered or failed.
fn serving(store: Arc<dyn Store>) -> (Service, Arc<Patient>) {
    let patient = Arc::new(Patient { has_begun: Semaphore::new(0), may_answer: Semaphore::new(0) });
    let agent = Agent {
        name: "patient".into(),
        card: AgentCard::named("Patient", "Waits"),
        executor: patient.clone(),
        settings: TurnSettings::default(),
    };
    let settings = Settings { wait: Duration::from_secs(100_000), ..Settings::default() };
    (Service::new(Turns::new(store, [agent]), settings), patient)
}

/// Sends hello, always with the same message id.
async fn hello(service: Service) -> Result<Arc<Task>, Error> {
    let context = Context::new("patient", Caller::anonymous());
    let message = Message::new("m-1", Role::User, vec![Part::text("hello")]);
    let answer = service.send_message(&context, SendMessageRequest::new(message));
    match answer.await? {
        SendMessageResponse::Task(task) => Ok(task),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

#[tokio::test]
async fn a_full_disk_does_not_block_waiting_clients() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, disk) = (SledSettings::in_folder(folder.path()), SimulatedDisk::new(1));
    let store = Arc::new(SledStore::open_simulated(&settings, &disk).unwrap());
    let (service, patient) = serving(store.clone());
    let waiting = tokio::spawn(hello(service.clone()));
    patient.has_begun.acquire().await.unwrap().forget();
    disk.set_room(0);
    patient.may_answer.add_permits(1);
    for refused in [waiting.await.unwrap(), hello(service.clone()).await] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("disk is full"), "{error}");
        assert_eq!(service.turns.unlogged_end_count(), 1);
    }
    disk.set_room(usize::MAX);
    // The same message again gets the answer, once that is stored; the agent is not called again.
    let task = loop {
        match hello(service.clone()).await {
            Ok(task) => break task,
            Err(error) => assert_eq!(error.kind, ErrorKind::Unavailable, "{error}"),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(patient.has_begun.available_permits(), 0);
    // The answer can be read just before the turn learns that it is stored.
    while service.turns.unlogged_end_count() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_clients_learn_why_an_answer_is_not_stored() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let (service, patient) = serving(store.clone());
    let waiting = tokio::spawn(hello(service));
    patient.has_begun.acquire().await.unwrap().forget();
    store.unavailable.store(usize::MAX, Ordering::SeqCst);
    patient.may_answer.add_permits(1);
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    let expected = "the agent has the message, but its task log is not available";
    assert!(error.to_string().contains(expected), "{error}");
}

#[tokio::test(start_paused = true)]
async fn waiting_clients_learn_that_an_answer_is_lost() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let (service, patient) = serving(store.clone());
    let waiting = tokio::spawn(hello(service));
    patient.has_begun.acquire().await.unwrap().forget();
    store.unwritable.store(usize::MAX, Ordering::SeqCst);
    patient.may_answer.add_permits(1);
    let error = waiting.await.unwrap().unwrap_err();
    // After a restart, the same message gets an answer.
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
}

#[tokio::test]
async fn a_follower_that_keeps_up_reads_no_log() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let (service, patient) = serving(store.clone());
    let context = Context::new("patient", Caller::anonymous());
    let message = Message::new("m-1", Role::User, vec![Part::text("hello")]);
    let request = SendMessageRequest::new(message);
    let items = service.send_streaming_message(&context, request).await;
    let answering = async {
        patient.has_begun.acquire().await.unwrap().forget();
        patient.may_answer.add_permits(1);
    };
    let (items, ()) = tokio::join!(items.unwrap().collect::<Vec<_>>(), answering);
    let responses = items.into_iter().map(|item| item.unwrap().response);
    let responses: Vec<_> = responses.collect();
    assert!(
        matches!(&responses[..], [StreamResponse::Task(_), StreamResponse::StatusUpdate(end)]
            if end.status.state == TaskState::Completed),
        "{responses:?}"
    );
    assert_eq!(store.reads.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_stopping_service_ends_streams_and_finishes_turns() {
    let (service, patient) = serving(Arc::new(MemoryStore::new()));
    let waiting = tokio::spawn(hello(service.clone()));
    patient.has_begun.acquire().await.unwrap().forget();
    let context = Context::new("patient", Caller::anonymous());
    let request = || {
        let message = Message::new("m-1", Role::User, vec![Part::text("hello")]);
        SendMessageRequest::new(message)
    };
    // The same message again gets a stream of the same turn.
    let call = || Call::SendStreamingMessage(request());
    let Ok(Reply::Stream(mut items)) = service.call(&context, call()).await else {
        panic!("no stream")
    };
    assert!(items.next().await.unwrap().is_ok());
    service.drain();
    let end = loop {
        match items.next().await.unwrap() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(is_stopping(&end), "{end}");
    assert!(items.next().await.is_none());
    for call in [call(), Call::SendMessage(request())] {
        let refused = service.call(&context, call).await.err().unwrap();
        assert_eq!(refused.kind, ErrorKind::Unavailable);
        assert!(refused.retry_after().is_some() && !is_stopping(&refused));
    }
    assert_eq!(service.turns.running(), 1);
    patient.may_answer.add_permits(1);
    let task = waiting.await.unwrap().unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    let call = Call::GetTask(GetTaskRequest::new(task.id.clone()));
    assert!(service.call(&context, call).await.is_ok());
}

/// A turn that waits for its permission, and the context of a client that has seen more events of its task than the log has: the store
/// was restored from a copy.
struct Ahead {
    service: Service,
    patient: Arc<Patient>,
    waiting: JoinHandle<Result<Arc<Task>, Error>>,
    context: Context,
    task: String,
}

impl Ahead {
    async fn new() -> Self {
        let (service, patient) = serving(Arc::new(MemoryStore::new()));
        let waiting = tokio::spawn(hello(service.clone()));
        patient.has_begun.acquire().await.unwrap().forget();
        let mut context = Context::new("patient", Caller::anonymous());
        let listed = service.list_tasks(&context, ListTasksRequest::default()).await.unwrap();
        let task = listed.tasks[0].id.clone();
        context.last_event = Some(Position { task: task.as_str().into(), seq: 1_000 });
        Self { service, patient, waiting, context, task }
    }
}

/// Asserts that a stream ends, and that the last it shows is that the task is completed.
async fn shows_the_end(items: StreamItems) {
    let items = timeout(Duration::from_secs(60), items.collect::<Vec<_>>()).await;
    let items = items.expect("the stream ends with its task");
    let last = items.last().map(|item| &item.as_ref().unwrap().response);
    assert!(
        matches!(last, Some(StreamResponse::StatusUpdate(end)) if end.status.state == TaskState::Completed),
        "{last:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_after_an_event_that_the_log_does_not_have_shows_later_ones() {
    let Ahead { service, patient, waiting, context, task } = Ahead::new().await;
    let items = service.subscribe_to_task(&context, SubscribeToTaskRequest::new(task)).await;
    patient.may_answer.add_permits(1);
    shows_the_end(items.unwrap()).await;
    assert!(waiting.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_message_after_an_event_that_the_log_does_not_have_is_answered_in_its_stream() {
    for message in ["m-1", "m-2"] {
        let Ahead { service, patient, waiting, context, task } = Ahead::new().await;
        let mut message = Message::new(message, Role::User, vec![Part::text("hello")]);
        message.task_id = (message.message_id != "m-1").then_some(task);
        let request = SendMessageRequest::new(message);
        let items = service.send_streaming_message(&context, request).await;
        patient.may_answer.add_permits(1);
        shows_the_end(items.unwrap()).await;
        assert!(waiting.await.unwrap().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_for_news_after_an_event_that_the_log_does_not_have_gets_the_next() {
    let Ahead { service, patient, waiting, mut context, task } = Ahead::new().await;
    context.extensions.insert(sequence::EXTENSION.to_owned());
    let begun = tokio::time::Instant::now();
    let asking = service.get_task(&context, GetTaskRequest::new(task));
    let answering = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        patient.may_answer.add_permits(1);
    };
    let (task, ()) = tokio::join!(asking, answering);
    assert_eq!(task.unwrap().status.state, TaskState::Completed);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(waiting.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_request_makes_no_room_for_what_it_does_not_ask() {
    let (service, _) = serving(Arc::new(MemoryStore::new()));
    let context = Context::new("patient", Caller::anonymous());
    let call = Call::GetTask(GetTaskRequest::new("t-1"));
    let (own, all) = (size_of_val(&context) + size_of_val(&call), service.call(&context, call));
    let size = size_of_val(&all);
    assert!(size < 4 << 10, "{size} bytes, {own} of them what is asked");
}

#[tokio::test]
async fn a_stream_begins_with_the_task_that_the_store_has_without_a_copy() {
    let store = Arc::new(MemoryStore::new());
    let (service, patient) = serving(store.clone());
    let context = Context::new("patient", Caller::anonymous());
    let message = Message::new("m-1", Role::User, vec![Part::text("hello")]);
    let request = SendMessageRequest::new(message);
    let items = service.send_streaming_message(&context, request).await;
    let first = items.unwrap().next().await.unwrap().unwrap();
    let StreamResponse::Task(shown) = first.response else {
        panic!("{first:?}");
    };
    let known = store.task(&context.caller, &shown.id).await.unwrap();
    assert!(Arc::ptr_eq(&shown, &known.task));
    patient.may_answer.add_permits(1);
}
