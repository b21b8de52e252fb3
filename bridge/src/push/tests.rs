//! Deliveries with a courier that is not the network, in virtual time.

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
use tokio::time::{Instant, sleep, timeout};

use super::{
    Push, PushError, PushSettings, RetrySettings,
    courier::{Courier, Outcome},
    letter::Letter,
};
use crate::{
    caller::Caller,
    clock,
    metrics::Metrics,
    store::{Append, Created, Event, Head, MemoryStore, Store},
};

/// Notes what it carries, and answers as it was told: by host, then with success.
#[derive(Debug, Default)]
struct Fake {
    carried: Mutex<Vec<(Instant, Letter)>>,
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
impl Courier for Fake {
    fn host(&self, letter: &Letter) -> String {
        super::target::origin(&letter.url.parse().unwrap())
    }

    async fn carry(&self, letter: &Letter) -> Outcome {
        let carried = (Instant::now(), letter.clone());
        self.carried.lock().unwrap().push(carried);
        let answer = {
            let mut answers = self.answers.lock().unwrap();
            answers
                .get_mut(&self.host(letter))
                .and_then(VecDeque::pop_front)
        };
        let failed = |again| Outcome::Failed {
            reason: "HTTP status 500".into(),
            again,
        };
        match answer {
            None => Outcome::Delivered,
            Some(Answer::Fail) => failed(None),
            Some(Answer::FailFor(time)) => failed(Some(time)),
            Some(Answer::Gone) => Outcome::Refused {
                reason: "HTTP status 410".into(),
            },
            Some(Answer::Hang(time)) => {
                sleep(time).await;
                Outcome::Delivered
            }
        }
    }
}

struct World {
    store: Arc<dyn Store>,
    courier: Arc<Fake>,
    push: Push,
}

const SECOND: Duration = Duration::from_secs(1);

fn world() -> World {
    let (store, courier): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::new()), Arc::default());
    let push = started(&store, &courier);
    World {
        store,
        courier,
        push,
    }
}

fn started(store: &Arc<dyn Store>, courier: &Arc<Fake>) -> Push {
    let settings = PushSettings {
        per_task: 3,
        at_once: 8,
        per_host: 2,
        retry: RetrySettings {
            attempts: 4,
            ..RetrySettings::default()
        },
        ..PushSettings::default()
    };
    Push::with(store.clone(), Metrics::default(), settings, courier.clone())
}

impl World {
    async fn begin(&self, task: &str) -> Arc<Head> {
        let created = Event::Created(Created {
            agent: "agent".into(),
            owner: me(),
            context_id: "c".into(),
            client_id: None,
            metadata: None,
        });
        let said = Event::Message(Message::new(
            format!("m-{task}"),
            Role::User,
            vec![Part::text("hi")],
        ));
        self.append(task, vec![created, said]).await
    }

    async fn append(&self, task: &str, events: Vec<Event>) -> Arc<Head> {
        let expected = self
            .store
            .head(&me(), task)
            .await
            .map_or(0, |head| head.seq);
        let append = Append {
            task: task.into(),
            expected,
            time: clock::now(),
            events,
        };
        self.store.append(&me(), append).await.unwrap()
    }

    async fn status(&self, task: &str, state: TaskState) -> Arc<Head> {
        let status = TaskStatus::new(state);
        let metadata = None;
        self.append(task, vec![Event::Status { status, metadata }])
            .await
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
        let kept = self.push.set(head, checked, head.seq).await?;
        Ok(kept.id.unwrap())
    }

    fn answer(&self, host: &str, answers: &[Answer]) {
        let answers = answers.iter().cloned().collect();
        let host = format!("{host}:443");
        self.courier.answers.lock().unwrap().insert(host, answers);
    }

