//! Real inputs: the recordings of other programs, and one call of each operation in each version.

use std::{fs, path::Path};

use bridge_protocol::{
    a2a::{
        CancelTaskRequest, GetTaskRequest, Message, Operation, Part, Role, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
    dialect::{Call, Losses, Version},
    wire::Wire,
};
use serde_json::{Value, json};

/// A webhook that nobody listens at.
const HOOK: &str = "https://localhost:9/";

/// The placeholder for the id of an existing task.
pub(super) const TASK: &str = "t";

/// Returns all JSON documents in the recordings that fulfil a condition, by their content.
pub(super) fn recorded(is_it: impl Fn(&Value) -> bool) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/wire");
    let mut found = Vec::new();
    collect(&root, &mut found);
    found.retain(|document| is_it(document));
    assert!(!found.is_empty(), "{} holds none", root.display());
    found.iter().map(|document| document.to_string().into_bytes()).collect()
}

/// Collects the documents of a folder's files and lines, in the order of their names.
fn collect(folder: &Path, found: &mut Vec<Value>) {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        match path.extension().and_then(|ending| ending.to_str()) {
            None => collect(&path, found),
            Some("json") => found.extend(serde_json::from_slice(&fs::read(&path).unwrap())),
            Some("jsonl") => {
                let text = fs::read_to_string(&path).unwrap();
                let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
                found.extend(lines);
            }
            Some(_) => {}
        }
    }
}

/// Returns one call of each operation, in 1.0.
fn calls() -> Vec<Call> {
    let message = Message::new("m-1", Role::User, vec![Part::text("hi")]);
    let mut send = SendMessageRequest::new(message);
    send.configuration = Some(read(json!({"historyLength": 1, "returnImmediately": true,
        "taskPushNotificationConfig": {"url": HOOK}})));
    let mut further = send.clone();
    further.message.task_id = Some(TASK.into());
    let config: TaskPushNotificationConfig = read(json!({"taskId": TASK, "id": "c", "url": HOOK,
        "token": "t", "authentication": {"scheme": "Bearer", "credentials": "c"}}));
    let named = json!({"taskId": TASK, "id": "c"});
    vec![
        Call::SendMessage(send.clone()),
        Call::SendMessage(further),
        Call::SendStreamingMessage(send),
        Call::GetTask(GetTaskRequest::new(TASK)),
        Call::ListTasks(read(
            json!({"pageSize": 3, "status": "TASK_STATE_WORKING", "contextId": "c"}),
        )),
        Call::CancelTask(CancelTaskRequest::new(TASK)),
        Call::SubscribeToTask(SubscribeToTaskRequest::new(TASK)),
        Call::CreateTaskPushNotificationConfig(config),
        Call::GetTaskPushNotificationConfig(read(named.clone())),
        Call::ListTaskPushNotificationConfigs(read(json!({"taskId": TASK, "pageSize": 1}))),
        Call::DeleteTaskPushNotificationConfig(read(named)),
        Call::GetExtendedAgentCard(read(json!({}))),
    ]
}

fn read<T: Wire>(value: Value) -> T {
    T::read(value).unwrap()
}

/// Returns every method of every version with its parameters: `[VERSION, OPERATION, PARAMS]`.
pub(super) fn params() -> Vec<(Version, Operation, Value)> {
    let all = Version::ALL.into_iter().flat_map(|version| {
        calls().into_iter().filter_map(move |call| {
            version.method(call.operation())?;
            let params = version.params_from_v1(&call, &mut Losses::new());
            Some((version, call.operation(), params))
        })
    });
    all.collect()
}

/// Requests: those that were recorded, and one of each method.
pub(super) fn requests() -> Vec<Vec<u8>> {
    let mut all = recorded(|document| document.get("method").is_some());
    for (version, operation, params) in params() {
        let method = version.method(operation).unwrap_or_default();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        all.push(body.to_string().into_bytes());
    }
    all
}
