//! Bots that leave: a call is dropped at every point where it waits, and what was begun is done whole.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use bridge::{
    bot::remote::{Channel, ChannelSettings},
    caller::Caller,
    host::Host,
    store::{ListQuery, SledSettings, SledStore, Store},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use super::{StandIn, eventually, message, quick, remote};
use crate::app::{polled, post, text};

const HERE: &str = "http://127.0.0.1:3978";

struct World {
    app: Router,
    store: Arc<dyn Store>,
    /// The URL for the bot's calls, without a slash at the end.
    service: String,
    conversation: String,
    _folder: TempDir,
}

/// Returns a world with a store on disk, which delays every write, and with a bot that has received a message.
async fn world() -> World {
    let bot = StandIn::that(async |_| {
        let said = json!({"activities": [{"type": "message", "text": "heard"}]});
        axum::response::IntoResponse::into_response(axum::Json(said))
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let store = SledStore::open(&SledSettings::in_folder(folder.path())).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let channel = Channel::new(store.clone(), ChannelSettings::at(HERE.parse().unwrap())).unwrap();
    let agent = channel.agent(remote("bot", &bot, quick()));
    let host = Host::new(store.clone(), [agent]).connector(channel);
    let app = host.router(HERE).await.unwrap();
    let said = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": {"message": message("hi")}});
    post(&app, "/a2a", &[("a2a-version", "1.0")], &said).await;
    let activity = bot.posts().remove(0).activity;
    let of = |pointer: &str| activity.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    World {
        app,
        store,
        service: of("/serviceUrl").trim_end_matches('/').to_owned(),
        conversation: of("/conversation/id"),
        _folder: folder,
    }
}

impl World {
    /// Makes a call whose bot leaves after this number of polls; returns the answer if it stayed to the end.
    async fn leave(&self, times: usize, path: &str, body: &Value) -> Option<Value> {
        let request = Request::post(format!("{}/v3{path}", self.service))
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        let answer = polled(times, self.app.clone().oneshot(request)).await?;
        serde_json::from_str(&text(answer.unwrap()).await).ok()
    }

    /// Returns the number of tasks, and the number of empty ones.
    async fn tasks(&self) -> (usize, usize) {
        let query = ListQuery { page_size: 100, ..ListQuery::of("bot") };
        let page = self.store.list(&Caller::anonymous(), &query).await.unwrap();
        let is_empty = |task: &&bridge::store::Snapshot| {
            task.task.history.is_empty() && task.task.status.message.is_none()
        };
        (page.total, page.tasks.iter().filter(is_empty).count())
    }
}

#[tokio::test]
async fn a_conversation_starts_with_its_first_message() {
    let world = world().await;
    let begin = json!({
        "members": [{"id": "unknown"}],
        "activity": {"type": "message", "text": "news"},
    });
    for times in 0.. {
        let answer = world.leave(times, "/conversations", &begin).await;
        eventually("no task is empty", async || (world.tasks().await.1 == 0).then_some(())).await;
        if let Some(answer) = answer {
            assert!(answer["activityId"].is_string(), "{answer}");
            return;
        }
    }
}

#[tokio::test]
async fn a_file_that_counts_is_kept() {
    let world = world().await;
    let path = format!("/conversations/{}/attachments", world.conversation);
    let upload = json!({"name": "a.txt", "type": "text/plain", "originalBase64": "aGk="});
    let nobody = Caller::anonymous();
    for times in 0.. {
        let answer = world.leave(times, &path, &upload).await;
        eventually("what counts is found", async || {
            let task = &world.conversation;
            let counted = world.store.records(&nobody, "attachment-of", task).await;
            let kept = world.store.records(&nobody, "attachment", "").await;
            (counted.unwrap().len() == kept.unwrap().len()).then_some(())
        })
        .await;
        if let Some(answer) = answer {
            assert!(answer["id"].is_string(), "{answer}");
            return;
        }
    }
}
