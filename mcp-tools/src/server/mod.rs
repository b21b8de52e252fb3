//! The MCP server over streamable HTTP. It serves both generations of MCP at one URL.
//!
//! Up to 2025-11-25 a client begins a session with `initialize`; from 2026-07-28 on each request is independent.
//! In both, the bearer token decides what a request may do, never the session. The token is checked first, and
//! each episode has its own sessions, so that a session id is unknown to the tokens of all other episodes.
//!
//! - [`router`]: serves the episodes of an evaluator
//! - [`ToolServer`]: serves an agent's tools to other agents
//! - [`protected`]: serves any MCP server with the same authentication
//! - [`Authenticator`]: maps tokens to guests

mod authenticator;
mod gateway;
mod handler;
mod settings;
mod tools;

pub use authenticator::{Admission, Authenticator, Unauthorized};
pub use gateway::protected;
pub use settings::ServerSettings;
pub use tools::ToolServer;

use axum::Router;

use crate::episodes::Episodes;
use handler::EpisodeHandler;

/// Serves episodes: each token reaches its own. The router can be mounted in any axum app, on any path.
pub fn router(episodes: Episodes, settings: ServerSettings) -> Router {
    protected(episodes, EpisodeHandler::new, settings)
}
