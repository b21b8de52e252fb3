//! The operator's settings of the server.

use std::time::Duration;

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
