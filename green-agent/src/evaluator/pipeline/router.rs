//! Serves a pipeline as an A2A agent.

use std::sync::Arc;

use axum::Router;
use bridge_server::host::{Host, HostError};
use bridge_store::MemoryStore;
use url::Url;

use super::PipelineEvaluator;
use crate::evaluator::agent;

/// Returns the routes of a pipeline that is reached at `public_url`. Its tasks are kept in memory.
///
/// # Errors
/// If the agent cannot be hosted.
pub async fn router(evaluator: PipelineEvaluator, public_url: &Url) -> Result<Router, HostError> {
    let limit = evaluator.longest();
    let pipeline = agent("pipeline", Arc::new(evaluator), limit);
    let host = Host::new(Arc::new(MemoryStore::new()), [pipeline]);
    host.router(public_url.as_str()).await
}
