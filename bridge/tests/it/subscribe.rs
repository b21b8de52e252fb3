//! SubscribeToTask (specification 3.1.6): any number of streams of a task show the same, whenever they begin,
//! wherever they are taken up again, and whatever happens to the program meanwhile.

use std::{sync::Arc, time::Duration};

use bridge::service::{Context, StreamItem};
use bridge_protocol::a2a::{GetTaskRequest, StreamResponse, SubscribeToTaskRequest, Task};
use futures_util::{
    StreamExt as _,
    future::{join_all, ready},
};
use reqwest_eventsource::{Error, Event, EventSource, retry};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    client::Client,
    program::Bridge,
    world::{World, at_once, fresh, me, say, send},
};

/// The time limit of a stream that must end.
const PATIENCE: Duration = Duration::from_secs(300);

async fn subscribed(world: &World, task: &Task, context: &Context) -> Vec<StreamItem> {
    let request = SubscribeToTaskRequest::new(task.id.as_str());
    let items = world.service.subscribe_to_task(context, request).await;
    items.unwrap().map(Result::unwrap).collect().await
}

/// Returns a task of three turns, with a stream for each moment of it.
async fn watched(world: &World) -> (Task, Vec<Vec<StreamItem>>) {
    let task = send(world, at_once("begin and slow ask", None)).await.unwrap();
    let streams = (0..24_u32).map(|number| {
        let task = &task;
        async move {
            sleep(Duration::from_millis(300) * number).await;
            subscribed(world, task, &me()).await
        }
    });
    let talk = async {
        for (text, pause) in [("slow ask", 2), ("slow", 2)] {
            sleep(Duration::from_secs(pause)).await;
            send(world, say(text, Some(&task))).await.unwrap();
        }
    };
    let (streams, ()) = tokio::join!(join_all(streams), talk);
    (task, streams)
}

#[tokio::test(start_paused = true)]
async fn every_stream_begins_with_the_task_and_shows_all_that_follows() {
    let world = fresh();
    let (task, streams) = watched(&world).await;
    let whole = &streams[0];
    let ended = world.service.get_task(&me(), GetTaskRequest::new(task.id)).await.unwrap();
    let mut beginnings = Vec::new();
    for items in &streams {
        let StreamResponse::Task(seen) = items[0].response.clone() else {
            panic!("{:?}", items[0]);
        };
        let mut seen = Arc::unwrap_or_clone(seen);
        let later = |item: &&StreamItem| item.position.seq > items[0].position.seq;
        let expected: Vec<_> = whole[1..].iter().filter(later).cloned().collect();
        assert_eq!(items[1..], expected);
        for item in &items[1..] {
            seen.apply(item.response.clone().map_task(Arc::unwrap_or_clone));
        }
        assert_eq!((&seen.status, &seen.artifacts), (&ended.status, &ended.artifacts));
        beginnings.push(items[0].position.seq);
    }
    beginnings.dedup();
    assert!(beginnings.len() > 2 && beginnings.is_sorted(), "{beginnings:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_taken_up_again_behind_any_event() {
    let world = fresh();
    let (task, streams) = watched(&world).await;
    let whole = &streams[0];
    for last in 0..=whole.last().unwrap().position.seq + 1 {
        let mut context = me();
        context.last_event = Some(format!("{}/{last}", task.id).parse().unwrap());
        let again = subscribed(&world, &task, &context).await;
        let later = whole[1..].iter().filter(|item| item.position.seq > last);
        let expected: Vec<_> = later.cloned().collect();
        // The events of the first message are in the task of a stream that begins with it.
        let again: Vec<_> =
            again.into_iter().filter(|item| item.position.seq > whole[0].position.seq).collect();
        assert_eq!(again, expected, "after {last}");
    }
}

/// Returns the ids and results of a stream over HTTP.
async fn stream(
    bridge: &Bridge,
    version: &str,
    task: &str,
    last: Option<&str>,
) -> Vec<(String, Value)> {
    let method = if version == "1.0" { "SubscribeToTask" } else { "tasks/resubscribe" };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": task}});
    let request = reqwest::Client::new().post(format!("{}/a2a/sample", bridge.url()));
    let mut request = request.header("a2a-version", version).json(&body);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let mut source = EventSource::new(request).unwrap();
    source.set_retry_policy(Box::new(retry::Never));
    let events = source.filter_map(|event| {
        ready(match event {
            Ok(Event::Message(message)) => Some(message),
            Ok(Event::Open) | Err(Error::StreamEnded) => None,
            Err(error) => panic!("{error}"),
        })
    });
    let read = events.map(|event| {
        let mut answer: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(answer["id"], 1);
        let key = if answer.get("result").is_some() { "result" } else { "error" };
        (event.id, answer[key].take())
    });
    timeout(PATIENCE, read.collect()).await.expect("the stream ends")
}

fn message(id: &str, text: &str, task: Option<&str>) -> Value {
    let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({ "message": message })
}

#[tokio::test]
async fn streams_go_on_after_the_program_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sled:{}", folder.path().join("data").display());
    let serve = || Bridge::serve(&["--store", &store, "--builtin", "sample"]);
    let mut bridge = serve();
    let sent = Client::of(bridge.url())
        .call("sample", "SendMessage", &message("m-1", "-multi", None))
        .await;
    let task = sent.unwrap()["result"]["task"]["id"].as_str().unwrap().to_owned();
    bridge.kill();
    let bridge = serve();
    let client = Client::of(bridge.url());
    let talk = async {
        for (id, text) in [("m-2", "one"), ("m-3", "two"), ("m-4", "end")] {
            sleep(Duration::from_millis(50)).await;
            client.call("sample", "SendMessage", &message(id, text, Some(&task))).await.unwrap();
        }
    };
    let streams = join_all((0..5).map(|_| stream(&bridge, "1.0", &task, None)));
    let old = stream(&bridge, "0.3", &task, None);
    let (streams, old, ()) = tokio::join!(streams, old, talk);
    let (_, first) = &streams[0][0];
    assert_eq!(first["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let (_, last) = streams[0].last().unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    for other in &streams[1..] {
        assert_eq!(*other, streams[0]);
    }
    let ids =
        |items: &[(String, Value)]| items.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&old), ids(&streams[0]), "0.3 sees the same events");
    let is_final = |(_, item): &(String, Value)| item["final"] == true;
    assert!(is_final(old.last().unwrap()), "{old:?}");
    for (number, (id, _)) in streams[0].iter().enumerate() {
        let again = stream(&bridge, "1.0", &task, Some(id)).await;
        assert_eq!(again, streams[0][number + 1..], "after {id}");
    }
}

#[tokio::test]
async fn the_stream_of_an_ended_task_is_refused_in_1_0_and_is_the_task_before() {
    let bridge = Bridge::serve(&["--store", "memory", "--builtin", "sample"]);
    let client = Client::of(bridge.url());
    let sent = client.call("sample", "SendMessage", &message("m-1", "hi", None)).await.unwrap();
    let task = sent["result"]["task"]["id"].as_str().unwrap();
    let refused = client.call("sample", "SubscribeToTask", &json!({"id": task})).await.unwrap();
    assert_eq!(refused["error"]["code"], -32004, "{refused}");
    let whole = stream(&bridge, "0.3", task, None).await;
    let seen: Vec<_> =
        whole.iter().map(|(_, item)| (&item["id"], &item["status"]["state"])).collect();
    assert_eq!(seen, [(&json!(task), &json!("completed"))], "{whole:?}");
}
