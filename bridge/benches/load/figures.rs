//! The measurements of a server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    Outcome,
    connection::{Connection, body},
    grpc::Channel,
    process::Server,
    table::Row,
};

/// The numbers of connections that send at the same time.
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// The number of tasks that are read in turn.
const TASKS: usize = 200;
/// The size of a large text in bytes.
const LARGE_TEXT: usize = 100_000;

/// The outcome of a load of one kind of request.
pub(crate) struct Load {
    pub(crate) count: usize,
    duration: Duration,
    cpu: Duration,
    /// The time that each request took, sorted.
    times: Vec<Duration>,
}

impl Load {
    /// Returns the server's processor time for a request.
    pub(crate) fn cost(&self) -> Duration {
        self.cpu.div_f64(self.count as f64)
    }

    fn rate(&self) -> f64 {
        self.count as f64 / self.duration.as_secs_f64()
    }

    /// Returns the number of requests for each second of the server's processor time.
    fn rate_of_cpu(&self) -> f64 {
        self.count as f64 / self.cpu.as_secs_f64().max(0.01)
    }

    fn quantile(&self, part: f64) -> f64 {
        let at = ((self.times.len() - 1) as f64 * part) as usize;
        self.times[at].as_secs_f64() * 1e3
    }
}

/// Returns the body of a JSON-RPC call.
pub(crate) fn call(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

pub(crate) fn request(port: u16, method: &str, params: &Value) -> Vec<u8> {
    post(port, "/", &call(method, params))
}

/// Returns the bytes of a request with this body to this path.
pub(crate) fn post(port: u16, path: &str, body: &str) -> Vec<u8> {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nA2A-Version: 1.0\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    request.push_str(body);
    request.into_bytes()
}

#[expect(clippy::disallowed_methods, reason = "the load is where its ids come from")]
pub(crate) fn new_id() -> Uuid {
    Uuid::new_v4()
}

pub(crate) fn message(text: &str) -> Value {
    json!({"message": {"messageId": new_id().to_string(), "role": "ROLE_USER", "parts": [{"text": text}]}})
}

async fn task(connection: &mut Connection, port: u16, text: &str) -> Outcome<Value> {
    let answer = connection.call(&request(port, "SendMessage", &message(text))).await?;
    let mut answer: Value = serde_json::from_slice(&body(answer))?;
    match answer.pointer_mut("/result/task") {
        Some(task) => Ok(task.take()),
        None => Err(format!("expected a task, found {answer}").into()),
    }
}

/// Checks that the server does the work that is compared.
pub(crate) async fn check(server: &Server) -> Outcome<()> {
    let mut connection = Connection::open(server.port).await?;
    let task = task(&mut connection, server.port, "ping").await?;
    let state = task.pointer("/status/state").and_then(Value::as_str);
    let text = task.pointer("/artifacts/0/parts/0/text").and_then(Value::as_str);
    if (state, text) != (Some("TASK_STATE_COMPLETED"), Some("ping")) {
        return Err(format!(
            "expected a completed task with the text as its artifact, found {task}"
        )
        .into());
    }
    let streamed = request(server.port, "SendStreamingMessage", &message("ping"));
    connection.stream(&streamed).await?;
    let events = connection.answer().windows(6).filter(|window| window == b"\ndata:").count();
    match events {
        3 => Ok(()),
        _ => Err(format!("expected a stream of 3 events, found {events}").into()),
    }
}

/// Measures SendMessage over several numbers of connections, and the memory of a stored task.
pub(crate) async fn sends(server: &Server, time: Duration, row: &mut Row) -> Outcome<()> {
    let send = |port| request(port, "SendMessage", &message("hello, agent"));
    let before = server.memory()?;
    let mut count = 0;
    for connections in CONNECTIONS {
        let load = load(server, connections, time, Kind::Call, send).await?;
        count += load.count;
        row.put(&format!("send/s {connections}"), load.rate());
        row.put(&format!("sends a CPU second {connections}"), load.rate_of_cpu());
        row.put(&format!("send p50 ms {connections}"), load.quantile(0.5));
        row.put(&format!("send p99 ms {connections}"), load.quantile(0.99));
    }
    row.put("KiB a task", (server.memory()? - before) / count as f64);
    Ok(())
}

/// Returns the server's processor time for a SendMessage over this many connections.
pub(crate) async fn cpu_of_sends(
    server: &Server,
    connections: usize,
    time: Duration,
) -> Outcome<Duration> {
    let send = |port| request(port, "SendMessage", &message("hello, agent"));
    let load = load(server, connections, time, Kind::Call, send).await?;
    Ok(load.cost())
}

/// Sends about `count` messages over this many connections, and returns the exact number.
pub(crate) async fn repeat_send(
    server: &Server,
    connections: usize,
    kind: Kind,
    count: usize,
) -> Outcome<usize> {
    let method = match kind {
        Kind::Call => "SendMessage",
        Kind::Stream => "SendStreamingMessage",
    };
    let send = request(server.port, method, &message("hello, agent"));
    repeat_request(server, connections, kind, &send, count).await
}

/// Sends about `count` requests like this one over this many connections, and returns the exact number.
pub(crate) async fn repeat_request(
    server: &Server,
    connections: usize,
    kind: Kind,
    request: &[u8],
    count: usize,
) -> Outcome<usize> {
    let mut running = JoinSet::new();
    for _ in 0..connections {
        let send = request.to_vec();
        let port = server.port;
        running.spawn(async move {
            let mut connection = Connection::open(port).await?;
            for _ in 0..count.div_ceil(connections) {
                match kind {
                    Kind::Call => {
                        connection.call(&with_new_message_id(&send)).await?;
                        connection.check_accepted()?;
                    }
                    Kind::Stream => {
                        connection.stream(&with_new_message_id(&send)).await.map(drop)?;
                    }
                }
            }
            Ok::<_, std::io::Error>(())
        });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(count.div_ceil(connections) * connections)
}

/// Measures GetTask.
pub(crate) async fn reads(server: &Server, time: Duration, row: &mut Row) -> Outcome<()> {
    let load = read_tasks(server, time).await?;
    row.put("GetTask/s 16", load.rate());
    row.put("GetTasks a CPU second 16", load.rate_of_cpu());
    Ok(())
}

/// Reads some tasks in turn over 16 connections.
pub(crate) async fn read_tasks(server: &Server, time: Duration) -> Outcome<Load> {
    let mut next = requests_of_tasks(server, TASKS).await?.into_iter().cycle();
    load(server, 16, time, Kind::Call, |_| next.next().unwrap_or_default()).await
}

/// Creates this many tasks, and returns a GetTask request for each.
pub(crate) async fn requests_of_tasks(server: &Server, count: usize) -> Outcome<Vec<Vec<u8>>> {
    let mut connection = Connection::open(server.port).await?;
    let mut requests = Vec::new();
    for _ in 0..count {
        let task = task(&mut connection, server.port, "hello, agent").await?;
        requests.push(request(server.port, "GetTask", &json!({"id": task["id"]})));
    }
    Ok(requests)
}

/// Measures SendStreamingMessage, and the time until its first event.
pub(crate) async fn streams(server: &Server, time: Duration, row: &mut Row) -> Outcome<()> {
    let stream = |port| request(port, "SendStreamingMessage", &message("hello, agent"));
    let load = load(server, 16, time, Kind::Stream, stream).await?;
    row.put("streams/s 16", load.rate());
    row.put("streams a CPU second 16", load.rate_of_cpu());
    let mut connection = Connection::open(server.port).await?;
    let mut firsts = Vec::new();
    for _ in 0..TASKS {
        let streamed = connection.stream(&stream(server.port)).await?;
        firsts.push(streamed.first.min(streamed.end));
    }
    firsts.sort();
    row.put("first event p50 ms", firsts[TASKS / 2].as_secs_f64() * 1e3);
    Ok(())
}

/// Measures large texts over four connections.
pub(crate) async fn large(server: &Server, time: Duration, row: &mut Row) -> Outcome<()> {
    let text = "lorem ipsum ".repeat(LARGE_TEXT / 12);
    let send = |port| request(port, "SendMessage", &message(&text));
    let load = load(server, 4, time, Kind::Call, send).await?;
    row.put("MB/s of large texts 4", load.rate() * text.len() as f64 / 1e6);
    row.put("MB of large texts a CPU second 4", load.rate_of_cpu() * text.len() as f64 / 1e6);
    Ok(())
}

/// Measures SendMessage over the other bindings, if the server has them at the same paths as the bridge.
pub(crate) async fn bindings(server: &Server, time: Duration, row: &mut Row) -> Outcome<()> {
    let send = |port| post(port, "/message:send", &message("hello, agent").to_string());
    let mut connection = Connection::open(server.port).await?;
    let probe = connection.call(&send(server.port)).await;
    if probe.is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200")) {
        let load = load(server, 16, time, Kind::Call, send).await?;
        row.put("HTTP+JSON send/s 16", load.rate());
        row.put("HTTP+JSON sends a CPU second 16", load.rate_of_cpu());
    }
    if Channel::new(server.port)?.send(&grpc_request()).await.is_err() {
        return Ok(());
    }
    for (name, kind) in [("JSON-RPC over HTTP/2", Http2::JsonRpc), ("gRPC", Http2::Grpc)] {
        for (place, channels) in [("16", 16), ("16 on one connection", 1)] {
            let load = load_http2(server, channels, Until::Time(time), kind).await?;
            row.put(&format!("{name} send/s {place}"), load.rate());
            row.put(&format!("{name} sends a CPU second {place}"), load.rate_of_cpu());
        }
    }
    Ok(())
}

fn grpc_request() -> SendMessageRequest {
    let parts = vec![Part::text("hello, agent")];
    SendMessageRequest::new(Message::new(new_id().to_string(), Role::User, parts))
}

/// The method of a message.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// The method SendMessage.
    Call,
    /// The method SendStreamingMessage, whose stream is read to its end.
    Stream,
}

