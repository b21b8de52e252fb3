//! Protocol buffers: messages that are read from changed bytes, and whole calls of gRPC.
//!
//! An input is the name of a method, the end of the line, and the bytes of a message.

use std::{fmt::Debug, sync::LazyLock};

use axum::{body::Body, http::Request};
use bridge_protocol::{
    a2a::{
        AgentCard, ListTasksResponse, Operation, SendMessageResponse, StreamResponse, Task,
        TaskPushNotificationConfig,
    },
    dialect::{Call, Losses, Version},
    protobuf::{self, Messages, Proto, SERVICE, v0_3::method, v1},
    wire::{Wire, to_value},
};
use serde::Serialize;
use serde_json::Value;

use super::{Verdict, bytes, corpus, fuzz, served::Served};

/// The status of gRPC that says that a server broke.
const INTERNAL: &str = "13";

/// The placeholder for the id of an existing task, of the same length, because messages contain lengths.
const MARK: &str = "00000000-0000-0000-0000-000000000000";

/// Returns one call of each operation.
fn calls() -> Vec<Vec<u8>> {
    let calls = corpus::params().into_iter();
    let calls = calls.filter(|(version, _, _)| *version == Version::V1_0);
    calls
        .map(|(version, operation, params)| {
            let task = format!("\"{}\"", corpus::TASK);
            let params = params.to_string().replace(&task, &format!("\"{MARK}\""));
            let params = serde_json::from_str(&params).unwrap();
            let call = version.params_to_v1(operation, params, "m").unwrap();
            let line = format!("{}\n", operation.name()).into_bytes();
            [line, protobuf::write_call(&call)].concat()
        })
        .collect()
}

/// Returns the same calls as the bytes of 0.3.
fn older_calls() -> Vec<Vec<u8>> {
    let older = calls().into_iter().filter_map(|input| {
        let (name, bytes) = message(&input);
        let operation = Operation::from_name(&name).filter(|one| method(*one).is_some())?;
        let call = protobuf::read_call(operation, bytes).ok()?;
        let older = OLDER.write_call(&call, &mut Losses::new());
        Some([b"\n".to_vec(), older].concat())
    });
    older.collect()
}

/// Returns the recorded tasks, updates and cards as the bytes of messages.
fn said() -> Vec<Vec<u8>> {
    let of = |document: &Value, name: &str| document.get(name).is_some();
    let recorded = corpus::recorded(|document| {
        ["result", "task", "statusUpdate", "artifactUpdate", "skills"]
            .iter()
            .any(|name| of(document, name))
    });
    let bytes = recorded.iter().filter_map(|document| {
        let document: Value = serde_json::from_slice(document).ok()?;
        let said = document.get("result").unwrap_or(&document).clone();
        if of(&said, "skills") {
            let card = AgentCard::read(said).ok()?;
            return Some(protobuf::write::<v1::AgentCard, _>(&card));
        }
        let item = StreamResponse::read(said).ok()?;
        Some(match &item {
            StreamResponse::Task(task) => protobuf::write::<v1::Task, Task>(task),
            _ => protobuf::write::<v1::StreamResponse, _>(&item),
        })
    });
    bytes.map(|bytes| [b"\n".to_vec(), bytes].concat()).collect()
}

fn message(input: &[u8]) -> (String, &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n');
    let (line, rest) = input.split_at(end.unwrap_or(0));
    let name = String::from_utf8_lossy(line).into_owned();
    (name, rest.strip_prefix(b"\n").unwrap_or(rest))
}

/// Checks that a message read from bytes is the same in JSON, and survives both forms.
fn comes_back<P, T>(what: &str, bytes: &[u8]) -> Verdict
where
    P: prost::Message + Default,
    T: Proto<P> + Wire + Serialize + PartialEq + Debug,
{
    let Ok(first) = protobuf::read::<P, T>(bytes) else {
        return Ok(());
    };
    let again = protobuf::read::<P, T>(&protobuf::write::<P, T>(&first));
    if again.as_ref() != Ok(&first) {
        return Err(format!("{what} does not come back: {first:?}\nis {again:?}"));
    }
    let json = to_value(&first);
    match T::read(json.clone()) {
        Ok(again) if again == first => Ok(()),
        other => Err(format!("{what} {first:?}\nas {json}\nis {other:?}")),
    }
}

