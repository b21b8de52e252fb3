//! Clients that leave 0 to 1.2 ms after their request: what they began is done whole or not at all.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::frame::{
    Failed, Hook, Program, Scene,
    asked::{ask, leave, said},
};

/// Where the agent is whose bot never answers, and where that bot is.
const HANGING: &str = "/a2a/hanging";
const BOT: &str = "/hang-bot";

/// By when something must have been done.
const SOON: Duration = Duration::from_secs(5);

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let rounds = scene.pick(400, 60);
    let hook = Hook::start().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bridge.toml");
    let config = format!(
        "[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n[[agents]]\nname = 'hanging'\nbot = '{}'\n",
        hook.at(BOT)
    );
    std::fs::write(&file, config)?;
    let file = file.display().to_string();
    let program = Program::start(&["--push-allow", "loopback", "--config", &file])?;
    let attack = async {
        Ok::<_, Failed>([
            (
                "messages without their webhook",
                said_with_webhook(&program, &hook, rounds).await?,
            ),
            (
                "settings that were set again and are not told",
                set_again(&program, &hook, rounds).await?,
            ),
            (
                "settings that are shown and are not told",
                deleted(&program, &hook, rounds).await?,
            ),
            (
                "bots that were not told of a cancelation",
                canceled(&program, &hook, rounds).await?,
            ),
        ])
    };
    let found = scene.attack(&program, 300, attack).await??;
    for (what, count) in found {
        scene.note(format_args!("{count} of {rounds} {what}"));
        scene.must(count == 0, format_args!("there are no {what}"));
    }
    Ok(())
}

/// So long after its request a client leaves.
fn soon(number: usize) -> Duration {
    Duration::from_micros(number as u64 * 100 % 1_300)
}

/// Messages that were kept, and have no webhook.
async fn said_with_webhook(program: &Program, hook: &Hook, rounds: usize) -> Result<usize, Failed> {
    for number in 0..rounds {
        let mut message = said(&format!("said-{number}"), "hello");
        message["message"]["contextId"] = "said".into();
        message["configuration"] = json!({"taskPushNotificationConfig": {"url": hook.at("/said")}});
        leave(program, "/a2a", "SendMessage", &message, soon(number)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let mut without = 0;
    let mut query = json!({"contextId": "said", "pageSize": 100});
    loop {
        let page = ask(program, "/a2a", "ListTasks", &query).await?;
        for task in page["tasks"].as_array().into_iter().flatten() {
            without += usize::from(shown(program, &task["id"]).await?.is_none());
        }
        match page["nextPageToken"].as_str() {
            Some("") | None => return Ok(without),
            Some(token) => query["pageToken"] = token.into(),
        }
    }
}

/// Settings that were set again, where the webhook that is shown is not told.
async fn set_again(program: &Program, hook: &Hook, rounds: usize) -> Result<usize, Failed> {
    let mut tasks = Vec::new();
    for number in 0..rounds {
        let task = with_setting(program, hook, &format!("again-{number}")).await?;
        let url = hook.at(&format!("/again-{number}-second"));
        let setting = json!({"taskId": task, "id": "a", "url": url});
        let method = "CreateTaskPushNotificationConfig";
        leave(program, "/a2a", method, &setting, soon(number)).await;
        tasks.push(task);
    }
    silent(program, hook, "again", &tasks).await
}

/// Settings that were deleted, and are shown and not told.
async fn deleted(program: &Program, hook: &Hook, rounds: usize) -> Result<usize, Failed> {
    let mut tasks = Vec::new();
    for number in 0..rounds {
        let task = with_setting(program, hook, &format!("deleted-{number}")).await?;
        let setting = json!({"taskId": task, "id": "a"});
        let method = "DeleteTaskPushNotificationConfig";
        leave(program, "/a2a", method, &setting, soon(number)).await;
        tasks.push(task);
    }
    silent(program, hook, "deleted", &tasks).await
}

/// A task that waits for its caller, with a webhook.
async fn with_setting(program: &Program, hook: &Hook, name: &str) -> Result<Value, Failed> {
    let sent = ask(program, "/a2a", "SendMessage", &said(name, "hello")).await?;
    let task = sent["task"]["id"].clone();
    let setting = json!({"taskId": task, "id": "a", "url": hook.at(&format!("/{name}"))});
    ask(
        program,
        "/a2a",
        "CreateTaskPushNotificationConfig",
        &setting,
    )
    .await?;
    Ok(task)
}

/// How many of these tasks show a webhook that is not told of what comes next.
async fn silent(
    program: &Program,
    hook: &Hook,
    name: &str,
    tasks: &[Value],
) -> Result<usize, Failed> {
    sleep(Duration::from_secs(1)).await;
    let mut silent = 0;
    for (number, task) in tasks.iter().enumerate() {
        let Some(path) = shown(program, task).await? else {
            continue;
        };
        let before = hook.called(&path).len();
        let mut more = said(&format!("{name}-{number}-more"), "hello");
        more["message"]["taskId"] = task.clone();
        ask(program, "/a2a", "SendMessage", &more).await?;
        let told = timeout(SOON, hook.wait(&path, before + 1)).await;
        silent += usize::from(told.is_err());
    }
    Ok(silent)
}

/// The path of the webhook that a task has.
async fn shown(program: &Program, task: &Value) -> Result<Option<String>, Failed> {
    let params = json!({ "taskId": task });
    let listed = ask(program, "/a2a", "ListTaskPushNotificationConfigs", &params).await?;
    let url = listed["configs"][0]["url"].as_str();
    Ok(url.and_then(|url| Some(format!("/{}", url.rsplit_once('/')?.1))))
}

/// Bots that were not told that their task was canceled by a client who left.
async fn canceled(program: &Program, hook: &Hook, rounds: usize) -> Result<usize, Failed> {
    let (mut untold, mut calls) = (0, 0);
    for number in 0..rounds {
        let mut message = said(&format!("canceled-{number}"), "hello");
        message["configuration"] = json!({"returnImmediately": true});
        let sent = ask(program, HANGING, "SendMessage", &message).await?;
        calls += 1;
        timeout(SOON, hook.wait(BOT, calls)).await?;
        let task = json!({"id": sent["task"]["id"]});
        leave(program, HANGING, "CancelTask", &task, soon(number)).await;
        // Where nothing came of it, the task is canceled by one who stays.
        if let Err(error) = ask(program, HANGING, "CancelTask", &task).await
            && !error.to_string().contains("-32002")
        {
            return Err(error);
        }
        match timeout(SOON, hook.wait(BOT, calls + 1)).await {
            Ok(()) => calls += 1,
            Err(_) => untold += 1,
        }
    }
    Ok(untold)
}
