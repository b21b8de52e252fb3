//! A bot behind a URL that is well, slow or dead, and counts what it gets.

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

use crate::{Failed, link::Place};

/// How a bot is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    #[default]
    Well,
    Slow(Duration),
    /// It says that it has failed.
    Failing,
}

/// A bot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bot {
    got: Arc<Mutex<BTreeMap<String, usize>>>,
    health: Arc<watch::Sender<Health>>,
}

impl Bot {
    /// Starts a bot, and says where it is.
    pub(crate) async fn start() -> Result<(Self, Place), Failed> {
        let bot = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let place = Place::Tcp(listener.local_addr()?);
        let app = Router::new()
            .route("/api/messages", post(answer))
            .with_state(bot.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok((bot, place))
    }

    pub(crate) fn set(&self, health: Health) {
        self.health.send_replace(health);
    }

    /// The texts that it got more than once.
    pub(crate) fn repeated(&self) -> Vec<String> {
        let got = self.got.lock().unwrap_or_else(PoisonError::into_inner);
        let repeated = got.iter().filter(|(_, count)| **count > 1);
        repeated.map(|(text, _)| text.clone()).collect()
    }

    /// Forgets what it got.
    pub(crate) fn forget(&self) {
        self.got
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

async fn answer(State(bot): State<Bot>, Json(activity): Json<Value>) -> Response {
    if activity["type"] != "message" {
        return Json(json!({})).into_response();
    }
    let text = activity["text"].as_str().unwrap_or_default().to_owned();
    *bot.got
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(text.clone())
        .or_default() += 1;
    let health = *bot.health.borrow();
    match health {
        Health::Well => {}
        Health::Slow(time) => sleep(time).await,
        Health::Failing => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
    Json(json!({"activities": [{"type": "message", "text": text}]})).into_response()
}
