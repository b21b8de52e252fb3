//! Tests of deliveries with a sender that does not use the network, in virtual time.
//!
//! - `notifications`, `failing`, `ending`, `limits`, `sealed`, `shared`, `counted`, `with_messages`: one concern each

mod counted;
mod ending;
mod failing;
mod interleavings;
mod limits;
mod notifications;
mod sealed;
mod shared;
mod slots;
mod with_messages;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bridge_protocol::{
    a2a::{Message, Part, Role, TaskPushNotificationConfig, TaskState, TaskStatus},
    dialect::Version,
    wire::Wire as _,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    Push, PushError, PushSettings, RetrySettings, Seal,
    delivery_request::DeliveryRequest,
    webhook_sender::{Outcome, WebhookSender},
};
use crate::{
    caller::Caller,
    clock,
    metrics::{Metrics, TextFormat},
    store::{Append, Created, Event, Head, MemoryStore, Store, testing::FailingStore},
};

/// Records deliveries. It answers with the outcomes set for the host, then with success; at `/hangs` it times out.
#[derive(Debug, Default)]
struct RecordingSender {
    sent: Mutex<Vec<(Instant, DeliveryRequest)>>,
    answers: Mutex<BTreeMap<String, VecDeque<Answer>>>,
}

#[derive(Clone, Debug)]
enum Answer {
    Fail,
    FailFor(Duration),
    Gone,
    Hang(Duration),
}

#[async_trait]
impl WebhookSender for RecordingSender {
    async fn send(&self, delivery: &DeliveryRequest) -> Outcome {
        let sent = (Instant::now(), delivery.clone());
        self.sent.lock().unwrap().push(sent);
        if delivery.url.ends_with("/hangs") {
            sleep(15 * SECOND).await;
            return Outcome::Failed { reason: "no answer".into(), again: None };
        }
        let host = super::target::origin(&delivery.url.parse().unwrap());
        let answer = {
            let mut answers = self.answers.lock().unwrap();
            answers.get_mut(&host).and_then(VecDeque::pop_front)
        };
        let failed = |again| Outcome::Failed { reason: "HTTP status 500".into(), again };
        match answer {
            None => Outcome::Delivered,
            Some(Answer::Fail) => failed(None),
            Some(Answer::FailFor(time)) => failed(Some(time)),
            Some(Answer::Gone) => Outcome::Refused { reason: "HTTP status 410".into() },
            Some(Answer::Hang(time)) => {
                sleep(time).await;
                Outcome::Delivered
            }
        }
    }
}

struct World {
    store: Arc<dyn Store>,
    sender: Arc<RecordingSender>,
    push: Push,
}

const SECOND: Duration = Duration::from_secs(1);

/// Returns a test setup with the default limits.
fn usual_world() -> World {
    let (store, sender): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), Arc::default());
    let sender: Arc<RecordingSender> = sender;
    let settings = PushSettings::default();
    let push = Push::with(store.clone(), Metrics::default(), settings, sender.clone());
    World { store, sender, push }
}

fn world() -> World {
    let (store, sender): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), Arc::default());
    let push = started(&store, &sender, Seal::default());
    World { store, sender, push }
}

/// Returns a test setup whose store can fail.
fn failing_world() -> (World, Arc<FailingStore>) {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let (store, sender): (Arc<dyn Store>, _) = (failing.clone(), Arc::default());
    let push = started(&store, &sender, Seal::default());
    (World { store, sender, push }, failing)
}

fn started(store: &Arc<dyn Store>, sender: &Arc<RecordingSender>, seal: Seal) -> Push {
    let settings = PushSettings {
        seal,
        per_task: 3,
        at_once: 8,
        per_host: 2,
        retry: RetrySettings { attempts: 4, ..RetrySettings::default() },
        ..PushSettings::default()
    };
    Push::with(store.clone(), Metrics::default(), settings, sender.clone())
}

impl World {
    /// Restarts the push notifications of the same store.
    fn restarted(self, seal: Seal) -> Self {
        let Self { store, sender, push } = self;
        drop(push);
        Self { push: started(&store, &sender, seal), store, sender }
    }

    async fn begin(&self, task: &str) -> Arc<Head> {
        let created = Event::Created(Created {
            agent: "agent".into(),
            owner: me(),
            context_id: "c".into(),
            client_id: None,
            metadata: None,
        });
        let said =
            Event::Message(Message::new(format!("m-{task}"), Role::User, vec![Part::text("hi")]));
        self.append(task, vec![created, said]).await
    }

    async fn append(&self, task: &str, events: Vec<Event>) -> Arc<Head> {
        let expected = self.store.head(&me(), task).await.map_or(0, |head| head.seq);
        let append = Append { task: task.into(), expected, time: clock::now(), events };
        self.store.append(&me(), append).await.unwrap()
    }

    async fn status(&self, task: &str, state: TaskState) -> Arc<Head> {
        let status = TaskStatus::new(state);
        let metadata = None;
        self.append(task, vec![Event::Status { status, metadata }]).await
    }

    async fn set(&self, head: &Head, config: Value) -> Result<String, PushError> {
        self.set_in(Version::V1_0, head, config).await
    }

    async fn set_in(
        &self,
        version: Version,
        head: &Head,
        config: Value,
    ) -> Result<String, PushError> {
        let config = TaskPushNotificationConfig::read(config).unwrap();
        let checked = self.push.check(config, version)?;
        let stored = self.push.set(head, checked, head.seq).await?;
        Ok(stored.id.unwrap())
    }

    /// Returns the numbers of open and of given up settings in the metrics.
    fn counted(&self) -> (i64, i64) {
        let text = self.push.0.metrics.text(TextFormat::Prometheus);
        let count = |kind| {
            let name = format!("push_settings_{kind}{{agent=\"agent\"}} ");
            let line = text.lines().find_map(|line| line.split_once(&name));
            line.map_or(0, |(_, count)| count.parse().unwrap())
        };
        (count("open"), count("given_up"))
    }

    fn answer(&self, host: &str, answers: &[Answer]) {
        let answers = answers.iter().cloned().collect();
        let host = format!("{host}:443");
        self.sender.answers.lock().unwrap().insert(host, answers);
    }

    /// Returns the states of the tasks that were delivered to a host, in order.
    fn sent(&self, host: &str) -> Vec<String> {
        let deliveries = self.deliveries(host);
        let state = |(_, body): &(Instant, Value)| {
            let update = body.get("statusUpdate").unwrap_or(body);
            update["status"]["state"].as_str().unwrap().to_owned()
        };
        deliveries.iter().map(state).collect()
    }

    fn deliveries(&self, host: &str) -> Vec<(Instant, Value)> {
        let sent = self.sender.sent.lock().unwrap();
        let to_host = sent.iter().filter(|(_, delivery)| delivery.url.contains(host));
        let parsed =
            to_host.map(|(at, delivery)| (*at, serde_json::from_slice(&delivery.body).unwrap()));
        parsed.collect()
    }

    /// Advances the virtual time.
    async fn let_pass(&self, time: Duration) {
        sleep(time).await;
    }
}

fn me() -> Caller {
    Caller::new("me")
}

fn hook(host: &str) -> Value {
    json!({"url": format!("https://{host}/hook")})
}

/// Returns the same setting with the id `mine`.
fn mine(host: &str) -> Value {
    let mut config = hook(host);
    config["id"] = "mine".into();
    config
}
