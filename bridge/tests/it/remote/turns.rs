//! Tests the meaning of the end of a turn for each turn mode.

use std::{sync::Arc, time::Duration};

use axum::response::IntoResponse as _;
use bridge::bot::{
    TurnMode,
    remote::{RemoteSettings, TurnEndRules},
};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{StandIn, World, all_said, eventually, message, said, standin::Post, state};

fn with(turns: TurnMode) -> RemoteSettings {
    let usual = RemoteSettings::with(turns);
    RemoteSettings {
        ending: TurnEndRules {
            quiet: Duration::from_millis(300),
            settle: usual.ending.settle.map(|_| Duration::from_millis(300)),
            ..usual.ending
        },
        ..usual
    }
}

/// Returns a bot that asks for a name, greets the user by it, and remembers the messages of a conversation.
async fn host() -> StandIn {
    StandIn::that(async |post: Post| {
        let fields = match post.text() {
            "hi" => json!({"text": "Who is there?", "inputHint": "expectingInput"}),
            "where" => json!({"text": post.conversation()}),
            name => json!({"text": format!("Hello {name}"), "inputHint": "acceptingInput"}),
        };
        post.send(fields).await;
        StatusCode::OK.into_response()
    })
    .await
}

fn in_context(task: &Value, text: &str) -> Value {
    let mut message = message(text);
    message["contextId"] = task["contextId"].clone();
    message
}

/// Returns all events of a stream in 0.3.
async fn stream_0_3(world: &World, params: &Value) -> Vec<Value> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": params});
    let url = format!("http://{}/a2a/bot", world.address);
    let sent = reqwest::Client::new().post(url).json(&body).send().await;
    let text = sent.unwrap().text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|event| serde_json::from_str(event).unwrap()).collect()
}

/// The metadata of a request is for the agent, also if its message is not the first of its task.
#[tokio::test]
async fn a_bot_gets_the_metadata_of_each_request() {
    let bot = host().await;
    let world = World::of(&bot, with(TurnMode::Answers)).await;
    let send = async |message: Value, metadata: Value| {
        let params = json!({"message": message, "metadata": metadata});
        let answer = world.client.call("bot", "SendMessage", &params).await;
        answer.unwrap()["result"]["task"].clone()
    };
    let asked = send(message("hi"), json!({"plan": "free", "region": "eu"})).await;
    let mut answer = in_context(&asked, "Ann");
    answer["taskId"] = asked["id"].clone();
    let event = json!({"type": "event"});
    let copied = json!({"plan": "paid", "urn:activity:event": event});
    let greeted = send(answer, copied).await;
    let expected = json!({"plan": "paid", "region": "eu"});
    assert_eq!(greeted["metadata"], expected);
    let got = bot.posts().into_iter();
    let got: Vec<Value> =
        got.map(|post| post.activity["channelData"]["metadata"].clone()).collect();
    assert_eq!(got, [json!({"plan": "free", "region": "eu"}), expected]);
}

#[tokio::test]
async fn an_answer_completes_its_task_and_the_conversation_continues_in_the_next() {
    let bot = host().await;
    let world = World::of(&bot, with(TurnMode::Answers)).await;
    let asked = world.say("hi").await;
    assert_eq!((state(&asked), said(&asked)), ("TASK_STATE_INPUT_REQUIRED", "Who is there?"));
    assert_eq!(asked["artifacts"], Value::Null);
    let mut answer = in_context(&asked, "Ann");
    answer["taskId"] = asked["id"].clone();
    let greeted = world.send("bot", answer).await;
    assert_eq!(greeted["id"], asked["id"]);
    assert_eq!((state(&greeted), said(&greeted)), ("TASK_STATE_COMPLETED", "Hello Ann"));
    let artifacts = greeted["artifacts"].as_array().unwrap();
    let id = artifacts[0]["artifactId"].as_str().unwrap();
    assert_eq!((artifacts.len(), id.ends_with(".answer")), (1, true));
    assert_eq!(greeted["status"]["message"], Value::Null);
    assert_eq!(all_said(&greeted), ["Who is there?", "Hello Ann"]);
    let next = world.send("bot", in_context(&asked, "where")).await;
    assert_ne!(next["id"], asked["id"]);
    assert_eq!(json!(said(&next)), asked["contextId"]);
    let conversations = bot.posts();
    let mut conversations = conversations.iter().map(Post::conversation);
    assert!(conversations.all(|one| json!(one) == asked["contextId"]));
}

