//! The client and the program over gRPC, through a socket.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bridge_client::{Binding, Client, Fault, Options};
use bridge_protocol::a2a::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListTasksRequest, Message,
    Metadata, Part, Role, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskState,
};
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::program::Bridge;

const AGENTS: [&str; 7] =
    ["--grpc-card", "--store", "memory", "--builtin", "sample", "--builtin", "hanging"];

async fn client(bridge: &Bridge, path: &str) -> Client {
    let options = Options { binding: Some(Binding::Grpc), ..Options::default() };
    let url = format!("{}{path}", bridge.url()).parse().unwrap();
    let client = Client::connect(&url, &options).await.unwrap();
    assert_eq!(client.binding(), Binding::Grpc);
    client
}

fn saying(id: &str, text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::new(id, Role::User, vec![Part::text(text)]))
}

async fn sent(client: &Client, request: SendMessageRequest) -> Task {
    match client.send_message(request).await.unwrap() {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("{message:?} is no task"),
    }
}

#[tokio::test]
async fn a_task_lives_its_life_over_grpc() {
    let bridge = Bridge::serve(&AGENTS);
    live(&bridge).await;
}

#[tokio::test]
async fn so_it_does_on_a_port_of_its_own() {
    let own = [AGENTS.as_slice(), &["--grpc-listen", "127.0.0.1:0"]].concat();
    let bridge = Bridge::serve(&own);
    live(&bridge).await;
}

async fn live(bridge: &Bridge) {
    let client = client(bridge, "").await;
    let begun = sent(&client, saying("m-1", "-multi")).await;
    assert_eq!(begun.status.state, TaskState::InputRequired);
    let mut watched =
        client.subscribe_to_task(SubscribeToTaskRequest::new(&begun.id)).await.unwrap();
    let first = watched.next().await.unwrap().unwrap();
    assert_eq!(first, StreamResponse::Task(begun.clone()));

    let mut end = saying("m-2", "end");
    end.message.task_id = Some(begun.id.clone());
    let streamed = client.send_streaming_message(end).await.unwrap();
    let streamed: Vec<_> = streamed.try_collect().await.unwrap();
    let seen: Vec<_> = watched.try_collect().await.unwrap();
    assert_eq!(seen.last(), streamed.last());

    let ended = client.get_task(GetTaskRequest::new(&begun.id)).await.unwrap();
    assert_eq!(ended.status.state, TaskState::Completed);
    let listed = client.list_tasks(list()).await.unwrap();
    assert_eq!((listed.total_size, listed.tasks[0].id.as_str()), (1, begun.id.as_str()));

    let refused = client.cancel_task(CancelTaskRequest::new(&begun.id)).await.unwrap_err();
    assert!(matches!(&refused.fault, Fault::Rpc(error) if error.code == -32002), "{refused}");
    let card = GetExtendedAgentCardRequest { tenant: None, extra: Metadata::new() };
    let refused = client.get_extended_agent_card(card).await.unwrap_err();
    assert!(matches!(&refused.fault, Fault::Rpc(error) if error.code == -32004), "{refused}");
}

/// Passes connections on to an address until they are killed.
struct Proxy {
    address: SocketAddr,
    open: Arc<Mutex<JoinSet<()>>>,
}

impl Proxy {
    async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let open: Arc<Mutex<JoinSet<()>>> = Arc::default();
        let connections = Arc::clone(&open);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut far = TcpStream::connect(&target).await.unwrap();
                let passing = async move {
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                };
                connections.lock().unwrap().spawn(passing);
            }
        });
        Self { address, open }
    }

    fn kill(&self) {
        self.open.lock().unwrap().abort_all();
    }
}

#[tokio::test]
async fn a_stream_whose_connection_is_killed_loses_and_repeats_nothing() {
    let bridge = Bridge::serve(&AGENTS);
    let direct = client(&bridge, "").await;
    let url = bridge.url();
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let proxy = Proxy::to(host.to_owned()).await;
    let mut card = direct.card().clone();
    for interface in &mut card.supported_interfaces {
        interface.url = interface.url.replace(host, &proxy.address.to_string());
    }
    let options = Options { binding: Some(Binding::Grpc), ..Options::default() };
    let base = format!("http://{}", proxy.address).parse().unwrap();
    let proxied = Client::for_card(card, &base, &options).unwrap();

    let begun = sent(&direct, saying("m-1", "-multi")).await;
    let subscribe = || SubscribeToTaskRequest::new(&begun.id);
    let mut whole = direct.subscribe_to_task(subscribe()).await.unwrap();
    let mut killed = proxied.subscribe_to_task(subscribe()).await.unwrap();
    let first = whole.next().await.unwrap().unwrap();
    assert_eq!(killed.next().await.unwrap().unwrap(), first);
    proxy.kill();
    let mut end = saying("m-2", "end");
    end.message.task_id = Some(begun.id.clone());
    sent(&direct, end).await;
    let whole: Vec<_> = whole.try_collect().await.unwrap();
    let killed: Vec<_> = killed.try_collect().await.unwrap();
    assert_eq!(killed, whole);
}

fn list() -> ListTasksRequest {
    ListTasksRequest {
        tenant: None,
        context_id: None,
        status: None,
        page_size: None,
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        extra: Metadata::new(),
    }
}

#[tokio::test]
async fn leaving_a_stream_does_not_end_its_task() {
    let bridge = Bridge::serve(&AGENTS);
    let client = client(&bridge, "/a2a/hanging").await;
    let mut stream = client.send_streaming_message(saying("m-1", "hi")).await.unwrap();
    let Some(Ok(StreamResponse::Task(task))) = stream.next().await else {
        panic!("a stream begins with its task");
    };
    drop(stream);
    let canceled = client.cancel_task(CancelTaskRequest::new(&task.id)).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
}
