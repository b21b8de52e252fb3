//! What a server holds for those who wait: for streams that are quiet, and for webhooks of tasks that are at work.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    Outcome,
    cells::{call, message, request},
    connection::{Connection, body},
    process::Server,
    table::Row,
};

/// How many streams stay open, after the first ones, which warm the server up.
const IDLE: (usize, usize) = (50, 1000);
/// How many of them share a connection of HTTP/2.
const SHARED: usize = 50;
/// How many tasks have a webhook each, after the first ones.
const WEBHOOKS: (usize, usize) = (50, 2000);
/// How long the server has to come to rest.
const REST: Duration = Duration::from_millis(500);

/// Streams on a connection each.
pub(crate) async fn streams(server: &Server, row: &mut Row) -> Outcome<()> {
    let mut open = Vec::new();
    let mut hold = async |count: usize| -> Outcome<()> {
        for _ in 0..count {
            let mut connection = Connection::open(server.port).await?;
            let hold = request(server.port, "SendStreamingMessage", &message("hold"));
            connection.hold(&hold).await?;
            open.push(connection);
        }
        tokio::time::sleep(REST).await;
        Ok(())
    };
    hold(IDLE.0).await?;
    let before = server.memory()?;
    hold(IDLE.1).await?;
    let held = server.memory()? - before;
    row.put("MiB a 1,000 idle streams", held / 1024.0);
    Ok(())
}

/// Streams that share connections of HTTP/2, if the server speaks it.
pub(crate) async fn streams_of_http2(server: &Server, row: &mut Row) -> Outcome<()> {
    let mut open = Vec::new();
    let mut hold = async |count: usize| -> Outcome<()> {
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
    if hold(IDLE.0).await.is_err() {
        return Ok(());
    }
    let before = server.memory()?;
    hold(IDLE.1).await?;
    let held = server.memory()? - before;
    row.put("the same on HTTP/2", held / 1024.0);
    Ok(())
}

/// Webhooks of tasks that have no news, if the server takes any.
pub(crate) async fn webhooks(server: &Server, row: &mut Row) -> Outcome<()> {
    let mut connection = Connection::open(server.port).await?;
    let mut tasks = Vec::new();
    for _ in 0..WEBHOOKS.0 + WEBHOOKS.1 {
        let mut params = message("hold");
        params["configuration"] = json!({"returnImmediately": true});
        let answer = ask(&mut connection, server, "SendMessage", &params).await?;
        tasks.push(answer["result"]["task"]["id"].clone());
    }
    let mut set = async |tasks: &[Value]| -> Outcome<bool> {
        for task in tasks {
            let params =
                json!({"taskId": task, "url": "https://webhooks.example/a2a?for=the-load"});
            let method = "CreateTaskPushNotificationConfig";
            let answer = ask(&mut connection, server, method, &params).await?;
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
    let held = server.memory()? - before;
    row.put("KiB a webhook", held / WEBHOOKS.1 as f64);
    Ok(())
}

async fn ask(
    connection: &mut Connection,
    server: &Server,
    method: &str,
    params: &Value,
) -> Outcome<Value> {
    let answer = connection
        .call(&request(server.port, method, params))
        .await?;
    Ok(serde_json::from_slice(&body(answer))?)
}
