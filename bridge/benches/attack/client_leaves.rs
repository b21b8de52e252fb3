//! Clients that disconnect 0 to 1.2 ms after their request: the operation is done completely or not at all.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::harness::{
    Error, Harness, Program, Webhooks,
    client::{abort_call, call, message},
};

/// The path of the agent whose bot never answers, and the path of that bot.
const HANGING: &str = "/a2a/hanging";
const BOT: &str = "/hang-bot";

/// The time within which a webhook or a bot must be called.
const LIMIT: Duration = Duration::from_secs(5);

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let rounds = harness.pick(400, 60);
    let hooks = Webhooks::start().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bridge.toml");
    let config = format!(
        "[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n[[agents]]\nname = 'hanging'\nbot = '{}'\n",
        hooks.url(BOT)
    );
    std::fs::write(&file, config)?;
    let file = file.display().to_string();
    let program = Program::start(&["--push-allow", "loopback", "--config", &file])?;
    let attack = async {
        Ok::<_, Error>([
            (
                "tasks without the webhook of their message",
                without_webhook(&program, &hooks, rounds).await?,
            ),
            (
                "replaced settings whose webhook was not called",
                replaced_settings(&program, &hooks, rounds).await?,
            ),
            (
                "deleted settings that are shown and whose webhook was not called",
                deleted_settings(&program, &hooks, rounds).await?,
            ),
            (
                "bots that were not told of a cancelation",
                cancelations(&program, &hooks, rounds).await?,
            ),
        ])
    };
    let found = harness.attack(&program, 300, attack).await??;
    for (what, count) in found {
        harness.note(format_args!("{count} of {rounds} {what}"));
        harness.check(count == 0, format_args!("there are no {what}"));
    }
    Ok(())
}

/// Returns the time after which a client disconnects.
fn delay(number: usize) -> Duration {
    Duration::from_micros(number as u64 * 100 % 1_300)
}

/// Counts the stored tasks whose message named a webhook, and which have none.
async fn without_webhook(
    program: &Program,
    hooks: &Webhooks,
    rounds: usize,
) -> Result<usize, Error> {
    for number in 0..rounds {
        let mut message = message(&format!("said-{number}"), "hello");
        message["message"]["contextId"] = "said".into();
        message["configuration"] =
            json!({"taskPushNotificationConfig": {"url": hooks.url("/said")}});
        abort_call(program, "/a2a", "SendMessage", &message, delay(number)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let mut without = 0;
    let mut query = json!({"contextId": "said", "pageSize": 100});
    loop {
        let page = call(program, "/a2a", "ListTasks", &query).await?;
        for task in page["tasks"].as_array().into_iter().flatten() {
            without += usize::from(webhook_path(program, &task["id"]).await?.is_none());
        }
        match page["nextPageToken"].as_str() {
            Some("") | None => return Ok(without),
            Some(token) => query["pageToken"] = token.into(),
        }
    }
}

/// Counts the tasks with a replaced setting whose shown webhook is not called.
async fn replaced_settings(
    program: &Program,
    hooks: &Webhooks,
    rounds: usize,
) -> Result<usize, Error> {
    let mut tasks = Vec::new();
    for number in 0..rounds {
        let task = with_setting(program, hooks, &format!("again-{number}")).await?;
        let url = hooks.url(&format!("/again-{number}-second"));
        let setting = json!({"taskId": task, "id": "a", "url": url});
        let method = "CreateTaskPushNotificationConfig";
        abort_call(program, "/a2a", method, &setting, delay(number)).await;
        tasks.push(task);
    }
    count_silent(program, hooks, "again", &tasks).await
}

/// Counts the tasks with a deleted setting that is still shown, and whose webhook is not called.
async fn deleted_settings(
    program: &Program,
    hooks: &Webhooks,
    rounds: usize,
) -> Result<usize, Error> {
    let mut tasks = Vec::new();
    for number in 0..rounds {
        let task = with_setting(program, hooks, &format!("deleted-{number}")).await?;
        let setting = json!({"taskId": task, "id": "a"});
        let method = "DeleteTaskPushNotificationConfig";
        abort_call(program, "/a2a", method, &setting, delay(number)).await;
        tasks.push(task);
    }
    count_silent(program, hooks, "deleted", &tasks).await
}

/// Creates a task that has a webhook and waits for its caller.
async fn with_setting(program: &Program, hooks: &Webhooks, name: &str) -> Result<Value, Error> {
    let sent = call(program, "/a2a", "SendMessage", &message(name, "hello")).await?;
    let task = sent["task"]["id"].clone();
    let setting = json!({"taskId": task, "id": "a", "url": hooks.url(&format!("/{name}"))});
    call(program, "/a2a", "CreateTaskPushNotificationConfig", &setting).await?;
    Ok(task)
}

/// Counts the tasks that show a webhook which is not called for the next event.
async fn count_silent(
    program: &Program,
    hooks: &Webhooks,
    name: &str,
    tasks: &[Value],
) -> Result<usize, Error> {
    sleep(Duration::from_secs(1)).await;
    let mut silent = 0;
    for (number, task) in tasks.iter().enumerate() {
        let Some(path) = webhook_path(program, task).await? else {
            continue;
        };
        let before = hooks.calls(&path).len();
        let mut more = message(&format!("{name}-{number}-more"), "hello");
        more["message"]["taskId"] = task.clone();
        call(program, "/a2a", "SendMessage", &more).await?;
        let told = timeout(LIMIT, hooks.wait_for(&path, before + 1)).await;
        silent += usize::from(told.is_err());
    }
    Ok(silent)
}

/// Returns the path of a task's webhook.
async fn webhook_path(program: &Program, task: &Value) -> Result<Option<String>, Error> {
    let params = json!({ "taskId": task });
    let listed = call(program, "/a2a", "ListTaskPushNotificationConfigs", &params).await?;
    let url = listed["configs"][0]["url"].as_str();
    Ok(url.and_then(|url| Some(format!("/{}", url.rsplit_once('/')?.1))))
}

/// Counts the tasks that were canceled by a client that disconnected, and of whose cancelation the bot was not told.
async fn cancelations(program: &Program, hooks: &Webhooks, rounds: usize) -> Result<usize, Error> {
    let (mut untold, mut calls) = (0, 0);
    for number in 0..rounds {
        let mut message = message(&format!("canceled-{number}"), "hello");
        message["configuration"] = json!({"returnImmediately": true});
        let sent = call(program, HANGING, "SendMessage", &message).await?;
        calls += 1;
        timeout(LIMIT, hooks.wait_for(BOT, calls)).await?;
        let task = json!({"id": sent["task"]["id"]});
        abort_call(program, HANGING, "CancelTask", &task, delay(number)).await;
        // If that had no effect, a client that stays connected cancels the task.
        if let Err(error) = call(program, HANGING, "CancelTask", &task).await
            && !error.to_string().contains("-32002")
        {
            return Err(error);
        }
        match timeout(LIMIT, hooks.wait_for(BOT, calls + 1)).await {
            Ok(()) => calls += 1,
            Err(_) => untold += 1,
        }
    }
    Ok(untold)
}
