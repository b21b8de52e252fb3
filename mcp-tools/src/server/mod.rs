//! How episodes are reached: MCP over streamable HTTP, in both eras at one URL.
//!
//! Up to 2025-11-25 a client begins a session with `initialize`; from 2026-07-28 on each request stands
//! for itself. What a request may do depends on its bearer token in both, never on its session: a token
//! is looked at before anything else, and each episode has sessions of its own, so that a session's id
//! is unknown to every other episode's token.
//!
//! - [`router`]: the episodes of an evaluator
//! - [`ToolServer`]: tools of an agent, for agents elsewhere
//! - [`protected`]: any MCP server behind the same door
//! - [`Authenticator`]: who is let in

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

/// Serves episodes: each token reaches its own. To be mounted in any axum app, on any path.
pub fn router(episodes: Episodes, settings: ServerSettings) -> Router {
    protected(episodes, EpisodeHandler::new, settings)
}
