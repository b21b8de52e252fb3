//! Tests of a bot's turn: everything that is logged, and the resulting task.

use bridge_protocol::{
    a2a::{Artifact, TaskStatusUpdateEvent},
    a2a::{Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus},
    activity::Activity,
    wire::{Wire, to_value},
};
use bridge_translate::{Input, Output, QuestionEnd, SilentEnd, Translation, answer};
use serde_json::{Value, json};

#[test]
fn each_becomes_events_of_a_task() {
    insta::glob!("turns/*.json", |path| {
        let case = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        insta::assert_json_snapshot!(run(&case));
    });
}

fn run(case: &Value) -> Value {
    let turn = Translation::new(super::context(case), silent_end(&case["silentEnd"]));
    let mut turn = turn.with_question_end(question_end(&case["questionEnd"]));
    let mut task = Task {
        id: "task-1".into(),
        context_id: Some("context-1".into()),
        status: TaskStatus::new(TaskState::Submitted),
        artifacts: vec![],
        history: vec![],
        metadata: None,
        extra: serde_json::Map::new(),
    };
    let (mut logged, mut dropped) = (Vec::new(), Vec::new());
    for given in case["inputs"].as_array().unwrap() {
        if let Err(late) = turn.handle(input(given)) {
            dropped.push(late.to_string());
        }
        while let Some(output) = turn.poll() {
            logged.push(shown(&output));
            apply(&mut task, output);
        }
    }
    json!({"logged": logged, "dropped": dropped, "task": summary(&task)})
}

fn silent_end(name: &Value) -> SilentEnd {
    match name.as_str() {
        None | Some("inputRequired") => SilentEnd::InputRequired,
        Some("completed") => SilentEnd::Completed,
        Some("working") => SilentEnd::Working,
        Some(other) => panic!("{other} is no silent end"),
    }
}

fn question_end(name: &Value) -> QuestionEnd {
    match name.as_str() {
        None => QuestionEnd::InputRequired,
        Some("completed") => QuestionEnd::Completed,
        Some(other) => panic!("{other} is no end of a question"),
    }
}

fn input(given: &Value) -> Input {
    if let Some(activity) = given.get("activity") {
        return Input::Activity(Activity::read(activity.clone()).unwrap());
    }
    if let Some(reason) = given.get("failed").and_then(Value::as_str) {
        return Input::Failed(reason.into());
    }
    match given.as_str() {
        Some("turnEnded") => Input::TurnEnded,
        Some("canceled") => Input::Canceled,
        Some("timedOut") => Input::TimedOut,
        Some("lull") => Input::Lull,
        Some(_) | None => panic!("{given} is no input"),
    }
}

fn shown(output: &Output) -> Value {
    let mut shown = match output {
        Output::Said(message) => json!({"said": message}),
        Output::Status { state, message, metadata } => json!({"status": {
            "state": state, "message": message, "metadata": metadata,
        }}),
        Output::Artifact { artifact, append, last_chunk, metadata } => json!({"artifact": {
            "artifact": artifact, "append": append, "lastChunk": last_chunk, "metadata": metadata,
        }}),
        Output::Metadata(metadata) => json!({"metadata": metadata}),
        Output::Revised { message_id, message, metadata, .. } => json!({"revised": {
            "messageId": message_id, "message": message, "metadata": metadata,
        }}),
        Output::Ended => json!("ended"),
    };
    for fields in shown.as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        let fields = fields.as_object_mut().unwrap();
        fields.retain(|_, value| !value.is_null() && *value != json!(false));
    }
    shown
}

/// Logs an output as the caller of the state machine does.
fn apply(task: &mut Task, output: Output) {
    let (task_id, context_id) = (task.id.clone(), "context-1".to_string());
    let status = |status, metadata| {
        let extra = serde_json::Map::new();
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: task_id.clone(),
            context_id: context_id.clone(),
            status,
            metadata,
            extra,
        })
    };
    let event = match output {
        Output::Said(message) => {
            let told = TaskStatus { message: Some(message), ..task.status.clone() };
            return task.set_status(told, None);
        }
        Output::Status { state, message, metadata } => {
            let told = TaskStatus { message, ..TaskStatus::new(state) };
            status(told, metadata)
        }
        Output::Metadata(metadata) => status(task.status.clone(), Some(metadata)),
        Output::Revised { message_id, message, metadata, .. } => {
            task.revise(&message_id, message.as_ref());
            status(task.status.clone(), Some(metadata))
        }
        Output::Artifact { artifact, append, last_chunk, metadata } => {
            if let Some(id) = answer::message_id(&artifact) {
                task.revise(&id, None);
            }
            let update = TaskArtifactUpdateEvent {
                task_id,
                context_id,
                artifact,
                append,
                last_chunk,
                metadata,
                extra: serde_json::Map::new(),
            };
            StreamResponse::ArtifactUpdate(update)
        }
        Output::Ended => return,
    };
    task.apply(event);
}

/// Returns a summary of the task: its state, its messages, and the texts of its artifacts.
fn summary(task: &Task) -> Value {
    let text = |message: &Message| format!("{}: {}", message.message_id, message.text());
    let artifact = |artifact: &Artifact| {
        let texts: String = artifact.parts.iter().filter_map(|part| part.as_text()).collect();
        let others = artifact.parts.iter().filter(|part| part.as_text().is_none()).count();
        json!({"id": artifact.artifact_id, "text": texts, "other parts": others})
    };
    json!({
        "state": to_value(&task.status.state),
        "message": task.status.message.as_ref().map(text),
        "history": task.history.iter().map(text).collect::<Vec<_>>(),
        "artifacts": task.artifacts.iter().map(artifact).collect::<Vec<_>>(),
    })
}
