//! Tests restarts of the bridge during a turn, with bots that keep running.

use std::{sync::Arc, time::Duration};

use axum::response::IntoResponse as _;
use bridge::{
    bot::remote::{RemoteSettings, TurnEndRules},
    caller::Caller,
    store::{Append, Created, Event, MemoryStore, SledSettings, SledStore, Store, TurnState},
};
use bridge_protocol::a2a::{Message, Metadata, Part, Role};
use bridge_translate::SilentEnd;
use jiff::Timestamp;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{StandIn, World, all_said, eventually, quick, remote, said, standin::Post, state};

/// Starts a bot that accepts messages and sends nothing by itself.
async fn silent() -> StandIn {
    StandIn::that(async |_| StatusCode::ACCEPTED.into_response()).await
}

/// Starts a bot that works on each message and does not answer the request meanwhile.
async fn working() -> StandIn {
    StandIn::that(async |_| std::future::pending().await).await
}

async fn first(bot: &StandIn) -> Post {
    eventually("the bot is called", async || bot.posts().into_iter().next()).await
}

async fn interrupted(bot: &StandIn, settings: &RemoteSettings, says: &[&str]) -> (World, Value) {
    let hosted = || vec![remote("bot", bot, settings.clone())];
    let world = World::with(hosted()).await;
    let task = world.begin("hi").await;
    let post = first(bot).await;
    for text in says {
        post.say(text).await;
    }
    if says.is_empty() {
        arrived(&world, &task).await;
    }
    (world.restart(hosted()).await, task)
}

/// Waits until it is logged that the bot has the message.
pub(super) async fn arrived(world: &World, task: &Value) {
    let id = task["id"].as_str().unwrap();
    eventually("it is known that the bot has the message", async || {
        let head = world.store.head(&Caller::anonymous(), id).await.unwrap();
        match &head.turns.first()?.state {
            TurnState::Started { reference, .. } => reference.as_ref().map(|_| ()),
            TurnState::Queued => None,
        }
    })
    .await;
}

#[tokio::test]
async fn an_open_turn_continues_after_a_restart() {
    let bot = silent().await;
    let (world, task) = interrupted(&bot, &quick(), &[]).await;
    assert_eq!(state(&world.task(&task["id"]).await), "TASK_STATE_WORKING");
    let post = first(&bot).await;
    post.say("one").await;
    post.send(json!({"text": "two", "inputHint": "expectingInput"})).await;
    let task = world.until(&task["id"], |task| state(task) == "TASK_STATE_INPUT_REQUIRED").await;
    assert_eq!(all_said(&task), ["one", "two"]);
    assert_eq!(bot.posts().len(), 1, "a bot is never asked twice");
}

/// A bot that types while it asks a model has the message, whether it has answered the request or not.
#[tokio::test]
async fn the_turn_of_a_bot_that_is_typing_continues_after_a_restart() {
    for answers in [true, false] {
        let bot = StandIn::that(move |post: Post| async move {
            post.send(json!({"type": "typing"})).await;
            if !answers {
                std::future::pending::<()>().await;
            }
            StatusCode::ACCEPTED.into_response()
        });
        let bot = bot.await;
        let (world, task) = interrupted(&bot, &quick(), &[]).await;
        assert_eq!(state(&world.task(&task["id"]).await), "TASK_STATE_WORKING");
        let ask = json!({"text": "two", "inputHint": "expectingInput"});
        first(&bot).await.send(ask).await;
        let is_answered = |task: &Value| state(task) == "TASK_STATE_INPUT_REQUIRED";
        let task = world.until(&task["id"], is_answered).await;
        assert_eq!(said(&task), "two");
    }
}

/// Settings of a bot whose answer ends its turn; without the answer, this silence does.
fn ended_by_answer(patience: Duration) -> RemoteSettings {
    let ending = TurnEndRules { quiet: Duration::ZERO, patience, ..quick().ending };
    RemoteSettings { ending, ..quick() }
}

#[tokio::test]
async fn what_a_bot_said_before_a_restart_decides_how_its_turn_ends() {
    let settings = ended_by_answer(Duration::from_secs(1));
    let settings = RemoteSettings { silent_end: SilentEnd::Completed, ..settings };
    for (hint, expected) in [
        ("expectingInput", "TASK_STATE_INPUT_REQUIRED"),
        ("acceptingInput", "TASK_STATE_COMPLETED"),
    ] {
        let bot = working().await;
        let hosted = || vec![remote("bot", &bot, settings.clone())];
        let world = World::with(hosted()).await;
        let task = world.begin("hi").await;
        first(&bot).await.send(json!({"text": "one or two", "inputHint": hint})).await;
        let world = world.restart(hosted()).await;
        let task = world.until(&task["id"], |task| state(task) != "TASK_STATE_WORKING").await;
        assert_eq!((state(&task), all_said(&task)), (expected, vec!["one or two".to_owned()]));
    }
}