fn call_comes_back(operation: Operation, bytes: &[u8]) -> Verdict {
    let Ok(call) = protobuf::read_call(operation, bytes) else {
        return Ok(());
    };
    let tenant = protobuf::tenant(operation, bytes).filter(|tenant| !tenant.is_empty());
    if tenant.as_deref() != call.tenant() {
        return Err(format!("{tenant:?} is not the tenant of {call:?}"));
    }
    match protobuf::read_call(operation, &protobuf::write_call(&call)) {
        Ok(again) if again == call => Ok(()),
        other => Err(format!("{call:?}\nis {other:?}")),
    }
}

/// The messages of 0.3.
static OLDER: LazyLock<Messages> = LazyLock::new(Messages::new);

/// Checks that a call of 0.3 comes back, once it has nothing that protocol buffers cannot carry.
fn older_call_comes_back(operation: Operation, bytes: &[u8]) -> Verdict {
    let carried = |call: &Call| {
        let bytes = OLDER.write_call(call, &mut Losses::new());
        OLDER.read_call(operation, &bytes)
    };
    let Ok(call) = OLDER.read_call(operation, bytes) else {
        return Ok(());
    };
    let Ok(call) = carried(&call) else {
        return Err(format!("{call:?} is not read"));
    };
    match carried(&call) {
        Ok(again) if again == call => Ok(()),
        other => Err(format!("{call:?}\nis {other:?}")),
    }
}

#[test]
fn protocol_buffers() {
    let seeds = [calls(), older_calls(), said()].concat();
    fuzz("protocol_buffers", &seeds, bytes::change, |input| {
        let (_, bytes) = message(input);
        Operation::ALL.into_iter().try_for_each(|operation| call_comes_back(operation, bytes))?;
        let older = Operation::ALL.into_iter();
        older.filter(|one| method(*one).is_some()).try_for_each(|operation| {
            let _ = OLDER.read_answer(operation, bytes);
            older_call_comes_back(operation, bytes)
        })?;
        comes_back::<v1::Task, Task>("a task", bytes)?;
        comes_back::<v1::StreamResponse, StreamResponse>("an item", bytes)?;
        comes_back::<v1::SendMessageResponse, SendMessageResponse>("an answer", bytes)?;
        comes_back::<v1::ListTasksResponse, ListTasksResponse>("a list", bytes)?;
        comes_back::<v1::AgentCard, AgentCard>("a card", bytes)?;
        comes_back::<v1::TaskPushNotificationConfig, TaskPushNotificationConfig>(
            "a setting",
            bytes,
        )?;
        let error = protobuf::status::error(3, "?", bytes);
        match to_value(&error)["code"].as_i64() {
            Some(_) => Ok(()),
            None => Err(format!("{error:?} has no code")),
        }
    });
}

#[test]
fn grpc_calls() {
    let mut served = Served::new();
    fuzz("grpc_calls", &calls(), bytes::change, |input| {
        let task = served.task();
        let (method, bytes) = message(input);
        let bytes = with_task(bytes, &task);
        let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        let frame = [&[0], length.as_slice(), &bytes].concat();
        let status = status(&served, &method, frame)?;
        match status.as_deref() {
            // An unknown method is not a path of gRPC either.
            _ if Operation::from_name(&method).is_none() => Ok(()),
            None | Some(INTERNAL) => Err(format!("{method} ended with {status:?}")),
            Some(_) => Ok(()),
        }?;
        // A body without a frame is refused by the layer below, with its own message.
        self::status(&served, &method, bytes).map(drop)
    });
}

/// Inserts the id of the existing task.
fn with_task(bytes: &[u8], task: &str) -> Vec<u8> {
    let mark = MARK.as_bytes();
    let at = bytes.windows(mark.len()).position(|window| window == mark);
    let mut named = bytes.to_vec();
    if let Some(at) = at {
        named[at..at + mark.len()].copy_from_slice(task.as_bytes());
    }
    named
}

/// Returns the status with which a call ends, before or after its messages. An open stream has none.
fn status(served: &Served, method: &str, body: Vec<u8>) -> Result<Option<String>, String> {
    let request = Request::post(format!("/{SERVICE}/{method}"))
        .version(axum::http::Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("grpc-timeout", "50m")
        .header("te", "trailers")
        .header("a2a-version", "1.0")
        .body(Body::from(body));
    let Ok(request) = request else {
        return Ok(Some("no path".to_owned()));
    };
    let answer = served.send(request)?;
    let status = answer.trailers.get("grpc-status");
    let status = status.or(answer.headers.get("grpc-status"));
    Ok(status.map(|status| status.to_str().unwrap_or("?").to_owned()))
}
