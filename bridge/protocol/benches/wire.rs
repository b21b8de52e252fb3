//! Measures reading and writing messages, without sockets: `cargo bench --workspace --bench wire`.
//!
//! The baseline is JSON itself: the same text parsed to a `Value`, and a `Value` written as text. A result is
//! the best of many batches, which excludes most effects of other load.

use std::{
    fs,
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use bridge_protocol::{
    a2a::SendMessageResponse,
    dialect::{Call, Version},
    jsonrpc::{Id, Request, Response},
};
use serde_json::Value;

/// The number of repetitions in a batch.
const BATCH: u32 = 500;

/// Requests and answers of the official SDK, by version.
const SAID: [(Version, &str, &str); 2] = [
    (Version::V1_0, "sdk/python-1.3.0-request-send.json", "sdk/python-1.3.0-send-task.json"),
    (Version::V0_3, "sdk/python-0.3.26-request-send.json", "sdk/python-0.3.26-send-task.json"),
];

fn main() {
    // `cargo test --benches` also runs this, only to see that it works.
    let is_test = std::env::args().any(|argument| argument == "--test") || cfg!(debug_assertions);
    let length = Duration::from_millis(if is_test { 5 } else { 1_000 });
    println!("{:<40} {:>10}", "", "ns each");
    for (version, request, answer) in SAID {
        read(version, request, length);
        write(version, answer, length);
    }
}

fn read(version: Version, name: &str, length: Duration) {
    let body = recorded(name);
    measure(&format!("{version} request, as JSON alone"), length, || {
        serde_json::from_slice::<Value>(&body).expect("it is JSON")
    });
    measure(&format!("{version} request, read"), length, || call(version, &body));
}

/// Does the work of a server on a body before it knows the request.
fn call(version: Version, body: &[u8]) -> Call {
    let request = Request::from_slice(body).expect("it is a request");
    let operation = version.operation(&request.method).expect("it is a method");
    let call = version.params_to_v1(operation, request.params, "m");
    call.expect("the parameters are valid")
}

fn write(version: Version, name: &str, length: Duration) {
    let answer = Response::from_slice(&recorded(name)).expect("it is an answer");
    let result = answer.outcome.expect("it is a result");
    measure(&format!("{version} answer, as JSON alone"), length, || result.to_string());
    let sent = version.send_result_to_v1(result).expect("it is a task");
    measure(&format!("{version} answer, written"), length, || text(version, &sent));
}

/// Returns the work of a server on an answer.
fn text(version: Version, sent: &SendMessageResponse) -> String {
    let id = Id::String("1".into());
    let text = match version {
        Version::V1_0 => serde_json::to_string(&Response { id, outcome: Ok(sent) }),
        Version::V0_1 | Version::V0_3 => {
            let result = version.send_result_from_v1(sent, &mut Default::default());
            serde_json::to_string(&Response { id, outcome: Ok(result) })
        }
    };
    text.expect("it can be written")
}

fn recorded(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/wire");
    fs::read(root.join(name)).expect("it was recorded")
}

fn measure<T>(name: &str, length: Duration, mut work: impl FnMut() -> T) {
    let (begun, mut best) = (Instant::now(), Duration::MAX);
    while begun.elapsed() < length {
        let batch = Instant::now();
        for _ in 0..BATCH {
            black_box(work());
        }
        best = best.min(batch.elapsed());
    }
    println!("{name:<40} {:>10}", best.as_nanos() / u128::from(BATCH));
}
