//! Clients that leave: a request is dropped at every point where it waits, and what was begun is done whole.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use bridge::{
    agent::{Agent, TurnSettings},
    host::Host,
    store::{SledSettings, SledStore},
};
use bridge_protocol::a2a::AgentCard;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use super::{call, loopback, receiver::Receiver, until};
use crate::{app::polled, world::CommandAgent};

struct World {
    app: Router,
    agent: CommandAgent,
    hook: Receiver,
    _folder: TempDir,
}

/// Returns a world with a store on disk, which delays every write.
async fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let store = SledStore::open(&SledSettings::in_folder(folder.path())).unwrap();
    let agent = CommandAgent::default();
    let hosted = Agent {
        name: "agent".into(),
        card: AgentCard::named("Obedient", "Does what it is told."),
        executor: Arc::new(agent.clone()),
        settings: TurnSettings::default(),
    };
    let host = Host::new(Arc::new(store), [hosted]).push(Some(loopback()));
    World {
        app: host.router("http://localhost:3978").await.unwrap(),
        agent,
        hook: Receiver::start().await,
        _folder: folder,
    }
}

impl World {
    /// Makes a request whose client leaves after this number of polls; returns whether it stayed to the end.
    async fn leave(&self, times: usize, method: &str, params: &Value) -> bool {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let request = Request::post("/a2a")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Body::from(body.to_string()))
            .unwrap();
        let answer = polled(times, self.app.clone().oneshot(request)).await;
        answer.is_some()
    }

    /// Creates a task that waits for its caller.
    async fn task(&self, name: &str) -> String {
        let sent = call(&self.app, "SendMessage", said(name, "ask", None)).await;
        sent["task"]["id"].as_str().unwrap().to_owned()
    }

    /// Completes a task, so that every webhook is called.
    async fn complete(&self, name: &str, task: &str) {
        let message = said(&format!("{name}-end"), "end", Some(task));
        call(&self.app, "SendMessage", message).await;
    }

    fn config(&self, task: &str, path: &str) -> Value {
        json!({"taskId": task, "id": "a", "url": self.hook.at(path)})
    }

    /// Returns the path of the task's webhook, if it has one.
    async fn shown(&self, task: &str) -> Option<String> {
        let method = "ListTaskPushNotificationConfigs";
        let listed = call(&self.app, method, json!({ "taskId": task })).await;
        let url = listed["configs"][0]["url"].as_str()?;
        Some(url.rsplit_once('/').unwrap().1.to_owned())
    }

    fn is_told_of_the_end(&self, path: &str) -> bool {
        let got = self.hook.got(&format!("/{path}"));
        let state = got.last().and_then(super::receiver::Delivery::state);
        state.is_some_and(|state| state.ends_with("COMPLETED"))
    }

    /// Checks that the task's webhook receives the end of the task, if there is a webhook.
    async fn settles(&self, task: &str) {
        until(async || match self.shown(task).await {
            Some(path) => self.is_told_of_the_end(&path),
            None => true,
        })
        .await;
    }
}

fn said(id: &str, text: &str, task: Option<&str>) -> Value {
    let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({ "message": message })
}

#[tokio::test]
async fn a_setting_is_set_whole_or_not_at_all() {
    let world = world().await;
    for times in 0.. {
        let name = format!("set-{times}");
        let task = world.task(&name).await;
        let method = "CreateTaskPushNotificationConfig";
        let wanted = world.config(&task, &format!("/{name}"));
        let was_there = world.leave(times, method, &wanted).await;
        world.complete(&name, &task).await;
        world.settles(&task).await;
        if was_there {
            assert!(world.is_told_of_the_end(&name));
            return;
        }
    }
}

#[tokio::test]
async fn a_setting_that_is_set_again_is_the_old_one_or_the_new_one() {
    let world = world().await;
    for times in 0.. {
        let name = format!("again-{times}");
        let task = world.task(&name).await;
        let method = "CreateTaskPushNotificationConfig";
        let first = world.config(&task, &format!("/{name}-first"));
        call(&world.app, method, first).await;
        let second = world.config(&task, &format!("/{name}-second"));
        let was_there = world.leave(times, method, &second).await;
        world.complete(&name, &task).await;
        assert!(world.shown(&task).await.is_some());
        world.settles(&task).await;
        if was_there {
            assert!(world.is_told_of_the_end(&format!("{name}-second")));
            return;
        }
    }
}

#[tokio::test]
async fn a_setting_is_deleted_or_it_is_delivered_for() {
    let world = world().await;
    for times in 0.. {
        let name = format!("deleted-{times}");
        let task = world.task(&name).await;
        let config = world.config(&task, &format!("/{name}"));
        call(&world.app, "CreateTaskPushNotificationConfig", config).await;
        let method = "DeleteTaskPushNotificationConfig";
        let params = json!({"taskId": task, "id": "a"});
        let was_there = world.leave(times, method, &params).await;
        world.complete(&name, &task).await;
        world.settles(&task).await;
        if was_there {
            assert_eq!(world.shown(&task).await, None);
            return;
        }
    }
}

#[tokio::test]
async fn a_message_that_was_kept_has_its_webhook() {
    let world = world().await;
    for times in 0.. {
        let name = format!("said-{times}");
        let mut params = said(&name, "end", None);
        params["metadata"] = json!({"by": "who left"});
        let mut first = params.clone();
        first["configuration"] =
            json!({"taskPushNotificationConfig": {"url": world.hook.at(&format!("/{name}"))}});
        let was_there = world.leave(times, "SendMessage", &first).await;
        // A message that left no trace creates the task now, without a webhook.
        params["metadata"] = json!({"by": "who stayed"});
        let sent = call(&world.app, "SendMessage", params).await;
        if sent["task"]["metadata"]["by"] == "who left" {
            until(async || world.is_told_of_the_end(&name)).await;
        }
        if was_there {
            assert_eq!(sent["task"]["metadata"]["by"], "who left", "{sent}");
            return;
        }
    }
}

#[tokio::test]
async fn the_agent_of_a_canceled_task_is_notified() {
    let world = world().await;
    for times in 0.. {
        let mut hanging = said(&format!("canceled-{times}"), "hang", None);
        hanging["configuration"] = json!({"returnImmediately": true});
        let sent = call(&world.app, "SendMessage", hanging).await;
        let params = json!({"id": sent["task"]["id"]});
        let was_there = world.leave(times, "CancelTask", &params).await;
        // One of the two requests cancels it, and the agent is notified once.
        crate::app::rpc(&world.app, Some("1.0"), "CancelTask", params.clone()).await;
        let is_told = |heard: &String| heard.starts_with("hears that");
        let told = || world.agent.heard().into_iter().filter(is_told).count();
        until(async || told() > times).await;
        assert_eq!(told(), times + 1);
        if was_there {
            return;
        }
    }
}
