//! A server with scripted answers that records its requests.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response},
    routing::{get, post},
};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

/// A POST request: headers and body.
pub(crate) type Asked = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// The answer to a POST.
pub(crate) type Answer = fn() -> Response<Body>;

#[derive(Clone)]
struct Agent {
    asked: Asked,
    answer: Answer,
}

/// Starts a server with this card at this path; `URL` in the card is replaced by the server's address.
pub(crate) async fn serve(card_path: &str, card: Value, answer: Answer) -> (Url, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    let card = card.to_string().replace("URL", &base);
    let card: Value = serde_json::from_str(&card).unwrap();
    let told = Agent { asked: Asked::default(), answer };
    let asked = told.asked.clone();
    let app = Router::new()
        .route(card_path, get(async move || Json(card)))
        .route("/", post(remember))
        .with_state(told);
    tokio::spawn(async move { axum::serve(listener, app).await });
    (Url::parse(&base).unwrap(), asked)
}

async fn remember(State(told): State<Agent>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let id = body["id"].clone();
    told.asked.lock().unwrap().push((headers, body));
    answering(&id, (told.answer)()).await
}

/// Replaces the id 1, with which answers are written, by the request's id. Incomplete answers stay as they
/// are.
async fn answering(id: &Value, answer: Response<Body>) -> Response<Body> {
    if axum::body::HttpBody::size_hint(answer.body()).exact().is_none() {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = String::from_utf8(body.into()).unwrap();
    head.headers.remove("content-length");
    let body = body.replace(r#""id":1,"#, &format!(r#""id":{id},"#));
    Response::from_parts(head, Body::from(body))
}

pub(crate) fn reply(status: u16, content_type: &str, body: &str) -> Response<Body> {
    Response::builder()
        .status(status)
        .header("content-type", content_type)
        .body(Body::from(body.to_owned()))
        .unwrap()
}

pub(crate) fn result(result: &Value) -> Response<Body> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    reply(200, "application/json", &body.to_string())
}

pub(crate) fn card_1_0() -> Value {
    json!({"name": "New", "supportedInterfaces": [
        {"url": "URL", "protocolBinding": "https://bindings.test/other", "protocolVersion": "1.0"},
        {"url": "URL", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]})
}

pub(crate) fn card_0_3() -> Value {
    json!({"name": "Old", "url": "URL", "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC"})
}

pub(crate) fn hello() -> SendMessageRequest {
    SendMessageRequest::new(Message::new("m-1", Role::User, vec![Part::text("hello")]))
}
