//! Webhooks that note the events they get.

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

use crate::{Failed, link::Place, model::is_ended};

/// What a webhook got, each event once: its number in the task, and the state it tells of.
type Got = Vec<(u64, Option<String>)>;

/// Webhooks, a path each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hooks(Arc<Mutex<BTreeMap<String, Got>>>);

impl Hooks {
    /// Starts webhooks, and says where they are.
    pub(crate) async fn start() -> Result<(Self, Place), Failed> {
        let hooks = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let place = Place::Tcp(listener.local_addr()?);
        let app = Router::new().fallback(take).with_state(hooks.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok((hooks, place))
    }

    /// Whether this one was told of the end of its task.
    pub(crate) fn has_ended(&self, path: &str) -> bool {
        let got = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let states = got
            .get(path)
            .into_iter()
            .flatten()
            .filter_map(|(_, state)| state.as_deref());
        states.into_iter().any(is_ended)
    }

    /// Whether what it got came in order. The same event may come again.
    pub(crate) fn is_in_order(&self, path: &str) -> bool {
        let got = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        got.get(path)
            .is_none_or(|got| got.is_sorted_by_key(|(seq, _)| *seq))
    }
}

async fn take(State(hooks): State<Hooks>, uri: Uri, headers: HeaderMap, Json(body): Json<Value>) {
    let key = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok());
    let Some(seq) = key.and_then(|key| key.rsplit_once('/')?.1.parse().ok()) else {
        return;
    };
    let status = [&body["statusUpdate"]["status"], &body["task"]["status"]];
    let state = status.iter().find_map(|status| status["state"].as_str());
    let mut got = hooks.0.lock().unwrap_or_else(PoisonError::into_inner);
    let got = got.entry(uri.path().to_owned()).or_default();
    if got.iter().all(|(known, _)| *known != seq) {
        got.push((seq, state.map(str::to_owned)));
    }
}
