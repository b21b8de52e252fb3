//! Runs the same random turns for a client of each binding and version. All clients must see the same task: in the stream of their
//! message, in a stream that they join later, and when they read the task.

use std::{future::pending, sync::Arc};

use bridge::{
    agent::Agent,
    executor::{Executor, Turn, Update, async_trait},
    host::{Grpc, Host},
    store::{MemoryStore, Revised},
};
use bridge_client::{Client, EventStream, new_message_id};
use bridge_protocol::{
    a2a::{
        AgentCard, Artifact, GetTaskRequest, Message, Metadata, Part, Role,
        SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
        SubscribeToTaskRequest, Task, TaskState,
    },
    wire::to_value,
};
use futures_util::{StreamExt as _, TryStreamExt as _, future::try_join_all};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

use super::{bindings::clients, rng::Rng};

/// The states in which a turn ends. In the first three its task ends, too.
const TURN_ENDS: [TaskState; 5] = [
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Rejected,
    TaskState::InputRequired,
    TaskState::AuthRequired,
];

/// The number of random turns.
const TURNS: u64 = 40;

/// An agent that makes the random changes of the number in the message. After half of them it waits until the gate is open.
struct Scripted {
    ends: &'static [TaskState],
    gate: watch::Receiver<bool>,
}

#[async_trait]
impl Executor for Scripted {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let seed: u64 = turn.message.text().parse().unwrap();
        let mut changes = changes(seed, self.ends);
        let half = changes.len() / 2;
        let last = changes.pop().unwrap();
        for (place, change) in changes.into_iter().enumerate() {
            if place == half {
                self.gate.clone().wait_for(|is_open| *is_open).await.unwrap();
            }
            turn.handle.emit(change).await.unwrap();
        }
        last
    }
}

/// Returns the changes of a turn in their order; those of one item are stored together.
fn changes(seed: u64, ends: &[TaskState]) -> Vec<Vec<Update>> {
    let rng = &mut Rng::new(seed);
    let mut said = 0;
    let mut changes: Vec<Vec<Update>> = Vec::new();
    for _ in 0..2 + rng.below(8) {
        let some = 0..=rng.below(2);
        changes.push(some.map(|_| change(rng, &mut said)).collect());
    }
    let state = rng.pick(ends);
    let message = rng.one_in(2).then(|| message(rng, "last"));
    let end = Update::Status { state: state.clone(), message, metadata: metadata(rng) };
    match rng.one_in(3) {
        true => changes.push(vec![change(rng, &mut said), end]),
        false => changes.push(vec![end]),
    }
    changes
}

fn change(rng: &mut Rng, said: &mut usize) -> Update {
    let id = (*rng.pick(&["one", "two"])).to_owned();
    match rng.below(7) {
        0 => {
            *said += 1;
            let message = Some(message(rng, &format!("said-{said}")));
            Update::Status { state: TaskState::Working, message, metadata: metadata(rng) }
        }
        1 => Update::state(TaskState::Working),
        2 | 3 => Update::Artifact {
            artifact: Artifact { metadata: metadata(rng), ..Artifact::new(id, parts(rng)) },
            append: rng.one_in(2),
            last_chunk: rng.one_in(2),
            metadata: metadata(rng),
        },
        4 => Update::Metadata(entries(rng)),
        5 => {
            *said += 1;
            Update::Said(message(rng, &format!("said-{said}")))
        }
        _ => {
            let message_id = format!("said-{}", rng.below(*said + 1));
            let message = rng.one_in(2).then(|| message(rng, &message_id));
            let revised = Revised { message_id, message, is_quiet: false };
            Update::Revised { revised, metadata: entries(rng) }
        }
    }
}

fn message(rng: &mut Rng, id: &str) -> Message {
    Message { metadata: metadata(rng), ..Message::new(id, Role::Agent, parts(rng)) }
}

fn parts(rng: &mut Rng) -> Vec<Part> {
    let part = |rng: &mut Rng| match rng.below(3) {
        0 => Part::data(json!({ "number": rng.below(9) })),
        _ => Part::text(format!("text {}", rng.below(9))),
    };
    (0..=rng.below(2)).map(|_| part(rng)).collect()
}

fn metadata(rng: &mut Rng) -> Option<Metadata> {
    rng.one_in(3).then(|| entries(rng))
}

fn entries(rng: &mut Rng) -> Metadata {
    let entry = |rng: &mut Rng| (format!("key-{}", rng.below(3)), json!(rng.below(9)));
    (0..=rng.below(2)).map(|_| entry(rng)).collect()
}