#[tokio::test]
async fn a_turn_is_judged_when_it_is_over() {
    let bot = StandIn::that(async |post: Post| {
        post.send(json!({"text": "Anything else?", "inputHint": "expectingInput"})).await;
        post.send(json!({"type": "endOfConversation"})).await;
        StatusCode::ACCEPTED.into_response()
    })
    .await;
    let world = World::of(&bot, with(TurnMode::Answers)).await;
    let task = world.say("hi").await;
    assert_eq!((state(&task), said(&task)), ("TASK_STATE_COMPLETED", "Anything else?"));
    let old = json!({"message": {"kind": "message", "messageId": "old", "role": "user",
        "parts": [{"kind": "text", "text": "hi"}]}});
    let events = stream_0_3(&world, &old).await;
    let finals: Vec<&Value> =
        events.iter().filter(|event| event["result"]["final"] == json!(true)).collect();
    assert_eq!(finals.len(), 1, "{events:?}");
    assert_eq!(finals[0]["result"]["status"]["state"], "completed");
}

#[tokio::test]
async fn a_late_bot_is_waited_for_until_it_is_quiet() {
    let bot = StandIn::that(async |post: Post| {
        post.say("Working on it").await;
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            post.say("Done").await;
        });
        StatusCode::OK.into_response()
    })
    .await;
    let mut settings = with(TurnMode::Late);
    // Only after this long is its first message taken for its last.
    settings.ending.settle = Some(Duration::from_secs(20));
    let world = World::of(&bot, settings).await;
    let task = world.say("hi").await;
    assert_eq!((state(&task), said(&task)), ("TASK_STATE_COMPLETED", "Done"));
}

#[tokio::test]
async fn a_bot_that_answers_before_it_speaks_is_waited_for() {
    let bot = StandIn::that(async |post: Post| {
        tokio::spawn(async move {
            // Without the wait, the turn is over by then.
            tokio::time::sleep(Duration::from_millis(500)).await;
            post.send(json!({"text": "Is that all?", "inputHint": "expectingInput"})).await;
        });
        StatusCode::OK.into_response()
    })
    .await;
    let mut settings = with(TurnMode::Answers);
    settings.ending.quiet = Duration::from_secs(20);
    let world = World::of(&bot, settings).await;
    let task = world.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(all_said(&task), ["Is that all?"]);
}

#[tokio::test]
async fn a_bot_for_dotnet_works_until_it_ends_the_conversation() {
    let bot = StandIn::that(async |post: Post| {
        let fields = match post.text() {
            "end" => json!({"type": "endOfConversation", "text": "bye"}),
            text => json!({"text": text}),
        };
        post.send(fields).await;
        StatusCode::OK.into_response()
    })
    .await;
    let world = World::of(&bot, with(TurnMode::Dotnet)).await;
    let begun = world.begin("hi").await;
    let task = world.until(&begun["id"], |task| said(task) == "hi").await;
    assert_eq!(state(&task), "TASK_STATE_WORKING");
    let mut end = message("end");
    end["taskId"] = task["id"].clone();
    let ended = world.send("bot", end).await;
    assert_eq!((state(&ended), said(&ended)), ("TASK_STATE_COMPLETED", "bye"));
    let posts = bot.posts();
    assert!(posts.iter().all(|post| json!(post.conversation()) == task["id"]));
}

/// Returns the reports of a stream's status updates under `urn:activity:event`, and all texts of its artifacts.
fn reported(items: &[Value]) -> (Vec<Value>, Vec<&str>) {
    let results = || items.iter().map(|item| &item["result"]);
    let events = results().filter_map(|one| one["metadata"].get("urn:activity:event").cloned());
    let parts = results().flat_map(|one| one["artifact"]["parts"].as_array().into_iter().flatten());
    (events.collect(), parts.filter_map(|part| part["text"].as_str()).collect())
}

#[tokio::test]
async fn events_of_a_bot_reach_streams_and_its_task_remembers_all() {
    let bot = StandIn::that(async |post: Post| {
        post.send(json!({"text": "before"})).await;
        for name in ["first", "second"] {
            post.send(json!({"type": "event", "name": name, "value": {"k": name}})).await;
        }
        post.send(json!({"type": "typing"})).await;
        post.send(json!({"text": "done"})).await;
        StatusCode::OK.into_response()
    })
    .await;
    let world = World::of(&bot, with(TurnMode::Answers)).await;
    let message =
        json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "go"}]});
    let items = stream_0_3(&world, &json!({ "message": message })).await;
    let (events, texts) = reported(&items);
    let names: Vec<_> = events.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["first", "second"], "{items:#?}");
    assert_eq!(texts, ["before", "done"]);
    let events_with_message = items.iter().filter(|item| {
        let result = &item["result"];
        result["metadata"].get("urn:activity:event").is_some()
            && result["status"].get("message").is_some()
    });
    assert_eq!(events_with_message.count(), 0);
    let task = world.task(&items[0]["result"]["id"]).await;
    let remembered = task["metadata"]["urn:activity:events"].as_array().unwrap();
    let names: Vec<_> = remembered.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(task["metadata"]["urn:activity:event"]["name"], "second");
}