/// Sends requests over this many connections, one after the other on each, for this time.
async fn load(
    server: &Server,
    connections: usize,
    time: Duration,
    kind: Kind,
    mut request: impl FnMut(u16) -> Vec<u8>,
) -> Outcome<Load> {
    // The requests are created beforehand, so that the load does not wait for that.
    let some: Arc<[Vec<u8>]> = (0..64).map(|_| request(server.port)).collect();
    let (cpu, begun) = (server.cpu()?, Instant::now());
    let mut running = JoinSet::new();
    for number in 0..connections {
        let (port, some) = (server.port, Arc::clone(&some));
        running.spawn(async move {
            let mut connection = Connection::open(port).await?;
            let mut times = Vec::new();
            let mut at = number;
            while begun.elapsed() < time {
                let request = with_new_message_id(&some[at % some.len()]);
                at += connections;
                let sent = Instant::now();
                match kind {
                    Kind::Call => connection.call(&request).await.map(|_| ())?,
                    Kind::Stream => connection.stream(&request).await.map(|_| ())?,
                }
                if !connection.answer().starts_with(b"HTTP/1.1 200") {
                    return Err(std::io::Error::other(String::from_utf8_lossy(
                        connection.answer(),
                    )));
                }
                times.push(sent.elapsed());
            }
            Ok(times)
        });
    }
    collect(server, running, (cpu, begun)).await
}

