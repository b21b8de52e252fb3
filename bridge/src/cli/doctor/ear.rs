//! Takes what a bot calls back.

use std::{error::Error, future::pending, net::SocketAddr};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, HeaderValue, header::AUTHORIZATION},
};
use bridge_program::Limits;
use bridge_protocol::{
    activity::Activity,
    wire::{Wire as _, from_slice},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use url::Url;

use crate::{
    cli::serve::{Encryption, run},
    clock,
};

/// How many calls may wait to be looked at.
const BACKLOG: usize = 64;

/// The largest call, in bytes.
const BODY: usize = 4 << 20;

/// How a bot is to call back.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Where calls are taken.
    pub(super) listen: SocketAddr,
    /// What the bot calls that.
    pub(super) known_as: Known,
    pub(super) encryption: Encryption,
}

/// What a bot calls the place where it calls back.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// By the address where this listens.
    ByItself,
    /// By this name of a host, at the port where this listens.
    ByName(String),
    /// By this address.
    As(Url),
}

impl Default for Way {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            known_as: Known::ByItself,
            encryption: None,
        }
    }
}

/// Where a bot calls back.
pub(super) struct Ear {
    /// The address without its secret.
    pub(super) base: String,
    /// The address, with a slash at its end.
    pub(super) service_url: String,
    heard: mpsc::Receiver<Heard>,
}

/// Something that a bot said in a call of its own.
pub(super) struct Heard {
    pub(super) activity: Activity,
    /// What it showed to be let in.
    pub(super) authorization: Option<HeaderValue>,
}

impl Ear {
    pub(super) async fn open(way: Way) -> Result<Self, Box<dyn Error>> {
        let listener = bridge_program::listen(way.listen).await?;
        let here = listener.local_addr()?;
        let scheme = match way.encryption {
            Some(_) => "https",
            None => "http",
        };
        let base = match way.known_as {
            Known::ByItself => format!("{scheme}://{here}"),
            Known::ByName(host) => format!("{scheme}://{host}:{}", here.port()),
            Known::As(url) => url.as_str().trim_end_matches('/').to_owned(),
        };
        let (sender, heard) = mpsc::channel(BACKLOG);
        // Nobody else may say to be the bot, wherever this listens.
        let secret = clock::new_secret();
        let app = Router::new()
            .route(&format!("/{secret}/{{*rest}}"), axum::routing::any(take))
            .layer(DefaultBodyLimit::max(BODY))
            .with_state(sender);
        tokio::spawn(run::listen(
            Limits::default(),
            listener,
            way.encryption,
            app,
            pending(),
        ));
        Ok(Self {
            base: base.clone(),
            service_url: format!("{base}/{secret}/"),
            heard,
        })
    }

    /// The next thing that the bot says; waits for it.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        self.heard.recv().await
    }
}

/// Whatever it is, the bot is told that it was taken: SDKs give up at the first refusal.
async fn take(
    State(sender): State<mpsc::Sender<Heard>>,
    headers: HeaderMap,
    body: Bytes,
) -> Json<Value> {
    let activity = from_slice(&body).and_then(Activity::read);
    if let Ok(activity) = activity {
        let authorization = headers.get(AUTHORIZATION).cloned();
        // More than can wait is not needed to know how the bot answers.
        let _ = sender.try_send(Heard {
            activity,
            authorization,
        });
    }
    Json(json!({"id": clock::new_id()}))
}