/// Serves the agent, and returns a client of each binding and version.
async fn serve(ends: &'static [TaskState], gate: watch::Receiver<bool>) -> Vec<Client> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let agent = Agent::new(
        "scripted",
        AgentCard::named("Scripted", "Makes random changes"),
        Arc::new(Scripted { ends, gate }),
    );
    let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
    let grpc = Grpc::Listed { address: None, form: Default::default() };
    let app = host.grpc(grpc).router(&url).await.unwrap();
    tokio::spawn(bridge::serve(listener, app, pending()));
    clients(&url).await
}

fn request(seed: u64) -> SendMessageRequest {
    let id = new_message_id();
    SendMessageRequest::new(Message::new(id, Role::User, vec![Part::text(seed.to_string())]))
}

/// Sends the message as a stream, and returns the task that its events make.
async fn streamed(client: &Client, seed: u64) -> Task {
    let events = client.send_streaming_message(request(seed)).await.unwrap();
    assembled(events.map(Result::unwrap).collect().await)
}

fn assembled(events: Vec<StreamResponse>) -> Task {
    let mut events = events.into_iter();
    let mut task = Task::begun_by(events.next().unwrap()).unwrap();
    events.for_each(|event| task.apply(event));
    task
}

async fn read(client: &Client, task: &str) -> Task {
    client.get_task(GetTaskRequest::new(task)).await.unwrap()
}

/// Returns the content of a task, without ids and times, which differ for each client.
fn content(task: &Task) -> Value {
    let mut task = task.clone();
    task.status.timestamp = None;
    task.history
        .iter_mut()
        .filter(|one| one.role == Role::User)
        .for_each(|one| one.message_id.clear());
    let text = to_value(&task).to_string();
    let text = text.replace(&task.id, "TASK");
    let text = text.replace(task.context_id.as_deref().unwrap_or("-"), "CONTEXT");
    serde_json::from_str(&text).unwrap()
}

fn assert_agree(seed: u64, what: &str, tasks: &[Task]) {
    let contents: Vec<Value> = tasks.iter().map(content).collect();
    for (client, other) in contents.iter().enumerate().skip(1) {
        assert_eq!(*other, contents[0], "turn {seed}: {what} of client {client}");
    }
}

#[tokio::test]
async fn clients_of_all_bindings_see_the_same_task() {
    let (_open, gate) = watch::channel(true);
    let clients = serve(&TURN_ENDS, gate).await;
    for seed in 0..TURNS {
        let (mut streams, mut reads, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        for client in &clients {
            let streamed = streamed(client, seed).await;
            reads.push(read(client, &streamed.id).await);
            streams.push(streamed);
            match client.send_message(request(seed)).await.unwrap() {
                SendMessageResponse::Task(task) => waits.push(task),
                SendMessageResponse::Message(message) => panic!("{message:?} is no task"),
            }
        }
        assert_agree(seed, "the stream", &streams);
        assert_agree(seed, "the answer", &waits);
        assert_agree(seed, "the stored task", &reads);
        assert_agree(
            seed,
            "the answer, then the stored task,",
            &[waits.remove(0), reads[0].clone()],
        );
        // Streams show neither metadata alone nor a message whose kind is not decided, and of a change of an earlier
        // message they only show that there was one.
        let changes = changes(seed, &TURN_ENDS).concat();
        let is_shown =
            |change: &Update| matches!(change, Update::Status { .. } | Update::Artifact { .. });
        if changes.iter().all(is_shown) {
            assert_agree(
                seed,
                "the stream, then the stored task,",
                &[streams.remove(0), reads.remove(0)],
            );
        }
    }
}

#[tokio::test]
async fn clients_that_join_a_running_turn_see_the_same_end() {
    let (open, gate) = watch::channel(false);
    let clients = serve(&TURN_ENDS[..3], gate).await;
    for seed in 0..TURNS {
        open.send_replace(false);
        let configuration = SendMessageConfiguration {
            return_immediately: true,
            ..SendMessageConfiguration::default()
        };
        let begun = SendMessageRequest { configuration: Some(configuration), ..request(seed) };
        let SendMessageResponse::Task(begun) = clients[0].send_message(begun).await.unwrap() else {
            panic!("a task was expected");
        };
        let joined = clients
            .iter()
            .map(|client| client.subscribe_to_task(SubscribeToTaskRequest::new(&begun.id)));
        let joined = try_join_all(joined).await.unwrap();
        open.send_replace(true);
        let streams = joined.into_iter().map(EventStream::try_collect);
        let streams: Vec<Task> =
            try_join_all(streams).await.unwrap().into_iter().map(assembled).collect();
        assert_agree(seed, "the joined stream", &streams);
    }
}
