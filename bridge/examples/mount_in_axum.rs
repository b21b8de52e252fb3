//! The bridge as a part of another axum app, with authentication in front of it: each caller with a token sees only the
//! caller's own tasks. On Ctrl-C it ends open streams, so that their clients resume them elsewhere; otherwise it would wait
//! for them. Running turns have ten seconds to end; afterwards they would fail.
//!
//! `cargo run --example mount_in_axum`, then ask `http://127.0.0.1:3978/agents/a2a` with
//! `Authorization: Bearer ada-token`.

use std::{error::Error, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header::AUTHORIZATION},
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::get,
};
use bridge::{bot, caller::Caller, host::Host, store::MemoryStore};
use tokio::net::TcpListener;

/// The user of each token; a real app would ask its identity provider.
const TOKENS: [(&str, &str); 2] = [("Bearer ada-token", "ada"), ("Bearer alan-token", "alan")];

async fn authenticate(mut request: Request, next: Next) -> Response {
    // Cards are for everybody: clients read there how to authenticate.
    if request.uri().path().ends_with(".json") {
        return next.run(request).await;
    }
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some((_, name)) = TOKENS.iter().find(|(token, _)| Some(*token) == given) else {
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response();
    };
    request.extensions_mut().insert(Caller::new(*name));
    next.run(request).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(MemoryStore::new());
    let agent = bot::builtin_agent("sample", store.clone()).ok_or("no such bot")?;
    let hosted = Host::new(store, [agent]).start("http://127.0.0.1:3978/agents").await?;
    let app = Router::new()
        .route("/", get(async || "an app of my own"))
        .nest("/agents", hosted.router().layer(from_fn(authenticate)));
    let listener = TcpListener::bind("127.0.0.1:3978").await?;
    let mut signal = bridge::stop_signal()?;
    let stop = async move {
        let _ = signal.wait_for(|stops| *stops).await;
        hosted.drain_within(Duration::from_secs(10)).await;
    };
    Ok(bridge::serve(listener, app, stop).await?)
}
