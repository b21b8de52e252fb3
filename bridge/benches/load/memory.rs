//! Measures the memory of a server for idle streams, and for webhooks of tasks that are still running.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    Outcome,
    connection::{Connection, body},
    figures::{call, message, request},
    process::Server,
    table::Row,
};

/// The numbers of open streams: those that warm the server up, and those that are measured.
const IDLE: (usize, usize) = (50, 1000);
/// The number of streams that share an HTTP/2 connection.
const SHARED: usize = 50;
/// The numbers of tasks with a webhook: those that warm the server up, and those that are measured.
const WEBHOOKS: (usize, usize) = (50, 2000);
/// The time after which the server is expected to be idle.
const REST: Duration = Duration::from_millis(500);

/// Measures streams with a connection each.
pub(crate) async fn streams(server: &Server, row: &mut Row) -> Outcome<()> {
    let mut open = Vec::new();
    let mut open_streams = async |count: usize| -> Outcome<()> {
        for _ in 0..count {
            let mut connection = Connection::open(server.port).await?;
            let hold = request(server.port, "SendStreamingMessage", &message("hold"));
            connection.open_stream(&hold).await?;
            open.push(connection);
        }
        tokio::time::sleep(REST).await;
        Ok(())
    };
    open_streams(IDLE.0).await?;
    let before = server.memory()?;
    open_streams(IDLE.1).await?;
    let memory = server.memory()? - before;
    row.put("MiB a 1,000 idle streams", memory / 1024.0);
    Ok(())
}

/// Measures streams that share HTTP/2 connections, if the server supports HTTP/2.
pub(crate) async fn streams_of_http2(server: &Server, row: &mut Row) -> Outcome<()> {
    let mut open = Vec::new();
    let mut open_streams = async |count: usize| -> Outcome<()> {
        for _ in 0..count / SHARED {
            let client = reqwest::Client::builder().http2_prior_knowledge().build()?;
            for _ in 0..SHARED {
                let asked = client
                    .post(format!("http://127.0.0.1:{}/", server.port))
                    .header("Content-Type", "application/json")
                    .header("Accept", "text/event-stream")
                    .header("A2A-Version", "1.0")
                    .body(call("SendStreamingMessage", &message("hold")));
                let mut stream = asked.send().await?;
                stream.chunk().await?;
                open.push(stream);
            }
        }
        tokio::time::sleep(REST).await;
        Ok(())
    };
    if open_streams(IDLE.0).await.is_err() {
        return Ok(());
    }
    let before = server.memory()?;
    open_streams(IDLE.1).await?;
    let memory = server.memory()? - before;
    row.put("the same on HTTP/2", memory / 1024.0);
    Ok(())
}

/// Measures webhooks of tasks without events, if the server supports webhooks.
pub(crate) async fn webhooks(server: &Server, row: &mut Row) -> Outcome<()> {
    let mut connection = Connection::open(server.port).await?;
    let mut tasks = Vec::new();
    for _ in 0..WEBHOOKS.0 + WEBHOOKS.1 {
        let mut params = message("hold");
        params["configuration"] = json!({"returnImmediately": true});
        let answer = call_method(&mut connection, server, "SendMessage", &params).await?;
        tasks.push(answer["result"]["task"]["id"].clone());
    }
    let mut set = async |tasks: &[Value]| -> Outcome<bool> {
        for task in tasks {
            let params =
                json!({"taskId": task, "url": "https://webhooks.example/a2a?for=the-load"});
            let method = "CreateTaskPushNotificationConfig";
            let answer = call_method(&mut connection, server, method, &params).await?;
            if answer.pointer("/result/url").is_none() {
                return Ok(false);
            }
        }
        tokio::time::sleep(REST).await;
        Ok(true)
    };
    let (first, others) = tasks.split_at(WEBHOOKS.0);
    if !set(first).await? {
        return Ok(());
    }
    let before = server.memory()?;
    set(others).await?;
    let memory = server.memory()? - before;
    row.put("KiB a webhook", memory / WEBHOOKS.1 as f64);
    Ok(())
}

async fn call_method(
    connection: &mut Connection,
    server: &Server,
    method: &str,
    params: &Value,
) -> Outcome<Value> {
    let answer = connection.call(&request(server.port, method, params)).await?;
    Ok(serde_json::from_slice(&body(answer))?)
}
