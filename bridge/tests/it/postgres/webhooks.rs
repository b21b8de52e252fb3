//! Webhooks over several bridges, whose deliverers are killed and stopped in the middle.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Bytes, response::IntoResponse as _};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};

use super::{
    address::Address,
    replicas::{LONG, Talk},
    server::Server,
};
use crate::remote::standin::StandIn;

/// The webhook's records: the numbers that the bot sent, and the largest number of concurrent requests.
#[derive(Clone, Default)]
struct Hook {
    got: Arc<Mutex<Vec<usize>>>,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Hook {
    /// Starts the webhook, which answers slowly.
    async fn start() -> (Self, String) {
        let hook = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let taking = hook.clone();
        let take = async move |body: Bytes| taking.take(&body).await;
        let app = Router::new().fallback(take);
        tokio::spawn(async move { axum::serve(listener, app).await });
        (hook, url)
    }

    async fn take(&self, body: &[u8]) {
        let _request = Request::begin(self);
        sleep(Duration::from_millis(30)).await;
        let value: Value = serde_json::from_slice(body).unwrap();
        // The last ones before a question are parts of its status, the others artifacts.
        let parts = value
            .pointer("/artifactUpdate/artifact/parts")
            .or(value.pointer("/statusUpdate/status/message/parts"));
        let texts = parts.and_then(Value::as_array).into_iter().flatten();
        let numbers = texts.filter_map(|part| part["text"].as_str()?.trim().parse::<usize>().ok());
        self.got.lock().unwrap().extend(numbers);
    }

    fn last(&self) -> usize {
        self.got.lock().unwrap().last().copied().unwrap_or_default()
    }

    /// Waits until this number has arrived.
    async fn reaches(&self, number: usize) {
        let begun = Instant::now();
        while self.last() < number {
            assert!(begun.elapsed() < LONG, "{:?}", self.got.lock().unwrap());
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A request that is over when its sender was killed, too.
struct Request<'a>(&'a Hook);

impl<'a> Request<'a> {
    fn begin(hook: &'a Hook) -> Self {
        let now = hook.now.fetch_add(1, Ordering::SeqCst) + 1;
        hook.most.fetch_max(now, Ordering::SeqCst);
        Self(hook)
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One bridge at a time delivers the events in order. When it is killed, or paused for longer than its lease, another
/// one continues at its position.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_gets_events_in_order_while_its_bridges_are_killed() {
    const LAST: usize = 60;
    let bot = StandIn::that(async |_| StatusCode::ACCEPTED.into_response()).await;
    let database = Server::shared().database().await;
    let address = Address::start().await;
    let keys = format!("callback_url = '{}'", address.url);
    let agent = format!(
        "[[agents]]\nname = 'bot'\nbot = '{}'\nconversation = 'task'\nending = {{ quiet = '60s', settle = '60s' }}\n",
        bot.url
    );
    // The turn runs in the first one, which lives; the others take turns at delivering.
    let mut bridges = [(); 4].map(|()| Talk::of(&database, &keys, &agent));
    address.leads_to([bridges[0].bridge.url()]);
    let (hook, url) = Hook::start().await;
    let task = bridges[0].send("bot", json!({"messageId": "m"}), false).await;
    let setting = json!({"taskId": task["id"], "id": "a", "url": url});
    bridges[1].call("bot", "CreateTaskPushNotificationConfig", setting).await;
    let begun = Instant::now();
    while bot.posts().is_empty() {
        assert!(begun.elapsed() < LONG, "the bot was not called");
        sleep(Duration::from_millis(5)).await;
    }
    let post = bot.posts().remove(0);
    let saying = tokio::spawn(async move {
        for number in 1..=LAST {
            post.say(&number.to_string()).await;
        }
        // The last message is delivered when it is known whether the turn is over.
        post.send(json!({"text": "what else?", "inputHint": "expectingInput"})).await;
    });
    // Numbers of bridges count from one, in the order of their start.
    let deliverer = "SELECT coalesce(min(c.replica), 0)::bigint FROM bridge.conversations AS c
        WHERE c.replica <> (SELECT min(id) FROM bridge.replicas)";
    let mut paused = None;
    for reached in [5, 20] {
        hook.reaches(reached).await;
        let number = usize::try_from(database.number(deliverer).await).unwrap();
        // The one of the turn may deliver too.
        let Some(index) = number.checked_sub(1).filter(|index| *index > 0) else {
            continue;
        };
        match paused {
            None => {
                bridges[index].bridge.pause();
                paused = Some(index);
            }
            Some(_) => bridges[index].bridge.kill(),
        }
    }
    hook.reaches(LAST).await;
    saying.await.unwrap();
    let (most, got) = (hook.most.load(Ordering::SeqCst), hook.got.lock().unwrap().clone());
    assert_eq!(most, 1, "{got:?}");
    let mut once = got.clone();
    once.dedup();
    assert_eq!(once, (1..=LAST).collect::<Vec<_>>());
    assert!(got.len() <= LAST + 3, "{got:?}");
    // The paused bridge continues, and ends, because others do its work.
    if let Some(index) = paused {
        let is_known = format!("SELECT count(*) FROM bridge.replicas WHERE id = {}", index + 1);
        let begun = Instant::now();
        while database.number(&is_known).await > 0 {
            assert!(begun.elapsed() < LONG, "it is not taken for dead");
            sleep(Duration::from_millis(20)).await;
        }
        bridges[index].bridge.go_on();
        assert_eq!(bridges[index].bridge.ended().await, Some(4));
        // A request that was started before the sender was paused may be sent when the sender continues.
        let later = hook.got.lock().unwrap().len() - got.len();
        assert!(later <= 1, "{:?}", hook.got.lock().unwrap());
    }
}