#[tokio::test]
async fn the_answer_to_a_card_button_is_shown() {
    let bot = StandIn::that(async |post: Post| {
        assert_eq!(post.activity["name"], "adaptiveCard/action");
        axum::Json(json!({"statusCode": 200, "type": "application/vnd.microsoft.card.adaptive",
            "value": {"type": "AdaptiveCard", "body": [{"type": "TextBlock", "text": "Booked"}]}}))
        .into_response()
    })
    .await;
    let world = World::of(&bot, with(TurnMode::Answers)).await;
    let part = json!({"kind": "data", "data": {"action": {"type": "Action.Execute", "verb": "book"}},
        "metadata": {"urn:activity:invoke": {"name": "adaptiveCard/action"}}});
    let message = json!({"messageId": "m", "role": "user", "parts": [part]});
    let items = stream_0_3(&world, &json!({ "message": message })).await;
    let (events, texts) = reported(&items);
    assert_eq!(events[0]["type"], "invokeResponse");
    assert_eq!(texts, ["Booked"], "{items:#?}");
}

#[tokio::test]
async fn a_late_answer_to_an_ended_task_is_no_part_of_the_answer_to_the_next() {
    let is_late_said = Arc::new(Notify::new());
    let late_said = is_late_said.clone();
    let bot = StandIn::that(move |post: Post| {
        let is_late_said = is_late_said.clone();
        async move {
            if post.text() == "two" {
                is_late_said.notified().await;
            }
            post.say(&format!("did {}", post.text())).await;
            StatusCode::OK.into_response()
        }
    })
    .await;
    let world = World::of(&bot, with(TurnMode::Answers)).await;
    let one = world.say("one").await;
    let two = world.ask("bot", in_context(&one, "two"), true).await;
    let two = &two["result"]["task"];
    let both = async || Some(bot.posts()).filter(|posts| posts.len() == 2);
    let posts = eventually("the bot works on the second message", both).await;
    posts[0].say("late, for one").await;
    late_said.notify_one();
    let two = world.until(&two["id"], |task| state(task) == "TASK_STATE_COMPLETED").await;
    assert_eq!(all_said(&two), ["did two"]);
    let params = json!({"contextId": one["contextId"], "includeArtifacts": true});
    let listed = world.client.call("bot", "ListTasks", &params).await.unwrap();
    let all = listed["result"]["tasks"].as_array().unwrap().clone();
    let late = |task: &&Value| all_said(task) == ["late, for one"];
    let late = all.iter().find(late);
    let late = late.unwrap_or_else(|| panic!("no task of its own: {all:#?}"));
    assert_eq!(late["metadata"]["urn:activity:follows"], json!({"taskId": one["id"]}));
}

/// Bots on the Bot Framework for Python name no turn in their calls.
#[tokio::test]
async fn a_call_that_names_no_turn_is_of_the_running_one_however_many_messages_wait() {
    let all_wait = Arc::new(Notify::new());
    let is_full = all_wait.clone();
    let bot = StandIn::that(move |post: Post| {
        let all_wait = all_wait.clone();
        async move {
            if post.text() == "first" {
                all_wait.notified().await;
            }
            let said = json!({"type": "message", "text": format!("did {}", post.text())});
            assert_eq!(post.call("POST", &post.below("/activities"), &said).await.0, 200);
            StatusCode::OK.into_response()
        }
    })
    .await;
    let world = World::of(&bot, with(TurnMode::Answers)).await;
    let mut tasks = vec![world.begin("first").await];
    for number in 2..12 {
        let waiting = world.ask("bot", in_context(&tasks[0], &number.to_string()), true).await;
        tasks.push(waiting["result"]["task"].clone());
    }
    is_full.notify_one();
    let is_over = |task: &Value| state(task) == "TASK_STATE_COMPLETED";
    let first = world.until(&tasks[0]["id"], is_over).await;
    assert_eq!(all_said(&first), ["did first"]);
    let last = world.until(&tasks[10]["id"], is_over).await;
    assert_eq!(all_said(&last), ["did 11"]);
}
