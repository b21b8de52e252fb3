//! A fake bot: an HTTP server whose behavior is a function.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{ConnectInfo, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::future::BoxFuture;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

type Behaviour = Arc<dyn Fn(Post) -> BoxFuture<'static, Response> + Send + Sync>;

/// A bot.
pub(crate) struct StandIn {
    /// The URL at which it takes activities.
    pub(crate) url: String,
    posts: Arc<Mutex<Vec<Post>>>,
    server: JoinHandle<()>,
}

/// An activity that the bot got.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) activity: Value,
    pub(crate) headers: HeaderMap,
    /// The other end of the connection.
    pub(crate) peer: SocketAddr,
    http: reqwest::Client,
}

impl StandIn {
    /// Starts a bot that does this with every activity.
    pub(crate) async fn that<F, R>(does: F) -> Self
    where
        F: Fn(Post) -> R + Send + Sync + 'static,
        R: Future<Output = Response> + Send + 'static,
    {
        Self::at("127.0.0.1:0".parse().unwrap(), does).await
    }

    /// Starts the bot at this address.
    pub(crate) async fn at<F, R>(address: SocketAddr, does: F) -> Self
    where
        F: Fn(Post) -> R + Send + Sync + 'static,
        R: Future<Output = Response> + Send + 'static,
    {
        let posts: Arc<Mutex<Vec<Post>>> = Arc::default();
        let behaviour: Behaviour = Arc::new(move |post| Box::pin(does(post)));
        let app =
            Router::new().route("/api/messages", post(take)).with_state((behaviour, posts.clone()));
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}/api/messages", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, posts, server }
    }

    /// Starts a bot that echoes as those on the SDKs for JavaScript do: it sends its message before it answers the request.
    pub(crate) async fn echo() -> Self {
        Self::that(async |post| {
            post.say(&format!("Echo: {}", post.text())).await;
            StatusCode::OK.into_response()
        })
        .await
    }

    /// Returns the activities that it got so far.
    pub(crate) fn posts(&self) -> Vec<Post> {
        self.posts.lock().unwrap().clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn take(
    State((behaviour, posts)): State<(Behaviour, Arc<Mutex<Vec<Post>>>)>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(activity): Json<Value>,
) -> Response {
    let post = Post { activity, headers, peer, http: reqwest::Client::new() };
    posts.lock().unwrap().push(post.clone());
    behaviour(post).await
}

impl Post {
    pub(crate) fn text(&self) -> &str {
        self.activity["text"].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &str {
        self.activity["id"].as_str().unwrap()
    }

    pub(crate) fn conversation(&self) -> &str {
        self.activity["conversation"]["id"].as_str().unwrap()
    }

    /// Returns the URL of a route of the connector for this bot.
    pub(crate) fn route(&self, path: &str) -> String {
        let base = self.activity["serviceUrl"].as_str().unwrap();
        format!("{}/v3{path}", base.trim_end_matches('/'))
    }

    /// Returns the URL of a path below the conversation.
    pub(crate) fn below(&self, path: &str) -> String {
        self.route(&format!("/conversations/{}{path}", self.conversation()))
    }

    /// Returns an answer to the activity, as SDKs make it.
    pub(crate) fn reply(&self, mut fields: Value) -> Value {
        let mut reply = json!({
            "type": "message",
            "serviceUrl": self.activity["serviceUrl"],
            "channelId": self.activity["channelId"],
            "from": self.activity["recipient"],
            "recipient": self.activity["from"],
            "conversation": self.activity["conversation"],
            "replyToId": self.activity["id"],
        });
        let own = reply.as_object_mut().unwrap();
        own.append(fields.as_object_mut().unwrap());
        reply
    }

    /// Sends a message; returns the id that the channel gave it.
    pub(crate) async fn say(&self, text: &str) -> String {
        self.send(json!({ "text": text })).await
    }

    /// Sends an answer with these fields.
    pub(crate) async fn send(&self, fields: Value) -> String {
        let url = self.below(&format!("/activities/{}", self.id()));
        let (status, body) = self.call("POST", &url, &self.reply(fields)).await;
        assert_eq!(status, 200, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    /// Calls a route.
    pub(crate) async fn call(&self, method: &str, url: &str, body: &Value) -> (u16, Value) {
        let mut request = self.http.request(method.parse().unwrap(), url);
        if !body.is_null() {
            request = request.json(body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.bytes().await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }
}
