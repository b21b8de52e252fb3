//! Webhooks that hang, on many hosts and on one: how long others wait to be told.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::frame::{
    Failed, Hook, Program, Scene,
    asked::{ask, said},
};

/// How many hosts have webhooks that hang.
const HOSTS: usize = 16;

/// By when a good webhook must have been called at all.
const AT_ALL: Duration = Duration::from_secs(60);

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let (on_many, on_one, good) = scene.pick((320, 90, 20), (160, 90, 3));
    let program = Program::start(&["--push-allow", "loopback"])?;
    let mut hosts = Vec::new();
    for _ in 0..HOSTS {
        hosts.push(Hook::start().await?);
    }
    let one = Hook::start().await?;
    let attack = async {
        for number in 0..on_many {
            let url = hosts[number % HOSTS].at(&format!("/hang-{number}"));
            begin(&program, &format!("many-{number}"), &url).await?;
        }
        let elsewhere = delays(&program, &Hook::start().await?, "elsewhere", good).await?;
        for number in 0..on_one {
            let url = one.at(&format!("/hang-{number}"));
            begin(&program, &format!("one-{number}"), &url).await?;
        }
        let beside = delays(&program, &one, "beside", good).await?;
        Ok::<_, Failed>((elsewhere, beside))
    };
    let (elsewhere, beside) = scene.attack(&program, 300, attack).await??;
    for (what, delays, hanging) in [
        ("on another host", elsewhere, on_many),
        ("on their host", beside, on_one),
    ] {
        let called = delays.iter().flatten().count();
        scene.note(format_args!(
            "beside {hanging} that hang, {called} of {good} good ones {what} were called, the last after {:.1?}",
            delays.iter().flatten().max().copied().unwrap_or_default()
        ));
        scene.must(
            called == good,
            format_args!("good webhooks {what} are called"),
        );
    }
    Ok(())
}

/// A task with a webhook.
async fn begin(program: &Program, id: &str, url: &str) -> Result<(), Failed> {
    let mut message = said(id, "hello");
    message["configuration"] =
        json!({"returnImmediately": true, "taskPushNotificationConfig": {"url": url}});
    ask(program, "/a2a", "SendMessage", &message)
        .await
        .map(drop)
}

/// How long good webhooks wait to be called, one after the other.
async fn delays(
    program: &Program,
    hook: &Hook,
    name: &str,
    count: usize,
) -> Result<Vec<Option<Duration>>, Failed> {
    let mut delays = Vec::new();
    for number in 0..count {
        let path = format!("/{name}-{number}");
        begin(program, &format!("{name}-{number}"), &hook.at(&path)).await?;
        let begun = Instant::now();
        let called = timeout(AT_ALL, hook.wait(&path, 1)).await;
        delays.push(called.is_ok().then(|| begun.elapsed()));
        sleep(Duration::from_millis(100)).await;
    }
    Ok(delays)
}
