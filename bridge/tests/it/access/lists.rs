//! Tests that lists, pages and streams contain only the caller's own tasks, in every binding.

use axum::Router;
#[cfg(feature = "grpc")]
use bridge_protocol::a2a::Operation;
use serde_json::{Value, json};

use super::{
    ISSUER,
    callers::{NEVER, app, bearer, task},
    ways::{Answer, ApiCall},
};
use crate::app as whole;

/// Returns a request for a page of the list in every binding that has pages, with the path to the tasks in its answer.
fn pages(token: &str) -> Vec<(&'static str, ApiCall)> {
    let asked = json!({"pageSize": 1, "pageToken": token});
    vec![
        ("/result", ApiCall::Rpc("1.0", "ListTasks", asked.clone())),
        ("", ApiCall::Get(format!("/a2a/tasks?pageSize=1&pageToken={token}"))),
        #[cfg(feature = "grpc")]
        ("", ApiCall::Grpc(Operation::ListTasks, asked)),
    ]
}

/// Returns the whole list: 0.3 has no pages and a bare array of tasks.
fn whole() -> Vec<ApiCall> {
    vec![
        ApiCall::Rpc("1.0", "ListTasks", json!({})),
        ApiCall::Get("/a2a/tasks".to_owned()),
        ApiCall::Get("/a2a/v1/tasks".to_owned()),
        #[cfg(feature = "grpc")]
        ApiCall::Grpc(Operation::ListTasks, json!({})),
    ]
}

async fn ask(app: &Router, way: &ApiCall, caller: &str) -> Answer {
    way.ask(app, &[("authorization", caller)]).await
}

#[tokio::test]
async fn a_list_has_the_callers_own_tasks() {
    let app = app().await;
    let (me, you) = (bearer(ISSUER, "me"), bearer(ISSUER, "you"));
    let (mine, yours) = (task(&app, &me).await, task(&app, &you).await);
    for way in whole() {
        for (caller, own, other) in [(&me, &mine, &yours), (&you, &yours, &mine)] {
            let text = ask(&app, &way, caller).await.text;
            assert!(text.contains(own) && !text.contains(other), "{text}");
            let list: Value = serde_json::from_str(&text).unwrap();
            let size = list.pointer("/result/totalSize").or(list.get("totalSize"));
            assert!(size.is_none_or(|size| *size == 1), "{text}");
            assert_eq!(size.is_none(), list.is_array(), "{text}");
        }
        let stranger = bearer("https://other.test", "me");
        let none = ask(&app, &way, &stranger).await.text;
        assert!(!none.contains(&mine) && !none.contains(&yours), "{none}");
    }
}

/// Two tasks of this caller, the first and the second.
async fn two_tasks(app: &Router, caller: &str) -> [String; 2] {
    let mut ids = ["1", "2"].map(str::to_owned);
    for id in &mut ids {
        let way = ApiCall::Rpc("1.0", "SendMessage", whole::say(id, "hi"));
        let told = ask(app, &way, caller).await.json();
        told["result"]["task"]["id"].as_str().unwrap().clone_into(id);
    }
    ids
}

#[tokio::test]
async fn anothers_page_is_refused_as_one_that_never_was() {
    let app = app().await;
    let (me, you) = (bearer(ISSUER, "me"), bearer(ISSUER, "you"));
    let mine = two_tasks(&app, &me).await;
    two_tasks(&app, &you).await;
    for (number, (at, first)) in pages("").into_iter().enumerate() {
        let page = async |token: &str, caller: &str| {
            let (_, way) = pages(token).remove(number);
            ask(&app, &way, caller).await
        };
        let ids = |told: &Answer| told.json().pointer(&format!("{at}/tasks/0/id")).cloned();
        let first = ask(&app, &first, &me).await;
        let next = first.json().pointer(&format!("{at}/nextPageToken")).cloned();
        let next = next.unwrap().as_str().unwrap().to_owned();
        let seen = [ids(&first), ids(&page(&next, &me).await)];
        let mut seen = seen.map(|id| id.unwrap().as_str().unwrap().to_owned());
        let mut mine = mine.clone();
        seen.sort_unstable();
        mine.sort_unstable();
        assert_eq!(seen, mine, "the owner turns the page");
        let yours = page(&next, &you).await;
        assert!(yours.text.contains("pageToken"), "{yours:?}");
        for garbage in ["nonsense".to_owned(), format!("1.{NEVER}")] {
            let refused = page(&garbage, &you).await;
            assert_eq!((refused.status, refused.text), (yours.status, yours.text.clone()));
        }
    }
}

/// Returns a request in every binding that resubscribes to this task.
fn streams(id: &str) -> Vec<ApiCall> {
    vec![
        ApiCall::Rpc("1.0", "SubscribeToTask", json!({"id": id})),
        ApiCall::Rpc("0.3", "tasks/resubscribe", json!({"id": id})),
        ApiCall::Get(format!("/a2a/tasks/{id}:subscribe")),
        ApiCall::Get(format!("/a2a/v1/tasks/{id}:subscribe")),
        #[cfg(feature = "grpc")]
        ApiCall::Grpc(Operation::SubscribeToTask, json!({"id": id})),
    ]
}

#[tokio::test]
async fn no_last_event_leads_into_anothers_task() {
    let app = app().await;
    let (me, you) = (bearer(ISSUER, "me"), bearer(ISSUER, "you"));
    let [mine, _] = two_tasks(&app, &me).await;
    let [yours, _] = two_tasks(&app, &you).await;
    for (number, own) in streams(&mine).into_iter().enumerate() {
        let asked = async |way: &ApiCall, of: &str| {
            let last = format!("{of}/1");
            let shown = [("authorization", me.as_str()), ("last-event-id", last.as_str())];
            let told = way.ask(&app, &shown).await;
            (told.status, told.text.replace(of, "ID"))
        };
        let other = streams(&yours).remove(number);
        let never = streams(NEVER).remove(number);
        // The requests use another caller's task by its id, and as the last event of the caller's own task.
        assert_eq!(asked(&other, &yours).await, asked(&never, NEVER).await);
        assert_eq!(asked(&own, &yours).await, asked(&own, NEVER).await);
        let (status, text) = asked(&own, &mine).await;
        assert!(status == 200 && !text.contains("TASK_NOT_FOUND"), "{text}");
    }
    let last = format!("{yours}/1");
    let shown = [("authorization", me.as_str()), ("last-event-id", last.as_str())];
    for way in [
        ApiCall::Rpc("1.0", "SendStreamingMessage", whole::say("3", "ho")),
        ApiCall::Post("/a2a/message:stream".to_owned(), whole::say("4", "ho")),
    ] {
        let text = way.ask(&app, &shown).await.text;
        assert!(text.contains("You said: ho") && !text.contains(&yours), "{text}");
    }
}
