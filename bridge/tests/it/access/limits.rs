//! Tests the limits of callers, in the form of each binding: what one caller takes, no other loses.

use std::{
    net::SocketAddr,
    num::NonZeroU32,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{Router, extract::ConnectInfo};
use bridge::{
    executor::{Executor, Turn, Update, async_trait},
    quota::QuotaSettings,
};
#[cfg(feature = "grpc")]
use bridge_protocol::a2a::Operation;
use bridge_protocol::a2a::TaskState;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tower::{Layer, Service};

use super::{host, secrets, ways::ApiCall};
use crate::app;

const ALICE: (&str, &str) = ("x-key", "alice's");
const BOB: (&str, &str) = ("x-key", "bob's");
const GUESS: (&str, &str) = ("x-key", "guess");

/// An agent that asks back, so that its tasks do not end.
struct Asking;

#[async_trait]
impl Executor for Asking {
    async fn execute(&self, _: Turn) -> Vec<Update> {
        vec![Update::said(TaskState::InputRequired, "q", "Which one?")]
    }
}

/// Gives all requests an address, as a server does.
#[derive(Clone)]
struct WithAddress<S>(SocketAddr, S);

impl<S: Service<axum::extract::Request>> Service<axum::extract::Request> for WithAddress<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.1.poll_ready(context)
    }

    fn call(&mut self, mut request: axum::extract::Request) -> S::Future {
        request.extensions_mut().insert(ConnectInfo(self.0));
        self.1.call(request)
    }
}

#[derive(Clone, Copy)]
struct At(SocketAddr);

impl<S> Layer<S> for At {
    type Service = WithAddress<S>;

    fn layer(&self, inner: S) -> WithAddress<S> {
        WithAddress(self.0, inner)
    }
}

/// Returns an agent for Alice and Bob, whose requests come from this address.
async fn app(quota: QuotaSettings, address: &str) -> Router {
    let card = json!({
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
    });
    let checks = [("key", secrets(&[("alice", ALICE.1), ("bob", BOB.1)]))];
    let host = host(&card, &checks, Arc::new(Asking)).quota(quota);
    let app = host.router("http://localhost:3978").await.unwrap();
    app.layer(At(address.parse().unwrap()))
}

