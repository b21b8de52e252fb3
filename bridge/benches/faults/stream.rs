//! A stream that is taken up again, at the next bridge, whenever it breaks.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    caller::{Caller, SEQUENCE, is_passing},
    model::{Message, Model, Wrong, is_ended},
};

/// How long nothing may come before a stream is taken up again. A link that is held says nothing.
const QUIET: Duration = Duration::from_secs(5);
/// How long a stream may take to its end, with all that is broken meanwhile.
const LONGEST: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(100);

/// What was seen of a task.
#[derive(Debug, Default)]
struct Seen {
    task: Option<String>,
    seqs: Vec<u64>,
    is_over: bool,
    is_refused: bool,
}

/// Sends a message and reads to the end of its task. Each event must come once, and in order.
pub(crate) async fn follow(caller: &Caller, model: &Model, message: &Message) {
    let deadline = Instant::now() + LONGEST;
    let mut seen = Seen::default();
    while !seen.is_over && !seen.is_refused {
        if Instant::now() > deadline {
            return model.wrong(
                Wrong::Stuck,
                format!("the stream of {}: {seen:?}", message.id),
            );
        }
        let request = match (&seen.task, seen.seqs.last()) {
            (Some(task), Some(seq)) => caller
                .request(message.agent, "SubscribeToTask", &json!({"id": task}))
                .header("last-event-id", format!("{task}/{seq}")),
            _ => caller.request(message.agent, "SendStreamingMessage", &message.params),
        };
        read(request, model, message, &mut seen).await;
        sleep(PAUSE).await;
    }
    if !seen.seqs.is_sorted_by(|one, next| one < next) {
        let text = format!(
            "the stream of {} told events twice: {:?}",
            message.id, seen.seqs
        );
        model.wrong(Wrong::Duplicated, text);
    }
    if seen.is_over {
        compare(caller, model, message, &seen).await;
    }
}

/// Reads a stream until it breaks off or the task has ended.
async fn read(request: reqwest::RequestBuilder, model: &Model, message: &Message, seen: &mut Seen) {
    let Ok(Ok(answer)) = timeout(QUIET, request.send()).await else {
        return;
    };
    let (mut chunks, mut text) = (answer.bytes_stream(), String::new());
    while let Ok(Some(Ok(chunk))) = timeout(QUIET, chunks.next()).await {
        text.push_str(&String::from_utf8_lossy(&chunk));
        while let Some(end) = text.find('\n') {
            let line: String = text.drain(..=end).collect();
            if let Some(item) = line
                .strip_prefix("data: ")
                .and_then(|data| serde_json::from_str(data).ok())
            {
                take(item, model, message, seen);
            }
        }
        if seen.is_over {
            return;
        }
    }
    // A refusal is no stream.
    if let Ok(refusal) = serde_json::from_str::<Value>(&text) {
        take(refusal, model, message, seen);
    }
}

fn take(mut item: Value, model: &Model, message: &Message, seen: &mut Seen) {
    let error = item["error"].take();
    if !error.is_null() {
        if !is_passing(&error) {
            seen.is_refused = true;
            model.wrong(
                Wrong::Refused,
                format!("the stream of {}: {error}", message.id),
            );
        }
        return;
    }
    let result = &item["result"];
    let kinds = ["task", "statusUpdate", "artifactUpdate", "message"];
    let Some(event) = kinds
        .iter()
        .map(|kind| &result[kind])
        .find(|event| event.is_object())
    else {
        return;
    };
    let Some(seq) = event["metadata"][SEQUENCE]["sequence"].as_u64() else {
        return;
    };
    if result["task"].is_object() {
        model.shown(&message.id, &without_sequence(&result["task"]));
    } else {
        model.answered();
    }
    let task = event["id"].as_str().or(event["taskId"].as_str());
    seen.task = task.map(str::to_owned).or(seen.task.take());
    seen.seqs.push(seq);
    seen.is_over = event["status"]["state"].as_str().is_some_and(is_ended);
}

/// A task as it is without the number of its last event.
pub(crate) fn without_sequence(task: &Value) -> Value {
    let mut task = task.clone();
    if let Some(metadata) = task["metadata"].as_object_mut() {
        metadata.remove(SEQUENCE);
        if metadata.is_empty() {
            task["metadata"] = Value::Null;
        }
    }
    if task["metadata"].is_null()
        && let Some(fields) = task.as_object_mut()
    {
        fields.remove("metadata");
    }
    task
}

/// What the stream told must be all that there is, as who reads it afterwards gets it from its first event on.
async fn compare(caller: &Caller, model: &Model, message: &Message, seen: &Seen) {
    let (Some(task), Some(first)) = (&seen.task, seen.seqs.first()) else {
        return;
    };
    let deadline = Instant::now() + LONGEST;
    let mut again = Seen::default();
    while !again.is_over && Instant::now() < deadline {
        again = Seen::default();
        let request = caller.request(message.agent, "SubscribeToTask", &json!({"id": task}));
        let request = request.header("last-event-id", format!("{task}/{first}"));
        read(request, model, message, &mut again).await;
        sleep(PAUSE).await;
    }
    if again.is_over && again.seqs != seen.seqs[1..] {
        let text = format!(
            "the stream of {} told {:?}, and again {:?}",
            message.id, seen.seqs, again.seqs
        );
        model.wrong(Wrong::Lost, text);
    }
}