    /// What was carried to a host: the states of what was told.
    fn carried(&self, host: &str) -> Vec<String> {
        let letters = self.letters(host);
        let state = |(_, body): &(Instant, Value)| {
            let update = body.get("statusUpdate").unwrap_or(body);
            update["status"]["state"].as_str().unwrap().to_owned()
        };
        letters.iter().map(state).collect()
    }

    fn letters(&self, host: &str) -> Vec<(Instant, Value)> {
        let carried = self.courier.carried.lock().unwrap();
        let to_host = carried
            .iter()
            .filter(|(_, letter)| letter.url.contains(host));
        let parsed =
            to_host.map(|(at, letter)| (*at, serde_json::from_slice(&letter.body).unwrap()));
        parsed.collect()
    }

    /// Lets everything happen that happens within this time.
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

#[tokio::test(start_paused = true)]
async fn each_setting_gets_every_event_in_order_and_is_done_with_the_task() {
    let world = world();
    let head = world.begin("t").await;
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    let head = world.store.head(&me(), "t").await.unwrap();
    world.set(&head, hook("two.test")).await.unwrap();
    world.status("t", TaskState::InputRequired).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    let states = [
        "TASK_STATE_WORKING",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_COMPLETED",
    ];
    assert_eq!(world.carried("one.test"), states);
    assert_eq!(world.carried("two.test"), states[1..]);
    assert_eq!(world.push.0.lanes.len(), 0);
    assert!(world.push.0.book.all_progress().await.unwrap().is_empty());
    assert_eq!(
        world.push.list(&me(), "t").await.unwrap().len(),
        2,
        "settings stay"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_taken_is_tried_again_before_what_follows() {
    let world = world();
    let head = world.begin("t").await;
    world.answer(
        "one.test",
        &[Answer::Fail, Answer::Fail, Answer::FailFor(60 * SECOND)],
    );
    world.set(&head, hook("one.test")).await.unwrap();
    let begun = Instant::now();
    world.status("t", TaskState::Working).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(100 * SECOND).await;
    let working = "TASK_STATE_WORKING";
    assert_eq!(
        world.carried("one.test"),
        [working, working, working, working, "TASK_STATE_COMPLETED"]
    );
    let after = |number: usize| world.letters("one.test")[number].0 - begun;
    assert!(after(1) >= SECOND / 2 && after(1) <= SECOND);
    assert!(after(2) - after(1) >= SECOND && after(2) - after(1) <= 2 * SECOND);
    assert_eq!(after(3) - after(2), 60 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn what_is_given_up_waits_until_somebody_wants_it_again() {
    let world = world();
    let head = world.begin("t").await;
    let fail = [const { Answer::Fail }; 4];
    world.answer("one.test", &fail);
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(100 * SECOND).await;
    assert_eq!(world.carried("one.test").len(), 4);
    let undelivered = world.push.undelivered().await.unwrap();
    let [one] = &undelivered[..] else {
        panic!("{undelivered:?}");
    };
    let told = (
        one.task.as_str(),
        one.host.as_str(),
        one.seq,
        one.attempts,
        one.reason.as_str(),
    );
    assert_eq!(told, ("t", "one.test:443", 3, 4, "HTTP status 500"));
    assert_eq!(
        started(&world.store, &world.courier)
            .resume()
            .await
            .unwrap(),
        0
    );

    assert!(world.push.retry(one).await.unwrap());
    assert!(!world.push.retry(one).await.unwrap());
    world.let_pass(SECOND).await;
    assert_eq!(
        world.carried("one.test")[4..],
        ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]
    );
    assert!(world.push.undelivered().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_gone_is_given_up_at_once_and_set_again_by_its_owner() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Gone]);
    let id = world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.push.undelivered().await.unwrap()[0].attempts, 1);
    let head = world.status("t", TaskState::Completed).await;
    let mut elsewhere = hook("two.test");
    elsewhere["id"] = id.clone().into();
    assert_eq!(world.set(&head, elsewhere).await.unwrap(), id);
    world.let_pass(SECOND).await;
    assert_eq!(
        world.carried("two.test"),
        ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_goes_on_behind_what_was_delivered() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Hang(Duration::ZERO), Answer::Fail]);
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND / 10).await;
    world.status("t", TaskState::InputRequired).await;
    world.let_pass(SECOND / 10).await;
    let World {
        store,
        courier,
        push,
    } = world;
    drop(push);
    let push = started(&store, &courier);
    assert_eq!(push.resume().await.unwrap(), 1);
    let world = World {
        store,
        courier,
        push,
    };
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    let asks = "TASK_STATE_INPUT_REQUIRED";
    assert_eq!(
        world.carried("one.test"),
        ["TASK_STATE_WORKING", asks, asks, "TASK_STATE_COMPLETED"]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_delivered_after_a_setting_was_removed() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Hang(10 * SECOND)]);
    let id = world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND).await;
    timeout(SECOND, world.push.remove(&me(), "t", &id))
        .await
        .expect("at once")
        .unwrap();
    world.push.remove(&me(), "t", &id).await.unwrap();
    world.status("t", TaskState::Completed).await;
    world.let_pass(100 * SECOND).await;
    assert_eq!(world.carried("one.test"), ["TASK_STATE_WORKING"]);
    assert_eq!(world.push.get(&me(), "t", &id).await.unwrap(), None);
    assert!(world.push.0.book.all_progress().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_slow_webhook_holds_up_nobody_else() {
    let world = world();
    let begun = Instant::now();
    world.answer(
        "slow.test",
        &[const { Answer::Hang(Duration::from_secs(15)) }; 9],
    );
    for number in 0..3 {
        let task = format!("t-{number}");
        let head = world.begin(&task).await;
        world.set(&head, hook("slow.test")).await.unwrap();
        world.set(&head, hook("quick.test")).await.unwrap();
        world.status(&task, TaskState::Completed).await;
    }
    world.let_pass(SECOND).await;
    assert_eq!(world.carried("quick.test").len(), 3);
    assert_eq!(
        world.carried("slow.test").len(),
        2,
        "two to one host at once"
    );
    world.let_pass(20 * SECOND).await;
    let slow = world.letters("slow.test");
    assert_eq!((slow.len(), slow[2].0 - begun), (3, 15 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn older_versions_get_the_task_as_it_stood() {
    let world = world();
    let head = world.begin("t").await;
    world.status("t", TaskState::Submitted).await;
    world
        .set_in(Version::V0_3, &head, hook("old.test"))
        .await
        .unwrap();
    world.set(&head, hook("new.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(
        world.carried("old.test"),
        ["submitted", "working", "completed"]
    );
    let (_, last) = &world.letters("old.test")[2];
    assert_eq!((&last["kind"], &last["id"]), (&json!("task"), &json!("t")));
    let headers = |host: &str| {
        let carried = world.courier.carried.lock().unwrap();
        let (_, letter) = carried
            .iter()
            .rfind(|(_, letter)| letter.url.contains(host))
            .unwrap();
        ["content-type", "a2a-version", "idempotency-key"]
            .map(|name| letter.headers[name].to_str().unwrap().to_owned())
    };
    assert_eq!(headers("new.test"), ["application/a2a+json", "1.0", "t/5"]);
    assert_eq!(headers("old.test"), ["application/json", "0.3", "t/5"]);
}

#[tokio::test(start_paused = true)]
async fn a_task_has_so_many_settings_and_replacing_one_is_free() {
    let world = world();
    let head = world.begin("t").await;
    for id in ["a", "b", "c", "b"] {
        let mut config = hook("one.test");
        config["id"] = id.into();
        world.set(&head, config).await.unwrap();
    }
    let error = world.set(&head, hook("one.test")).await.unwrap_err();
    let expected = "task t has 3 push notification settings, which is the limit: delete one first";
    assert_eq!(error.to_string(), expected);
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.carried("one.test").len(), 3);
}