fn of(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn say(id: usize) -> Value {
    app::say(&format!("m-{id}"), "hello")
}

/// Returns the same request in every binding.
fn ways() -> Vec<ApiCall> {
    vec![
        ApiCall::Rpc("1.0", "ListTasks", json!({})),
        ApiCall::Get("/a2a/tasks".to_owned()),
        #[cfg(feature = "grpc")]
        ApiCall::Grpc(Operation::ListTasks, json!({})),
    ]
}

/// Checks that a refusal says, in the form of its binding, which limit is exceeded and when to try again.
async fn assert_refused(app: &Router, way: &ApiCall, shown: (&str, &str), message: &str) {
    let told = way.ask(app, &[shown]).await;
    let said = told.json();
    let error = match way {
        ApiCall::Rpc(..) | ApiCall::Get(_) | ApiCall::Post(..) => &said["error"],
        #[cfg(feature = "grpc")]
        ApiCall::Grpc(..) => &said,
    };
    let text = error["message"].as_str().unwrap_or_default();
    assert!(text.contains(message), "{told:?}");
    let details = match way {
        ApiCall::Rpc(..) => &error["data"],
        ApiCall::Get(_) | ApiCall::Post(..) => &error["details"],
        #[cfg(feature = "grpc")]
        ApiCall::Grpc(..) => &error["details"],
    };
    assert_eq!(details[0]["reason"], "RESOURCE_EXHAUSTED", "{told:?}");
    let delay = details[1]["retryDelay"].as_str().unwrap_or_default();
    assert!(delay.ends_with('s') && delay != "0s", "{told:?}");
    if let ApiCall::Get(_) | ApiCall::Post(..) = way {
        assert_eq!((told.status, error["code"].as_u64()), (429, Some(429)));
        assert_eq!(told.headers["retry-after"], delay.trim_end_matches('s'));
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_above_its_rate_gets_retry_after() {
    let quota = QuotaSettings { requests: of(1), ..QuotaSettings::default() };
    let app = app(quota, "127.0.0.1:1").await;
    // Two at once, and one that waits for a second.
    for _ in 0..3 {
        let told = ways()[0].ask(&app, &[ALICE]).await;
        assert_eq!(told.status, 200, "{told:?}");
    }
    let ask = ways();
    let all = ask.iter().map(|way| way.ask(&app, &[ALICE]));
    let told = futures_util::future::join_all(all).await;
    let refused = told.iter().filter(|told| told.status == 429).count();
    assert_eq!(refused, ask.len() - 1, "one more waits: {told:?}");
    assert_eq!(ways()[0].ask(&app, &[BOB]).await.status, 200);
    let text = app::text(app::get(&app, "/metrics", None).await).await;
    let line = format!(
        r#"bridge_limited_total{{agent="echo",limit="requests",outcome="refused"}} {refused}"#
    );
    assert!(text.contains(&line), "{text}");
}

#[tokio::test(start_paused = true)]
async fn each_binding_says_that_a_caller_asked_too_often() {
    let quota = QuotaSettings { requests: of(1), ..QuotaSettings::default() };
    for way in ways() {
        let app = app(quota, "127.0.0.1:1").await;
        let early = (0..4).map(|_| way.ask(&app, &[ALICE]));
        let held = futures_util::future::join_all(early);
        let (_, ()) = tokio::join!(held, async {
            tokio::task::yield_now().await;
            let message = "a caller may send 1 requests a second";
            assert_refused(&app, &way, ALICE, message).await;
        });
    }
}

#[tokio::test(start_paused = true)]
async fn each_binding_says_that_a_caller_has_too_many_requests_at_once() {
    let quota =
        QuotaSettings { requests: of(1), requests_at_once: of(1), ..QuotaSettings::default() };
    for way in ways() {
        let app = app(quota, "127.0.0.1:1").await;
        for _ in 0..2 {
            assert_eq!(way.ask(&app, &[ALICE]).await.status, 200);
        }
        // The third one waits for its turn.
        let (third, ()) = tokio::join!(way.ask(&app, &[ALICE]), async {
            tokio::task::yield_now().await;
            let message = "a caller may have 1 requests at the same time";
            assert_refused(&app, &way, ALICE, message).await;
            assert_eq!(way.ask(&app, &[BOB]).await.status, 200);
        });
        assert_eq!(third.status, 200);
    }
}

#[tokio::test]
async fn an_address_that_guesses_credentials_is_blocked() {
    let quota = QuotaSettings { wrong_credentials: of(3), ..QuotaSettings::default() };
    let app = app(quota, "192.0.2.1:1").await;
    let ask = ways();
    for way in ask.iter().cycle().take(3) {
        assert_eq!(way.ask(&app, &[GUESS]).await.status, 401);
        assert_eq!(way.ask(&app, &[ALICE]).await.status, 200);
    }
    for way in &ask {
        let message = "too many wrong credentials came from this address";
        assert_refused(&app, way, GUESS, message).await;
        assert_refused(&app, way, BOB, message).await;
        let told = way.ask(&app, &[ALICE]).await;
        assert_eq!(told.status, 200, "she was let in before: {told:?}");
    }
}

#[tokio::test]
async fn streams_and_open_tasks_of_a_caller_are_limited() {
    let quota = QuotaSettings { streams: of(1), open_tasks: of(2), ..QuotaSettings::default() };
    let app = app(quota, "192.0.2.1:1").await;
    let send = |id| ApiCall::Post("/a2a/message:send".to_owned(), say(id));
    let mut tasks = Vec::new();
    for id in 0..2 {
        let told = send(id).ask(&app, &[ALICE]).await;
        tasks.push(told.json()["task"]["id"].as_str().unwrap().to_owned());
    }
    let message = "a caller may have 2 tasks that have not ended";
    assert_refused(&app, &send(2), ALICE, message).await;
    assert_eq!(send(2).ask(&app, &[BOB]).await.status, 200);
    let goes_on = json!({"message": {"messageId": "m", "taskId": tasks[0],
        "role": "ROLE_USER", "parts": [{"text": "go on"}]}});
    let told = ApiCall::Post("/a2a/message:send".to_owned(), goes_on);
    assert_eq!(told.ask(&app, &[ALICE]).await.status, 200);

    let watch = format!("/a2a/tasks/{}:subscribe", tasks[0]);
    let headers = [ALICE, ("a2a-version", "1.0")];
    let stream = app::post(&app, &watch, &headers, &json!({})).await;
    assert_eq!(stream.status(), 200);
    let mut body = stream.into_body().into_data_stream();
    assert!(body.next().await.is_some());
    let again = ApiCall::Post(watch, json!({}));
    let message = "a caller may have 1 streams open at once";
    assert_refused(&app, &again, ALICE, message).await;
    drop(body);
    let stream = again.ask(&app, &[("x-key", "nobody's")]).await;
    assert_eq!(stream.status, 401);
    let canceled = format!("/a2a/tasks/{}:cancel", tasks[1]);
    let canceled = ApiCall::Post(canceled, json!({})).ask(&app, &[ALICE]).await;
    assert_eq!(canceled.status, 200, "{canceled:?}");
}
