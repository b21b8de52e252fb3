//! A stream that is resumed at the next bridge whenever it breaks.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    caller::{Caller, SEQUENCE, is_temporary},
    model::{Message, Model, Violation, is_ended},
};

/// The time without an event after which a stream is resumed. A link that is held delivers nothing.
const IDLE: Duration = Duration::from_secs(5);
/// The time limit of a stream, including all interruptions.
const LONGEST: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(100);

/// The events of a task that were received.
#[derive(Debug, Default)]
struct Received {
    task: Option<String>,
    seqs: Vec<u64>,
    is_over: bool,
    is_refused: bool,
}

/// Sends a message, and reads events until its task has ended. Each event must arrive once and in order.
pub(crate) async fn follow(caller: &Caller, model: &Model, message: &Message) {
    let deadline = Instant::now() + LONGEST;
    let mut state = Received::default();
    while !state.is_over && !state.is_refused {
        if Instant::now() > deadline {
            return model
                .report(Violation::Stuck, format!("the stream of {}: {state:?}", message.id));
        }
        let request = match (&state.task, state.seqs.last()) {
            (Some(task), Some(seq)) => caller
                .request(message.agent, "SubscribeToTask", &json!({"id": task}))
                .header("last-event-id", format!("{task}/{seq}")),
            _ => caller.request(message.agent, "SendStreamingMessage", &message.params),
        };
        read(request, model, message, &mut state).await;
        sleep(PAUSE).await;
    }
    if !state.seqs.is_sorted_by(|one, next| one < next) {
        let text = format!("the stream of {} had events twice: {:?}", message.id, state.seqs);
        model.report(Violation::Duplicated, text);
    }
    if state.is_over {
        check_replay(caller, model, message, &state).await;
    }
}

/// Reads a stream until it breaks or the task has ended.
async fn read(
    request: reqwest::RequestBuilder,
    model: &Model,
    message: &Message,
    state: &mut Received,
) {
    let Ok(Ok(answer)) = timeout(IDLE, request.send()).await else {
        return;
    };
    let (mut chunks, mut text) = (answer.bytes_stream(), String::new());
    while let Ok(Some(Ok(chunk))) = timeout(IDLE, chunks.next()).await {
        text.push_str(&String::from_utf8_lossy(&chunk));
        while let Some(end) = text.find('\n') {
            let line: String = text.drain(..=end).collect();
            if let Some(item) =
                line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok())
            {
                handle_event(item, model, message, state);
            }
        }
        if state.is_over {
            return;
        }
    }
    // A refusal is a JSON document, not a stream.
    if let Ok(refusal) = serde_json::from_str::<Value>(&text) {
        handle_event(refusal, model, message, state);
    }
}

fn handle_event(mut item: Value, model: &Model, message: &Message, state: &mut Received) {
    let error = item["error"].take();
    if !error.is_null() {
        if !is_temporary(&error) {
            state.is_refused = true;
            model.report(Violation::Refused, format!("the stream of {}: {error}", message.id));
        }
        return;
    }
    let result = &item["result"];
    let kinds = ["task", "statusUpdate", "artifactUpdate", "message"];
    let Some(event) = kinds.iter().map(|kind| &result[kind]).find(|event| event.is_object()) else {
        return;
    };
    let Some(seq) = event["metadata"][SEQUENCE]["sequence"].as_u64() else {
        return;
    };
    if result["task"].is_object() {
        model.record_task(&message.id, &without_sequence(&result["task"]));
    } else {
        model.record_answer();
    }
    let task = event["id"].as_str().or(event["taskId"].as_str());
    state.task = task.map(str::to_owned).or(state.task.take());
    state.seqs.push(seq);
    state.is_over = event["status"]["state"].as_str().is_some_and(is_ended);
}

/// Returns a task without the number of its last event.
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

/// Reads the stream again from its first event, and checks that it has the same events.
async fn check_replay(caller: &Caller, model: &Model, message: &Message, state: &Received) {
    let (Some(task), Some(first)) = (&state.task, state.seqs.first()) else {
        return;
    };
    let deadline = Instant::now() + LONGEST;
    let mut replay = Received::default();
    while !replay.is_over && Instant::now() < deadline {
        replay = Received::default();
        let request = caller.request(message.agent, "SubscribeToTask", &json!({"id": task}));
        let request = request.header("last-event-id", format!("{task}/{first}"));
        read(request, model, message, &mut replay).await;
        sleep(PAUSE).await;
    }
    if replay.is_over && replay.seqs != state.seqs[1..] {
        let text = format!(
            "the stream of {} had {:?}, and its replay {:?}",
            message.id, state.seqs, replay.seqs
        );
        model.report(Violation::Lost, text);
    }
}