/// The protocol that is used over HTTP/2.
#[derive(Clone, Copy)]
pub(crate) enum Http2 {
    JsonRpc,
    Grpc,
}

/// The condition that ends a load.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Time(Duration),
    /// Each of the 16 senders has sent this many requests.
    Count(usize),
}

impl Until {
    fn is_over(self, begun: Instant, count: usize) -> bool {
        match self {
            Self::Time(time) => begun.elapsed() >= time,
            Self::Count(most) => count >= most,
        }
    }
}

/// Sends requests over HTTP/2, 16 at once, over this many connections.
pub(crate) async fn load_http2(
    server: &Server,
    connections: usize,
    until: Until,
    kind: Http2,
) -> Outcome<Load> {
    let channels = (0..connections).map(|_| Channel::new(server.port));
    let channels = channels.collect::<Outcome<Vec<_>>>()?;
    let json = call("SendMessage", &message("hello, agent")).into_bytes();
    let (cpu, begun) = (server.cpu()?, Instant::now());
    let mut running = JoinSet::new();
    for channel in channels.into_iter().cycle().take(16) {
        let json = json.clone();
        running.spawn(async move {
            let mut times = Vec::new();
            while !until.is_over(begun, times.len()) {
                let sent = Instant::now();
                let answered = match kind {
                    Http2::JsonRpc => channel.post(with_new_message_id(&json)).await,
                    Http2::Grpc => channel.send(&grpc_request()).await.map(drop),
                };
                answered.map_err(std::io::Error::other)?;
                times.push(sent.elapsed());
            }
            Ok(times)
        });
    }
    collect(server, running, (cpu, begun)).await
}

/// Waits for all senders, and returns the outcome since this time and this processor time.
async fn collect(
    server: &Server,
    mut running: JoinSet<std::io::Result<Vec<Duration>>>,
    (cpu, begun): (Duration, Instant),
) -> Outcome<Load> {
    let mut times = Vec::new();
    while let Some(done) = running.join_next().await {
        times.extend(done??);
    }
    times.sort();
    if times.is_empty() {
        return Err("no request was answered".into());
    }
    Ok(Load { count: times.len(), duration: begun.elapsed(), cpu: server.cpu()? - cpu, times })
}

/// Returns the request with a new message id: a server may answer a repeated id with the existing task.
pub(crate) fn with_new_message_id(request: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"\"messageId\":\"";
    let mut request = request.to_vec();
    if let Some(at) = request.windows(NAME.len()).position(|window| window == NAME) {
        let id = at + NAME.len();
        new_id().hyphenated().encode_lower(&mut request[id..id + 36]);
    }
    request
}
