//! Requests as a client makes them, and as one makes them that leaves.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, time::sleep};

use super::{Failed, Program, raw};

/// The result of a call of the agent at this path.
///
/// # Errors
/// If none comes.
pub(crate) async fn ask(
    program: &Program,
    path: &str,
    method: &str,
    params: &Value,
) -> Result<Value, Failed> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = client
        .post(format!("{}{path}", program.url()))
        .header("a2a-version", "1.0")
        .json(&body);
    let mut answer: Value = request.send().await?.json().await?;
    match answer.get("error") {
        None => Ok(answer["result"].take()),
        Some(error) => Err(format!("{method}: {error}").into()),
    }
}

/// Makes the same call and leaves so long after it.
pub(crate) async fn leave(
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
    // A client that leaves needs no answer, so a failed write does not matter.
    let _ = connection.write_all(request.as_bytes()).await;
    sleep(after).await;
}

/// A message.
pub(crate) fn said(id: &str, text: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}})
}
