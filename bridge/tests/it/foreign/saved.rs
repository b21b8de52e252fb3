//! Agents that are too large to be installed for a test, as they answered when they were: files in
//! `tests/interop/servers/saved/`, which say where they come from.

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse as _, Response},
    routing::any,
};
use serde_json::Value;
use tokio::net::TcpListener;

/// A server that replays recorded answers.
pub(super) struct ReplayServer {
    /// The address of its card.
    pub(super) card: String,
}

impl ReplayServer {
    /// Serves the recording in a file; `URL` in its card is replaced by its address.
    pub(super) async fn serve(file: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = format!("http://{}", listener.local_addr().unwrap());
        let said: Value = serde_json::from_str(&file.replace("URL", &here)).unwrap();
        let card = format!("{here}{}", said["place"].as_str().unwrap());
        let app = Router::new().fallback(any(answer)).with_state(said);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { card }
    }
}

/// Serves the card, and only at its own address with its query.
async fn answer(State(said): State<Value>, uri: Uri, body: String) -> Response {
    let asked = uri.path_and_query().map(ToString::to_string);
    if asked.as_deref() == said["place"].as_str() {
        return Json(said["card"].clone()).into_response();
    }
    if asked.as_deref() != said["path"].as_str() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let call: Value = serde_json::from_str(&body).unwrap_or_default();
    match call["method"].as_str() {
        Some("SendMessage" | "message/send") => {
            let mut waiting = said["waiting"].clone();
            waiting["id"] = call["id"].clone();
            Json(waiting).into_response()
        }
        Some("SendStreamingMessage" | "message/stream") => {
            let lines = said["streaming"].as_array().unwrap().iter();
            let lines = lines.map(|line| format!("{}\n", line.as_str().unwrap()));
            let events: String = lines.collect();
            ([("content-type", "text/event-stream")], events).into_response()
        }
        _ => StatusCode::BAD_REQUEST.into_response(),
    }
}
