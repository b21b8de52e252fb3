//! Makes the same calls in every binding and version. Random messages must arrive as they were sent, and wrong calls must lead to
//! the same error.

use bridge_client::{Binding, Client, ClientError, Fault, Options};
use bridge_protocol::{
    a2a::{
        CancelTaskRequest, GetTaskRequest, Message, Metadata, Part, Role, SendMessageRequest,
        SendMessageResponse, Task,
    },
    dialect::Version,
};
use serde_json::{Value, json};

use super::rng::Rng;
use crate::program::Bridge;

const MESSAGES: usize = 40;

const AGENT: [&str; 5] = ["--grpc-card", "--store", "memory", "--builtin", "echo"];

/// Returns a client of each binding and version. The first one speaks JSON-RPC in 1.0.
pub(super) async fn clients(url: &str) -> Vec<Client> {
    let mut clients = Vec::new();
    for version in [Version::V1_0, Version::V0_3] {
        for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
            let options =
                Options { version: Some(version), binding: Some(binding), ..Options::default() };
            let client = Client::connect(&url.parse().unwrap(), &options).await.unwrap();
            assert_eq!(client.binding(), binding);
            clients.push(client);
        }
    }
    clients
}

fn text(rng: &mut Rng) -> String {
    let texts = [
        "",
        " ",
        "a",
        "é",
        "日本",
        "\0",
        "\n",
        "\u{2028}",
        "\"",
        "\\",
        "🎉",
        "null",
        "1",
        "@type",
        "data",
        "value",
        "kind",
        "text",
        "fields",
        "__proto__",
    ];
    (*rng.pick(&texts)).to_owned()
}

/// Returns JSON whose numbers a double represents exactly.
fn value(rng: &mut Rng, depth: usize) -> Value {
    match rng.below(if depth < 3 { 7 } else { 5 }) {
        0 => Value::Null,
        1 => rng.one_in(2).into(),
        2 => json!(rng.pick(&[0_i64, -1, 1 << 31, (1 << 53) - 1])),
        3 => json!(rng.pick(&[0.5, 1e300, -2.25])),
        4 => text(rng).into(),
        5 => (0..rng.below(4)).map(|_| value(rng, depth + 1)).collect(),
        _ => object(rng, depth + 1).into(),
    }
}

fn object(rng: &mut Rng, depth: usize) -> Metadata {
    let entries = 0..rng.below(4);
    entries.map(|_| (text(rng), value(rng, depth))).collect()
}

fn metadata(rng: &mut Rng) -> Option<Metadata> {
    Some(object(rng, 0)).filter(|object| !object.is_empty() && rng.one_in(2))
}

fn part(rng: &mut Rng) -> Part {
    let part = match rng.below(3) {
        0 => Part::data(value(rng, 0)),
        _ => Part::text(text(rng)),
    };
    Part { metadata: metadata(rng), ..part }
}

fn message(rng: &mut Rng) -> Message {
    let parts = (0..=rng.below(3)).map(|_| part(rng)).collect();
    Message { metadata: metadata(rng), ..Message::new("", Role::User, parts) }
}

/// Sends a message with this id.
async fn send(client: &Client, id: &str, message: &Message) -> Result<Task, String> {
    let message = Message { message_id: id.to_owned(), ..message.clone() };
    match code(client.send_message(SendMessageRequest::new(message)).await)? {
        SendMessageResponse::Task(task) => Ok(task),
        SendMessageResponse::Message(message) => panic!("{message:?} is no task"),
    }
}

/// Returns the code of the error in place of the error.
fn code<T>(answer: Result<T, ClientError>) -> Result<T, String> {
    answer.map_err(|error| match error.fault {
        Fault::Rpc(error) => error.code.to_string(),
        other => panic!("{other}"),
    })
}

#[tokio::test]
async fn a_message_arrives_as_it_was_sent() {
    let bridge = Bridge::serve(&AGENT);
    let clients = clients(bridge.url()).await;
    let mut rng = Rng::new(1);
    for number in 0..MESSAGES {
        let sent = message(&mut rng);
        for (index, client) in clients.iter().enumerate() {
            let task = send(client, &format!("{number}-{index}"), &sent).await;
            let task = task.unwrap_or_else(|code| panic!("{index}: {code} for {sent:?}"));
            let task = clients[0].get_task(GetTaskRequest::new(task.id)).await;
            let kept = task.unwrap().history.remove(0);
            assert_eq!(
                (kept.parts, kept.metadata),
                (sent.parts.clone(), sent.metadata.clone()),
                "{index}"
            );
        }
    }
}

#[tokio::test]
async fn a_wrong_call_leads_to_the_same_error() {
    let bridge = Bridge::serve(&AGENT);
    let mut outcomes = Vec::new();
    for (index, client) in clients(bridge.url()).await.iter().enumerate() {
        let hello = Message::new("", Role::User, vec![Part::text("hello")]);
        let of_task = |task: &str| Message { task_id: Some(task.to_owned()), ..hello.clone() };
        let empty = Message::new("", Role::User, Vec::new());
        let id = |name: &str| format!("{name}-{index}");
        let task = send(client, &id("good"), &hello).await.unwrap().id;
        let negative =
            GetTaskRequest { history_length: Some(-1), ..GetTaskRequest::new(task.as_str()) };
        let cancel = |task: &str| client.cancel_task(CancelTaskRequest::new(task));
        outcomes.push([
            code(client.get_task(GetTaskRequest::new("none")).await).err(),
            code(client.get_task(negative).await).err(),
            code(cancel("none").await).err(),
            send(client, &id("none"), &of_task("none")).await.err(),
            send(client, &id("empty"), &empty).await.err(),
            send(client, "", &hello).await.err(),
            code(cancel(&task).await).err(),
            code(cancel(&task).await).err(),
            send(client, &id("ended"), &of_task(&task)).await.err(),
        ]);
    }
    let codes =
        ["-32001", "-32602", "-32001", "-32001", "-32602", "-32602", "", "-32002", "-32004"];
    let codes = codes.map(|code| Some(code.to_owned()).filter(|code| !code.is_empty()));
    for (index, outcome) in outcomes.iter().enumerate() {
        assert_eq!(*outcome, codes, "{index}");
    }
}
