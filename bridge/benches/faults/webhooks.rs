//! Webhooks that record the events they receive.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, Uri},
};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::{Error, link::Target, model::is_ended};

/// The events that a webhook received, each once: the number of the event in the task, and the state of the task.
type Received = Vec<(u64, Option<String>)>;

/// Webhooks, each with its own path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Webhooks(Arc<Mutex<BTreeMap<String, Received>>>);

impl Webhooks {
    /// Starts the webhooks, and returns them with their address.
    pub(crate) async fn start() -> Result<(Self, Target), Error> {
        let webhooks = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let target = Target::Tcp(listener.local_addr()?);
        let app = Router::new().fallback(take).with_state(webhooks.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok((webhooks, target))
    }

    /// Returns whether this webhook received the end of its task.
    pub(crate) fn has_ended(&self, path: &str) -> bool {
        let received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let states =
            received.get(path).into_iter().flatten().filter_map(|(_, state)| state.as_deref());
        states.into_iter().any(is_ended)
    }

    /// Returns whether this webhook received events in order. The same event may arrive again.
    pub(crate) fn is_in_order(&self, path: &str) -> bool {
        let received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        received.get(path).is_none_or(|received| received.is_sorted_by_key(|(seq, _)| *seq))
    }
}

async fn take(
    State(webhooks): State<Webhooks>,
    uri: Uri,
    headers: HeaderMap,
    Json(body): Json<Value>,
) {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let Some(seq) = key.and_then(|key| key.rsplit_once('/')?.1.parse().ok()) else {
        return;
    };
    let status = [&body["statusUpdate"]["status"], &body["task"]["status"]];
    let state = status.iter().find_map(|status| status["state"].as_str());
    let mut received = webhooks.0.lock().unwrap_or_else(PoisonError::into_inner);
    let received = received.entry(uri.path().to_owned()).or_default();
    if received.iter().all(|(known, _)| *known != seq) {
        received.push((seq, state.map(str::to_owned)));
    }
}
