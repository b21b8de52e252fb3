//! Webhooks that never answer, on many hosts and on one: measures how long other webhooks wait to be called.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::harness::{
    Error, Harness, Program, Webhooks,
    client::{call, message},
};

/// The number of hosts whose webhooks never answer.
const HOSTS: usize = 16;

/// The time within which a good webhook must be called.
const CALL_LIMIT: Duration = Duration::from_secs(60);

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let (on_many, on_one, good) = harness.pick((320, 90, 20), (160, 90, 3));
    let program = Program::start(&["--push-allow", "loopback"])?;
    let mut hosts = Vec::new();
    for _ in 0..HOSTS {
        hosts.push(Webhooks::start().await?);
    }
    let one = Webhooks::start().await?;
    let attack = async {
        for number in 0..on_many {
            let url = hosts[number % HOSTS].url(&format!("/hang-{number}"));
            send_with_webhook(&program, &format!("many-{number}"), &url).await?;
        }
        let elsewhere =
            measure_delays(&program, &Webhooks::start().await?, "elsewhere", good).await?;
        for number in 0..on_one {
            let url = one.url(&format!("/hang-{number}"));
            send_with_webhook(&program, &format!("one-{number}"), &url).await?;
        }
        let beside = measure_delays(&program, &one, "beside", good).await?;
        Ok::<_, Error>((elsewhere, beside))
    };
    let (elsewhere, beside) = harness.attack(&program, 300, attack).await??;
    for (what, delays, hanging) in
        [("on another host", elsewhere, on_many), ("on the same host", beside, on_one)]
    {
        let called = delays.iter().flatten().count();
        harness.note(format_args!(
            "beside {hanging} hanging webhooks, {called} of {good} good ones {what} were called, the last after {:.1?}",
            delays.iter().flatten().max().copied().unwrap_or_default()
        ));
        harness.check(called == good, format_args!("good webhooks {what} are called"));
    }
    Ok(())
}

/// Sends a message that names a webhook.
async fn send_with_webhook(program: &Program, id: &str, url: &str) -> Result<(), Error> {
    let mut message = message(id, "hello");
    message["configuration"] =
        json!({"returnImmediately": true, "taskPushNotificationConfig": {"url": url}});
    call(program, "/a2a", "SendMessage", &message).await.map(drop)
}

/// Measures how long good webhooks wait to be called, one after the other.
async fn measure_delays(
    program: &Program,
    webhooks: &Webhooks,
    name: &str,
    count: usize,
) -> Result<Vec<Option<Duration>>, Error> {
    let mut delays = Vec::new();
    for number in 0..count {
        let path = format!("/{name}-{number}");
        send_with_webhook(program, &format!("{name}-{number}"), &webhooks.url(&path)).await?;
        let begun = Instant::now();
        let called = timeout(CALL_LIMIT, webhooks.wait_for(&path, 1)).await;
        delays.push(called.is_ok().then(|| begun.elapsed()));
        sleep(Duration::from_millis(100)).await;
    }
    Ok(delays)
}
