//! Calls of a well-behaved client, and calls of a client that disconnects early.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, time::sleep};

use super::{Error, Program, raw};

/// Calls a method of the agent at this path, and returns the result.
///
/// # Errors
/// If there is no result.
pub(crate) async fn call(
    program: &Program,
    path: &str,
    method: &str,
    params: &Value,
) -> Result<Value, Error> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request =
        client.post(format!("{}{path}", program.url())).header("a2a-version", "1.0").json(&body);
    let mut answer: Value = request.send().await?.json().await?;
    match answer.get("error") {
        None => Ok(answer["result"].take()),
        Some(error) => Err(format!("{method}: {error}").into()),
    }
}

/// Sends the same call, and disconnects after this time.
pub(crate) async fn abort_call(
    program: &Program,
    path: &str,
    method: &str,
    params: &Value,
    after: Duration,
) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let Some(mut connection) = raw::connect(program.address()).await else {
        return;
    };
    let request = raw::head(path, body.len()) + &body;
    // The client does not need an answer, so a failed write does not matter.
    let _ = connection.write_all(request.as_bytes()).await;
    sleep(after).await;
}

/// Returns the parameters of a message from a user.
pub(crate) fn message(id: &str, text: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}})
}
