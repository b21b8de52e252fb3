//! The MCP server over streamable HTTP. It serves both generations of MCP at one URL.
//!
//! Up to 2025-11-25 a client begins a session with `initialize`; from 2026-07-28 on each request is independent.
//! In both, the bearer token decides what a request may do, never the session. The token is checked first, and
//! each episode has its own sessions, so that a session id is unknown to the tokens of all other episodes.
//!
//! - [`router`]: serves the episodes of an evaluator
//! - [`ToolServer`]: serves an agent's tools to other agents
//! - [`protected`]: serves any MCP server with the same authentication
//! - [`Authenticator`]: maps tokens to users
//! - [`without_sign_in`]: tells clients with a wrong token what to do

mod authenticator;
mod gateway;
mod handler;
mod tools;
mod unread;

pub use authenticator::{Admission, Authenticator, Unauthorized, without_sign_in};
pub use gateway::protected;
pub(crate) use tools::OneToken;
pub use tools::ToolServer;
pub(crate) use unread::unread;

use std::time::Duration;

use axum::Router;

use crate::episodes::Episodes;
use handler::EpisodeHandler;

/// Serves episodes: each token reaches its own. The router can be mounted in any axum app, on any path.
pub fn router(episodes: Episodes, settings: ServerSettings) -> Router {
    protected(episodes, EpisodeHandler, settings)
}

/// The address and the limits of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The path of the endpoint.
    pub path: String,
    /// The accepted values of `Host`, each `host` or `host:port`. Any other is answered with 403, because a web
    /// page can make a browser resolve the page's own name to this machine (DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Web origins that may call the server, such as `https://app.example.com:443`. Requests with any other
    /// `Origin` are answered with 403.
    pub allowed_origins: Vec<String>,
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// The largest number of open sessions per token.
    pub sessions: usize,
    /// The time after which a session without requests is closed.
    pub session_idle: Duration,
}

impl Default for ServerSettings {
    /// Returns the path `/mcp`, the loopback host names, no origins, one megabyte, 8 sessions and five minutes.
    fn default() -> Self {
        Self {
            path: "/mcp".into(),
            allowed_hosts: ["localhost", "127.0.0.1", "::1"].map(Into::into).into(),
            allowed_origins: Vec::new(),
            body: 1024 * 1024,
            sessions: 8,
            session_idle: Duration::from_secs(300),
        }
    }
}
