//! A bot behind a URL that is healthy, slow or failing, and counts the messages that it receives.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::post,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, time::sleep};

use crate::{Error, link::Target};

/// The state of a bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    #[default]
    Healthy,
    Slow(Duration),
    /// It answers with an error.
    Failing,
}

/// A bot that counts how often it received each text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bot {
    received: Arc<Mutex<BTreeMap<String, usize>>>,
    health: Arc<watch::Sender<Health>>,
}

impl Bot {
    /// Starts a bot, and returns it with its address.
    pub(crate) async fn start() -> Result<(Self, Target), Error> {
        let bot = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let target = Target::Tcp(listener.local_addr()?);
        let app = Router::new().route("/api/messages", post(answer)).with_state(bot.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok((bot, target))
    }

    pub(crate) fn set(&self, health: Health) {
        self.health.send_replace(health);
    }

    /// Returns the texts that it received more than once.
    pub(crate) fn repeated(&self) -> Vec<String> {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let repeated = received.iter().filter(|(_, count)| **count > 1);
        repeated.map(|(text, _)| text.clone()).collect()
    }

    /// Clears the counts.
    pub(crate) fn clear(&self) {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

async fn answer(State(bot): State<Bot>, Json(activity): Json<Value>) -> Response {
    if activity["type"] != "message" {
        return Json(json!({})).into_response();
    }
    let text = activity["text"].as_str().unwrap_or_default().to_owned();
    *bot.received
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(text.clone())
        .or_default() += 1;
    let health = *bot.health.borrow();
    match health {
        Health::Healthy => {}
        Health::Slow(time) => sleep(time).await,
        Health::Failing => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
    Json(json!({"activities": [{"type": "message", "text": text}]})).into_response()
}
