//! Large messages until there is no room, more of them, and then room again.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::frame::{Failed, Program, Scene, ask};

/// The bytes of a message.
const LARGE: usize = 200_000;
/// How large a file may become, in MiB.
const ROOM: u64 = 12;
/// What is freed on a disk that was given, in bytes.
const BALLAST: usize = 3 << 20;
/// How long it may take until it is noticed that there is room again.
const NOTICE: Duration = Duration::from_secs(30);
/// More than the program has with a full log and all that was refused at once, in MiB.
const MEMORY: u64 = 300;
/// How many lines it may log while it refuses all that: one when it begins, and some now and then.
const LINES: usize = 10;

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let refusals = scene.pick(600, 100);
    let disk = scene.disk.clone();
    let ballast = disk.as_deref().map(|disk| disk.join("ballast"));
    let program = match &disk {
        None => Program::with_small_files(ROOM, &[])?,
        Some(disk) => {
            let folder = tempfile::tempdir_in(disk)?;
            std::fs::write(disk.join("ballast"), vec![b'x'; BALLAST])?;
            Program::again(folder, &[])?
        }
    };
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("{}/a2a", program.url());
    let ready = format!("{}/readyz", program.url());
    let filling = fill(&client, &url, refusals);
    let (first, refused) = scene.attack(&program, MEMORY, filling).await??;
    let reason = &refused["error"]["data"][0]["reason"];
    scene.must(
        *reason == "UNAVAILABLE",
        format_args!("the refusal says so: {refused}"),
    );
    let answer = client.get(&ready).send().await?;
    scene.note(format_args!(
        "/readyz: {} {}",
        answer.status(),
        answer.text().await?
    ));
    scene.must(
        program.lines() <= LINES,
        format_args!(
            "refusals are not logged one by one, there are {} lines",
            program.lines()
        ),
    );
    let read = ask(&client, &url, &call("GetTask", &json!({"id": first}))).await?;
    scene.must(
        read["result"]["id"] == first,
        format_args!("reads go on: {read}"),
    );
    match ballast {
        None => program.lift()?,
        Some(ballast) => std::fs::remove_file(ballast)?,
    }
    let begun = Instant::now();
    while !client.get(&ready).send().await?.status().is_success() && begun.elapsed() < NOTICE {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    scene.note(format_args!(
        "ready {:.1?} after there was room",
        begun.elapsed()
    ));
    let sent = ask(&client, &url, &message(usize::MAX)).await?;
    scene.must(
        sent["result"]["task"]["id"].is_string(),
        "service goes on by itself",
    );
    Ok(())
}

/// Sends until so many messages were refused; answers with the first task and the last refusal.
async fn fill(client: &reqwest::Client, url: &str, most: usize) -> Result<(Value, Value), Failed> {
    let (mut first, mut last, mut refused) = (Value::Null, Value::Null, 0);
    for number in 0.. {
        let mut answer = ask(client, url, &message(number)).await?;
        let task = answer["result"]["task"]["id"].take();
        match task.is_null() {
            false if first.is_null() => first = task,
            false => {}
            true => (last, refused) = (answer, refused + 1),
        }
        if refused == most {
            break;
        }
    }
    Ok((first, last))
}

fn message(number: usize) -> Value {
    let message = json!({"messageId": format!("large-{number}"), "role": "ROLE_USER",
        "parts": [{"text": "x".repeat(LARGE)}]});
    // An answer waits until there is room, so nobody waits for one.
    let configuration = json!({"returnImmediately": true});
    call(
        "SendMessage",
        &json!({"message": message, "configuration": configuration}),
    )
}

fn call(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}
