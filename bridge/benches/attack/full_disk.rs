//! Sends large messages until the disk is full, sends more of them, and then frees space.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Error, Harness, Program, post_rpc};

/// The length of a message's text in bytes.
const LARGE: usize = 200_000;
/// The largest size of a file, in MiB.
const ROOM: u64 = 12;
/// The space that is freed on the given disk, in bytes.
const BALLAST: usize = 3 << 20;
/// The time within which the program must notice that there is space again.
const NOTICE: Duration = Duration::from_secs(30);
/// The limit of the program's memory, in MiB, while the log is full and many messages are refused at once.
const MEMORY: u64 = 300;
/// The largest number of lines that it may log meanwhile: one at the beginning, and some now and then.
const LINES: usize = 10;

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let refusals = harness.pick(600, 100);
    let disk = harness.disk.clone();
    let ballast = disk.as_deref().map(|disk| disk.join("ballast"));
    let program = match &disk {
        None => Program::with_file_size_limit(ROOM, &[])?,
        Some(disk) => {
            let folder = tempfile::tempdir_in(disk)?;
            std::fs::write(disk.join("ballast"), vec![b'x'; BALLAST])?;
            Program::restart(folder, &[])?
        }
    };
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("{}/a2a", program.url());
    let ready = format!("{}/readyz", program.url());
    let filling = fill(&client, &url, refusals);
    let (first, refused) = harness.attack(&program, MEMORY, filling).await??;
    let reason = &refused["error"]["data"][0]["reason"];
    harness.check(
        *reason == "UNAVAILABLE",
        format_args!("the refusal has the reason UNAVAILABLE: {refused}"),
    );
    let answer = client.get(&ready).send().await?;
    harness.note(format_args!("/readyz: {} {}", answer.status(), answer.text().await?));
    harness.check(
        program.log_lines() <= LINES,
        format_args!(
            "refusals are not logged one by one, {} lines were logged",
            program.log_lines()
        ),
    );
    let read = post_rpc(&client, &url, &call("GetTask", &json!({"id": first}))).await?;
    harness.check(
        read["result"]["id"] == first,
        format_args!("tasks can be read while the disk is full: {read}"),
    );
    match ballast {
        None => program.lift_file_size_limit()?,
        Some(ballast) => std::fs::remove_file(ballast)?,
    }
    let begun = Instant::now();
    while !client.get(&ready).send().await?.status().is_success() && begun.elapsed() < NOTICE {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    harness.note(format_args!("ready {:.1?} after space was freed", begun.elapsed()));
    let sent = post_rpc(&client, &url, &message(usize::MAX)).await?;
    harness.check(
        sent["result"]["task"]["id"].is_string(),
        "messages are accepted again without a restart",
    );
    Ok(())
}

/// Sends messages until this many were refused. Returns the first task and the last refusal.
async fn fill(
    client: &reqwest::Client,
    url: &str,
    refusals: usize,
) -> Result<(Value, Value), Error> {
    let (mut first, mut last, mut refused) = (Value::Null, Value::Null, 0);
    for number in 0.. {
        let mut answer = post_rpc(client, url, &message(number)).await?;
        let task = answer["result"]["task"]["id"].take();
        match task.is_null() {
            false if first.is_null() => first = task,
            false => {}
            true => (last, refused) = (answer, refused + 1),
        }
        if refused == refusals {
            break;
        }
    }
    Ok((first, last))
}

fn message(number: usize) -> Value {
    let message = json!({"messageId": format!("large-{number}"), "role": "ROLE_USER",
        "parts": [{"text": "x".repeat(LARGE)}]});
    // While the disk is full an answer may be delayed, so the client does not wait for it.
    let configuration = json!({"returnImmediately": true});
    call("SendMessage", &json!({"message": message, "configuration": configuration}))
}

fn call(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}