#[tokio::test]
async fn messages_before_a_restart_are_kept() {
    let bot = working().await;
    let settings = ended_by_answer(Duration::from_secs(3));
    let (world, task) = interrupted(&bot, &settings, &["one", "two"]).await;
    first(&bot).await.say("three").await;
    let task = world.until(&task["id"], |task| state(task) == "TASK_STATE_INPUT_REQUIRED").await;
    assert_eq!(all_said(&task), ["one", "two", "three"]);
    assert_eq!(said(&task), "three");
}

#[tokio::test]
async fn messages_before_a_restart_are_in_the_final_task() {
    let bot = working().await;
    let settings = ended_by_answer(Duration::from_millis(150));
    let (world, task) = interrupted(&bot, &settings, &["all I have to say"]).await;
    let task = world.until(&task["id"], |task| state(task) == "TASK_STATE_INPUT_REQUIRED").await;
    assert_eq!(said(&task), "all I have to say");
}

/// Returns a store in which an earlier process has begun a turn that is still open for this time.
async fn begun(open_for: Duration) -> Arc<dyn Store> {
    let store = MemoryStore::new();
    let (caller, now) = (Caller::anonymous(), Timestamp::now());
    let created = Created {
        agent: "bot".into(),
        owner: caller.clone(),
        context_id: "context".into(),
        client_id: None,
        metadata: None,
    };
    let append = Append {
        task: "task".into(),
        expected: 0,
        time: now,
        events: vec![
            Event::Created(created),
            Event::Message(Message::new("m-1", Role::User, vec![Part::text("hi")])),
            Event::TurnQueued {
                turn: 1,
                message_id: "m-1".into(),
                names_context: None,
                traceparent: None,
            },
            Event::TurnStarted {
                turn: 1,
                open_until: Some(now + open_for),
                reference: Some(Metadata::new()),
            },
        ],
    };
    store.append(&caller, append).await.unwrap();
    Arc::new(store)
}

#[tokio::test]
async fn an_open_turn_has_its_limit_over_a_restart_too() {
    let bot = silent().await;
    let any = "127.0.0.1:0".parse().unwrap();
    for open_for in [Duration::ZERO, Duration::from_millis(200)] {
        let bots = vec![remote("bot", &bot, quick())];
        let world = World::start(any, begun(open_for).await, bots).await;
        let task = world.until(&json!("task"), |task| state(task) == "TASK_STATE_FAILED").await;
        let expected = "The bridge was restarted, and the agent did not answer in time.";
        assert_eq!(said(&task), expected);
    }
    assert!(bot.posts().is_empty(), "a bot is never asked twice");
}

#[tokio::test]
async fn a_bot_that_is_silent_after_a_restart_fails_the_turn_before_its_limit() {
    let bot = silent().await;
    let any = "127.0.0.1:0".parse().unwrap();
    let settings = RemoteSettings { request_timeout: Duration::from_millis(200), ..quick() };
    let open_until_much_later = begun(Duration::from_secs(3600)).await;
    let world = World::start(any, open_until_much_later, vec![remote("bot", &bot, settings)]).await;
    let task = world.until(&json!("task"), |task| state(task) == "TASK_STATE_FAILED").await;
    assert_eq!(said(&task), "The agent could not answer: it was silent for 200ms.");
}

#[tokio::test]
async fn a_conversation_on_disk_continues_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let open = || -> Arc<dyn Store> {
        Arc::new(SledStore::open(&SledSettings::in_folder(folder.path())).unwrap())
    };
    let bot = StandIn::echo().await;
    let hosted = || vec![remote("bot", &bot, quick())];
    let any = "127.0.0.1:0".parse().unwrap();
    let mut world = World::start(any, open(), hosted()).await;
    let task = world.say("hi").await;
    let address = world.address;
    world.kill();
    drop(world);
    let reopened = eventually("the store is free", async || {
        SledStore::open(&SledSettings::in_folder(folder.path())).ok()
    })
    .await;
    let world = World::start(address, Arc::new(reopened), hosted()).await;
    first(&bot).await.say("I am still here").await;
    assert_eq!(said(&world.task(&task["id"]).await), "I am still here");
}
