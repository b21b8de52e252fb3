//! Serves an evaluator of episodes and its environments: A2A and MCP at one address.

use std::{sync::Arc, time::Duration};

use axum::Router;
use bridge_server::host::{Host, HostError};
use bridge_store::MemoryStore;
use mcp_tools::{
    episodes::MAX_TIME,
    server::{self, ServerSettings, without_sign_in},
};
use url::Url;

use super::{EpisodeEvaluator, evaluator_calls::LAST_WORDS};
use crate::evaluator::agent;

/// The path of the MCP endpoint.
pub const MCP_PATH: &str = "mcp";

/// The time limit of an evaluation, whose request may give its episode up to [`MAX_TIME`].
const LONGEST: Duration =
    MAX_TIME.saturating_add(LAST_WORDS).saturating_add(Duration::from_secs(60));

/// Returns the routes of an evaluator that is reached at `public_url`: an A2A agent, and below [`MCP_PATH`]
/// its environments. Its tasks are kept in memory.
///
/// # Errors
/// If the agent cannot be hosted.
pub async fn router(
    evaluator: Arc<EpisodeEvaluator>,
    public_url: &Url,
) -> Result<Router, HostError> {
    let mut settings = ServerSettings { path: format!("/{MCP_PATH}"), ..ServerSettings::default() };
    let named = [public_url, &evaluator.reach.url].map(|url| url.host_str().map(str::to_owned));
    settings.allowed_hosts.extend(named.into_iter().flatten());
    let mcp = server::router(evaluator.episodes.clone(), settings);
    let green = agent("green", evaluator, LONGEST);
    let host = Host::new(Arc::new(MemoryStore::new()), [green]);
    Ok(host.router(public_url.as_str()).await?.merge(mcp).merge(without_sign_in()))
}
