//! Clients that never read the large stream that they asked for: that of a task, and a replay of all its events.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::sleep;

use crate::harness::{Error, Harness, Program, raw};

/// The length of the task's text, which the task contains several times.
const TEXT: usize = 8 << 20;

const SENT: Duration = Duration::from_secs(10);

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let readers = harness.pick(100, 40);
    let program = Program::start(&[])?;
    let (task, first) = create_large_task(&program).await?;
    let asked =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task}});
    start_idle_readers(harness, &program, readers, &asked.to_string(), Some(&first)).await?;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task}});
    start_idle_readers(harness, &program, readers, &asked.to_string(), None).await
}

/// Creates a task with a large stream, and returns its id and the id of its first event.
async fn create_large_task(program: &Program) -> Result<(String, String), Error> {
    let message =
        json!({"messageId": "large", "role": "ROLE_USER", "parts": [{"text": "x".repeat(TEXT)}]});
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage",
        "params": {"message": message}});
    let client = reqwest::Client::builder().no_proxy().build()?;
    let request = client.post(format!("{}/a2a", program.url())).header("a2a-version", "1.0");
    let stream = request.json(&asked).send().await?.text().await?;
    let id = stream.lines().find_map(|line| line.strip_prefix("id:"));
    let first = id.ok_or("the stream has no ids")?.trim().to_owned();
    let data = stream.lines().find_map(|line| line.strip_prefix("data:"));
    let event: serde_json::Value = serde_json::from_str(data.ok_or("the stream has no events")?)?;
    let task = event["result"]["task"]["id"].as_str().ok_or("there is no task")?;
    Ok((task.to_owned(), first))
}

async fn start_idle_readers(
    harness: &mut Harness,
    program: &Program,
    readers: usize,
    body: &str,
    last_event: Option<&str>,
) -> Result<(), Error> {
    let mut head = raw::head("/a2a", body.len());
    if let Some(id) = last_event {
        head = head.replace("\r\n\r\n", &format!("\r\nLast-Event-ID: {id}\r\n\r\n"));
    }
    let wait = Duration::from_secs(harness.pick(40, 6));
    let one = async || {
        let mut connection = raw::connect(program.address()).await?;
        raw::send(&mut connection, head.as_bytes(), SENT).await;
        raw::send(&mut connection, body.as_bytes(), SENT).await;
        sleep(wait).await;
        // The server kept what is still unread; the first bytes are the status of the answer.
        Some(raw::read(&mut connection, Duration::from_secs(1)).await)
    };
    let attack = join_all((0..readers).map(|_| one()));
    let found = harness.attack(program, 300, attack).await?;
    let begun = |status: &str| {
        let is_it = |(bytes, _): &&(Vec<u8>, bool)| bytes.starts_with(status.as_bytes());
        found.iter().flatten().filter(is_it).count()
    };
    let closed = found.iter().flatten().filter(|(_, closed)| *closed).count();
    let what = if last_event.is_some() { "replays" } else { "answers" };
    harness.note(format_args!(
        "{what}: {} of {readers} began, {} were refused, {closed} were cut off",
        begun("HTTP/1.1 200"),
        begun("HTTP/1.1 503"),
    ));
    Ok(())
}
