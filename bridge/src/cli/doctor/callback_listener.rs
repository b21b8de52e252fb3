//! Receives the calls of a bot.

use std::{future::pending, net::SocketAddr};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, HeaderValue, header::AUTHORIZATION},
};
use bridge_program::{Json, Limits};
use bridge_protocol::{
    activity::Activity,
    wire::{Wire as _, from_slice},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use url::Url;

use super::Result;
use crate::{
    cli::serve::{Encryption, run},
    clock,
};

/// The number of calls that may wait.
const BACKLOG: usize = 64;

/// The size of the largest call, in bytes.
const BODY: usize = 4 << 20;

/// The route by which a bot calls back.
#[derive(Clone, Debug)]
pub(super) struct CallbackRoute {
    /// The address to listen on.
    pub(super) listen: SocketAddr,
    /// The address for the bot.
    pub(super) known_as: CallbackHost,
    pub(super) encryption: Encryption,
}

/// The address that the bot uses.
#[derive(Clone, Debug)]
pub(super) enum CallbackHost {
    /// The address that the program listens on.
    ByItself,
    /// This host name, with the port that the program listens on.
    ByName(String),
    As(Url),
}

impl Default for CallbackRoute {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            known_as: CallbackHost::ByItself,
            encryption: None,
        }
    }
}

/// Listens for the calls of a bot.
pub(super) struct CallbackListener {
    /// The address without its secret.
    pub(super) base: String,
    /// The address, with a slash at the end.
    pub(super) service_url: String,
    /// The bot's activities.
    pub(super) heard: mpsc::Receiver<ReceivedActivity>,
}

/// An activity that a bot sent in a call.
pub(super) struct ReceivedActivity {
    pub(super) activity: Activity,
    /// The call's path below the service URL.
    pub(super) path: String,
    /// The call's `Authorization` header.
    pub(super) authorization: Option<HeaderValue>,
}

impl ReceivedActivity {
    /// Whether the bot sent the activity into one of these conversations.
    pub(super) fn is_in_any(&self, conversations: &[String]) -> bool {
        conversations.iter().any(|id| self.path.contains(id))
    }
}

impl CallbackListener {
    pub(super) async fn open(way: CallbackRoute) -> Result<Self> {
        let listener = bridge_program::listen(way.listen).await?;
        let here = listener.local_addr()?;
        let scheme = match way.encryption {
            Some(_) => "https",
            None => "http",
        };
        let base = match way.known_as {
            CallbackHost::ByItself => format!("{scheme}://{here}"),
            CallbackHost::ByName(host) => format!("{scheme}://{host}:{}", here.port()),
            CallbackHost::As(url) => url.as_str().trim_end_matches('/').to_owned(),
        };
        let (sender, heard) = mpsc::channel(BACKLOG);
        // A secret path keeps others from posing as the bot.
        let secret = clock::new_secret();
        let app = Router::new()
            .route(&format!("/{secret}/{{*rest}}"), axum::routing::any(take))
            .layer(DefaultBodyLimit::max(BODY))
            .with_state(sender);
        tokio::spawn(run::listen(Limits::default(), listener, way.encryption, app, pending()));
        Ok(Self { base: base.clone(), service_url: format!("{base}/{secret}/"), heard })
    }
}

/// Accepts every call, because SDKs give up at the first refusal.
async fn take(
    State(sender): State<mpsc::Sender<ReceivedActivity>>,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Json<Value> {
    let activity = from_slice(&body).and_then(Activity::read);
    if let Ok(activity) = activity {
        let authorization = headers.get(AUTHORIZATION).cloned();
        // Calls beyond the backlog are not needed.
        let _ = sender.try_send(ReceivedActivity { activity, path, authorization });
    }
    Json(json!({"id": clock::new_id()}))
}
